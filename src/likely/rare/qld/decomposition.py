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
FEW = 12
"""Of them, those that bound all activations; the rest bound those that are left."""
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
        order: Shape ``(n,)``: places of activations by that part, the least first.
        lines: One for each winner that can win.
        pressing: For each of them the rivals that bound it most tightly near that point.
    """

    direction: Float[np.ndarray, "d"]
    distance: float
    along: Float[np.ndarray, "n"]
    order: Int[np.ndarray, "n"]
    lines: tuple[Lines, ...]
    pressing: tuple[Int[np.ndarray, "_"], ...]

    @property
    def values(self) -> Float[np.ndarray, "n"]:
        """The parts along the direction, ascending."""
        return np.asarray(self.along[self.order])

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
    along = cloud.points @ direction
    return Split(
        direction=direction,
        distance=distance,
        along=along,
        order=np.argsort(along, kind="stable"),
        lines=tuple(Lines(one, direction) for _, one, _ in found),
        pressing=tuple(
            one.most_pressing(near.point, direction, PRESSING) for _, one, near in found
        ),
    )


def intervals(
    split: Split, cloud: Cloud, law: Survival, *, first: int | None = None, negligible: float = 0.0
) -> Intervals:
    """Return the intervals in which an event happens when activations are moved along a direction.

    Args:
        split: Of the event.
        cloud: The activations.
        law: Of positions; intervals without mass drop out.
        first: How many of the activations, from the first on, are moved; all if None.
        negligible: Intervals drop out too that together hold at most this share of all mass, so
            that not every activation must be checked against all rivals.
    """
    moved = _Moved(
        points=cloud.points[:first], rough=cloud.rough[:first], along=split.along[:first], law=law
    )
    each = [
        _of_one(lines, pressing, moved, negligible)
        for lines, pressing in zip(split.lines, split.pressing, strict=True)
    ]
    return each[0] if len(each) == 1 else _united(each, law)


def log_total(found: Intervals, law: Survival, n: int) -> float:
    """Return the log of the mean mass of intervals over ``n`` activations."""
    return float(logsumexp(law.log_mass(found.low, found.high))) - math.log(n)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Moved:
    """Activations that are moved along a direction.

    Attributes:
        points: Shape ``(m, d)``.
        rough: Shape ``(m, d)``, float32.
        along: Shape ``(m,)``: their positions.
        law: Of the positions that they are moved to.
    """

    points: Float[np.ndarray, "m d"]
    rough: Float[np.ndarray, "m d"]
    along: Float[np.ndarray, "m"]
    law: Survival


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Live:
    """The activations whose intervals have mass as far as they are known.

    Attributes:
        rows: Shape ``(l,)``.
        bounds: Their intervals.
        masses: Shape ``(l,)``: log-probability of each, nats.
    """

    rows: Int[np.ndarray, "l"]
    bounds: Bounds
    masses: Float[np.ndarray, "l"]

    def at(self, order: Int[np.ndarray, "k"]) -> "_Live":
        """Return some of them."""
        return _Live(rows=self.rows[order], bounds=self.bounds.at(order), masses=self.masses[order])


def _of_one(
    lines: Lines, pressing: Int[np.ndarray, "k"], moved: _Moved, negligible: float
) -> Intervals:
    """Return the intervals of one winner."""
    rows = lines.may_win(moved.rough, moved.along, pressing[:FEW], moved.law.reach)
    live = _Live(rows=rows, bounds=Bounds.whole(len(rows)), masses=np.zeros(len(rows)))
    live = _narrowed(lines, pressing, moved, live)
    for _ in range(2):
        if len(live.rows) > 4 * SCOUTS:
            scouts = live.rows[np.linspace(0, len(live.rows) - 1, SCOUTS).astype(np.int64)]
            _, binding = lines.sweep(
                moved.points[scouts], moved.along[scouts], Bounds.whole(SCOUTS)
            )
            live = _narrowed(lines, binding, moved, live)
    return _checked(lines, moved, live, negligible)


def _narrowed(lines: Lines, rivals: Int[np.ndarray, "k"], moved: _Moved, live: _Live) -> _Live:
    """Return the activations whose intervals still have mass after some more rivals."""
    seen = lines.bounds(moved.points[live.rows], moved.along[live.rows], rivals)
    bounds = live.bounds.within(seen)
    masses = moved.law.log_mass(bounds.low, bounds.high)
    return _Live(rows=live.rows, bounds=bounds, masses=masses).at(
        np.flatnonzero(masses > -math.inf)
    )


def _checked(lines: Lines, moved: _Moved, live: _Live, negligible: float) -> Intervals:
    """Return exact intervals, the largest first, until those left over are negligible."""
    live = live.at(np.argsort(-live.masses, kind="stable"))
    rest = np.logaddexp.accumulate(live.masses[::-1])[::-1]  # what lies from each place on
    log_negligible = math.log(negligible) if negligible > 0.0 else -math.inf
    low, high, so_far, done = [np.array([])], [np.array([])], -math.inf, 0
    while done < len(live.rows) and rest[done] > so_far + log_negligible:
        part = np.arange(done, min(done + min(max(done, _LEAST), _MOST), len(live.rows)))
        rows = live.rows[part]
        exact, _ = lines.sweep(moved.points[rows], moved.along[rows], live.bounds.at(part))
        low.append(exact.low)
        high.append(exact.high)
        so_far = np.logaddexp(so_far, logsumexp(moved.law.log_mass(exact.low, exact.high)))
        done += len(part)
    lows, highs = np.concatenate(low), np.concatenate(high)
    kept = moved.law.log_mass(lows, highs) > -math.inf
    return Intervals(rows=live.rows[:done][kept], low=lows[kept], high=highs[kept], n_checked=done)


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
