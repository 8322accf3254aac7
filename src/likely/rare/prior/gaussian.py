"""A Gaussian law of states. Unit: nats."""

import math
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from likely.rare.prior.options import FitOptions, prepared
from likely.rare.prior.protocol import FitRecord
from likely.rare.prior.whitened import WhitenedPrior
from likely.rare.prior.whitening import cholesky_whitening, covariance


@dataclass(frozen=True, slots=True, kw_only=True)
class GaussianPrior(WhitenedPrior):
    """States ``centre + factor u`` with ``u`` standard normal."""

    def log_density(self, u: Float[np.ndarray, "n d"]) -> Float[np.ndarray, " n"]:
        """Return the normalised log-density of whitened coordinates."""
        return gaussian_log_density(np.einsum("nd,nd->n", u, u), self.dim)

    def gradient(self, u: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "n d"]:
        """Return the gradient of `log_density`."""
        return -u

    def sample(self, n: int, *, rng: np.random.Generator) -> Float[np.ndarray, "n d"]:
        """Return independent draws, whitened."""
        return rng.standard_normal((n, self.dim))

    def draw_gaussian(self, n: int, *, rng: np.random.Generator) -> Float[np.ndarray, "n D"]:
        """Return draws of the Gaussian part: states less their centre."""
        return np.asarray(self.sample(n, rng=rng) @ self.whitening.factor.T)

    def draw_mixing(self, n: int, *, rng: np.random.Generator) -> Float[np.ndarray, "n 0"]:
        """Return no mixing numbers: a Gaussian has none."""
        return np.empty((n, 0))

    def move_mixing(
        self, mixing: Float[np.ndarray, "n 0"], *, step: float, rng: np.random.Generator
    ) -> tuple[Float[np.ndarray, "n 0"], Float[np.ndarray, " n"]]:
        """Return the mixing numbers as they are."""
        return mixing, np.zeros(len(mixing))

    def assemble(
        self, gaussian: Float[np.ndarray, "n D"], mixing: Float[np.ndarray, "n 0"]
    ) -> Float[np.ndarray, "n D"]:
        """Return the states of a Gaussian part."""
        return np.asarray(self.whitening.centre + gaussian)


def gaussian_log_density(squared: Float[np.ndarray, "..."], dim: int) -> Float[np.ndarray, "..."]:
    """Return the log-density of a standard normal vector from its squared length.

    >>> gaussian_log_density(np.zeros(1), 2).round(6).tolist()
    [-1.837877]
    """
    return np.asarray(-0.5 * squared - 0.5 * dim * math.log(2.0 * math.pi))


def fit_gaussian(states: Float[np.ndarray, "n D"], options: FitOptions) -> GaussianPrior:
    """Return the Gaussian of the states' mean and covariance (divided by n), ridged.

    Args:
        states: Shape ``(n, D)``.
        options: ``ridge`` and ``drop_null``.

    Raises:
        InputError: The states cannot be fitted.
    """
    rows, frame = prepared(states, options)
    inner = cholesky_whitening(rows.mean(axis=0), covariance(rows), ridge=options.ridge)
    squared = np.square(inner.to_whitened(rows)).sum(axis=1)
    whitening = frame.lift(inner) if frame is not None else inner
    return GaussianPrior(
        whitening=whitening,
        record=FitRecord(
            kind="gaussian",
            n_states=len(states),
            n_dims=states.shape[1],
            n_dropped=states.shape[1] - whitening.dim,
            ridge=options.ridge,
            n_iterations=1,
            converged=True,
            mean_log_likelihood=float(gaussian_log_density(squared, inner.dim).mean())
            - inner.log_det,
            tails=(),
        ),
    )
