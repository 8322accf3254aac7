"""How far two laws over the same outcomes are apart, and how spread out one is.

Laws are given as log-probabilities, nats; ``-inf`` is an impossible outcome. Many laws may stand
end to end, parted by ``offsets`` (`likely.stats.ragged`); by default there is one.
"""

import math

import numpy as np
from jaxtyping import Float, Int

from likely.errors import InputError
from likely.stats.ragged import check_laws, check_offsets, check_pair, sums

_LOG_2 = math.log(2.0)


def total_variation(
    log_p: Float[np.ndarray, "M"],
    log_q: Float[np.ndarray, "K"],
    *,
    offsets: Int[np.ndarray, "N1"] | None = None,
) -> Float[np.ndarray, "N"]:
    """Return half the sum of absolute differences, the largest that any event can show.

    Args:
        log_p: Shape ``(M,)``, nats.
        log_q: The same shape.
        offsets: Where each law begins.

    Returns:
        Shape ``(N,)``, between 0 and 1.

    Raises:
        InputError: A law does not sum to 1.
        ShapeError: Arrays of different lengths, or offsets that do not part them.

    >>> float(total_variation(np.log([0.5, 0.5]), np.log([0.25, 0.75]))[0])
    0.25
    """
    p, q, offsets = _pair(log_p, log_q, offsets)
    return 0.5 * sums(np.abs(p - q), offsets)


def kl_divergence(
    log_p: Float[np.ndarray, "M"],
    log_q: Float[np.ndarray, "K"],
    *,
    offsets: Int[np.ndarray, "N1"] | None = None,
    base: float | int = math.e,
) -> Float[np.ndarray, "N"]:
    """Return the Kullback-Leibler divergence of q from p: what taking q for p costs.

    Args:
        log_p: The true law, nats.
        log_q: The law in its place, nats.
        offsets: Where each law begins.
        base: Of the logarithm of the result: e for nats, 2 for bits.

    Returns:
        Shape ``(N,)``; ``inf`` where q rules out what p allows.

    Raises:
        InputError: A law does not sum to 1, or a base of at most 1.
        ShapeError: As `total_variation`.

    >>> float(kl_divergence(np.log([0.5, 0.5]), np.log([0.25, 0.75]), base=2).round(6)[0])
    0.207519
    """
    p, _, offsets = _pair(log_p, log_q, offsets)
    return sums(_relative(p, log_p, log_q), offsets) / _unit(base)


def js_divergence(
    log_p: Float[np.ndarray, "M"],
    log_q: Float[np.ndarray, "K"],
    *,
    offsets: Int[np.ndarray, "N1"] | None = None,
    base: float | int = math.e,
) -> Float[np.ndarray, "N"]:
    """Return the Jensen-Shannon divergence: the mean divergence of both laws from their middle.

    Args:
        log_p: Nats.
        log_q: Nats.
        offsets: Where each law begins.
        base: As in `kl_divergence`.

    Returns:
        Shape ``(N,)``, from 0 to ``log 2`` (1 bit), and symmetric.

    Raises:
        InputError: As `kl_divergence`.
        ShapeError: As `total_variation`.

    >>> with np.errstate(divide="ignore"):
    ...     float(js_divergence(np.log([1.0, 0.0]), np.log([0.0, 1.0]), base=2)[0])
    1.0
    """
    p, q, offsets = _pair(log_p, log_q, offsets)
    middle = np.logaddexp(log_p, log_q) - _LOG_2
    terms = _relative(p, log_p, middle) + _relative(q, log_q, middle)
    return 0.5 * sums(terms, offsets) / _unit(base)


def hellinger(
    log_p: Float[np.ndarray, "M"],
    log_q: Float[np.ndarray, "K"],
    *,
    offsets: Int[np.ndarray, "N1"] | None = None,
) -> Float[np.ndarray, "N"]:
    """Return the Hellinger distance, with the factor that makes 1 of disjoint laws.

    Args:
        log_p: Nats.
        log_q: Nats.
        offsets: Where each law begins.

    Raises:
        InputError: A law does not sum to 1.
        ShapeError: As `total_variation`.

    >>> float(hellinger(np.log([0.5, 0.5]), np.log([0.25, 0.75])).round(6)[0])
    0.184592
    """
    _, _, offsets = _pair(log_p, log_q, offsets)
    gaps = np.exp(log_p / 2.0) - np.exp(log_q / 2.0)
    return np.asarray(np.sqrt(0.5 * sums(gaps**2, offsets)))


def entropy(
    log_p: Float[np.ndarray, "M"],
    *,
    offsets: Int[np.ndarray, "N1"] | None = None,
    base: float | int = math.e,
) -> Float[np.ndarray, "N"]:
    """Return the Shannon entropy of each law; an impossible outcome adds nothing.

    Args:
        log_p: Nats.
        offsets: Where each law begins.
        base: As in `kl_divergence`.

    Raises:
        InputError: As `kl_divergence`.
        ShapeError: Offsets that do not part the array.

    >>> float(entropy(np.log([0.25, 0.75]), base=2).round(6)[0])
    0.811278
    """
    p = np.exp(log_p)
    offsets = check_offsets(offsets, len(p))
    check_laws(p, offsets, what="p")
    return 0.0 - sums(p * np.where(p > 0.0, log_p, 0.0), offsets) / _unit(base)


def _pair(
    log_p: Float[np.ndarray, "M"],
    log_q: Float[np.ndarray, "K"],
    offsets: Int[np.ndarray, "N1"] | None,
) -> tuple[Float[np.ndarray, "M"], Float[np.ndarray, "M"], Int[np.ndarray, "N2"]]:
    """Return both laws as probabilities, checked."""
    p, q = np.exp(log_p), np.exp(log_q)
    return p, q, check_pair(p, q, offsets)


def _relative(
    p: Float[np.ndarray, "M"], log_p: Float[np.ndarray, "M"], log_q: Float[np.ndarray, "M"]
) -> Float[np.ndarray, "M"]:
    """Return the terms ``p log(p / q)``: 0 where p is 0, and else ``inf`` where q is."""
    is_possible = p > 0.0
    log_ratio = np.subtract(log_p, log_q, where=is_possible, out=np.zeros_like(p))
    return np.asarray(p * log_ratio)


def _unit(base: float | int) -> float:
    """Return how many nats the unit of that base has."""
    if not base > 1.0:
        raise InputError(f"a logarithm has a base above 1: 2 for bits, e for nats; got {base!r}")
    return math.log(base)
