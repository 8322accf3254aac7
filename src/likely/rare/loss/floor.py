"""The loss of a perfect estimate against a truth that is itself a count. Unit: that of the loss."""

import math

import numpy as np
from scipy.special import gammaln

from likely.core.logspace import logsumexp
from likely.errors import InputError
from likely.rare.loss.kinds import Loss
from likely.rare.loss.values import exp_of

_WIDTH = 12.0
"""Counts further than this many standard deviations, and 100 counts, away are left out."""


def noise_floor(
    expected_count: float, loss: Loss, *, minimum_count: int = 5, n_samples: int = 2**32
) -> float:
    """Return the mean loss of the true probability where the truth is a Poisson count.

    A loss below it says nothing: the count is not known that well. Targets are taken only from a
    count on, so the law of the count is conditioned on that, which favours lucky counts.

    Args:
        expected_count: The probability times ``n_samples``, above 0.
        loss: By which estimates are judged.
        minimum_count: The least count with which a target is taken.
        n_samples: Of the truth; a loss with neither shift nor premium does not depend on it.

    Returns:
        The mean of the loss of ``expected_count / n_samples`` from ``count / n_samples``, summed
        over counts; what the sum leaves out is below 1e-25 of it. ``inf`` where a count of 0 is
        allowed and has an infinite loss.

    Raises:
        InputError: An expected count that is not above 0 and finite, a negative minimum, no
            samples, or a count of 0 that the loss cannot weigh.

    >>> from likely.rare.loss.kinds import ITAKURA_SAITO
    >>> round(noise_floor(4.3, ITAKURA_SAITO), 3)
    0.1
    """
    if not 0.0 < expected_count < math.inf:
        raise InputError(f"expected_count needs a finite number above 0, got {expected_count!r}")
    if minimum_count < 0 or n_samples < 1:
        raise InputError(
            f"needs minimum_count >= 0 and n_samples >= 1, got {minimum_count!r} and {n_samples!r}"
        )
    reach = _WIDTH * math.sqrt(expected_count) + 100.0
    first = max(minimum_count, math.floor(expected_count - reach))
    last = max(first, math.ceil(expected_count)) + math.ceil(reach)
    counts = np.arange(first, last, dtype=np.float64)
    log_law = counts * math.log(expected_count) - gammaln(counts + 1.0)
    log_law = log_law - logsumexp(log_law)
    with np.errstate(divide="ignore"):
        log_q = np.log(counts) - math.log(n_samples)
    log_p = np.full_like(log_q, math.log(expected_count) - math.log(n_samples))
    losses = exp_of(loss.log_losses(log_q, log_p))
    return float(np.sum(np.exp(log_law) * losses))
