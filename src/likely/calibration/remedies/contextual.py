"""Contextual calibration: divide by the shares behind the same context without its numbers.

Sources: arXiv 2102.09690. Unit: nats.
"""

import numpy as np
from jaxtyping import Float

from likely.calibration.metrics import log_shares
from likely.calibration.remedies.evidence import Evidence, Extra, normalised
from likely.calibration.remedies.remedy import Remedy, Repair
from likely.errors import InputError


def fit_contextual(evidence: Evidence, rng: np.random.Generator) -> Repair:
    """Return the repair that divides by the prior; there is nothing to fit.

    It is not defined for items without blanks, and where the prior rules an option out.

    Args:
        evidence: Of any items.
        rng: Not used.
    """
    return Repair(apply=_without_prior)


def prior_of(evidence: Evidence) -> Extra:
    """Return the prior of the items.

    Raises:
        InputError: The evidence has none.
    """
    if evidence.prior is None:
        raise InputError("shares behind blanks are needed; gather them from the model")
    return evidence.prior


def divided(
    log_pi: Float[np.ndarray, "M"], log_by: Float[np.ndarray, "M"]
) -> Float[np.ndarray, "M"]:
    """Return the log of a ratio; NaN where what is divided by is 0."""
    by = np.where(np.isneginf(log_by), np.nan, log_by)
    return np.asarray(log_pi - by)


def _without_prior(evidence: Evidence) -> Float[np.ndarray, "M"]:
    ratio = divided(log_shares(evidence.masses), prior_of(evidence).log_mass)
    return normalised(ratio, evidence.targets.offsets)


def _passes(evidence: Evidence) -> float:
    return 1.0 + prior_of(evidence).n_contexts / evidence.n_items


CONTEXTUAL = Remedy(
    name="contextual",
    what="divide by the shares that the options have with the numbers blanked out",
    fit=fit_contextual,
    needs=("prior",),
    passes=_passes,
)
