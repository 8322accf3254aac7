"""What a prior can do, and the record of how it was fitted. Unit: nats."""

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float


@runtime_checkable
class Prior(Protocol):
    """A law of states, in whitened coordinates."""

    @property
    def dim(self) -> int:
        """Return the number of whitened coordinates."""
        ...

    @property
    def log_det(self) -> float:
        """Return the log of the volume of states that one unit of whitened volume becomes."""
        ...

    def log_density(self, u: Float[np.ndarray, "n d"]) -> Float[np.ndarray, " n"]:
        """Return the normalised log-density of whitened coordinates."""
        ...

    def gradient(self, u: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "n d"]:
        """Return the gradient of `log_density`."""
        ...

    def sample(self, n: int, *, rng: np.random.Generator) -> Float[np.ndarray, "n d"]:
        """Return independent draws, whitened."""
        ...

    def to_states(self, u: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "n D"]:
        """Return the states of whitened coordinates."""
        ...

    def to_whitened(self, states: Float[np.ndarray, "n D"]) -> Float[np.ndarray, "n d"]:
        """Return the whitened coordinates of states."""
        ...


@runtime_checkable
class Latent(Protocol):
    """A law of states that is the image of a Gaussian vector and of a few mixing numbers.

    The Gaussian part may be kept in whatever coordinates make `assemble` cheap: what matters is
    that `draw_gaussian` draws from its law, a centred Gaussian, and that the two parts are
    independent. The kernel `aug` moves on them.
    """

    @property
    def record(self) -> "FitRecord | None":
        """Return how it was fitted; None for a law that was given."""
        ...

    def draw_gaussian(self, n: int, *, rng: np.random.Generator) -> Float[np.ndarray, "n g"]:
        """Return independent draws of the Gaussian part."""
        ...

    def draw_mixing(self, n: int, *, rng: np.random.Generator) -> Float[np.ndarray, "n m"]:
        """Return independent draws of the mixing numbers; no columns if there are none."""
        ...

    def move_mixing(
        self, mixing: Float[np.ndarray, "n m"], *, step: float, rng: np.random.Generator
    ) -> tuple[Float[np.ndarray, "n m"], Float[np.ndarray, " n"]]:
        """Return proposed mixing numbers and the log of their Metropolis-Hastings ratio."""
        ...

    def assemble(
        self, gaussian: Float[np.ndarray, "n g"], mixing: Float[np.ndarray, "n m"]
    ) -> Float[np.ndarray, "n D"]:
        """Return the states of both parts."""
        ...


@runtime_checkable
class LatentPrior(Latent, Prior, Protocol):
    """A prior that has a latent form too."""


@runtime_checkable
class Tilted(Latent, Protocol):
    """A latent law whose mixing numbers are drawn from another law than their own."""

    def log_tilt(self, mixing: Float[np.ndarray, "n m"]) -> Float[np.ndarray, " n"]:
        """Return the log of what each draw counts for: its own law over the one drawn from."""
        ...

    def tempered(self, power: float) -> "Tilted":
        """Return the law whose moves keep the one drawn from times a power of those weights."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class FitRecord:
    """How a prior was fitted.

    Attributes:
        kind: Name of the prior in the table.
        n_states: Rows that it was fitted to.
        n_dims: Coordinates of a state.
        n_dropped: Directions left out because the states do not vary along them.
        ridge: What was added to the diagonal of the scale matrix, as a share of its mean.
        n_iterations: Passes over all states; 1 for a fit in closed form.
        converged: Whether the last pass raised the log-likelihood by less than the tolerance.
        mean_log_likelihood: Nats per state, under the fitted law; of a law by group, that of what
            the centres leave, widened, given the group: no number to compare with other laws.
        tails: Degrees of freedom: none for a Gaussian, else one per component or coordinate.
        weights: Shares of the components; one 1.0 where there is one.
        n_starved: Components given up because too few states were left for them.
    """

    kind: str
    n_states: int
    n_dims: int
    n_dropped: int
    ridge: float
    n_iterations: int
    converged: bool
    mean_log_likelihood: float
    tails: tuple[float, ...]
    weights: tuple[float, ...] = (1.0,)
    n_starved: int = 0


def mean_log_likelihood(prior: Prior, states: Float[np.ndarray, "n D"]) -> float:
    """Return the mean log-density of states under a prior, nats per state.

    Of directions that the prior dropped it says nothing: compare priors of one number of
    coordinates only.
    """
    return float(np.mean(prior.log_density(prior.to_whitened(states)))) - prior.log_det
