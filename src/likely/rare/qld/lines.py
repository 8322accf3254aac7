"""Where a token wins when an activation is moved along a direction. Unit: standard deviations.

On the line through an activation every lead of a winner over a rival is linear in the position, so
it wins in an open interval. Each rival bounds it from one side by a number that is linear in the
activation. A few rivals bound it so tightly that most activations can be set aside; the rest are
checked against all rivals.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from likely.rare.qld.cloud import Contest

FLAT = 1e-12
"""Growth, as a share of the largest, below which a lead counts as constant along the direction."""
SWEEP = 1 << 21
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

    def within(self, other: "Bounds") -> "Bounds":
        """Return the part of each interval that another has too."""
        return Bounds(low=np.maximum(self.low, other.low), high=np.minimum(self.high, other.high))

    def at(self, rows: Int[np.ndarray, "k"]) -> "Bounds":
        """Return those of some activations."""
        return Bounds(low=self.low[rows], high=self.high[rows])


class Lines:
    """The rivals of one contest along one direction.

    Args:
        contest: The winner and its rivals.
        direction: Shape ``(d,)``, of length 1.
    """

    def __init__(self, contest: Contest, direction: Float[np.ndarray, "d"]) -> None:
        growth = contest.slopes @ direction
        flat = np.abs(growth) <= FLAT * np.abs(growth).max()
        self.direction = direction
        self.contest = contest
        self.growth = growth
        self.flat = np.flatnonzero(flat)
        self.rising = np.flatnonzero((growth > 0.0) & ~flat)
        self.falling = np.flatnonzero((growth < 0.0) & ~flat)
        self._rough: dict[bool, tuple[Float[np.ndarray, "d r"], Float[np.ndarray, "r"]]] = {}

    def bounds(self, points: Float[np.ndarray, "m d"], rivals: Int[np.ndarray, "r"]) -> Bounds:
        """Return the intervals in which the winner beats some of its rivals, float64."""
        found = Bounds(low=np.full(len(points), -np.inf), high=np.full(len(points), np.inf))
        along = points @ self.direction
        for is_rising, kind in ((True, self.rising), (False, self.falling)):
            chosen = np.intersect1d(rivals, kind)
            if len(chosen) == 0:
                continue
            ends = self._ends(points, chosen)
            if is_rising:
                found = Bounds(low=along + ends.max(axis=1), high=found.high)
            else:
                found = Bounds(low=found.low, high=along + ends.min(axis=1))
        return found.within(self._flat_bounds(points, np.intersect1d(rivals, self.flat)))

    def sweep(
        self, points: Float[np.ndarray, "m d"], so_far: Bounds
    ) -> tuple[Bounds, Int[np.ndarray, "k"]]:
        """Return the intervals in which the winner beats all rivals, and those that bound them.

        The rivals that bound an interval are found in float32 and give its ends in float64, so an
        end is off by no more than the float32 rounding of the runner-up.

        Args:
            points: Shape ``(m, d)``.
            so_far: Intervals against some of the rivals.
        """
        found, binding = so_far.within(self._flat_bounds(points, self.flat)), [self.flat]
        along = points @ self.direction
        size = max(1, SWEEP // len(self.growth))
        low, high = found.low.copy(), found.high.copy()
        for start in range(0, len(points), size):
            part = slice(start, start + size)
            rough = points[part].astype(np.float32)
            if len(self.rising):
                at = self.rising[self._rough_ends(rough, is_rising=True).argmax(axis=1)]
                low[part] = np.maximum(low[part], along[part] + self._end(points[part], at))
                binding.append(np.unique(at))
            if len(self.falling):
                at = self.falling[self._rough_ends(rough, is_rising=False).argmin(axis=1)]
                high[part] = np.minimum(high[part], along[part] + self._end(points[part], at))
                binding.append(np.unique(at))
        return Bounds(low=low, high=high), np.unique(np.concatenate(binding))

    def _ends(
        self, points: Float[np.ndarray, "m d"], rivals: Int[np.ndarray, "r"]
    ) -> Float[np.ndarray, "m r"]:
        """Return how far each point must move until it is level with each rival."""
        scale = -1.0 / self.growth[rivals]
        slopes = self.contest.slopes[rivals] * scale[:, None]
        return np.asarray(points @ slopes.T + self.contest.leads[rivals] * scale)

    def _end(
        self, points: Float[np.ndarray, "m d"], rivals: Int[np.ndarray, "m"]
    ) -> Float[np.ndarray, "m"]:
        """Return how far each point must move until it is level with its own rival."""
        leads = np.einsum("md,md->m", points, self.contest.slopes[rivals])
        return np.asarray(-(leads + self.contest.leads[rivals]) / self.growth[rivals])

    def _rough_ends(
        self, points: Float[np.ndarray, "m d"], *, is_rising: bool
    ) -> Float[np.ndarray, "m r"]:
        if is_rising not in self._rough:
            rivals = self.rising if is_rising else self.falling
            scale = (-1.0 / self.growth[rivals]).astype(np.float32)
            slopes = self.contest.slopes[rivals].astype(np.float32) * scale[:, None]
            leads = self.contest.leads[rivals].astype(np.float32) * scale
            self._rough[is_rising] = (np.ascontiguousarray(slopes.T), leads)
        slopes, leads = self._rough[is_rising]
        ends = points @ slopes
        ends += leads
        return np.asarray(ends)

    def _flat_bounds(
        self, points: Float[np.ndarray, "m d"], rivals: Int[np.ndarray, "r"]
    ) -> Bounds:
        """Return all of the line where a winner beats rivals whose leads are constant on it."""
        leads = points @ self.contest.slopes[rivals].T + self.contest.leads[rivals]
        loses = (leads <= 0.0).any(axis=1)
        return Bounds(low=np.where(loses, np.inf, -np.inf), high=np.where(loses, -np.inf, np.inf))
