"""Metrics between two ends, where a server lists only its likeliest tokens. Unit: see each key.

A token outside the list has at most the probability of the last one listed, and all of them
together at most what the list leaves. Whatever law the model has, each metric lies between the
ends given here; an option that is not listed is never taken for impossible.
"""

import math
from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
from jaxtyping import Bool, Float

from likely.calibration.access.polytope import (
    Feasible,
    entropy_interval,
    entropy_of,
    feasible,
    largest_total_variation,
    least_total_variation,
    line_distance_interval,
    share_interval,
)
from likely.calibration.tables import PartialRow, Targets
from likely.errors import InputError

_BITS = 1.0 / math.log(2.0)
_BOUNDED = ("pm", "pi1", "wd01", "wd_line_norm", "entropy_gap")
ENDS = tuple(f"{name}_{end}" for name in _BOUNDED for end in ("low", "high"))
"""The ends of metrics that `partial_metrics` gives, as numbers."""

KNOWN = ("is_outer", "is_resolved")
"""What it says of how well they are known, as booleans."""


Metrics: TypeAlias = dict[str, Float[np.ndarray, "N"] | Bool[np.ndarray, "N"]]


def partial_metrics(
    targets: Targets, rows: Sequence[PartialRow], *, tolerance: float = 0.01
) -> Metrics:
    """Return the ends of each metric of each item, the tightest that the rows allow.

    Args:
        targets: Of N items.
        rows: One an item, over its options.
        tolerance: How wide an interval of a probability may be to count as resolved.

    Returns:
        Arrays of shape ``(N,)``. ``pm_low`` and ``pm_high``: the mass of all options; ``pi1_``:
        the share of the first of two options, NaN with more; ``wd01_``: total variation distance
        from the ideal; ``wd_line_norm_``: distance on the line of numbers over its length, NaN for
        names; ``entropy_gap_``: bits above the entropy of the ideal. Where the options surely have
        no mass the last four are NaN. ``is_resolved``: ``pm``, ``pi1`` and ``wd01``, as far as they
        are defined, lie within ``tolerance``. ``is_outer``: more than `polytope.MAX_OPEN` options
        have an unknown mass, so ``wd01_high``, ``wd_line_norm_high`` and ``entropy_gap_low`` may
        lie further out than they need to; or the least distance on the line does.

    Raises:
        InputError: Rows and items differ in number, or a row and its options.

    >>> ideal, nowhere = np.array([0.7, 0.3]), np.full(2, np.nan)
    >>> one = Targets(offsets=np.array([0, 2]), ideal=ideal, values=nowhere)
    >>> listed, n_unlisted = np.array([0.62, 0.0]), np.array([1, 2])
    >>> row = PartialRow(listed=listed, n_unlisted=n_unlisted, cap=0.004, rest=0.03)
    >>> found = partial_metrics(one, [row])
    >>> [round(float(found[f"wd01_{end}"][0]), 6) for end in ("low", "high")]
    [0.287261, 0.3]
    """
    if len(rows) != targets.n_items:
        raise InputError(f"{targets.n_items} items need as many partial rows, got {len(rows)}")
    found: Metrics = {name: np.full(len(rows), np.nan) for name in ENDS}
    found["is_outer"] = np.zeros(len(rows), dtype=bool)
    for i, row in enumerate(rows):
        where = slice(int(targets.offsets[i]), int(targets.offsets[i + 1]))
        ideal = targets.ideal[where]
        if not len(ideal) == len(row.listed) == len(row.n_unlisted):
            raise InputError(f"item {i} has {len(ideal)} options, its partial row {row!r}")
        space = feasible(row)
        intervals, is_outer = _intervals(space, ideal, targets.values[where])
        found["is_outer"][i] = is_outer
        for name, (low, high) in intervals.items():
            found[f"{name}_low"][i], found[f"{name}_high"][i] = low, high
    widths = [found[f"{name}_high"] - found[f"{name}_low"] for name in ("pm", "pi1", "wd01")]
    found["is_resolved"] = np.all([~(width > tolerance) for width in widths], axis=0)
    return found


def _intervals(
    space: Feasible, ideal: Float[np.ndarray, "n"], values: Float[np.ndarray, "n"]
) -> tuple[dict[str, tuple[float, float]], bool]:
    """Return the ends of the metrics that are defined, and whether some may lie too far out."""
    intervals = {"pm": (min(1.0, space.known), min(1.0, space.known + space.budget))}
    if space.is_void:
        return intervals, False
    if len(ideal) == 2:
        low, high = share_interval(space, np.array([[True, False]]))
        intervals["pi1"] = pi1 = float(low[0]), float(high[0])
        intervals["wd01"] = _distance_of_share(pi1, float(ideal[0]))
    else:
        most = largest_total_variation(space, ideal)
        intervals["wd01"] = min(least_total_variation(space, ideal), most), most
    is_outer = space.corners is None
    if not np.isnan(values).any():
        order = np.argsort(values, kind="stable")
        gaps = np.diff(values[order])
        sorted_ = Feasible(low=space.low[order], extra=space.extra[order], budget=space.budget)
        nearest, farthest, is_tight = line_distance_interval(sorted_, ideal[order], gaps)
        reach = float(gaps.sum())
        if reach > 0:
            intervals["wd_line_norm"] = nearest / reach, farthest / reach
            is_outer = is_outer or not is_tight
    low_nats, high_nats = entropy_interval(space)
    own = entropy_of(ideal)
    intervals["entropy_gap"] = (low_nats - own) * _BITS, (high_nats - own) * _BITS
    return intervals, is_outer


def _distance_of_share(pi1: tuple[float, float], ideal: float) -> tuple[float, float]:
    low, high = pi1
    nearest = max(low - ideal, ideal - high, 0.0)
    return nearest, max(abs(low - ideal), abs(high - ideal))
