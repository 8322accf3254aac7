"""Draws from several laws that are known but for their constants, used as one sample. Unit: nats.

A law is given by its log-density up to a constant, evaluated at all draws, whichever law they came
from. The constants are fitted so that each law gets as many draws as it gave; every draw then has
one weight, with which means under the first law are taken.
"""

import numpy as np
from jaxtyping import Float, Int

from likely.core.logspace import logsumexp
from likely.errors import InputError, NumericalError

_ROUNDS = 200
_CLOSE = 1e-9
_STRIDE = 2.0  # nats that a constant moves at most in one round


def fit_log_z(
    log_densities: Float[np.ndarray, "N K"],
    counts: Int[np.ndarray, "K"],
    *,
    start: Float[np.ndarray, "K"] | None = None,
) -> Float[np.ndarray, "K"]:
    """Return the log of each law's constant, that of the first law being 0.

    Args:
        log_densities: Shape ``(N, K)``: of every draw under every law, nats, up to one number a
            law; ``-inf`` where a law never goes.
        counts: How many of the draws each law gave, all positive.
        start: Where to begin, such as the constants of nearly the same draws.

    Returns:
        Shape ``(K,)``, nats.

    Raises:
        InputError: The counts do not sum to N, or one is not positive.
        NumericalError: The constants do not settle: the laws do not overlap.

    Sources:
        Geyer (1994), "Estimating normalizing constants and reweighting mixtures"; Shirts and
        Chodera (2008), "Statistically optimal analysis of samples from multiple equilibrium
        states": the same equations. With two laws they are those of Bennett (1976).

    >>> draws = np.array([0.0, 0.0, 1.0, 0.0, 1.0, 1.0])  # three fair coins, three tilted by log 2
    >>> tilted = np.stack([np.zeros(6), np.log(2.0) * draws], axis=1)
    >>> np.exp(fit_log_z(tilted, np.array([3, 3]))).round(3)
    array([1.   , 1.414])
    """
    if counts.sum() != len(log_densities) or (counts < 1).any():
        raise InputError(
            f"every law gave at least one of the {len(log_densities)} draws, got {counts.tolist()}"
        )
    log_z = np.zeros(len(counts)) if start is None else start - start[0]
    for done in range(_ROUNDS):
        parts = log_densities - log_z + np.log(counts)
        log_shares = parts - logsumexp(parts)[:, None]
        if done < 2:  # far away a round of the fixed point is safer than one of Newton
            change = logsumexp(log_shares, axis=0) - np.log(counts)
            change -= change[0]
        else:
            shares = np.exp(log_shares)
            given = shares.sum(axis=0)
            slope = (np.diag(given) - shares.T @ shares)[1:, 1:]
            change = np.zeros(len(counts))
            change[1:] = np.linalg.lstsq(slope, (given - counts)[1:], rcond=None)[0]
            change = np.clip(change, -_STRIDE, _STRIDE)
        log_z = log_z + change
        if np.abs(change).max() < _CLOSE:
            return np.asarray(log_z)
    raise NumericalError(
        f"the constants of {len(counts)} laws do not settle: their draws hardly overlap; put laws "
        "between them"
    )


def log_weights(
    log_densities: Float[np.ndarray, "N K"],
    counts: Int[np.ndarray, "K"],
    log_z: Float[np.ndarray, "K"],
) -> Float[np.ndarray, "N"]:
    """Return the log of each draw's weight for means under the first law, nats.

    Args:
        log_densities: As in `fit_log_z`; the first law's are the reference, 0 everywhere.
        counts: As there.
        log_z: As it found them; the weights then sum to 1.
    """
    return np.asarray(-logsumexp(log_densities - log_z + np.log(counts)))
