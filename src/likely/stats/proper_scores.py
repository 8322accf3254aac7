"""Scores of a forecast whose true law is known: exact expectations, nothing is drawn.

A score is proper if no forecast does better than the true law; *excess* is what a forecast loses
to it. Many laws may stand end to end, parted by ``offsets`` (`likely.stats.ragged`).
"""

import math

import numpy as np
from jaxtyping import Float, Int

from likely.stats.divergences import entropy, kl_divergence
from likely.stats.ragged import check_offsets, check_pair, partial_sums, sums


def expected_log_score(
    log_p: Float[np.ndarray, "M"],
    log_q: Float[np.ndarray, "K"],
    *,
    offsets: Int[np.ndarray, "N1"] | None = None,
    base: float | int = math.e,
) -> Float[np.ndarray, "N"]:
    """Return the mean surprisal of a draw from p under the forecast q: entropy plus divergence.

    Args:
        log_p: The true law, nats.
        log_q: The forecast, nats.
        offsets: Where each law begins.
        base: Of the logarithm of the result: e for nats, 2 for bits.

    Returns:
        Shape ``(N,)``; ``inf`` where q rules out what p allows.

    Raises:
        InputError: A law does not sum to 1, or a base of at most 1.
        ShapeError: Arrays of different lengths, or offsets that do not part them.

    >>> expected_log_score(np.log([0.5, 0.5]), np.log([0.25, 0.75]), base=2).round(6)
    array([1.207519])
    """
    own = entropy(log_p, offsets=offsets, base=base)
    return np.asarray(own + kl_divergence(log_p, log_q, offsets=offsets, base=base))


def expected_brier(
    p: Float[np.ndarray, "M"],
    q: Float[np.ndarray, "K"],
    *,
    offsets: Int[np.ndarray, "N1"] | None = None,
) -> Float[np.ndarray, "N"]:
    """Return the mean squared distance of the forecast q from the outcome, drawn from p.

    Summed over all outcomes, thus from 0 to 2; for one event alone it is half of it.

    Args:
        p: The true law, probabilities.
        q: The forecast, probabilities.
        offsets: Where each law begins.

    Raises:
        InputError: A law does not sum to 1.
        ShapeError: Arrays of different lengths, or offsets that do not part them.

    >>> expected_brier(np.array([0.5, 0.5]), np.array([1.0, 0.0]))
    array([1.])
    """
    excess = excess_brier(p, q, offsets=offsets)
    return np.asarray(excess + 1.0 - sums(p**2, check_offsets(offsets, len(p))))


def excess_brier(
    p: Float[np.ndarray, "M"],
    q: Float[np.ndarray, "K"],
    *,
    offsets: Int[np.ndarray, "N1"] | None = None,
) -> Float[np.ndarray, "N"]:
    """Return what the forecast q loses to p in the Brier score: their squared distance.

    Args:
        p: The true law, probabilities.
        q: The forecast, probabilities.
        offsets: Where each law begins.

    Raises:
        InputError: A law does not sum to 1.
        ShapeError: Arrays of different lengths, or offsets that do not part them.

    >>> excess_brier(np.array([0.5, 0.5]), np.array([1.0, 0.0]))
    array([0.5])
    """
    offsets = check_pair(p, q, offsets)
    return sums((q - p) ** 2, offsets)


def excess_rps(
    p: Float[np.ndarray, "M"],
    q: Float[np.ndarray, "K"],
    *,
    offsets: Int[np.ndarray, "N1"] | None = None,
) -> Float[np.ndarray, "N"]:
    """Return what q loses to p in the ranked probability score, for outcomes that have an order.

    It is the squared distance of the distribution functions, so a near miss costs less.

    Args:
        p: The true law, probabilities, its outcomes in ascending order.
        q: The forecast, probabilities, in the same order.
        offsets: Where each law begins.

    Raises:
        InputError: A law does not sum to 1.
        ShapeError: Arrays of different lengths, or offsets that do not part them.

    >>> excess_rps(np.array([0.5, 0.5, 0.0]), np.array([0.0, 0.5, 0.5]))
    array([0.5])
    """
    offsets = check_pair(p, q, offsets)
    gaps = partial_sums(q - p, offsets)
    gaps[offsets[1:] - 1] = 0.0  # both distribution functions end at 1
    return sums(gaps**2, offsets)
