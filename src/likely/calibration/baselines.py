"""What simple rules score on the same items: print them beside every model.

A baseline is a law over an item's options. Where a rule has nothing to say (the higher of two equal
numbers, an integer that ends in 7 where none does) its law is NaN, and items are left out. Unit:
prob.
"""

import re
from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd
from jaxtyping import Float, Int

from likely.calibration.metrics import METRICS, measure, measure_known
from likely.calibration.tables import Targets, exact_masses
from likely.core.streams import generator
from likely.errors import InputError, UnknownNameError
from likely.stats.ragged import law_of, log_sums, place_in_law

Law = Callable[[Targets], Float[np.ndarray, "M"]]

RANDOM: dict[str, float] = {
    "random_0.5": 0.5,
    "random_1": 1.0,
    "random_2": 2.0,
    "random_inf": float("inf"),
}
"""Name to temperature: shares are a softmax of normal draws over it; at ``inf`` they are equal."""

_HIGHER = re.compile(r"higher_(0?\.\d+)")

_OPTIONS_A_ROUND = 2**20
"""How many options one round of random laws may have, over items and draws: 8 MiB an array."""


def uniform(targets: Targets) -> Float[np.ndarray, "M"]:
    """Return equal shares."""
    return np.asarray((1.0 / targets.n_options)[targets.item_of])


def pick_higher(targets: Targets) -> Float[np.ndarray, "M"]:
    """Return all mass on the likeliest option, shared where several are; NaN if all are."""
    return _extreme(targets, targets.ideal)


def pick_lower(targets: Targets) -> Float[np.ndarray, "M"]:
    """Return all mass on the least likely option, shared where several are; NaN if all are."""
    return _extreme(targets, -targets.ideal)


def pick_first(targets: Targets) -> Float[np.ndarray, "M"]:
    """Return all mass on the option mentioned first, or the smallest of numeric ones."""
    return np.asarray(_rank(targets) == 0, dtype=np.float64)


def pick_second(targets: Targets) -> Float[np.ndarray, "M"]:
    """Return all mass on the second of two options; NaN for items with more."""
    second = (_rank(targets) == 1).astype(np.float64)
    return np.where((targets.n_options == 2)[targets.item_of], second, np.nan)


def pick_middle(targets: Targets) -> Float[np.ndarray, "M"]:
    """Return all mass on the middle one of numeric options, half each on two; NaN for names."""
    n = targets.n_options[targets.item_of]
    rank = _rank(targets)
    is_middle = (rank == (n - 1) // 2) | (rank == n // 2)
    share = np.where(n % 2 == 1, 1.0, 0.5)
    return np.where(targets.is_numeric[targets.item_of], is_middle * share, np.nan)


def pick_seven(targets: Targets) -> Float[np.ndarray, "M"]:
    """Return equal mass on the integers that end in 7; NaN for names, and where there are none."""
    ends = np.where(np.isnan(targets.values), 0.0, np.abs(targets.values)) % 10.0 == 7.0
    n = np.bincount(targets.item_of, ends, targets.n_items)
    has_any = (n > 0) & targets.is_numeric
    share = np.divide(1.0, n, out=np.full(len(n), np.nan), where=has_any)
    return np.asarray(ends * share[targets.item_of])


def higher(targets: Targets, share: float) -> Float[np.ndarray, "M"]:
    """Return ``share`` on the likelier of two options and the rest on the other; else NaN.

    Raises:
        InputError: A share outside [0, 1].
    """
    if not 0.0 <= share <= 1.0:
        raise InputError(f"a share lies in [0, 1], got {share!r}")
    picked = pick_higher(targets)
    law = np.where(picked > 0.0, share, 1.0 - share)
    return np.where((targets.n_options == 2)[targets.item_of] & ~np.isnan(picked), law, np.nan)


def best_constant(targets: Targets) -> float:
    """Return the share of the likelier option that, the same in all items, is closest to the ideal.

    It is the median of the likelier option's ideal, over items of two options that are not equally
    likely: no other constant has a smaller mean ``|pi - p|``.

    Raises:
        InputError: There is no such item.
    """
    two = np.flatnonzero(targets.n_options == 2)
    first = targets.ideal[targets.offsets[two]]
    second = targets.ideal[targets.offsets[two] + 1]
    likelier = np.maximum(first, second)[first != second]
    if not len(likelier):
        raise InputError("a best constant needs items of two options that are not equally likely")
    return float(np.median(likelier))


def higher_by_median(targets: Targets) -> Float[np.ndarray, "M"]:
    """Return the law of `best_constant`; NaN where no item has two options that differ."""
    picked = pick_higher(targets)
    if np.isnan(picked[(targets.n_options == 2)[targets.item_of]]).all():
        return np.full(len(targets.ideal), np.nan)
    return higher(targets, best_constant(targets))


BASELINES: dict[str, Law] = {
    "pick_higher": pick_higher,
    "pick_lower": pick_lower,
    "pick_first": pick_first,
    "pick_second": pick_second,
    "pick_middle": pick_middle,
    "pick_seven": pick_seven,
    "higher_0.7": lambda targets: higher(targets, 0.7),
    "best_constant": higher_by_median,
    "uniform": uniform,
}
"""Name to law. Besides these there is ``higher_0.x`` for any share, and those of `RANDOM`."""


def baseline_law(name: str, targets: Targets) -> Float[np.ndarray, "M"]:
    """Return the law of a baseline that draws nothing, over the options of all items.

    Args:
        name: Of `BASELINES`, or ``higher_0.x``.
        targets: The items.

    Returns:
        Shape ``(M,)``; NaN where the rule has nothing to say.

    Raises:
        UnknownNameError: No such baseline.

    >>> baseline_law("higher_0.6", Targets(
    ...     offsets=np.array([0, 2]), ideal=np.array([0.2, 0.8]), values=np.full(2, np.nan)))
    array([0.4, 0.6])
    """
    if name in BASELINES:
        return BASELINES[name](targets)
    share = _HIGHER.fullmatch(name)
    if share is None:
        raise UnknownNameError.among("baseline", name, [*BASELINES, *RANDOM])
    return higher(targets, float(share[1]))


def measure_baseline(
    name: str, targets: Targets, *, n_draws: int = 200, seed: int = 0
) -> dict[str, Float[np.ndarray, "N"]]:
    """Return every metric of a baseline for each item, as `measure` does of a model.

    Args:
        name: Of `BASELINES` or `RANDOM`, or ``higher_0.x``.
        targets: The items.
        n_draws: Random laws an item. What is returned is the mean of each metric over them, not the
            metric of their mean. Items with the same ideal law and values share their draws.
        seed: Of the random stream; each temperature has its own.

    Raises:
        UnknownNameError: No such baseline.
        InputError: Fewer than 1 draw.
    """
    if name not in RANDOM:
        with np.errstate(divide="ignore"):
            log_mass = np.log(baseline_law(name, targets))
        return measure_known(targets, log_mass)
    if n_draws < 1:
        raise InputError(f"at least 1 draw is needed, got {n_draws!r}")
    distinct, which = _distinct(targets)
    rng = generator(seed, "calibration", "baseline", name)
    means = _mean_over_draws(distinct, RANDOM[name], n_draws, rng)
    return {name: values[which] for name, values in means.items()}


def baseline_table(
    targets: Targets,
    names: Sequence[str] = (*BASELINES, *RANDOM),
    *,
    weights: Float[np.ndarray, "N"] | None = None,
    n_draws: int = 200,
    seed: int = 0,
) -> pd.DataFrame:
    """Return the mean of every metric over items, a row a baseline.

    Args:
        targets: The items, of one family and scale where these are to be told apart.
        names: Which baselines.
        weights: Of the items in the means; 1 each by default. The best constant is without them.
        n_draws: As in `measure_baseline`.
        seed: As in `measure_baseline`.

    Returns:
        Columns ``baseline``, ``n`` (items for which it has a law), ``n_infinite`` (of these, items
        of infinite ``kl``), and the metrics. A metric that is not defined for some of the items is
        averaged over the others; a mean that would be infinite is NaN: see ``n_infinite`` and
        ``kl_floor``.

    Raises:
        UnknownNameError: No such baseline.
        InputError: As `measure_baseline`, or not one weight an item.
    """
    weights = np.ones(targets.n_items) if weights is None else weights
    if len(weights) != targets.n_items:
        raise InputError(f"{targets.n_items} items need as many weights, got {len(weights)}")
    rows: list[dict[str, str | int | float]] = []
    for name in names:
        found = measure_baseline(name, targets, n_draws=n_draws, seed=seed)
        row: dict[str, str | int | float] = {
            "baseline": name,
            "n": int(np.sum(~np.isnan(found["pm"]))),
            "n_infinite": int(np.sum(np.isposinf(found["kl"]))),
        }
        rows.append(row | {metric: _mean(found[metric], weights) for metric in METRICS})
    return pd.DataFrame(rows, columns=["baseline", "n", "n_infinite", *METRICS])


def _mean(values: Float[np.ndarray, "N"], weights: Float[np.ndarray, "N"]) -> float:
    is_known = ~np.isnan(values)
    known = values[is_known]
    if not len(known) or not np.isfinite(known).all():
        return float("nan")
    return float(np.average(known, weights=weights[is_known]))


def _rank(targets: Targets) -> Int[np.ndarray, "M"]:
    """Return each option's place in its item: by value where all have one, else as mentioned."""
    place = place_in_law(targets.offsets)
    key = np.where(targets.is_numeric[targets.item_of], targets.values, place)
    rank = np.empty_like(place)
    rank[np.lexsort((key, targets.item_of))] = place
    return np.asarray(rank)


def _extreme(targets: Targets, key: Float[np.ndarray, "M"]) -> Float[np.ndarray, "M"]:
    """Return equal shares of the options with the largest key; NaN where all have it."""
    largest = np.maximum.reduceat(key, targets.offsets[:-1])
    is_largest = key == largest[targets.item_of]
    n = np.add.reduceat(is_largest, targets.offsets[:-1], dtype=np.int64)
    share = np.where(n == targets.n_options, np.nan, 1.0 / n)
    return np.asarray(is_largest * share[targets.item_of])


def _distinct(targets: Targets) -> tuple[Targets, Int[np.ndarray, "N"]]:
    """Return the items that differ in ideal or values, and which of them each item is."""
    which = np.empty(targets.n_items, dtype=np.int64)
    ideal, values = [], []
    lengths: list[int] = []
    for n in np.unique(targets.n_options).tolist():
        members = np.flatnonzero(targets.n_options == n)
        at = targets.offsets[members][:, None] + np.arange(n)
        rows = np.hstack([targets.ideal[at], targets.values[at]])
        as_bytes = rows.view(f"V{rows[0].nbytes}").ravel()  # so that NaN equals NaN
        _, first, inverse = np.unique(as_bytes, return_index=True, return_inverse=True)
        which[members] = len(lengths) + inverse
        lengths += [n] * len(first)
        ideal.append(rows[first, :n].ravel())
        values.append(rows[first, n:].ravel())
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    few = Targets(offsets=offsets, ideal=np.concatenate(ideal), values=np.concatenate(values))
    return few, which


def _mean_over_draws(
    targets: Targets, temperature: float, n_draws: int, rng: np.random.Generator
) -> dict[str, Float[np.ndarray, "N"]]:
    """Return the mean of each metric over random laws, in rounds of bounded size."""
    total = {name: np.zeros(targets.n_items) for name in METRICS}
    size = len(targets.ideal)
    left = n_draws
    while left:
        now = min(left, max(1, _OPTIONS_A_ROUND // size))
        left -= now
        copies = _repeat(targets, now)
        log_mass = rng.standard_normal(now * size) / temperature
        log_mass -= log_sums(log_mass, copies.offsets)[law_of(copies.offsets)]
        found = measure(copies, exact_masses(copies.offsets, log_mass))
        for name, values in found.items():
            total[name] += values.reshape(now, -1).sum(axis=0)
    return {name: values / n_draws for name, values in total.items()}


def _repeat(targets: Targets, times: int) -> Targets:
    starts = targets.offsets[:-1] + np.arange(times)[:, None] * len(targets.ideal)
    return Targets(
        offsets=np.concatenate([starts.ravel(), [times * len(targets.ideal)]]),
        ideal=np.tile(targets.ideal, times),
        values=np.tile(targets.values, times),
    )
