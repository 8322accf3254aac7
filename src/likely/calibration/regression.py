"""The line that log-odds of a model follow against those of the ideal. Unit: nats.

``logit pi = alpha + beta logit p``: calibrated is alpha 0 and beta 1. A steep line picks the
likelier option, a flat one far from 0 the first or the second, whatever the numbers are.
"""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, cast

import numpy as np
from jaxtyping import Float, Int
from scipy.special import logit
from statsmodels.robust.norms import HuberT
from statsmodels.robust.robust_linear_model import RLM
from statsmodels.tools.sm_exceptions import ConvergenceWarning

from likely.calibration.analyses.units import CLIP, clipped_log_odds
from likely.core.estimate import Estimate, Unit
from likely.errors import InputError, ShapeError
from likely.stats.cluster_regression import fit_cluster_ols
from likely.stats.few_clusters import few_note
from likely.stats.intervals import student_estimate

Method = Literal["least-squares", "huber"]

_MOST_STEPS = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A fitted line with what is left over.

    Attributes:
        alpha: Log-odds at equal numbers, nats; above 0 leans to the option mentioned first.
        beta: Slope.
        sigma: Spread of the residuals, nats: the root of their mean square over the degrees of
            freedom, and for ``huber`` the median absolute deviation, scaled to agree for normal
            ones.
        has_converged: Whether the fit did; least squares always does.
    """

    alpha: Estimate
    beta: Estimate
    sigma: float
    has_converged: bool

    def to_dict(self) -> dict[str, object]:
        """Return the fields as a mapping that `likely.core.jsonio` writes as strict JSON."""
        return {
            "alpha": self.alpha.to_dict(),
            "beta": self.beta.to_dict(),
            "sigma": self.sigma,
            "has_converged": self.has_converged,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class CalibrationRegression:
    """The calibration line, by least squares and by a fit that outliers move less.

    Attributes:
        line: By least squares.
        robust: By Huber's M-estimator, as statsmodels fits it (constant 1.345).
        n: Items in the fit.
        n_clipped: Of these, items whose share was moved to the clip.
        n_left_out: Items without a share, or with an ideal of 0 or 1, which has no log-odds.
    """

    line: Line
    robust: Line
    n: int
    n_clipped: int
    n_left_out: int

    def to_dict(self) -> dict[str, object]:
        """Return the fields as a mapping that `likely.core.jsonio` writes as strict JSON."""
        return {
            "line": self.line.to_dict(),
            "robust": self.robust.to_dict(),
            "n": self.n,
            "n_clipped": self.n_clipped,
            "n_left_out": self.n_left_out,
        }


def calibration_regression(
    p1: Float[np.ndarray, "N"],
    pi1: Float[np.ndarray, "K"],
    *,
    groups: Sequence[str | int] | Int[np.ndarray, "L"] | None = None,
    clip: float = CLIP,
    level: float = 0.95,
) -> CalibrationRegression:
    """Return the line of the model's log-odds against the ideal ones, over two-option items.

    Args:
        p1: Ideal probability of the first option.
        pi1: The model's share of it; NaN where there is none.
        groups: Cluster of each item, such as its template or number pair; items of a cluster are
            not taken as independent. By default each item is its own.
        clip: Shares are moved into [clip, 1 - clip], where log-odds are finite.
        level: Coverage of the intervals, in (0, 1).

    Returns:
        Intervals from the sandwich covariance of clusters and Student's t with one degree of
        freedom less than there are clusters, which few clusters make too narrow all the same:
        with fewer than 20 of them the diagnostics hold a ``note``.

    Raises:
        ShapeError: Arrays of different lengths.
        InputError: Fewer than 3 items that can be used, fewer than 2 clusters, the same ideal
            throughout, a number outside [0, 1], or an option out of range.

    >>> p = np.array([0.2, 0.4, 0.6, 0.8, 0.9])
    >>> fit = calibration_regression(p, p**2 / (p**2 + (1 - p) ** 2))
    >>> round(fit.line.alpha.value, 6) + 0.0, round(fit.line.beta.value, 6)
    (0.0, 2.0)
    """
    codes = np.arange(len(p1)) if groups is None else _codes(groups)
    _check(p1, pi1, codes, clip, level)
    used = (p1 > 0.0) & (p1 < 1.0) & ~np.isnan(pi1)
    x, shares = p1[used], pi1[used]
    clusters = np.unique(codes[used], return_inverse=True)[1]
    if len(x) < 3 or np.ptp(x) == 0.0 or clusters.max() < 1:
        raise InputError(
            f"a line needs 3 items, 2 different ideals and 2 clusters, got {len(x)} items of "
            f"{len(np.unique(x))} ideals in {len(np.unique(clusters))} clusters"
        )
    y, n_clipped = clipped_log_odds(shares, clip=clip)
    design = np.column_stack([np.ones(len(x)), logit(x)])
    return CalibrationRegression(
        line=_least_squares(design, y, clusters, level),
        robust=_huber(design, y, clusters, level),
        n=len(x),
        n_clipped=n_clipped,
        n_left_out=len(p1) - len(x),
    )


def _least_squares(
    design: Float[np.ndarray, "N 2"],
    y: Float[np.ndarray, "N"],
    clusters: Int[np.ndarray, "N"],
    level: float,
) -> Line:
    fit = fit_cluster_ols(y, design, clusters, names=("alpha", "beta"))
    return _line(
        fit.coefficients, fit.covariance, clusters, level, fit.residual_sd, "least-squares",
        has_converged=True,
    )  # fmt: skip


def _huber(
    design: Float[np.ndarray, "N 2"],
    y: Float[np.ndarray, "N"],
    clusters: Int[np.ndarray, "N"],
    level: float,
) -> Line:
    norm = HuberT()
    with warnings.catch_warnings():
        # A line that most items lie on leaves a scale of 0, of which statsmodels warns and stops.
        warnings.simplefilter("ignore", ConvergenceWarning)
        fit = RLM(y, design, M=norm).fit(maxiter=_MOST_STEPS, conv="coefs")
    fitted, scale = np.asarray(fit.params), float(fit.scale)
    covariance = np.zeros((2, 2))
    if scale > 0.0:
        left = (y - design @ fitted) / scale
        scores = scale * np.asarray(norm.psi(left))
        covariance = _sandwich(design, scores, np.asarray(norm.psi_deriv(left)), clusters)
    is_done = fit.fit_history["iteration"] < _MOST_STEPS
    return _line(fitted, covariance, clusters, level, scale, "huber", has_converged=is_done)


def _sandwich(
    design: Float[np.ndarray, "N 2"],
    scores: Float[np.ndarray, "N"],
    slopes: Float[np.ndarray, "N"],
    clusters: Int[np.ndarray, "N"],
) -> Float[np.ndarray, "2 2"]:
    """Return the covariance of an M-estimate whose errors are dependent within clusters.

    Args:
        design: Columns of the line.
        scores: What each residual adds to the estimating equation.
        slopes: Derivative of the score at each residual.
        clusters: Codes from 0.
    """
    n, g = len(scores), int(clusters.max()) + 1
    pulls = np.column_stack([np.bincount(clusters, column * scores, g) for column in design.T])
    bread = np.linalg.pinv(design.T @ (design * slopes[:, None]))
    few = g / (g - 1) * (n - 1) / (n - 2)
    moved = pulls @ bread
    return np.asarray(few * moved.T @ moved)


def _line(
    fitted: Float[np.ndarray, "2"],
    covariance: Float[np.ndarray, "2 2"],
    clusters: Int[np.ndarray, "N"],
    level: float,
    sigma: float,
    method: Method,
    *,
    has_converged: bool,
) -> Line:
    n_clusters = int(clusters.max()) + 1
    errors = np.sqrt(np.diag(covariance))

    def estimate(which: int, unit: Unit) -> Estimate:
        return student_estimate(
            float(fitted[which]),
            float(errors[which]),
            df=n_clusters - 1,
            level=level,
            unit=unit,
            method=f"calibration-line-{method}",
            diagnostics={
                "n_clusters": n_clusters,
                "n_items": len(clusters),
                **few_note(n_clusters),
            },
        )

    return Line(
        alpha=estimate(0, "nats"),
        beta=estimate(1, "none"),
        sigma=sigma,
        has_converged=has_converged,
    )


def _codes(groups: Sequence[str | int] | Int[np.ndarray, "N"]) -> Int[np.ndarray, "N"]:
    return cast("np.ndarray", np.unique(np.asarray(groups), return_inverse=True)[1])


def _check(
    p1: Float[np.ndarray, "N"],
    pi1: Float[np.ndarray, "K"],
    codes: Int[np.ndarray, "L"],
    clip: float,
    level: float,
) -> None:
    if not len(p1) == len(pi1) == len(codes):
        raise ShapeError(
            f"p1, pi1 and groups have one entry an item, got lengths {len(p1)}, {len(pi1)} and "
            f"{len(codes)}"
        )
    for name, numbers in (("p1", p1), ("pi1", pi1)):
        wrong = (numbers < 0.0) | (numbers > 1.0)
        if wrong.any():
            raise InputError(f"{name} lies in [0, 1], got {float(numbers[wrong][0])!r}")
    if not 0.0 < clip < 0.5:
        raise InputError(f"the clip lies in (0, 1/2), got {clip!r}")
    if not 0.0 < level < 1.0:
        raise InputError(f"the level lies in (0, 1), got {level!r}")
