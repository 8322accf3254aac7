"""Ask in both orders of mention and take the mean. Unit: nats.

The geometric mean of masses removes a position's factor on the odds exactly. The arithmetic mean is
what the model says if a coin decides which option is named first; it is a mass again.
"""

import numpy as np
from jaxtyping import Float

from likely.calibration.metrics import log_shares
from likely.calibration.remedies.evidence import Evidence, known_masses, normalised
from likely.calibration.remedies.remedy import Remedy, Repair

_LOG_2 = float(np.log(2.0))


def fit_order(evidence: Evidence, rng: np.random.Generator) -> Repair:
    """Return the geometric mean over both orders; there is nothing to fit.

    It is not defined for items without a twin, and where no option has mass in both orders.

    Args:
        evidence: Of any items.
        rng: Not used.
    """
    return Repair(apply=_geometric)


def fit_order_arithmetic(evidence: Evidence, rng: np.random.Generator) -> Repair:
    """Return the arithmetic mean over both orders; there is nothing to fit.

    Args:
        evidence: Of any items.
        rng: Not used.
    """
    return Repair(apply=_arithmetic)


def _geometric(evidence: Evidence) -> Float[np.ndarray, "M"]:
    log_pi = log_shares(evidence.masses)
    return normalised(0.5 * (log_pi + _of_twin(evidence, log_pi)), evidence.targets.offsets)


def _arithmetic(evidence: Evidence) -> Float[np.ndarray, "M"]:
    log_mass = known_masses(evidence.masses)
    of_twin = _of_twin(evidence, log_mass)
    known = np.flatnonzero(~np.isnan(log_mass) & ~np.isnan(of_twin))
    mean = np.full(len(log_mass), np.nan)
    mean[known] = np.logaddexp(log_mass[known], of_twin[known]) - _LOG_2
    return mean


def _of_twin(evidence: Evidence, values: Float[np.ndarray, "M"]) -> Float[np.ndarray, "M"]:
    return np.where(evidence.twin >= 0, values[evidence.twin], np.nan)


ORDER = Remedy(
    name="order",
    what="geometric mean over both orders of mention",
    fit=fit_order,
    passes=lambda evidence: 2.0,
)
ORDER_ARITHMETIC = Remedy(
    name="order_arithmetic",
    what="arithmetic mean of masses over both orders of mention",
    fit=fit_order_arithmetic,
    gives_masses=True,
    passes=lambda evidence: 2.0,
)
