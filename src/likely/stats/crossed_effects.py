"""How much of a response's variance comes from the levels of each crossed factor, by REML.

The likelihood needs the data through sums of products alone, so a fit costs the same for a hundred
and for a hundred thousand items, once these are made. Unit: the response's, squared for variances.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from scipy.linalg import cho_factor, cho_solve, solve_triangular
from scipy.optimize import brentq, minimize
from scipy.sparse import csr_matrix
from scipy.sparse import hstack as sparse_hstack
from scipy.stats import chi2

from likely.core.estimate import Estimate, Unit
from likely.errors import InputError, ShapeError
from likely.stats.crossings import Codes
from likely.stats.intervals import student_estimate

_BOUNDARY = 1e-3
"""A factor's standard deviation is none if it is below this share of the items' own."""

_EXACT = 1e-20
"""A share of the variance this small is what rounding leaves."""

_PRECISION = 1e-4
"""Of the ends of an interval, over the items' standard deviation."""

_FAR = 1e4
"""Where the search for an interval's upper end stops, over the items' standard deviation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CrossedEffects:
    """Variances of crossed random effects, and fixed effects beside them.

    Attributes:
        variances: Of each factor's levels; profile-likelihood intervals.
        residual: Variance of single items.
        fixed: The coefficients of the fixed effects; intervals of the normal law, with Student's
            tails of the scarcest factor's degrees of freedom.
        status: ``converged``; ``boundary: NAME`` where the variance of a factor is estimated as 0;
            else what went wrong, and then no number is to be trusted.
        n_items: How many.
    """

    variances: Mapping[str, Estimate]
    residual: float
    fixed: Mapping[str, Estimate]
    status: str
    n_items: int


def fit_crossed_effects(
    response: Float[np.ndarray, " N"],
    design: Float[np.ndarray, "N P"],
    factors: Mapping[str, Codes],
    *,
    names: Sequence[str],
    level: float = 0.95,
    unit: Unit = "none",
) -> CrossedEffects:
    """Fit fixed effects and one variance a factor by restricted maximum likelihood.

    Args:
        response: One number an item, finite.
        design: Of the fixed effects, a column each, with a column of ones.
        factors: By name, the level of each item: each level draws one effect from a normal law.
        names: Of the design's columns.
        level: Coverage of the intervals, in (0, 1).
        unit: Of the fixed effects.

    Raises:
        InputError: A factor has 1 level or one for each item, no more items than columns, a column
            that follows from others, or a response that the fixed effects explain exactly.
        ShapeError: Lengths differ.
    """
    if not len(response) == len(design) or len(names) != design.shape[1]:
        raise ShapeError(
            f"a fit needs a response for each of {len(design)} rows and a name for each of "
            f"{design.shape[1]} columns, got {len(response)} and {len(names)}"
        )
    problem = _Problem(response, design, factors)
    start = np.ones(len(factors))
    bounds = [(0.0, None)] * len(factors)
    found = minimize(problem.deviance, start, method="L-BFGS-B", bounds=bounds)
    best = np.asarray(found.x)
    notes = [] if found.success else [f"not converged: {found.message}"]
    if best.max() > _FAR:
        notes.append("items of equal levels hardly differ: the variances are not apart")
    at_zero = [name for name, x in zip(factors, best, strict=True) if x < _BOUNDARY]
    notes += [f"boundary: {', '.join(at_zero)}"] if at_zero else []
    fitted = problem.solve(best)
    limit = float(chi2.isf(1.0 - level, 1))
    variances = {}
    for k, name in enumerate(factors):
        ends, note = _profile(problem, best, k, limit)
        notes += [f"{name}: {note}"] if note else []
        value = float(best[k] ** 2 * fitted.residual)
        low, high = (end**2 * fitted.residual for end in ends)
        variances[name] = Estimate(
            value=value, low=min(low, value), high=max(high, value), level=level, unit="none",
            method="reml-profile", diagnostics={"n_levels": problem.n_levels[k]},
        )  # fmt: skip
    fixed = {
        name: student_estimate(
            float(fitted.coefficients[j]),
            math.sqrt(float(fitted.covariance[j, j])),
            df=min(problem.n_levels) - 1,
            level=level,
            unit=unit,
            method="reml",
        )
        for j, name in enumerate(names)
    }
    return CrossedEffects(
        variances=variances,
        residual=fitted.residual,
        fixed=fixed,
        status="; ".join(notes) or "converged",
        n_items=len(response),
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Solution:
    deviance: float
    residual: float
    coefficients: Float[np.ndarray, "P"]
    covariance: Float[np.ndarray, "P P"]


class _Problem:
    """Sums of products of the response, the fixed effects and the levels of the factors."""

    def __init__(
        self,
        response: Float[np.ndarray, " N"],
        design: Float[np.ndarray, "N P"],
        factors: Mapping[str, Codes],
    ) -> None:
        n_items, n_columns = design.shape
        blocks, self.n_levels = [], []
        for name, codes in factors.items():
            if len(codes) != n_items:
                raise ShapeError(f"{name!r} has {len(codes)} levels for {n_items} items")
            _, members = np.unique(np.asarray(codes), return_inverse=True)
            n = int(members.max(initial=-1)) + 1
            if not 1 < n < n_items:
                raise InputError(
                    f"a random effect needs more than 1 level and several items a level, got {n} "
                    f"of {name!r} for {n_items} items"
                )
            shape = (n_items, n)
            blocks.append(csr_matrix((np.ones(n_items), (np.arange(n_items), members)), shape))
            self.n_levels.append(n)
        if not factors or n_items <= n_columns or np.linalg.matrix_rank(design) < n_columns:
            raise InputError(
                f"a fit needs a factor and fixed effects that {n_items} items tell apart, got "
                f"{list(factors)!r} and {n_columns} columns"
            )
        left = response - design @ np.linalg.lstsq(design, response, rcond=None)[0]
        if float(left @ left) <= _EXACT * float(np.sum((response - response.mean()) ** 2)):
            raise InputError(
                "the fixed effects explain the response exactly; no variance is left to split"
            )
        z = sparse_hstack(blocks).tocsr()
        self.block = np.repeat(np.arange(len(blocks)), self.n_levels)
        self.zz = (z.T @ z).toarray()
        known = np.column_stack([design, response])
        self.z_known = np.asarray(z.T @ known)
        self.known = known.T @ known
        self.n_free = n_items - n_columns

    def solve(self, ratios: Float[np.ndarray, " F"]) -> _Solution:
        """Return the fit where each factor's standard deviation is so many times the items'."""
        scale = ratios[self.block]
        inner = scale[:, None] * self.zz * scale
        inner[np.diag_indices_from(inner)] += 1.0
        lower = cho_factor(inner, lower=True)
        half = solve_triangular(lower[0], scale[:, None] * self.z_known, lower=True)
        left = self.known - half.T @ half
        p = len(left) - 1
        outer = cho_factor(left[:p, :p], lower=True)
        beta = cho_solve(outer, left[:p, p])
        rest = float(left[p, p] - left[:p, p] @ beta)
        logs = float(np.sum(np.log(np.diag(lower[0]))) + np.sum(np.log(np.diag(outer[0]))))
        residual = rest / self.n_free
        return _Solution(
            deviance=2.0 * logs + self.n_free * math.log(residual),
            residual=residual,
            coefficients=beta,
            covariance=residual * cho_solve(outer, np.eye(p)),
        )

    def deviance(self, ratios: Float[np.ndarray, " F"]) -> float:
        return self.solve(ratios).deviance


def _profile(
    problem: _Problem, best: Float[np.ndarray, " F"], k: int, limit: float
) -> tuple[tuple[float, float], str]:
    """Return where the best deviance with factor k held fixed has grown by the limit."""
    others = [f for f in range(len(best)) if f != k]
    floor = problem.deviance(best)

    def excess(ratio: float) -> float:
        held = best.copy()
        held[k] = ratio
        if not others:
            return problem.deviance(held) - floor - limit

        def rest(x: Float[np.ndarray, " E"]) -> float:
            held[others] = x
            return problem.deviance(held)

        start = np.maximum(best[others], 0.05)
        found = minimize(rest, start, method="L-BFGS-B", bounds=[(0.0, None)] * len(others))
        return min(float(found.fun), rest(best[others])) - floor - limit

    low = 0.0
    if best[k] > _BOUNDARY and excess(0.0) > 0.0:
        low = float(brentq(excess, 0.0, best[k], xtol=_PRECISION, rtol=_PRECISION))
    high = max(2.0 * float(best[k]), 0.1)
    while excess(high) < 0.0:
        high *= 2.0
        if high > _FAR:
            return (low, high), "the interval has no upper end"
    return (low, float(brentq(excess, best[k], high, xtol=_PRECISION, rtol=_PRECISION))), ""
