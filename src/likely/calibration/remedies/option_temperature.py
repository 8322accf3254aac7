"""Temper the shares of the options alone: ``Pi_T`` in proportion to ``m ** (1 / T)``. Unit: nats.

This is not what the model says at temperature T: there every spelling and every other token is
tempered too, and spellings of several tokens at each step. `temperature` has that.
"""

import numpy as np
from jaxtyping import Bool, Float
from scipy.optimize import brentq

from likely.calibration.metrics import log_shares
from likely.calibration.remedies.evidence import Evidence, normalised
from likely.calibration.remedies.remedy import Remedy, Repair, no_repair
from likely.calibration.tables import Targets
from likely.stats.ragged import has_nan

RANGE = (1.0 / 64.0, 64.0)
"""The temperatures that are searched."""

_PRECISION = 1e-13


def fit_option_temperature(evidence: Evidence, rng: np.random.Generator) -> Repair:
    """Return the temperature in `RANGE` at which the mean ``KL(P || Pi_T)`` is least.

    The divergence is convex in ``1 / T``, so its slope has one root, or the best lies at an end.
    Items that give no mass to what is possible are left out and counted.

    Args:
        evidence: Of the items to fit on.
        rng: Not used.
    """
    targets = evidence.targets
    log_pi = log_shares(evidence.masses)
    is_ruled_out = np.isneginf(log_pi) & (targets.ideal > 0.0)
    is_bad = has_nan(np.where(is_ruled_out, np.nan, log_pi), targets.offsets)
    if is_bad.all():
        return no_repair("no item to fit on gives mass to all that is possible")
    used = ~is_bad[targets.item_of]

    def slope(inverse: float) -> float:
        return _slope(inverse, targets, log_pi, used)

    low, high = 1.0 / RANGE[1], 1.0 / RANGE[0]
    is_at_edge = True
    if slope(low) >= 0.0:
        inverse = low
    elif slope(high) <= 0.0:
        inverse = high
    else:
        inverse, is_at_edge = float(brentq(slope, low, high, xtol=_PRECISION)), False
    return Repair(
        apply=lambda evidence: _powers(evidence, inverse),
        parameters={
            "temperature": 1.0 / inverse,
            "n_left_out": float(is_bad.sum()),
            "is_at_edge": float(is_at_edge),
        },
    )


def _slope(
    inverse: float,
    targets: Targets,
    log_pi: Float[np.ndarray, "M"],
    used: Bool[np.ndarray, "M"],
) -> float:
    """Return the derivative of the summed divergence by ``1 / T``."""
    finite = np.where(used & ~np.isneginf(log_pi), log_pi, 0.0)
    tempered = normalised(np.where(used, inverse * log_pi, 0.0), targets.offsets)
    return float(np.sum(np.where(used, (np.exp(tempered) - targets.ideal) * finite, 0.0)))


def _powers(evidence: Evidence, inverse: float) -> Float[np.ndarray, "M"]:
    return normalised(inverse * log_shares(evidence.masses), evidence.targets.offsets)


OPTION_TEMPERATURE = Remedy(
    name="option_temperature",
    what="temper the options' shares alone (not what the model says at that temperature)",
    fit=fit_option_temperature,
    is_fitted=True,
)
