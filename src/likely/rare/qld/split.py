"""Directions to events, and the part of activations along them. Unit: standard deviations."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float, Int

from likely.rare.event import Event
from likely.rare.qld.cloud import Cloud, Contest
from likely.rare.qld.direction import Nearest
from likely.rare.qld.lines import Lines

PRESSING = 48
"""Rivals of each winner that bound intervals first."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Split:
    """An event's direction, and the contests of its winners along it.

    Attributes:
        direction: Shape ``(d,)``, of length 1.
        distance: Standard deviations from the mean to the nearest point of the event.
        along: Shape ``(n,)``: the part of each activation along the direction.
        order: Shape ``(n,)``: places of activations by that part, the least first.
        lines: One for each winner that can win.
        pressing: For each of them the rivals that bound it most tightly near its own such point.
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
        lines = tuple(
            Lines(replace(one.contest, above=one.contest.above - easier), self.direction)
            for one in self.lines
        )
        return replace(self, lines=lines)


def split(cloud: Cloud, events: Sequence[Event]) -> tuple[Split | None, ...]:
    """Return the direction to the nearest point of each event; None where it has no point.

    Of several winners the one with the nearest point gives the direction.

    Raises:
        NumericalError: A nearest point cannot be certified.
    """
    headed = [_headed(cloud, event) for event in events]
    directions = [one[0] for one in headed if one is not None]
    if not directions:
        return (None,) * len(events)
    parts = iter(np.array(directions, dtype=np.float32) @ cloud.rough.T)
    return tuple(None if one is None else _split(next(parts), *one) for one in headed)


def _headed(
    cloud: Cloud, event: Event
) -> tuple[Float[np.ndarray, "d"], list[tuple[Contest, Nearest]]] | None:
    """Return the direction, and the contests of winners that can win."""
    found = []
    for winner in event.winners:
        contest = Contest.of(cloud, event, winner)
        nearest = contest.nearest()
        if nearest is not None:
            found.append((contest, nearest))
    if not found:
        return None
    contest, nearest = min(found, key=lambda one: one[1].distance)
    return contest.heading(nearest), found


def _split(
    parts: Float[np.ndarray, "n"],
    direction: Float[np.ndarray, "d"],
    found: list[tuple[Contest, Nearest]],
) -> Split:
    along = parts.astype(np.float64)
    lines = tuple(Lines(contest, direction) for contest, _ in found)
    return Split(
        direction=direction,
        distance=min(nearest.distance for _, nearest in found),
        along=along,
        order=np.argsort(parts),
        lines=lines,
        pressing=tuple(
            one.pressing(nearest.point, PRESSING)
            for one, (_, nearest) in zip(lines, found, strict=True)
        ),
    )
