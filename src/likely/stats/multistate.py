"""Draws from several laws that are known but for their constants, used as one sample. Unit: nats.

A law is given by its log-density up to a constant, evaluated at all draws, whichever law they came
from. The constants are fitted so that each law gets as many draws as it gave; every draw then has
one weight, with which means under the first law are taken.
"""

import numpy as np
from jaxtyping import Float, Int

from likely.core.logspace import logsumexp
from likely.errors import InputError, NumericalError

_ROUNDS = 100
_CLOSE = 1e-10  # of all draws, that a law may have too many
_FALL = 1e-4  # of what a step promises, that it must keep, or it is halved
_SMALL = 1e-6  # nats; smaller steps are taken unasked, rounding hides what they keep


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
    if start is None:  # far away two rounds of the fixed point come nearer than Newton's steps
        for _ in range(2):
            log_shares, _ = _shares(log_densities, counts, log_z)
            log_z = log_z + logsumexp(log_shares, axis=0) - np.log(counts)
            log_z = log_z - log_z[0]
    for _ in range(_ROUNDS):
        log_shares, height = _shares(log_densities, counts, log_z)
        shares = np.exp(log_shares)
        given = shares.sum(axis=0)
        gap = given - counts
        if np.abs(gap).max() <= _CLOSE * len(log_densities):
            return np.asarray(log_z)
        slope = (np.diag(given) - shares.T @ shares)[1:, 1:]
        step = np.concatenate([[0.0], np.linalg.lstsq(slope, gap[1:], rcond=None)[0]])
        while np.abs(step).max() > _SMALL and not (
            _shares(log_densities, counts, log_z + step)[1] < height - _FALL * float(gap @ step)
        ):
            step = step / 2.0
        log_z = log_z + step
    raise NumericalError(
        f"the constants of {len(counts)} laws do not settle in {_ROUNDS} rounds: their draws "
        "hardly overlap; put laws between them"
    )


def _shares(
    log_densities: Float[np.ndarray, "N K"],
    counts: Int[np.ndarray, "K"],
    log_z: Float[np.ndarray, "K"],
) -> tuple[Float[np.ndarray, "N K"], float]:
    """Return the log of each law's share in each draw, and the height of the convex bowl.

    The bowl is lowest where every law's shares sum to its count.
    """
    parts = log_densities - log_z + np.log(counts)
    totals = logsumexp(parts)
    return parts - totals[:, None], float(totals.sum() + counts @ log_z)


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
