"""Numbers that come one at a time or in arrays, and what they must be to enter a loss.

Inside, every array has at least one axis: NumPy makes scalars of those that have none. Unit: that
of the numbers.
"""

from typing import TypeAlias

import numpy as np
from jaxtyping import Float

from likely.errors import InputError, NumericalError

Array: TypeAlias = Float[np.ndarray, "..."]
Values: TypeAlias = float | Float[np.ndarray, "..."]


def broadcast(*values: Values) -> list[Array]:
    """Return float64 arrays of one shape, with at least one axis."""
    return list(np.broadcast_arrays(*(np.atleast_1d(np.asarray(x, np.float64)) for x in values)))


def like(result: Array, *inputs: Values) -> Values:
    """Return ``result`` as a float where no input was an array, else in their broadcast shape.

    Raises:
        NumericalError: An entry is NaN.
    """
    if np.isnan(result).any():
        raise NumericalError(f"a loss came out as NaN for {inputs!r}; please report these numbers")
    if not any(isinstance(x, np.ndarray) for x in inputs):
        return float(result[0])
    return result.reshape(np.broadcast_shapes(*(np.shape(x) for x in inputs)))


def as_probs(values: Values, *, what: str) -> Array:
    """Return probabilities as a float64 array; a number above 1 passes, as estimates overshoot.

    Raises:
        InputError: An entry is NaN, infinite or negative.
    """
    (probs,) = broadcast(values)
    good = np.isfinite(probs) & (probs >= 0.0)
    if not good.all():
        raise InputError(
            f"{what} needs finite numbers of at least 0, got {float(probs[~good][0])!r}"
        )
    return probs


def as_log_probs(values: Values, *, what: str) -> Array:
    """Return log-probabilities as a float64 array; ``-inf`` stands for 0.

    Raises:
        InputError: An entry is NaN or ``+inf``.
    """
    (logs,) = broadcast(values)
    good = logs < np.inf
    if not good.all():
        raise InputError(
            f"{what} needs logs of probabilities, finite or -inf, got {float(logs[~good][0])!r}"
        )
    return logs


def log_of(probs: Array) -> Array:
    """Return natural logs, ``-inf`` for 0."""
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(probs))


def exp_of(logs: Array) -> Array:
    """Return ``exp``: 0 and ``inf`` where the result is beyond the range of a float."""
    with np.errstate(over="ignore", under="ignore"):
        return np.asarray(np.exp(logs))


def scaled(exponent: Array, log_base: Array) -> Array:
    """Return the log of a power, ``exponent * log_base``; a power with exponent 0 is 1 at any base.

    >>> scaled(np.array([0.0, -0.5]), np.array([-np.inf, -np.inf]))
    array([ 0., inf])
    """
    with np.errstate(invalid="ignore"):
        return np.asarray(np.where(exponent == 0.0, 0.0, exponent * log_base))
