"""Whether parallel Markov chains agree, and what their draws are worth. Unit: none.

Both figures look at a number that every chain reports at every step. Chains are cut in half first,
so that a chain which still drifts disagrees with itself.
"""

import math

import numpy as np
from jaxtyping import Float

from likely.errors import InputError

_LEAST_STEPS = 4


def split_r_hat(draws: Float[np.ndarray, "S C"]) -> float:
    """Return how much wider the draws of all half chains spread than those of one: 1 if they agree.

    Args:
        draws: Shape ``(S, C)``: S steps of C chains; an odd last step is left out.

    Returns:
        At least about 1; infinite where every half chain stands still, at different places; 1 where
        all draws are one number.

    Raises:
        InputError: There are fewer than four steps.

    Sources:
        Gelman and others (2013), "Bayesian Data Analysis", third edition, section 11.4.

    >>> split_r_hat(np.array([[0.0, 1.0], [1.0, 0.0], [0.0, 1.0], [1.0, 0.0]])).__round__(3)
    0.707
    """
    halves = _halves(draws)
    within, total = _spreads(halves)
    if within == 0.0:
        return 1.0 if total == 0.0 else math.inf
    return math.sqrt(total / within)


def chains_sample_size(draws: Float[np.ndarray, "S C"]) -> float:
    """Return how many independent draws would be worth as much for the mean of the draws.

    Autocorrelations are summed in pairs for as long as a pair is positive, and pairs never rise.

    Args:
        draws: Shape ``(S, C)``: S steps of C chains; an odd last step is left out.

    Returns:
        At most S C log10(S C), which only chains that alternate reach; S C where all draws are one
        number.

    Raises:
        InputError: There are fewer than four steps.

    Sources:
        Geyer (1992), "Practical Markov chain Monte Carlo": initial monotone sequence. Vehtari and
        others (2021), "Rank-normalization, folding, and localization", section 3: the combination
        of chains, and the limit.
    """
    halves = _halves(draws)
    within, total = _spreads(halves)
    n = halves.size
    if total == 0.0:
        return float(n)
    between = total - within + _autocovariances(halves)  # of draws a lag apart in any half chain
    pairs = between[: len(between) // 2 * 2].reshape(-1, 2).sum(axis=1) / total
    n_positive = int(np.argmin(pairs > 0.0)) if (pairs <= 0.0).any() else len(pairs)
    time = 2.0 * float(np.minimum.accumulate(pairs[:n_positive]).sum()) - 1.0
    return n / max(time, 1.0 / math.log10(n))


def _halves(draws: Float[np.ndarray, "S C"]) -> Float[np.ndarray, "h H"]:
    n_steps = len(draws)
    if n_steps < _LEAST_STEPS:
        raise InputError(f"chains are compared over {_LEAST_STEPS} steps or more, got {n_steps}")
    half = n_steps // 2
    return np.concatenate([draws[:half], draws[half : 2 * half]], axis=1).astype(np.float64)


def _spreads(halves: Float[np.ndarray, "h H"]) -> tuple[float, float]:
    """Return the mean variance within half chains, and the estimate of that of all draws."""
    n = len(halves)
    within = float(halves.var(axis=0, ddof=1).mean())
    return within, within * (n - 1) / n + float(halves.mean(axis=0).var(ddof=1))


def _autocovariances(halves: Float[np.ndarray, "h H"]) -> Float[np.ndarray, "h"]:
    """Return the covariance of draws by their lag, the mean over half chains; unbiased at lag 0."""
    n = len(halves)
    centred = halves - halves.mean(axis=0)
    spectrum = np.abs(np.fft.rfft(centred, 2 * n, axis=0)) ** 2
    sums = np.fft.irfft(spectrum, axis=0)[:n].mean(axis=1)
    return np.asarray(sums / (n - 1))
