"""Intervals for means and ratios over clusters of items, by resampling whole clusters."""

import math
from collections.abc import Callable, Sequence
from typing import Literal, get_args

import numpy as np
from jaxtyping import Float, Int
from scipy.stats import norm
from scipy.stats import t as student

from likely.core.estimate import Estimate, Unit
from likely.core.streams import generator
from likely.errors import InputError, ShapeError, UnknownNameError

Statistic = Callable[[Float[np.ndarray, "S N"]], Float[np.ndarray, " S"]]
Interval = Literal["expanded", "percentile", "bca"]

_CELLS = 2**24
"""How many item weights one batch of resamples may hold: 128 MiB."""


def cluster_bootstrap(
    values: Float[np.ndarray, " N"],
    clusters: Sequence[str | int] | Int[np.ndarray, " N"],
    *,
    denominators: Float[np.ndarray, " N"] | None = None,
    statistic: Literal["mean"] | Statistic = "mean",
    interval: Interval = "expanded",
    n_resamples: int = 2000,
    level: float = 0.95,
    unit: Unit = "none",
    seed: int = 0,
) -> Estimate:
    """Estimate a mean or a ratio of sums, with an interval for the drawing of clusters.

    Items of one cluster (made of one seed word, say) are not independent, so clusters are drawn
    with replacement and bring all their items. For a paired comparison of two models, pass the
    differences of their values.

    Args:
        values: One number an item.
        clusters: The cluster of each item.
        denominators: Positive; the statistic is then ``sum(values) / sum(denominators)``, such as
            bits earned over bits. By default 1 each: the mean over items.
        statistic: Instead of these, a function of item weights, shape (S, N), each row how often
            every item was drawn, that returns a number a row. All ones give the estimate itself.
        interval: ``percentile``; ``expanded``: percentiles moved out so that for a mean of few
            clusters the interval is as wide as Student's; ``bca``: bias-corrected and accelerated.
        n_resamples: At least 100.
        level: Coverage, in (0, 1).
        unit: Of the statistic.
        seed: Of the random stream.

    Returns:
        The estimate; its ends are moved to the value itself where rounding or a skewed law would
        leave it outside. Diagnostics: ``n_clusters``, ``n_items``, ``n_resamples``.

    Raises:
        InputError: Fewer than 2 clusters; values that are not finite, denominators that are not
            positive; an option out of range.
        ShapeError: Arrays of different lengths.

    Sources:
        Efron (1987), "Better bootstrap confidence intervals", for ``bca``. Hesterberg (2015), "What
        teachers should know about the bootstrap", for ``expanded``.

    >>> estimate = cluster_bootstrap(np.array([0.0, 1.0, 1.0, 2.0]), ["a", "a", "b", "b"])
    >>> estimate.value, estimate.low <= 0.5, estimate.high >= 1.5
    (1.0, True, True)
    """
    names, members = np.unique(np.asarray(clusters), return_inverse=True)
    sums = _check(values, members, denominators, len(names))
    check_resampling(n_resamples, level)
    if interval not in get_args(Interval):
        raise UnknownNameError.among("interval", interval, get_args(Interval))
    rng = generator(seed, "stats", "cluster-bootstrap")
    draws = rng.multinomial(len(names), np.full(len(names), 1.0 / len(names)), size=n_resamples)
    without = np.ones((len(names), len(names))) - np.eye(len(names))
    everything = np.ones((1, len(names)))

    def evaluate(weights: Float[np.ndarray, "S G"]) -> Float[np.ndarray, " S"]:
        if callable(statistic):
            return _by_items(statistic, weights, members)
        return np.asarray((weights @ sums[0]) / (weights @ sums[1]))

    value = float(evaluate(everything)[0])
    replicates = evaluate(draws.astype(np.float64))
    if not np.isfinite(replicates).all():
        raise InputError("the statistic of a resample is not finite; every cluster must allow one")
    tail = (1.0 - level) / 2.0
    tails = (tail, 1.0 - tail)
    if interval == "expanded":
        tails = expanded_tails(tails, len(names))
    elif interval == "bca":
        tails = _bca(tails, value, replicates, evaluate(without))
    low, high = np.quantile(replicates, tails)
    return Estimate(
        value=value,
        low=min(float(low), value),
        high=max(float(high), value),
        level=level,
        unit=unit,
        method=f"cluster-bootstrap-{interval}",
        diagnostics={
            "n_clusters": len(names),
            "n_items": len(members),
            "n_resamples": n_resamples,
        },
    )


def _check(
    values: Float[np.ndarray, " N"],
    members: Int[np.ndarray, " M"],
    denominators: Float[np.ndarray, " K"] | None,
    n_clusters: int,
) -> Float[np.ndarray, "2 G"]:
    """Return the sums of values and of denominators in each cluster."""
    below = np.ones(len(values)) if denominators is None else denominators
    if not len(values) == len(members) == len(below):
        raise ShapeError(
            f"values, clusters and denominators have one entry an item, got lengths "
            f"{len(values)}, {len(members)} and {len(below)}"
        )
    if n_clusters < 2:
        raise InputError(f"a bootstrap needs at least 2 clusters, got {n_clusters}")
    if not np.isfinite(values).all():
        raise InputError("values are finite; leave out or score otherwise what is not")
    if not (np.isfinite(below).all() and (below > 0.0).all()):
        raise InputError(f"denominators are positive, got a minimum of {float(np.min(below))!r}")
    return np.stack([np.bincount(members, values, n_clusters) for values in (values, below)])


def check_resampling(n_resamples: int, level: float) -> None:
    """Raise unless there are at least 100 resamples and the level lies in (0, 1).

    Raises:
        InputError: One is out of range.
    """
    if n_resamples < 100:
        raise InputError(f"at least 100 resamples are needed, got {n_resamples!r}")
    if not 0.0 < level < 1.0:
        raise InputError(f"the level lies in (0, 1), got {level!r}")


def _by_items(
    statistic: Statistic, weights: Float[np.ndarray, "S G"], members: Int[np.ndarray, " N"]
) -> Float[np.ndarray, " S"]:
    step = max(1, _CELLS // len(members))
    parts = [
        statistic(np.ascontiguousarray(weights[start : start + step][:, members]))
        for start in range(0, len(weights), step)
    ]
    return np.concatenate(parts)


def expanded_tails(tails: tuple[float, float], n_clusters: int) -> tuple[float, float]:
    """Return tails moved out so that an interval of few clusters is as wide as Student's."""
    # A bootstrap law of a mean is too narrow by sqrt((G - 1) / G), and normal where it ought to
    # have Student's tails.
    widen = math.sqrt(n_clusters / (n_clusters - 1))
    low, high = (float(norm.cdf(widen * student.ppf(tail, n_clusters - 1))) for tail in tails)
    return low, high


def _bca(
    tails: tuple[float, float],
    value: float,
    replicates: Float[np.ndarray, " S"],
    jackknife: Float[np.ndarray, " G"],
) -> tuple[float, float]:
    if np.ptp(replicates) == 0.0:
        return tails
    # Ties count half, and the share is kept off 0 and 1 by half a resample.
    share = float(np.mean(replicates < value) + np.mean(replicates == value) / 2.0)
    half = 0.5 / len(replicates)
    bias = float(norm.ppf(min(max(share, half), 1.0 - half)))
    lean = jackknife.mean() - jackknife
    spread = float(np.sum(lean**2))
    skew = float(np.sum(lean**3)) / (6.0 * spread**1.5) if spread > 0.0 else 0.0
    shifted = [bias + float(norm.ppf(tail)) for tail in tails]
    low, high = (float(norm.cdf(bias + z / (1.0 - skew * z))) for z in shifted)
    return low, high
