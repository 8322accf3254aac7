"""Activations and output layer in whitened coordinates, and the tokens that must win. Nats."""

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Float, Int

from likely.rare.event import Event
from likely.rare.qld.direction import Nearest, nearest_point
from likely.rare.qld.whitening import fit_whitening

KEPT = 512
"""Activations, the first ones, whose float32 logits are kept; all others are made when needed."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Cloud:
    """Whitened activations, and the logits ``weight u + offset`` there.

    Attributes:
        points: Shape ``(n, d)``.
        weight: Shape ``(V, d)``.
        offset: Shape ``(V,)``.
        rough: The points in float32; with `logits` they find what is then computed in float64.
    """

    points: Float[np.ndarray, "n d"]
    weight: Float[np.ndarray, "V d"]
    offset: Float[np.ndarray, "V"]
    rough: Float[np.ndarray, "n d"] = field(init=False, repr=False)
    _layer: Float[np.ndarray, "d V"] = field(init=False, repr=False)
    _shift: Float[np.ndarray, "V"] = field(init=False, repr=False)
    _kept: Float[np.ndarray, "k V"] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "rough", self.points.astype(np.float32))
        object.__setattr__(self, "_layer", np.ascontiguousarray(self.weight.T, dtype=np.float32))
        object.__setattr__(self, "_shift", self.offset.astype(np.float32))
        object.__setattr__(self, "_kept", self._made(self.rough[:KEPT]))

    @classmethod
    def of(
        cls,
        activations: Float[np.ndarray, "n D"],
        weight: Float[np.ndarray, "V D"],
        bias: Float[np.ndarray, "V"],
        *,
        ridge: float,
    ) -> "Cloud":
        """Return activations and a layer that is linear in them, whitened.

        Args:
            activations: Shape ``(n, D)``, float64.
            weight: Shape ``(V, D)``.
            bias: Shape ``(V,)``.
            ridge: As in `fit_whitening`.

        Raises:
            InputError: The activations do not vary.
        """
        whitening = fit_whitening(activations, ridge=ridge)
        return cls(
            points=whitening.to_whitened(activations),
            weight=weight @ whitening.factor,
            offset=weight @ whitening.centre + bias,
        )

    def logits(self, rows: Int[np.ndarray, "m"]) -> Float[np.ndarray, "m V"]:
        """Return logits of some activations, float32, for the caller to change."""
        if len(rows) and int(rows.max()) < len(self._kept):
            return np.asarray(self._kept[rows])
        return self._made(self.rough[rows])

    def iter_logits(self, size: int) -> Iterator[tuple[slice, Float[np.ndarray, "b V"]]]:
        """Yield the logits of one block of activations after the other, float32.

        Args:
            size: Activations of a block. All blocks use one piece of memory: take from each what is
                wanted before the next.
        """
        memory = np.empty((min(size, len(self.points)), len(self.offset)), dtype=np.float32)
        for start in range(0, len(self.points), size):
            part = slice(start, min(start + size, len(self.points)))
            found = memory[: part.stop - start]
            np.matmul(self.rough[part], self._layer, out=found)
            found += self._shift
            yield part, found

    def _made(self, rough: Float[np.ndarray, "m d"]) -> Float[np.ndarray, "m V"]:
        found = rough @ self._layer
        found += self._shift
        return np.asarray(found)

    @property
    def rounding(self) -> float:
        """A bound on the rounding of float32 logits of the points."""
        longest = float(np.linalg.norm(self.weight, axis=1).max())
        farthest = float(np.linalg.norm(self.rough, axis=1).max())
        size = longest * farthest + float(np.abs(self.offset).max())
        return float(2.0 * (len(self.weight[0]) + 1) * np.finfo(np.float32).eps * size)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Contest:
    """One winner against its rivals, which are named by their ids.

    Attributes:
        cloud: Has the logits.
        winner: Its id.
        is_rival: Shape ``(V,)``: all tokens that are not among the event's winners.
        above: By how many nats it must lead.
    """

    cloud: Cloud
    winner: int
    is_rival: np.ndarray
    above: float

    @classmethod
    def of(cls, cloud: Cloud, event: Event, winner: int) -> "Contest":
        """Return the contest of one of an event's winners with all that are not among them."""
        is_rival = np.ones(len(cloud.offset), dtype=bool)
        is_rival[list(event.winners)] = False
        return cls(cloud=cloud, winner=winner, is_rival=is_rival, above=event.above)

    def slopes(self, rivals: Int[np.ndarray, "r"]) -> Float[np.ndarray, "r d"]:
        """Return how the winner's lead over some rivals grows with the point."""
        return np.asarray(self.cloud.weight[self.winner] - self.cloud.weight[rivals])

    def leads(self, rivals: Int[np.ndarray, "r"]) -> Float[np.ndarray, "r"]:
        """Return the winner's lead over some rivals at the mean, less what it must lead by."""
        offset = self.cloud.offset
        return np.asarray(offset[self.winner] - offset[rivals] - self.above)

    def growth(self, direction: Float[np.ndarray, "d"]) -> Float[np.ndarray, "V"]:
        """Return how its lead over every token grows along a direction."""
        along = self.cloud.weight @ direction
        return np.asarray(along[self.winner] - along)

    def nearest(self) -> Nearest | None:
        """Return the nearest point at which it wins, or None where it never does."""
        needs = np.where(self.is_rival, -self.leads(np.arange(len(self.is_rival))), -np.inf)
        return nearest_point(self.cloud.weight, self.winner, needs)

    def heading(self, nearest: Nearest) -> Float[np.ndarray, "d"]:
        """Return the unit vector to the nearest point; at the mean already, away from there."""
        if nearest.distance > 0.0:
            return np.asarray(nearest.point / nearest.distance)
        rivals = np.flatnonzero(self.is_rival)
        slopes, leads = self.slopes(rivals), self.leads(rivals)
        lengths = np.linalg.norm(slopes, axis=1)
        if not lengths.any():  # no rival ever comes nearer: any direction is as good
            return np.asarray(np.eye(1, slopes.shape[1])[0])
        lengths[lengths == 0.0] = np.nan
        border = int(np.nanargmin(leads / lengths))
        return np.asarray(slopes[border] / lengths[border])
