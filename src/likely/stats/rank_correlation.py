"""Spearman's and Pearson's correlations of weighted items, and their spread over clusters.

Unit: none.
"""

from collections.abc import Callable

import numpy as np
from jaxtyping import Float

from likely.core.estimate import Estimate
from likely.core.streams import generator
from likely.errors import InputError, ShapeError
from likely.stats.crossings import Codes

_CELLS = 2**22
"""How many item weights one batch of resamples may hold: 32 MiB."""

_FLAT = 1e-12
"""A variance this small beside the squares it is made of is what rounding leaves of none."""

Correlation = Callable[
    [Float[np.ndarray, " N"], Float[np.ndarray, " N"], Float[np.ndarray, "S N"]],
    Float[np.ndarray, " S"],
]


def weighted_pearson(
    x: Float[np.ndarray, " N"], y: Float[np.ndarray, " N"], weights: Float[np.ndarray, "S N"]
) -> Float[np.ndarray, " S"]:
    """Return Pearson's correlation under each row of weights, NaN where a side does not vary.

    Args:
        x: One number an item.
        y: Of the same items.
        weights: Shape ``(S, N)``, not negative.
    """
    centred = np.stack([x - x.mean(), y - y.mean()], axis=1)
    u, v = centred.T
    total = weights.sum(axis=1)
    sums = weights @ np.stack([u, v, u * u, v * v, u * v], axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        mu, mv, uu, vv, uv = (sums / total[:, None]).T
        return _correlation(uv - mu * mv, uu - mu * mu, vv - mv * mv, uu, vv)


def weighted_spearman(
    x: Float[np.ndarray, " N"], y: Float[np.ndarray, " N"], weights: Float[np.ndarray, "S N"]
) -> Float[np.ndarray, " S"]:
    """Return Spearman's correlation under each row of weights; an item counts so many times.

    Args:
        x: One number an item.
        y: Of the same items.
        weights: Shape ``(S, N)``, not negative.

    >>> weighted_spearman(np.array([1., 2., 3.]), np.array([1., 4., 9.]), np.ones((1, 3))).tolist()
    [1.0]
    """
    half = weights.sum(axis=1, keepdims=True) / 2.0
    rx, ry = _midranks(x, weights) - half, _midranks(y, weights) - half
    xx, yy = (np.sum(weights * r * r, axis=1) for r in (rx, ry))
    floor = half[:, 0] ** 2 * weights.sum(axis=1)
    return _correlation(np.sum(weights * rx * ry, axis=1), xx, yy, floor, floor)


def cluster_correlation(
    x: Float[np.ndarray, " N"],
    y: Float[np.ndarray, " N"],
    clusters: Codes,
    *,
    correlation: Correlation = weighted_spearman,
    n_resamples: int = 1000,
    level: float = 0.95,
    seed: int = 0,
) -> Estimate | None:
    """Estimate a correlation, ranks and all anew in every resample of clusters.

    Args:
        x: One number an item, finite.
        y: Of the same items, finite.
        clusters: Of each item.
        correlation: `weighted_spearman` or `weighted_pearson`.
        n_resamples: At least 100.
        level: Coverage of the percentile interval, in (0, 1).
        seed: Of the random stream.

    Returns:
        The estimate, or None where one side does not vary, or not in most resamples. Diagnostics:
        ``n_clusters``, ``n_items``, ``n_resamples`` and ``n_empty``: resamples left out since a
        side did not vary.

    Raises:
        InputError: Fewer than 2 clusters, a number that is not finite, an option out of range.
        ShapeError: Lengths differ.
    """
    if not len(x) == len(y) == len(clusters):
        raise ShapeError(f"lengths differ: {len(x)}, {len(y)} and {len(clusters)} clusters")
    if not (np.isfinite(x).all() and np.isfinite(y).all()):
        raise InputError("a correlation needs finite numbers; leave out what is not defined")
    if n_resamples < 100 or not 0.0 < level < 1.0:
        raise InputError(
            f"at least 100 resamples and a level in (0, 1) are needed, got {n_resamples!r}, "
            f"{level!r}"
        )
    names, members = np.unique(np.asarray(clusters), return_inverse=True)
    n = len(names)
    if n < 2:
        raise InputError(f"a correlation over clusters needs at least 2, got {n}")
    value = float(correlation(x, y, np.ones((1, len(x))))[0])
    if np.isnan(value):
        return None
    rng = generator(seed, "stats", "cluster-correlation")
    draws = rng.multinomial(n, np.full(n, 1.0 / n), size=n_resamples).astype(np.float64)
    step = max(1, _CELLS // len(x))
    parts = [
        correlation(x, y, np.ascontiguousarray(draws[start : start + step][:, members]))
        for start in range(0, n_resamples, step)
    ]
    return percentile_estimate(
        value, np.concatenate(parts), level=level, n_clusters=n, n_items=len(x)
    )


def percentile_estimate(
    value: float,
    replicates: Float[np.ndarray, " S"],
    *,
    level: float,
    n_clusters: int,
    n_items: int,
) -> Estimate | None:
    """Return a number with the percentiles of those of its resamples that are defined.

    Args:
        value: The number.
        replicates: NaN where a resample does not define it.
        level: Coverage, in (0, 1).
        n_clusters: Drawn in each resample.
        n_items: How many.

    Returns:
        The estimate, or None where fewer than half of the resamples define it.
    """
    kept = replicates[~np.isnan(replicates)]
    if 2 * len(kept) < len(replicates):
        return None
    tail = (1.0 - level) / 2.0
    low, high = np.quantile(kept, (tail, 1.0 - tail))
    return Estimate(
        value=value, low=min(float(low), value), high=max(float(high), value), level=level,
        unit="none", method="cluster-bootstrap-percentile",
        diagnostics={
            "n_clusters": n_clusters, "n_items": n_items, "n_resamples": len(replicates),
            "n_empty": len(replicates) - len(kept),
        },
    )  # fmt: skip


def _midranks(
    values: Float[np.ndarray, " N"], weights: Float[np.ndarray, "S N"]
) -> Float[np.ndarray, "S N"]:
    """Return the rank of each item less a half, the mean one among equals."""
    order = np.argsort(values, kind="stable")
    _, starts, inverse = np.unique(values[order], return_index=True, return_inverse=True)
    grouped = np.add.reduceat(weights[:, order], starts, axis=1)
    middle = np.cumsum(grouped, axis=1) - grouped / 2.0
    place = np.empty_like(order)
    place[order] = inverse
    return np.asarray(middle[:, place])


def _correlation(
    xy: Float[np.ndarray, " S"],
    xx: Float[np.ndarray, " S"],
    yy: Float[np.ndarray, " S"],
    x_floor: Float[np.ndarray, " S"],
    y_floor: Float[np.ndarray, " S"],
) -> Float[np.ndarray, " S"]:
    varies = (xx > _FLAT * x_floor) & (yy > _FLAT * y_floor)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(varies, np.clip(xy / np.sqrt(xx * yy), -1.0, 1.0), np.nan)
