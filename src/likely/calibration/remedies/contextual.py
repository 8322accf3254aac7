"""Contextual calibration: divide by the shares behind the same context without its numbers.

Sources: arXiv 2102.09690. Unit: nats.
"""

import numpy as np

from likely.calibration.remedies.evidence import Evidence, Extra, divided
from likely.calibration.remedies.remedy import Remedy, Repair
from likely.errors import InputError


def fit_contextual(evidence: Evidence, rng: np.random.Generator) -> Repair:
    """Return the repair that divides by the prior; there is nothing to fit.

    It is not defined for items without blanks, and where the prior rules an option out.

    Args:
        evidence: Of any items.
        rng: Not used.
    """
    return Repair(apply=lambda evidence: divided(evidence, prior_of(evidence)))


def prior_of(evidence: Evidence) -> Extra:
    """Return the prior of the items.

    Raises:
        InputError: The evidence has none.
    """
    if evidence.prior is None:
        raise InputError("shares behind blanks are needed; gather them from the model")
    return evidence.prior


def _passes(evidence: Evidence) -> float:
    return 1.0 + prior_of(evidence).n_contexts / evidence.n_items


CONTEXTUAL = Remedy(
    name="contextual",
    what="divide by the shares that the options have with the numbers blanked out",
    fit=fit_contextual,
    needs=("prior",),
    passes=_passes,
)
