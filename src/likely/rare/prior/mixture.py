"""Mixtures of Gaussian or Student t laws of states. Unit: nats."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from likely.core.logspace import logsumexp
from likely.rare.prior.gaussian import gaussian_log_density
from likely.rare.prior.student import draw_log_scales, log_scale_ratio, student_log_density
from likely.rare.prior.whitened import WhitenedPrior
from likely.rare.prior.whitening import Whitening

_SWITCH = 0.25
"""Share of the steps of the mixing numbers that propose another component."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MixturePrior(WhitenedPrior):
    """A component is drawn by its weight, then a state from its law.

    All components live in the whitened coordinates of the whole sample. Each is a
    `Whitening` from those into coordinates of its own, and a tail; an infinite tail is a Gaussian.

    Attributes:
        log_weights: Shape ``(k,)``, nats, normalised.
        components: Between ``u`` and each component's own coordinates.
        tails: Shape ``(k,)``, degrees of freedom.
    """

    log_weights: Float[np.ndarray, " k"]
    components: tuple[Whitening, ...]
    tails: Float[np.ndarray, " k"]

    def log_density(self, u: Float[np.ndarray, "n d"]) -> Float[np.ndarray, " n"]:
        """Return the normalised log-density of whitened coordinates."""
        return logsumexp(self._joint(u)[0])

    def gradient(self, u: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "n d"]:
        """Return the gradient of `log_density`."""
        joint, inner = self._joint(u)
        shares = np.exp(joint - logsumexp(joint)[:, None])
        total = np.zeros_like(u)
        for k, (part, z) in enumerate(zip(self.components, inner, strict=True)):
            pull = shares[:, k]
            if np.isfinite(self.tails[k]):
                squared = np.einsum("nd,nd->n", z, z)
                pull = pull * (self.tails[k] + self.dim) / (self.tails[k] + squared)
            total -= (pull[:, None] * z) @ part.inverse
        return total

    def sample(self, n: int, *, rng: np.random.Generator) -> Float[np.ndarray, "n d"]:
        """Return independent draws, whitened."""
        return self._place(rng.standard_normal((n, self.dim)), self.draw_mixing(n, rng=rng))

    def draw_gaussian(self, n: int, *, rng: np.random.Generator) -> Float[np.ndarray, "n d"]:
        """Return draws of the Gaussian part: a component's own coordinates, were lambda 1."""
        return rng.standard_normal((n, self.dim))

    def draw_mixing(self, n: int, *, rng: np.random.Generator) -> Float[np.ndarray, "n 2"]:
        """Return draws of the component's number and of log lambda."""
        which = rng.choice(len(self.tails), size=n, p=np.exp(self.log_weights))
        scales = np.zeros(n)
        for k, tail in enumerate(self.tails):
            if np.isfinite(tail):
                drawn = draw_log_scales(n, 1, float(tail), rng=rng)[:, 0]
                scales = np.where(which == k, drawn, scales)
        return np.stack([which.astype(np.float64), scales], axis=1)

    def move_mixing(
        self, mixing: Float[np.ndarray, "n 2"], *, step: float, rng: np.random.Generator
    ) -> tuple[Float[np.ndarray, "n 2"], Float[np.ndarray, " n"]]:
        """Return proposed components and log lambdas, and the log of their ratio.

        A quarter of the proposals draw a component by its weight and a log lambda from its law,
        both of which cancel in the ratio. The others take a random-walk step of log lambda within
        the component, a step of 1 being about its spread there; within a Gaussian they change
        nothing.
        """
        fresh = self.draw_mixing(len(mixing), rng=rng)
        own = self.tails[mixing[:, 0].astype(np.int64)]
        spread = np.sqrt(2.0 / own)  # 0 for a Gaussian, whose log lambda is always 0
        walked = mixing[:, 1] + step * spread * rng.standard_normal(len(mixing))
        switch = rng.random(len(mixing)) < _SWITCH
        fixed = switch | np.isinf(own)
        tails = np.where(fixed, 1.0, own)
        ratio = np.where(fixed, 0.0, log_scale_ratio(mixing[:, 1], walked, tails))
        moved = np.stack([mixing[:, 0], walked], axis=1)
        return np.where(switch[:, None], fresh, moved), ratio

    def assemble(
        self, gaussian: Float[np.ndarray, "n d"], mixing: Float[np.ndarray, "n 2"]
    ) -> Float[np.ndarray, "n D"]:
        """Return the states of a Gaussian part, a component and log lambda."""
        return self.whitening.to_states(self._place(gaussian, mixing))

    def _place(
        self, z: Float[np.ndarray, "n d"], mixing: Float[np.ndarray, "n 2"]
    ) -> Float[np.ndarray, "n d"]:
        """Return whitened coordinates of the components' own coordinates."""
        which: Int[np.ndarray, " n"] = mixing[:, 0].astype(np.int64)
        scaled = z * np.exp(-0.5 * mixing[:, 1:])
        u = np.empty_like(z)
        for k, part in enumerate(self.components):
            rows = which == k
            u[rows] = part.to_states(scaled[rows])
        return u

    def _joint(
        self, u: Float[np.ndarray, "n d"]
    ) -> tuple[Float[np.ndarray, "n k"], list[Float[np.ndarray, "n d"]]]:
        """Return each component's log of weight times density, and its own coordinates."""
        inner = [part.to_whitened(u) for part in self.components]
        joint = [
            log_weight + component_log_density(np.einsum("nd,nd->n", z, z), part, float(tail))
            for log_weight, z, part, tail in zip(
                self.log_weights, inner, self.components, self.tails, strict=True
            )
        ]
        return np.stack(joint, axis=1), inner


def component_log_density(
    squared: Float[np.ndarray, " n"], part: Whitening, tail: float
) -> Float[np.ndarray, " n"]:
    """Return a component's log-density from squared lengths in its own coordinates."""
    if np.isinf(tail):
        return gaussian_log_density(squared, part.dim) - part.log_det
    return student_log_density(squared, part.dim, tail) - part.log_det
