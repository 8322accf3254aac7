"""Where a token wins when an activation is moved along a direction. Unit: standard deviations.

On the line through an activation every lead of a winner over a rival is linear in the position, so
it wins in an open interval. Each rival bounds it from one side by a number that is linear in the
activation. A few rivals bound it so tightly that most activations can be set aside; the rest are
checked against all rivals.
"""

import math
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

    @classmethod
    def whole(cls, n: int) -> "Bounds":
        """Return the whole line, for ``n`` activations."""
        return cls(low=np.full(n, -np.inf), high=np.full(n, np.inf))

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
        is_flat = np.abs(growth) <= FLAT * np.abs(growth).max()
        self.contest = contest
        self.growth = growth
        self.flat = np.flatnonzero(is_flat)
        self.rising = np.flatnonzero((growth > 0.0) & ~is_flat)
        self.falling = np.flatnonzero((growth < 0.0) & ~is_flat)
        self._rough: dict[bool, tuple[Float[np.ndarray, "d r"], Float[np.ndarray, "r"]]] = {}

    def may_win(
        self,
        rough: Float[np.ndarray, "n d"],
        along: Float[np.ndarray, "n"],
        rivals: Int[np.ndarray, "r"],
        reach: tuple[float, float],
    ) -> Int[np.ndarray, "l"]:
        """Return the activations whose interval against some rivals may meet a range.

        Reading is in float32, with room for all its rounding, so that none is lost.

        Args:
            rough: Shape ``(n, d)``, float32.
            along: Shape ``(n,)``: their positions.
            rivals: Places of rivals.
            reach: Both ends of the range.
        """
        longest = math.sqrt(float(np.einsum("nd,nd->n", rough, rough).max()))
        slack = 2.0 * rough.shape[1] * float(np.finfo(np.float32).eps) * longest
        alive = np.ones(len(rough), dtype=bool)
        for kind, sign in ((self.rising, 1.0), (self.falling, -1.0)):
            chosen = rivals[np.isin(rivals, kind)]
            if len(chosen) == 0:
                continue
            slopes, leads = self._scaled(chosen)
            room = slack * np.linalg.norm(slopes, axis=1) + 1e-6 * np.abs(leads)
            ends = rough @ (sign * slopes).T.astype(np.float32)
            ends += (sign * leads - room).astype(np.float32)
            tightest = ends.max(axis=1)
            limit = reach[1] - along if sign > 0.0 else along - reach[0]
            alive &= tightest < limit
        return np.flatnonzero(alive)

    def bounds(
        self,
        points: Float[np.ndarray, "m d"],
        along: Float[np.ndarray, "m"],
        rivals: Int[np.ndarray, "r"],
    ) -> Bounds:
        """Return the intervals in which the winner beats some of its rivals.

        Args:
            points: Shape ``(m, d)``.
            along: Shape ``(m,)``: their positions.
            rivals: Places of rivals.
        """
        low, high = np.full(len(points), -np.inf), np.full(len(points), np.inf)
        rising, falling = (rivals[np.isin(rivals, kind)] for kind in (self.rising, self.falling))
        if len(rising):
            slopes, leads = self._scaled(rising)
            low = along + (points @ slopes.T + leads).max(axis=1)
        if len(falling):
            slopes, leads = self._scaled(falling)
            high = along + (points @ slopes.T + leads).min(axis=1)
        return Bounds(low=low, high=high).within(self._flat_bounds(points))

    def sweep(
        self, points: Float[np.ndarray, "m d"], along: Float[np.ndarray, "m"], so_far: Bounds
    ) -> tuple[Bounds, Int[np.ndarray, "k"]]:
        """Return the intervals in which the winner beats all rivals, and those that bound them.

        The rivals that bound an interval are found in float32 and give its ends in float64, so an
        end is off by no more than the float32 rounding of the runner-up.

        Args:
            points: Shape ``(m, d)``.
            along: Shape ``(m,)``: their positions.
            so_far: Intervals against some of the rivals.
        """
        found, binding = so_far.within(self._flat_bounds(points)), [self.flat]
        low, high = found.low.copy(), found.high.copy()
        size = max(1, SWEEP // len(self.growth))
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

    def _scaled(
        self, rivals: Int[np.ndarray, "r"]
    ) -> tuple[Float[np.ndarray, "r d"], Float[np.ndarray, "r"]]:
        """Return what gives how far a point must move until it is level with each rival."""
        scale = -1.0 / self.growth[rivals]
        return self.contest.slopes[rivals] * scale[:, None], self.contest.leads[rivals] * scale

    def _end(
        self, points: Float[np.ndarray, "m d"], rivals: Int[np.ndarray, "m"]
    ) -> Float[np.ndarray, "m"]:
        """Return how far each point must move until it is level with its own rival."""
        leads = np.einsum("md,md->m", points, self.contest.slopes[rivals])
        return np.asarray(-(leads + self.contest.leads[rivals]) / self.growth[rivals])

    def _rough_ends(
        self, points: Float[np.ndarray, "m d"], *, is_rising: bool
    ) -> Float[np.ndarray, "m r"]:
        """Return how far each point must move until it is level with each rival, by float32."""
        if is_rising not in self._rough:
            slopes, leads = self._scaled(self.rising if is_rising else self.falling)
            self._rough[is_rising] = slopes.T.astype(np.float32), leads.astype(np.float32)
        slopes, leads = self._rough[is_rising]
        ends = points @ slopes
        ends += leads
        return np.asarray(ends)

    def _flat_bounds(self, points: Float[np.ndarray, "m d"]) -> Bounds:
        """Return all of the line where a winner beats rivals whose leads are constant on it."""
        leads = points @ self.contest.slopes[self.flat].T + self.contest.leads[self.flat]
        loses = (leads <= 0.0).any(axis=1)
        return Bounds(low=np.where(loses, np.inf, -np.inf), high=np.where(loses, -np.inf, np.inf))
