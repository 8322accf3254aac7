"""A line through log-odds: ``logit pi' = alpha + beta logit pi`` of the first of two options.

Unit: nats.
"""

import numpy as np
from jaxtyping import Float
from scipy.optimize import minimize
from scipy.special import expit

from likely.calibration.analyses.units import CLIP
from likely.calibration.remedies.evidence import Evidence, first_log_odds, two_option_law
from likely.calibration.remedies.remedy import Remedy, Repair, no_repair

LIMIT = float(np.log1p(-CLIP) - np.log(CLIP))
"""Log-odds of a share within `CLIP` of 0 or 1 count as this far from 0."""

_PRECISION = 1e-10
_MOST_STEPS = 200


def fit_platt(evidence: Evidence, rng: np.random.Generator) -> Repair:
    """Return the line of least mean ``KL(P || Pi')`` over items of two options.

    Args:
        evidence: Of the items to fit on.
        rng: Not used.

    Returns:
        A repair of items of two options. Parameters ``alpha``, ``beta``, and ``n_clipped``: how
        many log-odds were beyond `LIMIT`.
    """
    odds = first_log_odds(evidence)
    used = np.flatnonzero(~np.isnan(odds))
    x = np.clip(odds[used], -LIMIT, LIMIT)
    if len(x) < 2 or np.ptp(x) == 0.0:
        return no_repair("a line needs items of two options with 2 different shares to fit on")
    p1 = evidence.targets.ideal[evidence.targets.offsets[used]]
    line = fit_line(x, p1)
    if line is None:
        return no_repair(
            "no line is best: shares hardly differ, or they tell targets of 0 and 1 apart perfectly"
        )
    alpha, beta = line
    return Repair(
        apply=lambda evidence: _on_line(evidence, alpha, beta),
        parameters={
            "alpha": alpha,
            "beta": beta,
            "n_clipped": float(np.sum(np.abs(odds[used]) > LIMIT)),
        },
    )


def fit_line(
    log_odds: Float[np.ndarray, "n"], p1: Float[np.ndarray, "n"]
) -> tuple[float, float] | None:
    """Return ``alpha`` and ``beta`` of least mean log loss against soft targets.

    Args:
        log_odds: Shape ``(n,)``, nats, finite and not all the same.
        p1: Shape ``(n,)``: the probability that is aimed at.

    Returns:
        The line; None where there is no best one, as for targets of 0 and 1 that a threshold tells
        apart.

    >>> alpha, beta = fit_line(np.array([-1.0, 0.0, 2.0]), expit(np.array([-1.5, 0.5, 4.5])))
    >>> round(alpha, 6), round(beta, 6)
    (0.5, 2.0)
    """
    design = np.column_stack([np.ones(len(log_odds)), log_odds])

    def loss(line: Float[np.ndarray, "2"]) -> tuple[float, Float[np.ndarray, "2"]]:
        y = design @ line
        return float(np.mean(np.logaddexp(0.0, y) - p1 * y)), design.T @ (expit(y) - p1) / len(y)

    def curvature(line: Float[np.ndarray, "2"]) -> Float[np.ndarray, "2 2"]:
        q = expit(design @ line)
        return np.asarray((design * (q * (1.0 - q))[:, None]).T @ design / len(q))

    found = minimize(
        loss, np.array([0.0, 1.0]), jac=True, hess=curvature, method="trust-exact",
        options={"gtol": _PRECISION, "maxiter": _MOST_STEPS},
    )  # fmt: skip
    is_flat = np.linalg.eigvalsh(curvature(found.x))[0] < _PRECISION
    return None if is_flat else (float(found.x[0]), float(found.x[1]))


def _on_line(evidence: Evidence, alpha: float, beta: float) -> Float[np.ndarray, "M"]:
    odds = np.clip(first_log_odds(evidence), -LIMIT, LIMIT)
    return two_option_law(alpha + beta * odds, evidence.targets.offsets)


PLATT = Remedy(
    name="platt",
    what="a line through the log-odds of the first of two options",
    fit=fit_platt,
    is_fitted=True,
)
