"""Weights that make losses of truths of different sizes comparable. Unit: ``prob^(alpha - 2)``."""

from typing import overload

import numpy as np

from likely.errors import InputError
from likely.rare.loss.values import (
    Array,
    Values,
    as_log_probs,
    as_probs,
    exp_of,
    like,
    log_of,
    scaled,
)

REFERENCE = 1e-5
"""The probability at which the premium on rarity is 1."""


@overload
def weight(q: float, *, alpha: float, gamma: float = ..., reference: float = ...) -> float: ...  # type: ignore[overload-overlap]  # the first that fits counts
@overload
def weight(q: Values, *, alpha: float, gamma: float = ..., reference: float = ...) -> Array: ...
def weight(q: Values, *, alpha: float, gamma: float = 0.0, reference: float = REFERENCE) -> Values:
    """Return ``q^(alpha - 2) (reference / q)^gamma``.

    With gamma 0 and no shift, every truth counts alike by its relative error; each decade rarer
    counts ``10^gamma`` times more.

    Args:
        q: The truth, at least 0.
        alpha: Of the loss that is weighted.
        gamma: The premium on rarity, at least 0.
        reference: The probability at which the premium is 1.

    Returns:
        The shape of q; at q = 0 the limit, thus ``inf`` for ``alpha < 2 + gamma``.

    Raises:
        InputError: A negative, NaN or infinite argument.

    >>> round(weight(1e-7, alpha=2.0, gamma=0.5), 9)
    10.0
    """
    return shifted_weight(q, alpha=alpha, epsilon=0.0, gamma=gamma, reference=reference)


@overload
def shifted_weight(  # type: ignore[overload-overlap]  # the first that fits counts
    q: float, *, alpha: float, epsilon: float, gamma: float = ..., reference: float = ...
) -> float: ...
@overload
def shifted_weight(
    q: Values, *, alpha: float, epsilon: float, gamma: float = ..., reference: float = ...
) -> Array: ...
def shifted_weight(
    q: Values, *, alpha: float, epsilon: float, gamma: float = 0.0, reference: float = REFERENCE
) -> Values:
    """Return the `weight` of ``q + epsilon``, which takes the scale out of a shifted loss exactly.

    Without a premium, the weight times `spb` is ``g_alpha(log((p + epsilon) / (q + epsilon)))``.

    Args:
        q: The truth, at least 0.
        alpha: Of the loss that is weighted.
        epsilon: The shift of that loss.
        gamma: The premium on rarity, at least 0.
        reference: The probability at which the premium is 1.

    Returns:
        The shape of q.

    Raises:
        InputError: A negative, NaN or infinite argument.

    >>> shifted_weight(0.0, alpha=1.0, epsilon=0.25)
    4.0
    """
    logs = log_shifted_weight(
        log_of(as_probs(q, what="q")),
        alpha=alpha, epsilon=epsilon, gamma=gamma, reference=reference,
    )  # fmt: skip
    return like(exp_of(logs), q)


def log_shifted_weight(
    log_q: Array, *, alpha: float, epsilon: float, gamma: float = 0.0, reference: float = REFERENCE
) -> Array:
    """Return the log of `shifted_weight` for a truth given by its log.

    Args:
        log_q: Nats; ``-inf`` for 0.
        alpha: Of the loss that is weighted.
        epsilon: The shift of that loss; 0 gives the log of `weight`.
        gamma: The premium on rarity, at least 0.
        reference: The probability at which the premium is 1.

    Returns:
        The shape of ``log_q``, nats; ``inf`` where the weight is infinite.

    Raises:
        InputError: A log that is NaN or ``+inf``, or a setting out of its range.

    >>> log_shifted_weight(np.array([-1000.0]), alpha=1.5, epsilon=0.0).round(6)
    array([500.])
    """
    check_settings(alpha=alpha, epsilon=epsilon, gamma=gamma, reference=reference)
    logs = as_log_probs(log_q, what="log_q")
    log_shifted = np.logaddexp(logs, log_of(np.array([epsilon])))
    power = np.array([alpha - 2.0 - gamma])
    return scaled(power, log_shifted) + gamma * float(np.log(reference))


def check_settings(*, alpha: float, epsilon: float, gamma: float, reference: float) -> None:
    """Raise unless all settings are finite, none is negative and the reference is positive.

    Raises:
        InputError: One is not.
    """
    settings = {"alpha": alpha, "epsilon": epsilon, "gamma": gamma, "reference": reference}
    for name, value in settings.items():
        if not (np.isfinite(value) and value >= 0.0):
            raise InputError(f"{name} needs a finite number of at least 0, got {value!r}")
    if reference == 0.0:
        raise InputError(f"reference needs a probability above 0, got {reference!r}")
