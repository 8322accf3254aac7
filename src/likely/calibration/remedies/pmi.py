"""Pointwise mutual information: masses over those behind the last sentence alone. Unit: nats.

Sources: arXiv 2104.08315, the domain-conditional form.
"""

import numpy as np

from likely.calibration.remedies.evidence import Evidence, Extra, divided
from likely.calibration.remedies.remedy import Remedy, Repair
from likely.errors import InputError


def fit_pmi(evidence: Evidence, rng: np.random.Generator) -> Repair:
    """Return the repair that divides by the masses behind the stem; there is nothing to fit.

    It is not defined for items without a stem, and where no option may follow it that the item has.

    Args:
        evidence: Of any items.
        rng: Not used.
    """
    return Repair(apply=lambda evidence: divided(evidence, _stem(evidence)))


def _stem(evidence: Evidence) -> Extra:
    if evidence.stem is None:
        raise InputError("masses behind the last sentence are needed; gather them from the model")
    return evidence.stem


PMI = Remedy(
    name="pmi",
    what="divide by the masses that the options have behind the last sentence alone",
    fit=fit_pmi,
    needs=("stem",),
    passes=lambda evidence: 1.0 + _stem(evidence).n_contexts / evidence.n_items,
)
