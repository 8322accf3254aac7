"""Recombines the part of activations along a direction with the rest of others. Unit: nats.

With ``u = a d + b`` in whitened coordinates, the share of all pairs of an ``a`` and a ``b`` whose
sum makes a token win is the probability under the law in which both parts are independent. The
released code leaves the part along the direction in ``b`` and so counts it twice; here it comes
off, as the published formulas say.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Bool, Float, Int

from likely.core.logspace import logsumexp
from likely.rare.event import Event
from likely.rare.qld.cloud import Cloud, Contest
from likely.rare.qld.lines import Bounds, Lines
from likely.rare.qld.survival import Survival

PRESSING = 48
"""Rivals that bound all intervals first."""
SCOUTS = 128
"""Activations that are checked first, to learn which rivals bound the others."""
_LEAST, _MOST = 128, 1024  # activations that are checked at a time, doubling


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Split:
    """An event's direction, and the contests of its winners along it.

    Attributes:
        direction: Shape ``(d,)``, of length 1.
        distance: Standard deviations from the mean to the nearest point of the event.
        along: Shape ``(n,)``: the part of each activation along the direction.
        lines: One for each winner that can win.
        pressing: For each of them the rivals that bound it most tightly near that point.
    """

    direction: Float[np.ndarray, "d"]
    distance: float
    along: Float[np.ndarray, "n"]
    lines: tuple[Lines, ...]
    pressing: tuple[Int[np.ndarray, "_"], ...]

    def at_margin(self, easier: float) -> "Split":
        """Return the split of the event whose margin is less by so many nats."""
        lines = tuple(Lines(one.contest.eased(easier), self.direction) for one in self.lines)
        return replace(self, lines=lines)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Intervals:
    """Disjoint open intervals of positions along the direction, those without mass left out.

    Attributes:
        rows: Shape ``(m,)``: the activation whose rest each belongs to.
        low: Shape ``(m,)``.
        high: Shape ``(m,)``.
        n_checked: Activations that were checked against all rivals.
    """

    rows: Int[np.ndarray, "m"]
    low: Float[np.ndarray, "m"]
    high: Float[np.ndarray, "m"]
    n_checked: int

    def without(self, left_out: Bool[np.ndarray, "m"]) -> "Intervals":
        """Return those that are not left out."""
        kept = ~left_out
        return Intervals(
            rows=self.rows[kept], low=self.low[kept], high=self.high[kept],
            n_checked=self.n_checked,
        )  # fmt: skip


def split(cloud: Cloud, event: Event) -> Split | None:
    """Return the direction to the nearest point of an event; None where it has no point.

    Of several winners the one with the nearest point gives the direction.

    Raises:
        NumericalError: The nearest point cannot be certified.
    """
    found = []
    for winner in event.winners:
        contest = Contest.of(cloud, event, winner, above=event.above)
        nearest = contest.nearest()
        if nearest is not None:
            found.append((nearest.distance, contest, nearest))
    if not found:
        return None
    distance, contest, nearest = min(found, key=lambda one: one[0])
    direction = contest.heading(nearest)
    return Split(
        direction=direction,
        distance=distance,
        along=cloud.points @ direction,
        lines=tuple(Lines(one, direction) for _, one, _ in found),
        pressing=tuple(
            one.most_pressing(near.point, direction, PRESSING) for _, one, near in found
        ),
    )


def intervals(
    split: Split, points: Float[np.ndarray, "m d"], law: Survival, *, negligible: float = 0.0
) -> Intervals:
    """Return the intervals in which an event happens when activations are moved along a direction.

    Args:
        split: Of the event.
        points: Shape ``(m, d)``, whitened.
        law: Of positions; intervals without mass drop out.
        negligible: Intervals drop out too that together hold at most this share of all mass, so
            that not every activation must be checked against all rivals.
    """
    each = [
        _of_one(lines, pressing, points, law, negligible)
        for lines, pressing in zip(split.lines, split.pressing, strict=True)
    ]
    if len(each) == 1:
        return each[0]
    return _united(each, law)


def log_total(found: Intervals, law: Survival, n: int) -> float:
    """Return the log of the mean mass of intervals over ``n`` activations."""
    return float(logsumexp(law.log_mass(found.low, found.high))) - math.log(n)


def _of_one(
    lines: Lines,
    pressing: Int[np.ndarray, "k"],
    points: Float[np.ndarray, "m d"],
    law: Survival,
    negligible: float,
) -> Intervals:
    live = np.arange(len(points))
    bounds = Bounds(low=np.full(len(points), -np.inf), high=np.full(len(points), np.inf))
    masses = np.zeros(len(points))
    for rivals in (pressing[: len(pressing) // 4], pressing[len(pressing) // 4 :]):
        live, bounds, masses = _narrowed(lines, rivals, points, live, bounds, law)
    for _ in range(2):
        if len(live) > 4 * SCOUTS:
            scouts = live[np.linspace(0, len(live) - 1, SCOUTS).astype(np.int64)]
            free = Bounds(low=np.full(SCOUTS, -np.inf), high=np.full(SCOUTS, np.inf))
            _, binding = lines.sweep(points[scouts], free)
            live, bounds, masses = _narrowed(lines, binding, points, live, bounds, law)
    return _checked(lines, points, (live, bounds, masses), law, negligible)


def _narrowed(
    lines: Lines,
    rivals: Int[np.ndarray, "k"],
    points: Float[np.ndarray, "m d"],
    live: Int[np.ndarray, "l"],
    bounds: Bounds,
    law: Survival,
) -> tuple[Int[np.ndarray, "l2"], Bounds, Float[np.ndarray, "l2"]]:
    """Return the activations whose intervals still have mass after some more rivals."""
    bounds = bounds.within(lines.bounds(points[live], rivals))
    masses = law.log_mass(bounds.low, bounds.high)
    order = np.flatnonzero(masses > -np.inf)
    return live[order], bounds.at(order), masses[order]


def _checked(
    lines: Lines,
    points: Float[np.ndarray, "m d"],
    found: tuple[Int[np.ndarray, "l"], Bounds, Float[np.ndarray, "l"]],
    law: Survival,
    negligible: float,
) -> Intervals:
    """Return exact intervals, the largest first, until those left over are negligible."""
    live, bounds, masses = found
    order = np.argsort(-masses, kind="stable")
    live, bounds, masses = live[order], bounds.at(order), masses[order]
    rest = np.logaddexp.accumulate(masses[::-1])[::-1]  # what lies from each place on
    log_negligible = math.log(negligible) if negligible > 0.0 else -math.inf
    low, high, so_far, done = [np.array([])], [np.array([])], -math.inf, 0
    while done < len(live) and rest[done] > so_far + log_negligible:
        part = np.arange(done, min(done + min(max(done, _LEAST), _MOST), len(live)))
        exact, _ = lines.sweep(points[live[part]], bounds.at(part))
        low.append(exact.low)
        high.append(exact.high)
        so_far = np.logaddexp(so_far, logsumexp(law.log_mass(exact.low, exact.high)))
        done += len(part)
    lows, highs = np.concatenate(low), np.concatenate(high)
    kept = law.log_mass(lows, highs) > -math.inf
    return Intervals(rows=live[:done][kept], low=lows[kept], high=highs[kept], n_checked=done)


def _united(each: Sequence[Intervals], law: Survival) -> Intervals:
    """Return the union of the winners' intervals, row by row, as disjoint intervals."""
    rows, places = np.unique(np.concatenate([one.rows for one in each]), return_inverse=True)
    low = np.full((len(rows), len(each)), np.inf)
    high = np.full((len(rows), len(each)), -np.inf)
    start = 0
    for column, one in enumerate(each):
        at = places[start : start + len(one.rows)]
        low[at, column], high[at, column] = one.low, one.high
        start += len(one.rows)
    order = np.argsort(low, axis=1, kind="stable")
    low, high = np.take_along_axis(low, order, axis=1), np.take_along_axis(high, order, axis=1)
    reached = np.maximum.accumulate(high, axis=1)
    low[:, 1:] = np.maximum(low[:, 1:], reached[:, :-1])
    kept = law.log_mass(low.ravel(), high.ravel()) > -math.inf
    return Intervals(
        rows=np.repeat(rows, len(each))[kept], low=low.ravel()[kept], high=high.ravel()[kept],
        n_checked=max(one.n_checked for one in each),
    )  # fmt: skip
