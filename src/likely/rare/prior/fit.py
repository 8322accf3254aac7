"""The table of priors by name, and the one function that fits them. Unit: nats."""

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float

from likely.core.registry import Registry

if TYPE_CHECKING:
    from likely.rare.prior.options import FitOptions
    from likely.rare.prior.protocol import LatentPrior

_HOME = "likely.rare.prior"

PRIORS: "Registry[Callable[[np.ndarray, FitOptions], LatentPrior]]" = Registry(
    "prior",
    {
        "student": f"{_HOME}.student:fit_student",
        "gaussian": f"{_HOME}.gaussian:fit_gaussian",
        "student_mixture": f"{_HOME}.mixture_fit:fit_student_mixture",
        "gaussian_mixture": f"{_HOME}.mixture_fit:fit_gaussian_mixture",
        "marginals": f"{_HOME}.marginals:fit_marginals",
    },
)
"""Name to a function of states and options. To add one: one file, one line in this table."""


def fit_prior(
    states: Float[np.ndarray, "n D"],
    *,
    kind: str = "student",
    ridge: float = 1e-5,
    drop_null: bool = False,
    n_components: int = 4,
) -> "LatentPrior":
    """Return a prior fitted to states.

    Args:
        states: Shape ``(n, D)``, rows of activations, any float dtype; the fit is in float64.
        kind: Name in `PRIORS`.
        ridge: Added to the diagonal of the scale matrix, as a share of its mean diagonal.
        drop_null: Whether directions without variance are left out of the law.
        n_components: Of a mixture, from 1 to 8; the other priors do not read it.

    Returns:
        The prior; its ``record`` says how the fit went.

    Raises:
        UnknownNameError: No prior of that name.
        InputError: The states or the options are unusable.

    >>> found = fit_prior(np.random.default_rng(0).standard_normal((500, 3)), kind="gaussian")
    >>> found.dim
    3
    """
    from likely.rare.prior.options import FitOptions

    options = FitOptions(ridge=ridge, drop_null=drop_null, n_components=n_components)
    return PRIORS.load(kind)(states, options)
