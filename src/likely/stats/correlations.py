"""Spearman's and Pearson's correlations over items, and their spread over clusters. Unit: none."""

from typing import Literal, get_args

import numpy as np
from jaxtyping import Float, Int

from likely.core.estimate import Estimate
from likely.core.streams import generator
from likely.errors import InputError, ShapeError, UnknownNameError
from likely.stats.crossings import Codes

_CELLS = 2**22
"""How many ranks one batch of items may hold: 32 MiB."""

_FLAT = 1e-12
"""A variance this small beside the squares it is made of is what rounding leaves of none."""

Kind = Literal["spearman", "pearson"]


def rank_correlation(x: Float[np.ndarray, " N"], y: Float[np.ndarray, " N"]) -> float | None:
    """Return Spearman's correlation, equals sharing their mean rank; None if a side is constant.

    Args:
        x: One number an item, finite.
        y: Of the same items, finite.

    >>> rank_correlation(np.array([1.0, 2.0, 3.0]), np.array([1.0, 8.0, 27.0]))
    1.0
    """
    alone = np.zeros(len(x), dtype=np.int64)
    found = float(_spearman(x, y, alone, np.ones((1, 1)))[0])
    return None if np.isnan(found) else found


def cluster_correlation(
    x: Float[np.ndarray, " N"],
    y: Float[np.ndarray, " N"],
    clusters: Codes,
    *,
    kind: Kind = "spearman",
    n_resamples: int = 1000,
    level: float = 0.95,
    seed: int = 0,
) -> Estimate | None:
    """Estimate a correlation, ranked anew in every resample of clusters.

    Args:
        x: One number an item, finite.
        y: Of the same items, finite.
        clusters: Of each item.
        kind: ``spearman`` or ``pearson``.
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
    if kind not in get_args(Kind):
        raise UnknownNameError.among("kind of correlation", kind, get_args(Kind))
    names, members = np.unique(np.asarray(clusters), return_inverse=True)
    n = len(names)
    if n < 2:
        raise InputError(f"a correlation over clusters needs at least 2, got {n}")
    rng = generator(seed, "stats", "cluster-correlation")
    draws = rng.multinomial(n, np.full(n, 1.0 / n), size=n_resamples)
    weights = np.vstack([np.ones(n), draws])
    correlate = _spearman if kind == "spearman" else _pearson
    found = correlate(x, y, members, weights)
    if np.isnan(found[0]):
        return None
    return percentile_estimate(
        float(found[0]), found[1:], level=level, n_clusters=n, n_items=len(x)
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


def _pearson(
    x: Float[np.ndarray, " N"],
    y: Float[np.ndarray, " N"],
    members: Int[np.ndarray, " N"],
    weights: Float[np.ndarray, "S G"],
) -> Float[np.ndarray, " S"]:
    """Return Pearson's correlation under each row of weights of clusters, NaN if undefined."""
    u, v = x - x.mean(), y - y.mean()
    columns = (np.ones(len(x)), u, v, u * u, v * v, u * v)
    n = weights.shape[1]
    by_cluster = np.stack([np.bincount(members, column, n) for column in columns], axis=1)
    total, *sums = (weights @ by_cluster).T
    mu, mv, uu, vv, uv = (column / total for column in sums)
    return _correlation(uv - mu * mv, uu - mu * mu, vv - mv * mv, uu, vv)


def _spearman(
    x: Float[np.ndarray, " N"],
    y: Float[np.ndarray, " N"],
    members: Int[np.ndarray, " N"],
    weights: Float[np.ndarray, "S G"],
) -> Float[np.ndarray, " S"]:
    """Return Spearman's correlation under each row of weights of clusters, NaN if undefined.

    The rank of an item is linear in the weights of clusters: how many items of each lie below it.
    """
    n = weights.shape[1]
    half = (weights @ np.bincount(members, minlength=n).astype(np.float64))[:, None] / 2.0
    below_x, below_y = _below(x, members, n), _below(y, members, n)
    sums = np.zeros((3, len(weights)))
    step = max(1, _CELLS // (len(weights) + n))
    for start in range(0, len(x), step):
        at = slice(start, start + step)
        rx = weights @ below_x[0][:, below_x[1][at]] - half
        ry = weights @ below_y[0][:, below_y[1][at]] - half
        w = weights[:, members[at]]
        sums += np.stack(
            [np.einsum("si,si,si->s", w, a, b) for a, b in ((rx, ry), (rx, rx), (ry, ry))]
        )
    floor = 2.0 * half[:, 0] ** 3
    return _correlation(sums[0], sums[1], sums[2], floor, floor)


def _below(
    values: Float[np.ndarray, " N"], members: Int[np.ndarray, " N"], n_clusters: int
) -> tuple[Float[np.ndarray, "G U"], Int[np.ndarray, " N"]]:
    """Return how many items of a cluster lie below each distinct value, equals by half."""
    distinct, which = np.unique(values, return_inverse=True)
    n = len(distinct)
    counts = np.bincount(members * n + which, minlength=n_clusters * n).reshape(n_clusters, n)
    return np.cumsum(counts, axis=1) - counts / 2.0, which


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
