"""A law of states given a group whose own law is known, such as the token read last. Unit: nats.

Each group has a centre of its own, and groups share a few shapes. Groups are drawn from a flatter
law than their own, and what is drawn is weighted back: an event may hang on a group that is seldom
seen, and particles must be able to begin there.
"""

from dataclasses import dataclass, field, replace

import numpy as np
from jaxtyping import Float, Int

from likely.rare.prior.protocol import FitRecord
from likely.rare.prior.student import draw_log_scales, log_scale_ratio

_SWITCH = 0.25
"""Share of the steps of the mixing numbers that propose another group."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupedPrior:
    """A group is drawn, then a state from the t law around the centre of its group.

    It has a latent form only (a Gaussian vector, the group and log lambda), for the kernel `aug`.

    Attributes:
        centres: Shape ``(G, D)``, of the groups.
        log_weights: Shape ``(G,)``, the law of the groups, nats, normalised.
        log_drawn: Shape ``(G,)``, the law that groups are drawn from, nats, normalised.
        shapes: Shape ``(G,)``, the number of each group's shape.
        factors: Shape ``(K, D, D)``, of the scale matrices.
        tails: Shape ``(K,)``, degrees of freedom, finite.
        power: What moves keep is the flatter law times this power of what a draw counts for: at 0
            that law itself, at 1 the groups' own.
        record: How it was fitted; None for a law that was given.
    """

    centres: Float[np.ndarray, "G D"]
    log_weights: Float[np.ndarray, " G"]
    log_drawn: Float[np.ndarray, " G"]
    shapes: Int[np.ndarray, " G"]
    factors: Float[np.ndarray, "K D D"]
    tails: Float[np.ndarray, " K"]
    power: float = 0.0
    record: FitRecord | None = field(default=None)

    def draw_gaussian(self, n: int, *, rng: np.random.Generator) -> Float[np.ndarray, "n D"]:
        """Return draws of the Gaussian part: a shape's own coordinates, were lambda 1.

        They are float32, as what scores the states is: twice as fast to draw and to multiply.
        """
        return rng.standard_normal((n, self.centres.shape[1]), dtype=np.float32)

    def draw_mixing(self, n: int, *, rng: np.random.Generator) -> Float[np.ndarray, "n 2"]:
        """Return draws of the group's number, by the flatter law, and of log lambda."""
        edges = np.cumsum(np.exp(self.log_drawn))
        group = np.searchsorted(edges / edges[-1], rng.random(n), side="right")
        scales = draw_log_scales(1, n, self._tails(group), rng=rng)[0]
        return np.stack([group.astype(np.float64), scales], axis=1)

    def move_mixing(
        self, mixing: Float[np.ndarray, "n 2"], *, step: float, rng: np.random.Generator
    ) -> tuple[Float[np.ndarray, "n 2"], Float[np.ndarray, " n"]]:
        """Return proposed groups and log lambdas, and the log of their ratio.

        A quarter of the proposals draw a group by the flatter law, and a log lambda from the law
        of its shape if that is another one; of all this the ratio keeps the power of the weights.
        The others take a random-walk step of log lambda, a step of 1 being about its spread.
        """
        fresh = self.draw_mixing(len(mixing), rng=rng)
        old, new = self._shape(mixing), self._shape(fresh)
        fresh[:, 1] = np.where(old == new, mixing[:, 1], fresh[:, 1])
        tails = self.tails[old]
        walked = mixing.copy()
        walked[:, 1] += step * np.sqrt(2.0 / tails) * rng.standard_normal(len(mixing))
        switch = rng.random(len(mixing)) < _SWITCH
        switched = self.power * (self.log_tilt(fresh) - self.log_tilt(mixing))
        ratio = np.where(switch, switched, log_scale_ratio(mixing[:, 1], walked[:, 1], tails))
        return np.where(switch[:, None], fresh, walked), ratio

    def assemble(
        self, gaussian: Float[np.ndarray, "n D"], mixing: Float[np.ndarray, "n 2"]
    ) -> Float[np.ndarray, "n D"]:
        """Return the states of a Gaussian part, a group and log lambda."""
        kind = gaussian.dtype
        scaled = gaussian * np.exp(-0.5 * mixing[:, 1:]).astype(kind)
        shape = self._shape(mixing)
        states = self.centres[mixing[:, 0].astype(np.int64)].astype(kind)
        for k, factor in enumerate(self.factors):
            rows = np.flatnonzero(shape == k)
            states[rows] += scaled[rows] @ factor.T.astype(kind)
        return states

    def log_tilt(self, mixing: Float[np.ndarray, "n 2"]) -> Float[np.ndarray, " n"]:
        """Return the log of what each particle counts for: its group's law over the flatter one."""
        return np.asarray((self.log_weights - self.log_drawn)[mixing[:, 0].astype(np.int64)])

    def tempered(self, power: float) -> "GroupedPrior":
        """Return the law whose moves keep another power of what a draw counts for."""
        return replace(self, power=power)

    def _shape(self, mixing: Float[np.ndarray, "n 2"]) -> Int[np.ndarray, " n"]:
        return np.asarray(self.shapes[mixing[:, 0].astype(np.int64)])

    def _tails(self, group: Int[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
        return np.asarray(self.tails[self.shapes[group]])
