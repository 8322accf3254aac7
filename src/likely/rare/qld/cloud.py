"""Activations and output layer in whitened coordinates, and the tokens that must win. Nats."""

from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Float, Int

from likely.rare.event import Event
from likely.rare.qld.direction import Nearest, nearest_border, nearest_point
from likely.rare.qld.whitening import fit_whitening


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Cloud:
    """Whitened activations, and the logits ``weight u + offset`` there.

    Attributes:
        points: Shape ``(n, d)``.
        weight: Shape ``(V, d)``.
        offset: Shape ``(V,)``.
        rough: The points in float32, to set most of them aside with.
    """

    points: Float[np.ndarray, "n d"]
    weight: Float[np.ndarray, "V d"]
    offset: Float[np.ndarray, "V"]
    rough: Float[np.ndarray, "n d"] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "rough", self.points.astype(np.float32))

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


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Contest:
    """One winner against its rivals.

    Attributes:
        slopes: Shape ``(R, d)``: how its lead over each rival grows with the point.
        leads: Shape ``(R,)``: its lead over each at the mean, less what it must lead by.
    """

    slopes: Float[np.ndarray, "R d"]
    leads: Float[np.ndarray, "R"]

    @classmethod
    def of(cls, cloud: Cloud, event: Event, winner: int, *, above: float) -> "Contest":
        """Return the contest of one of an event's winners with all that are not among them."""
        rivals = np.ones(len(cloud.offset), dtype=bool)
        rivals[list(event.winners)] = False
        return cls(
            slopes=cloud.weight[winner] - cloud.weight[rivals],
            leads=cloud.offset[winner] - cloud.offset[rivals] - above,
        )

    def eased(self, margin: float) -> "Contest":
        """Return the contest in which the winner needs so many nats less."""
        return Contest(slopes=self.slopes, leads=self.leads + margin)

    def nearest(self) -> Nearest | None:
        """Return the nearest point at which it wins, or None where it never does."""
        return nearest_point(self.slopes, -self.leads)

    def heading(self, nearest: Nearest) -> Float[np.ndarray, "d"]:
        """Return the unit vector to the nearest point; at the mean already, away from there."""
        if nearest.distance > 0.0:
            return np.asarray(nearest.point / nearest.distance)
        slope = self.slopes[nearest_border(self.slopes, -self.leads)]
        length = float(np.linalg.norm(slope))
        if length == 0.0:  # no rival ever comes nearer: any direction is as good
            return np.asarray(np.eye(1, self.slopes.shape[1])[0])
        return np.asarray(slope / length)

    def most_pressing(
        self, at: Float[np.ndarray, "d"], along: Float[np.ndarray, "d"], n: int
    ) -> Int[np.ndarray, "k"]:
        """Return the rivals that bound the winning interval through a point, the tightest first."""
        growth = self.slopes @ along
        with np.errstate(divide="ignore", invalid="ignore"):
            ends = np.where(growth != 0.0, -(self.slopes @ at + self.leads) / growth, np.nan)
        rising = np.argsort(np.where(growth > 0.0, -ends, np.inf))[:n]
        falling = np.argsort(np.where(growth < 0.0, ends, np.inf))[: n // 4]
        few = n // 8
        return np.concatenate([rising[:few], falling[:few], rising[few:], falling[few:]])
