"""The error of a splitting estimate, from one run and in theory. Unit: shares of the estimate."""

import math
from collections.abc import Sequence

import numpy as np
from jaxtyping import Float, Int

from likely.errors import InputError
from likely.rare.splitting.records import Run


def one_run_variance(
    ancestors: Int[np.ndarray, " k"],
    *,
    n_particles: int,
    n_draws: int,
    weights: Float[np.ndarray, " k"] | None = None,
) -> float:
    """Return the variance of a run's estimate as a share of its square, from that run alone.

    It is unbiased for the variance when multiplied by the squared estimate. Where all survivors
    descend from one first particle it is 1, which says only that the run was too small.

    Args:
        ancestors: Shape ``(k,)``, the first particle from which each last survivor descends.
        n_particles: Of the run, at least 2.
        n_draws: How often all particles were drawn anew.
        weights: What each survivor counts for, positive; None where all count for one.

    Raises:
        InputError: No survivor, or fewer than two particles.

    Sources:
        Lee and Whiteley (2018), "Variance estimation in the particle filter": Eve indices.

    >>> round(one_run_variance(np.array([0, 1, 2]), n_particles=4, n_draws=0), 6)  # 1/4 over 3
    0.111111
    """
    n, k = n_particles, len(ancestors)
    if n < 2 or k < 1:
        raise InputError(f"a run's variance needs 2 particles and a survivor, got {n!r} and {k!r}")
    _, place = np.unique(ancestors, return_inverse=True)
    held = np.bincount(place, weights=weights)
    log_factor = (n_draws + 1) * math.log(n / (n - 1))
    different = 1.0 - float(np.square(held / held.sum()).sum())
    return 1.0 - math.exp(log_factor) * different


def ideal_variance(shares: Sequence[float], *, n_particles: int) -> float:
    """Return the relative variance of a product of shares of fresh, independent particles.

    Args:
        shares: Conditional probabilities of the levels, each positive.
        n_particles: At each level.

    Raises:
        InputError: A share is not in (0, 1].

    >>> round(ideal_variance([0.5] * 30, n_particles=1000), 6)
    0.03
    """
    if not all(0.0 < share <= 1.0 for share in shares):
        raise InputError(f"shares lie in (0, 1], got {tuple(shares)!r}")
    return math.fsum((1.0 - share) / share for share in shares) / n_particles


def ideal_run_variance(run: Run) -> float:
    """Return the relative variance of a run's estimate, were its particles always fresh.

    Args:
        run: That reached the threshold. Without records of levels its lowest particles died few at
            a time, as many as the last-particle estimate of its probability has die.

    Raises:
        InputError: It did not reach the threshold.
    """
    if run.log_prob is None or math.isinf(run.log_prob):
        raise InputError(f"the variance of an estimate above 0 was asked for, got {run.log_prob!r}")
    if not run.levels:
        return math.expm1(max(0.0, -run.log_prob) / run.n_particles)
    shares = [one.n_alive / one.n_particles for one in run.levels]
    return ideal_variance(shares, n_particles=run.n_particles)
