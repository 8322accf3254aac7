"""What all laws of states in whitened coordinates have. Unit: nats."""

from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Float

from likely.rare.prior.protocol import FitRecord
from likely.rare.prior.whitening import Whitening


@dataclass(frozen=True, slots=True, kw_only=True)
class WhitenedPrior:
    """A law of states that is told in coordinates of its own.

    Attributes:
        whitening: Between states and these.
        record: How it was fitted; None for a law that was given.
    """

    whitening: Whitening
    record: FitRecord | None = field(default=None)

    @property
    def dim(self) -> int:
        """Return the number of whitened coordinates."""
        return self.whitening.dim

    @property
    def log_det(self) -> float:
        """Return the log of the volume of states that one unit of whitened volume becomes."""
        return self.whitening.log_det

    def to_states(self, u: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "n D"]:
        """Return the states of whitened coordinates."""
        return self.whitening.to_states(u)

    def to_whitened(self, states: Float[np.ndarray, "n D"]) -> Float[np.ndarray, "n d"]:
        """Return the whitened coordinates of states."""
        return self.whitening.to_whitened(states)
