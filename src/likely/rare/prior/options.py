"""How priors are fitted: the options that all of them share, and the states made ready."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from likely.errors import InputError
from likely.rare.prior.whitening import Subspace, check_states, varying_subspace


@dataclass(frozen=True, slots=True, kw_only=True)
class FitOptions:
    """How a prior is fitted.

    Attributes:
        ridge: Added to the diagonal of a scale matrix, as a share of its mean diagonal: an
            absolute ridge would dominate where activations are small.
        drop_null: Whether directions without variance are left out of the law. States after a
            normalisation lie in fewer dimensions than they have numbers; without this the ridge
            alone keeps their scale matrix invertible.
        n_components: Of a mixture, from 1 to 8.
        tolerance: An iteration ends when it gains less log-likelihood than this, nats per state.
        max_iterations: And after so many passes in any case; the record says which.
    """

    ridge: float = 1e-5
    drop_null: bool = False
    n_components: int = 4
    tolerance: float = 1e-7
    max_iterations: int = 100

    def __post_init__(self) -> None:
        if not 1 <= self.n_components <= 8:
            raise InputError(f"a mixture has 1 to 8 components, got {self.n_components!r}")
        if not self.ridge >= 0.0 or not self.tolerance > 0.0 or self.max_iterations < 1:
            raise InputError(
                "a fit needs ridge >= 0, tolerance > 0 and an iteration, got "
                f"{self.ridge!r}, {self.tolerance!r} and {self.max_iterations!r}"
            )


def prepared(
    states: Float[np.ndarray, "n D"], options: FitOptions
) -> tuple[Float[np.ndarray, "n r"], Subspace | None]:
    """Return the rows that a law is fitted to, and the subspace they are coordinates in, if any.

    Raises:
        InputError: The states cannot be fitted.
    """
    rows = check_states(states)
    if not options.drop_null:
        return rows, None
    frame = varying_subspace(rows)
    return frame.project(rows), frame


def coarse_rows(rows: Float[np.ndarray, "n d"], *, n_components: int) -> Float[np.ndarray, "m d"]:
    """Return evenly spaced rows, enough to start an iteration near its end; all if they are few.

    A pass over an eighth of the rows costs an eighth; the passes that decide when the iteration
    ends are over all of them.
    """
    enough = max(8192, 16 * n_components * rows.shape[1])
    stride = len(rows) // enough
    return rows[::stride] if stride > 1 else rows
