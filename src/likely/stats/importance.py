"""What importance weights are worth, from logs of any size. Unit of the log-weights: nats."""

import math

import numpy as np
from jaxtyping import Float

from likely.core.logspace import logsumexp
from likely.errors import InputError


def normalised_weights(log_weights: Float[np.ndarray, "N"]) -> Float[np.ndarray, "N"]:
    """Return the weights divided by their sum.

    Args:
        log_weights: Nats, shape ``(N,)``; ``-inf`` is a weight of 0.

    Returns:
        Shape ``(N,)``, probabilities that sum to 1.

    Raises:
        InputError: No weight is above 0, so that there is nothing to divide by.
        NumericalError: An entry is NaN or ``+inf``.

    >>> normalised_weights(np.array([-800.0, -801.0, -805.0])).round(4)
    array([0.7275, 0.2676, 0.0049])
    """
    log_total = float(logsumexp(log_weights))
    if log_total == -math.inf:
        raise InputError(
            f"normalised weights need a weight above 0, got {len(log_weights)} weights of 0; "
            "report a sum of 0"
        )
    return np.asarray(np.exp(log_weights - log_total))


def effective_sample_size(log_weights: Float[np.ndarray, "N"]) -> float:
    """Return Kish's effective sample size, ``(sum w)^2 / sum w^2``.

    Args:
        log_weights: Nats, shape ``(N,)``; ``-inf`` is a weight of 0.

    Returns:
        Between 1 and N; 0 where no weight is above 0.

    Raises:
        NumericalError: An entry is NaN or ``+inf``.

    Sources:
        Kish (1965), "Survey Sampling", section 11.7.

    >>> round(effective_sample_size(np.array([-800.0, -801.0, -805.0])), 3)
    1.664
    """
    log_total = float(logsumexp(log_weights))
    if log_total == -math.inf:
        return 0.0
    shares = log_weights - log_total
    return math.exp(-float(logsumexp(2.0 * shares)))


def largest_share(log_weights: Float[np.ndarray, "N"]) -> float:
    """Return the largest weight's share of the sum: near 1, one draw decides the estimate.

    Args:
        log_weights: Nats, shape ``(N,)``; ``-inf`` is a weight of 0.

    Returns:
        Between 1/N and 1; 0 where no weight is above 0.

    Raises:
        NumericalError: An entry is NaN or ``+inf``.

    >>> round(largest_share(np.array([-800.0, -801.0, -805.0])), 4)
    0.7275
    """
    log_total = float(logsumexp(log_weights))
    return 0.0 if log_total == -math.inf else math.exp(float(np.max(log_weights)) - log_total)
