"""Intervals for means over few clusters of items, five templates say, with no more than they tell.

A percentile bootstrap of five clusters is far too sure of itself. Student's law with one degree of
freedom fewer than clusters is about right where clusters are alike, and the wild bootstrap where
they are of unlike sizes or spreads. Unit: that of the values.
"""

import itertools
import math
from dataclasses import replace
from typing import Literal

import numpy as np
from jaxtyping import Float
from scipy.stats import t as student

from likely.core.estimate import Estimate, Unit
from likely.core.streams import generator
from likely.errors import InputError, ShapeError
from likely.stats.crossings import Codes

WildWeights = Literal["auto", "rademacher", "webb"]

FEW = 20
"""Below this number of clusters an estimate carries a note."""

_COARSE = 12
"""Below this number of clusters ``auto`` takes Webb's weights: signs alone have 2**G patterns."""

_ENUMERATED = 2**12
"""Up to so many patterns of weights are all tried."""

_POINTS = {
    "rademacher": (-1.0, 1.0),
    "webb": tuple(sign * math.sqrt(k / 2.0) for sign in (-1.0, 1.0) for k in (1, 2, 3)),
}

_STEPS = 40
"""Halvings of the search for an end, to 1e-12 of where it starts."""

_TIES = 1e-10
"""Relative difference up to which two statistics are equal: what rounding leaves of a tie."""


def few_note(n_clusters: int) -> dict[str, str]:
    """Return the ``note`` that goes with an interval over few clusters; nothing for many.

    >>> few_note(5)
    {'note': '5 clusters, fewer than 20: read the interval loosely'}
    """
    if n_clusters >= FEW:
        return {}
    return {"note": f"{n_clusters} clusters, fewer than {FEW}: read the interval loosely"}


def cluster_t(
    values: Float[np.ndarray, " N"],
    clusters: Codes,
    *,
    denominators: Float[np.ndarray, " N"] | None = None,
    level: float = 0.95,
    unit: Unit = "none",
) -> Estimate:
    """Estimate a mean or a ratio of sums with Student's interval over clusters.

    Args:
        values: One number an item; NaN where not defined: the item is left out and counted.
        clusters: The cluster of each item.
        denominators: Positive; the statistic is ``sum(values) / sum(denominators)``. By default 1.
        level: Coverage, in (0, 1).
        unit: Of the statistic.

    Returns:
        The estimate. Diagnostics: ``n_clusters``, ``n_items``, ``n_undefined``, ``df`` and, with
        fewer than 20 clusters, a ``note``.

    Raises:
        InputError: Fewer than 2 clusters with a defined value; infinite values; denominators that
            are not positive; a level out of range.
        ShapeError: Lengths differ.

    >>> found = cluster_t(np.array([1.0, 3.0]), ["a", "b"])
    >>> found.value, round(found.high - found.value, 3)
    (2.0, 12.706)
    """
    sums = _Sums.of(values, clusters, denominators, level)
    half = sums.error * float(student.isf((1.0 - level) / 2.0, sums.n - 1))
    return sums.estimate(sums.value - half, sums.value + half, level, unit, "cluster-t")


def wild_cluster_bootstrap(
    values: Float[np.ndarray, " N"],
    clusters: Codes,
    *,
    denominators: Float[np.ndarray, " N"] | None = None,
    weights: WildWeights = "auto",
    n_resamples: int = 1999,
    level: float = 0.95,
    unit: Unit = "none",
    seed: int = 0,
) -> Estimate:
    """Estimate a mean or a ratio of sums; the interval holds what a wild bootstrap cannot refuse.

    For a supposed value, what each cluster's sum differs from it is multiplied by a random weight
    of mean 0 and variance 1, and the t statistics of such data say how unusual the real one is. The
    interval ends where the p value falls below ``1 - level``.

    Args:
        values: As in `cluster_t`.
        clusters: As there.
        denominators: As there.
        weights: ``rademacher``: signs. ``webb``: six points, for fewer than a dozen clusters.
            ``auto``: by the number of clusters.
        n_resamples: Patterns of weights drawn, where there are more than 4096 in all; else every
            pattern is tried. At least 100.
        level: As there.
        unit: As there.
        seed: Of the random stream.

    Returns:
        The estimate. Diagnostics as there, and ``weights``, ``n_patterns``, ``seed``.

    Raises:
        InputError: As there, or the weights have too few patterns to refuse any value: signs on
            five clusters never give a p value below 1/16.
        ShapeError: As there.
    """
    if n_resamples < 100:
        raise InputError(f"at least 100 resamples are needed, got {n_resamples!r}")
    sums = _Sums.of(values, clusters, denominators, level)
    kind = weights
    if weights == "auto":
        kind = "webb" if sums.n < _COARSE else "rademacher"
    patterns = _patterns(kind, sums.n, n_resamples, seed)
    low, high = sums.value, sums.value
    if sums.error > 0.0:
        low, high = (sums.end(patterns, side, 1.0 - level) for side in (-1.0, 1.0))
    found = sums.estimate(low, high, level, unit, f"wild-cluster-{kind}")
    more: dict[str, float | int | str] = {
        "weights": kind, "n_patterns": len(patterns), "seed": seed,
    }  # fmt: skip
    return replace(found, diagnostics={**found.diagnostics, **more})


class _Sums:
    """Sums of values and of denominators in each cluster, and what follows from them."""

    def __init__(
        self, above: Float[np.ndarray, " G"], below: Float[np.ndarray, " G"], n_items: int, out: int
    ) -> None:
        self.above, self.below = above, below
        self.n, self.n_items, self.n_undefined = len(above), n_items, out
        self.value = float(above.sum() / below.sum())
        pull = (above - self.value * below) / below.sum()
        # Rounding alone must not make a spread where all clusters agree.
        tiny = _TIES * float(np.abs(above).sum() / below.sum())
        spread = math.sqrt(float(np.sum(pull**2)) * self.n / (self.n - 1))
        self.error = spread if spread > tiny else 0.0

    @classmethod
    def of(
        cls,
        values: Float[np.ndarray, " N"],
        clusters: Codes,
        denominators: Float[np.ndarray, " M"] | None,
        level: float,
    ) -> "_Sums":
        below = np.ones(len(values)) if denominators is None else denominators
        if not len(values) == len(clusters) == len(below):
            raise ShapeError(
                f"values, clusters and denominators have one entry an item, got lengths "
                f"{len(values)}, {len(clusters)} and {len(below)}"
            )
        if not 0.0 < level < 1.0:
            raise InputError(f"the level lies in (0, 1), got {level!r}")
        defined = ~np.isnan(values)
        if np.isinf(values).any():
            raise InputError("values are finite, or NaN where not defined; got an infinite one")
        if not (np.isfinite(below[defined]) & (below[defined] > 0.0)).all():
            raise InputError(f"denominators are positive, got {float(below[defined].min())!r}")
        names, members = np.unique(np.asarray(clusters)[defined], return_inverse=True)
        if len(names) < 2:
            raise InputError(f"at least 2 clusters with a defined value needed, got {len(names)}")
        above, below = (np.bincount(members, of[defined], len(names)) for of in (values, below))
        return cls(above, below, int(defined.sum()), int((~defined).sum()))

    def p_value(self, patterns: Float[np.ndarray, "S G"], supposed: float) -> float:
        """Return how often a pattern gives a t statistic as large as the real one."""
        total = float(self.below.sum())
        residual = self.above - supposed * self.below
        moved = patterns * residual
        shift = moved.sum(axis=1) / total
        left = moved - shift[:, None] * self.below
        error = np.sqrt(np.sum(left**2, axis=1) * self.n / (self.n - 1)) / total
        real = abs(self.value - supposed) / self.error
        # |t*| >= |t| without division, for errors of 0.
        return float(np.mean(np.abs(shift) >= real * error * (1.0 - _TIES)))

    def end(self, patterns: Float[np.ndarray, "S G"], side: float, alpha: float) -> float:
        """Return where, on one side of the value, the p value falls below alpha."""
        inside, step = 0.0, self.error
        while self.p_value(patterns, self.value + side * step) >= alpha:
            inside, step = step, 2.0 * step
            if step > self.error * 2.0**20:
                raise InputError(
                    f"these weights refuse no value at {1.0 - alpha:.3g}: {len(patterns)} patterns "
                    f"of {self.n} clusters are too few; take weights='webb' or cluster_t"
                )
        for _ in range(_STEPS):
            middle = (inside + step) / 2.0
            if self.p_value(patterns, self.value + side * middle) >= alpha:
                inside = middle
            else:
                step = middle
        return self.value + side * step

    def estimate(self, low: float, high: float, level: float, unit: Unit, method: str) -> Estimate:
        diagnostics: dict[str, float | int | str] = {
            "n_clusters": self.n,
            "n_items": self.n_items,
            "n_undefined": self.n_undefined,
            "df": self.n - 1,
            **few_note(self.n),
        }
        return Estimate(
            value=self.value, low=low, high=high, level=level, unit=unit, method=method,
            diagnostics=diagnostics,
        )  # fmt: skip


def _patterns(kind: str, n_clusters: int, n_resamples: int, seed: int) -> Float[np.ndarray, "S G"]:
    points = np.array(_POINTS[kind])
    if len(points) ** n_clusters <= _ENUMERATED:
        return np.array(list(itertools.product(points, repeat=n_clusters)))
    rng = generator(seed, "stats", "wild-cluster", kind)
    return np.asarray(rng.choice(points, size=(n_resamples, n_clusters)))
