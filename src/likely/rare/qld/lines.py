"""Where a token wins when an activation is moved along a direction. Unit: standard deviations.

On the line through an activation every lead of a winner over a rival is linear in the position, so
it wins in an open interval. Each rival bounds it from one side by a number that is linear in the
activation. A few rivals bound it so tightly that most activations can be set aside; the rest are
checked against all rivals.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from likely.rare.qld.cloud import Contest

FLAT = 1e-12
"""Growth, as a share of the largest, below which a lead counts as constant along the direction."""
SWEEP = 1 << 18
"""Numbers that a sweep over all rivals holds at a time."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Bounds:
    """Intervals of activations, at the positions of the activations along a direction.

    Attributes:
        low: Shape ``(m,)``.
        high: Shape ``(m,)``; the interval is empty unless ``low < high``.
    """

    low: Float[np.ndarray, "m"]
    high: Float[np.ndarray, "m"]

    @classmethod
    def whole(cls, n: int) -> "Bounds":
        """Return the whole line, for ``n`` activations."""
        return cls(low=np.full(n, -np.inf), high=np.full(n, np.inf))

    @classmethod
    def joined(cls, parts: "Sequence[Bounds]") -> "Bounds":
        """Return all of some runs of intervals."""
        return cls(
            low=np.concatenate([one.low for one in parts]),
            high=np.concatenate([one.high for one in parts]),
        )

    def within(self, other: "Bounds") -> "Bounds":
        """Return the part of each interval that another has too."""
        return Bounds(low=np.maximum(self.low, other.low), high=np.minimum(self.high, other.high))

    def at(self, places: Int[np.ndarray, "k"] | slice) -> "Bounds":
        """Return those of some activations."""
        return Bounds(low=self.low[places], high=self.high[places])


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Moved:
    """Activations that are moved along a direction.

    Attributes:
        rows: Shape ``(m,)``: their places in the cloud.
        along: Shape ``(m,)``: their positions.
    """

    rows: Int[np.ndarray, "m"]
    along: Float[np.ndarray, "m"]

    def at(self, places: Int[np.ndarray, "k"] | slice) -> "Moved":
        """Return some of them."""
        return Moved(rows=self.rows[places], along=self.along[places])


class Lines:
    """The rivals of one contest along one direction.

    Args:
        contest: The winner and its rivals.
        direction: Shape ``(d,)``, of length 1.
    """

    def __init__(self, contest: Contest, direction: Float[np.ndarray, "d"]) -> None:
        growth = contest.growth(direction)
        edge = FLAT * float(np.abs(growth).max())
        self.contest = contest
        self.direction = direction
        self.growth = growth
        self.is_rising = contest.is_rival & (growth > edge)
        self.falling = np.flatnonzero(contest.is_rival & (growth < -edge))
        self._others = np.flatnonzero(~self.is_rising)
        self.pace = np.zeros(len(growth), dtype=np.float32)
        self.pace[self.is_rising] = 1.0 / growth[self.is_rising]
        self.flat = np.flatnonzero(contest.is_rival & (np.abs(growth) <= edge))

    def pressing(self, at: Float[np.ndarray, "d"], n: int) -> Int[np.ndarray, "k"]:
        """Return the rivals that bound the winning interval through a point most tightly."""
        cloud, winner = self.contest.cloud, self.contest.winner
        logits = cloud.weight @ at + cloud.offset
        leads = logits[winner] - logits - self.contest.above
        rising = np.flatnonzero(self.is_rising)
        upwards = rising[np.argsort(leads[rising] / self.growth[rising])[:n]]
        ends = leads[self.falling] / self.growth[self.falling]
        downwards = self.falling[np.argsort(-ends)[: n // 4]]
        return np.concatenate([upwards, downwards])

    def bounds(self, moved: Moved, rivals: Int[np.ndarray, "r"]) -> Bounds:
        """Return the intervals in which the winner beats some of its rivals.

        Args:
            moved: The activations.
            rivals: Ids.
        """
        points = self.contest.cloud.points[moved.rows]
        low, high = np.full(len(points), -np.inf), np.full(len(points), np.inf)
        rising, falling = rivals[self.is_rising[rivals]], np.intersect1d(rivals, self.falling)
        if len(rising):
            low = moved.along + self._ends(points, rising).max(axis=1)
        if len(falling):
            high = moved.along + self._ends(points, falling).min(axis=1)
        return Bounds(low=low, high=high).within(self._flat_bounds(points))

    def sweep(
        self, moved: Moved, so_far: Bounds, logits: Float[np.ndarray, "m V"] | None = None
    ) -> tuple[Bounds, list[Int[np.ndarray, "_"]]]:
        """Return the intervals in which the winner beats all rivals, and the rivals at their ends.

        The rivals that bound an interval are found in float32 and give its ends in float64, so an
        end is off by no more than the float32 rounding of the runner-up.

        Args:
            moved: The activations.
            so_far: Intervals against some of the rivals.
            logits: Shape ``(m, V)``, float32, of the activations, if they are at hand: they are
                eaten.
        """
        low, high, binding = so_far.low.copy(), so_far.high.copy(), [self.flat]
        cloud, size = self.contest.cloud, max(1, SWEEP // len(self.growth))
        for start in range(0, len(moved.rows), size):
            part = slice(start, start + size)
            rows, along = moved.rows[part], moved.along[part]
            upwards, downwards = self._tightest(
                cloud.logits(rows) if logits is None else logits[part]
            )
            points = cloud.points[rows]
            if upwards is not None:
                low[part] = np.maximum(low[part], along + self._end(points, upwards))
                binding.append(upwards)
            if downwards is not None:
                high[part] = np.minimum(high[part], along + self._end(points, downwards))
                binding.append(downwards)
        found = Bounds(low=low, high=high)
        if len(self.flat):
            found = found.within(self._flat_bounds(cloud.points[moved.rows]))
        return found, binding

    def _tightest(
        self, logits: Float[np.ndarray, "m V"]
    ) -> tuple[Int[np.ndarray, "m"] | None, Int[np.ndarray, "m"] | None]:
        """Return the rivals that bound each interval from below and from above; eats the logits."""
        logits -= logits[:, self.contest.winner, None] - np.float32(self.contest.above)
        upwards = downwards = None
        if len(self.falling):
            ends = logits[:, self.falling] / self.growth[self.falling].astype(np.float32)
            downwards = self.falling[ends.argmin(axis=1)]
        if self.is_rising.any():
            logits *= self.pace
            logits[:, self._others] = -np.inf
            upwards = logits.argmax(axis=1)
        return upwards, downwards

    def _ends(
        self, points: Float[np.ndarray, "m d"], rivals: Int[np.ndarray, "r"]
    ) -> Float[np.ndarray, "m r"]:
        """Return how far each point must move until it is level with each rival."""
        scale = -1.0 / self.growth[rivals]
        slopes = self.contest.slopes(rivals) * scale[:, None]
        return np.asarray(points @ slopes.T + self.contest.leads(rivals) * scale)

    def _end(
        self, points: Float[np.ndarray, "m d"], rivals: Int[np.ndarray, "m"]
    ) -> Float[np.ndarray, "m"]:
        """Return how far each point must move until it is level with its own rival."""
        leads = np.einsum("md,md->m", points, self.contest.slopes(rivals))
        return np.asarray(-(leads + self.contest.leads(rivals)) / self.growth[rivals])

    def _flat_bounds(self, points: Float[np.ndarray, "m d"]) -> Bounds:
        """Return all of the line where a winner beats rivals whose leads are constant on it."""
        leads = points @ self.contest.slopes(self.flat).T + self.contest.leads(self.flat)
        loses = (leads <= 0.0).any(axis=1)
        return Bounds(low=np.where(loses, np.inf, -np.inf), high=np.where(loses, -np.inf, np.inf))
