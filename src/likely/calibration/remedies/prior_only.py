"""The baseline that never sees the numbers: shares of the options behind blanks. Unit: nats."""

import numpy as np

from likely.calibration.remedies.contextual import prior_of
from likely.calibration.remedies.evidence import Evidence
from likely.calibration.remedies.remedy import Remedy, Repair


def fit_prior_only(evidence: Evidence, rng: np.random.Generator) -> Repair:
    """Return the repair that takes the prior for the answer; there is nothing to fit.

    Args:
        evidence: Of any items.
        rng: Not used.
    """
    return Repair(apply=lambda evidence: prior_of(evidence).log_mass)


PRIOR_ONLY = Remedy(
    name="prior_only",
    what="baseline: the shares that the options have with the numbers blanked out",
    fit=fit_prior_only,
    needs=("prior",),
    passes=lambda evidence: prior_of(evidence).n_contexts / evidence.n_items,
)
