"""A rising map of the first of two options' share, of any shape. Unit: prob."""

import numpy as np
from jaxtyping import Float
from scipy.optimize import isotonic_regression
from scipy.special import expit

from likely.calibration.remedies.evidence import Evidence, first_log_odds
from likely.calibration.remedies.remedy import Remedy, Repair, no_repair


def fit_isotonic(evidence: Evidence, rng: np.random.Generator) -> Repair:
    """Return the rising map of least squares from shares to ideal probabilities.

    Between the shares of the fit the map is a straight line, beyond them it is level.

    Args:
        evidence: Of the items to fit on.
        rng: Not used.

    Returns:
        A repair of items of two options; parameter ``n_levels``: how many values the map has.
    """
    odds = first_log_odds(evidence)
    used = np.flatnonzero(~np.isnan(odds))
    if not len(used):
        return no_repair("a rising map needs items of two options to fit on")
    p1 = evidence.targets.ideal[evidence.targets.offsets[used]]
    shares, level = rising_map(np.asarray(expit(odds[used])), p1)
    return Repair(
        apply=lambda evidence: _mapped(evidence, shares, level),
        parameters={"n_levels": float(len(np.unique(level)))},
    )


def rising_map(
    shares: Float[np.ndarray, "n"], p1: Float[np.ndarray, "n"]
) -> tuple[Float[np.ndarray, "k"], Float[np.ndarray, "k"]]:
    """Return distinct shares, ascending, and the value of the map at each.

    Args:
        shares: Shape ``(n,)``.
        p1: Shape ``(n,)``: what each is to become; equal shares become one value.

    >>> rising_map(np.array([0.1, 0.9, 0.5]), np.array([0.4, 0.8, 0.2]))[1].round(6)
    array([0.3, 0.3, 0.8])
    """
    distinct, which = np.unique(shares, return_inverse=True)
    n = np.bincount(which)
    fitted = isotonic_regression(np.bincount(which, p1) / n, weights=n).x
    return distinct, np.clip(fitted, 0.0, 1.0)  # a mean of probabilities, but for rounding


def _mapped(
    evidence: Evidence, shares: Float[np.ndarray, "k"], level: Float[np.ndarray, "k"]
) -> Float[np.ndarray, "M"]:
    odds = first_log_odds(evidence)
    used = np.flatnonzero(~np.isnan(odds))
    first = evidence.targets.offsets[used]
    mapped = np.interp(expit(odds[used]), shares, level)
    found = np.full(len(evidence.targets.ideal), np.nan)
    with np.errstate(divide="ignore"):
        found[first] = np.log(mapped)
        found[first + 1] = np.log1p(-mapped)
    return found


ISOTONIC = Remedy(
    name="isotonic",
    what="a rising map of the share of the first of two options",
    fit=fit_isotonic,
    is_fitted=True,
)
