"""Losses of one estimate of a probability against one truth. Unit: see each; logs are in nats.

Truth and estimate are called q and p. All of them are 0 where both are equal, also where both are
0, and positive elsewhere.
"""

from typing import overload

import numpy as np

from likely.core.logspace import log1mexp
from likely.errors import InputError
from likely.rare.loss.shape import log_relative
from likely.rare.loss.values import (
    Array,
    Values,
    as_log_probs,
    as_probs,
    broadcast,
    exp_of,
    like,
    log_of,
    scaled,
)

EPSILON = 2.0**-32
"""The usual shift: what one hit in a truth of 2^32 samples is worth."""


@overload
def spb(q: float, p: float, *, alpha: float = ..., epsilon: float = ...) -> float: ...  # type: ignore[overload-overlap]  # the first that fits counts
@overload
def spb(q: Values, p: Values, *, alpha: Values = ..., epsilon: Values = ...) -> Array: ...
def spb(q: Values, p: Values, *, alpha: Values = 1.5, epsilon: Values = EPSILON) -> Values:
    """Return the shifted power Bregman loss of the estimate p of the truth q.

    It is the integral of ``|t - q| (t + epsilon)^(-alpha)`` from one to the other: a strictly
    proper score for the mean, finite at p = 0 if epsilon > 0. Alpha 0 is half the squared error,
    alpha 2 with epsilon 0 the Itakura-Saito loss; 3/2 treats q / m and q m alike.

    Args:
        q: The truth, at least 0.
        p: The estimate, at least 0, broadcast against q.
        alpha: At least 0; the larger, the dearer an underestimate.
        epsilon: The shift, a probability of at least 0.

    Returns:
        The broadcast shape, in units of ``prob^(2 - alpha)``; a float if all arguments are floats.
        With ``epsilon == 0`` the limits: at p = 0, ``q^(2-alpha) / ((1-alpha)(2-alpha))`` for
        alpha < 1, else ``inf``; at q = 0, ``p^(2-alpha) / (2-alpha)`` for alpha < 2, else ``inf``.
        What is beyond the range of a float comes as 0 or ``inf``; `log_spb` has no such range.

    Raises:
        InputError: An argument is negative, NaN or infinite.

    >>> round(spb(3e-8, 7e-7, alpha=2.0, epsilon=0.0), 12)
    2.192740096238
    """
    truth, estimate = as_probs(q, what="q"), as_probs(p, what="p")
    power, shift = _as_settings(alpha, epsilon)
    truth, estimate, power, shift = broadcast(truth, estimate, power, shift)
    shifted_q, shifted_p = truth + shift, estimate + shift
    low = np.minimum(shifted_q, shifted_p)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        excess = np.abs(estimate - truth) / low
        size = np.where(
            np.isfinite(excess), np.log1p(excess), np.abs(log_of(shifted_p) - log_of(shifted_q))
        )
    delta = np.where(truth == estimate, 0.0, np.copysign(size, estimate - truth))
    log_loss = _assembled(log_of(shifted_q), log_of(shifted_p), delta, power)
    return like(exp_of(log_loss), q, p, alpha, epsilon)


@overload
def spb_log(log_q: float, log_p: float, *, alpha: float = ..., epsilon: float = ...) -> float: ...  # type: ignore[overload-overlap]  # the first that fits counts
@overload
def spb_log(
    log_q: Values, log_p: Values, *, alpha: Values = ..., epsilon: Values = ...
) -> Array: ...
def spb_log(
    log_q: Values, log_p: Values, *, alpha: Values = 1.5, epsilon: Values = EPSILON
) -> Values:
    """Return `spb` of a truth and an estimate that are given by their logs.

    Args:
        log_q: Nats; ``-inf`` for 0.
        log_p: Nats; ``-inf`` for 0.
        alpha: At least 0.
        epsilon: A probability of at least 0.

    Returns:
        As `spb`.

    Raises:
        InputError: A log is NaN or ``+inf``, or a setting negative, NaN or infinite.

    >>> round(spb_log(-1000.0, -998.0, alpha=2.0, epsilon=0.0), 6)
    1.135335
    """
    log_loss = log_spb(*broadcast(log_q, log_p), alpha=alpha, epsilon=epsilon)
    return like(exp_of(log_loss), log_q, log_p, alpha, epsilon)


@overload
def log_spb(log_q: float, log_p: float, *, alpha: float = ..., epsilon: float = ...) -> float: ...  # type: ignore[overload-overlap]  # the first that fits counts
@overload
def log_spb(
    log_q: Values, log_p: Values, *, alpha: Values = ..., epsilon: Values = ...
) -> Array: ...
def log_spb(
    log_q: Values, log_p: Values, *, alpha: Values = 1.5, epsilon: Values = EPSILON
) -> Values:
    """Return the log of `spb_log`, for losses that a float cannot hold.

    Args:
        log_q: Nats; ``-inf`` for 0.
        log_p: Nats; ``-inf`` for 0.
        alpha: At least 0.
        epsilon: A probability of at least 0.

    Returns:
        The broadcast shape, nats; ``-inf`` where both are equal, or differ by less than 1e-300 of
        the shift. A float if all arguments are floats.

    Raises:
        InputError: A log is NaN or ``+inf``, or a setting negative, NaN or infinite.

    >>> round(log_spb(-2000.0, -1998.0, alpha=1.0, epsilon=0.0), 6)
    -1998.520886
    """
    truth, estimate = as_log_probs(log_q, what="log_q"), as_log_probs(log_p, what="log_p")
    power, shift = _as_settings(alpha, epsilon)
    log_shift = log_of(shift)
    delta = _shifted_log_ratio(*broadcast(truth, estimate, log_shift))
    log_shifted_q, log_shifted_p = np.logaddexp(truth, log_shift), np.logaddexp(estimate, log_shift)
    log_loss = _assembled(log_shifted_q, log_shifted_p, delta, power)
    return like(log_loss, log_q, log_p, alpha, epsilon)


@overload
def itakura_saito(q: float, p: float) -> float: ...  # type: ignore[overload-overlap]  # the first that fits counts
@overload
def itakura_saito(q: Values, p: Values) -> Array: ...
def itakura_saito(q: Values, p: Values) -> Values:
    """Return the Itakura-Saito loss ``q/p - log(q/p) - 1`` of the estimate p.

    Args:
        q: The truth, at least 0.
        p: The estimate, at least 0.

    Returns:
        The broadcast shape, no unit; ``inf`` where exactly one of them is 0. A float if both are.

    Raises:
        InputError: An argument is negative, NaN or infinite.

    >>> round(itakura_saito(1e-7, 1e-8), 6)
    6.697415
    """
    return spb(q, p, alpha=2.0, epsilon=0.0)


@overload
def log_squared_error(q: float, p: float) -> float: ...  # type: ignore[overload-overlap]  # the first that fits counts
@overload
def log_squared_error(q: Values, p: Values) -> Array: ...
def log_squared_error(q: Values, p: Values) -> Values:
    """Return ``(log p - log q)^2`` with natural logs.

    Args:
        q: The truth, at least 0.
        p: The estimate, at least 0.

    Returns:
        The broadcast shape, nats squared; ``inf`` where exactly one of them is 0. A float if both
        are.

    Raises:
        InputError: An argument is negative, NaN or infinite.

    >>> round(log_squared_error(1e-7, 1e-8), 6)
    5.301898
    """
    truth, estimate = as_probs(q, what="q"), as_probs(p, what="p")
    with np.errstate(invalid="ignore"):
        delta = np.where(truth == estimate, 0.0, log_of(estimate) - log_of(truth))
    return like(np.square(delta), q, p)


def _as_settings(alpha: Values, epsilon: Values) -> tuple[Array, Array]:
    """Return both as float64.

    Raises:
        InputError: One is negative, NaN or infinite.
    """
    power, shift = broadcast(alpha, epsilon)
    for name, values in (("alpha", power), ("epsilon", shift)):
        if not (np.isfinite(values).all() and (values >= 0.0).all()):
            raise InputError(f"{name} needs finite numbers of at least 0, got {values!r}")
    return power, shift


def _shifted_log_ratio(log_q: Array, log_p: Array, log_shift: Array) -> Array:
    """Return ``log((p + shift) / (q + shift))``, also where the shift dwarfs both.

    With low the smaller of the two and d the gap of their logs, its size is
    ``log(1 + expm1(d) low / (low + shift))``.
    """
    low, high = np.minimum(log_q, log_p), np.maximum(log_q, log_p)
    is_zero = np.isneginf(low)
    with np.errstate(invalid="ignore"):
        gap = np.where(is_zero, np.inf, high - low)
        share = np.where(is_zero, -np.inf, -np.logaddexp(0.0, log_shift - low))
        size = np.logaddexp(0.0, gap + log1mexp(-gap) + share)
        size = np.where(is_zero, np.logaddexp(0.0, high - log_shift), size)
    return np.where(log_q == log_p, 0.0, np.copysign(size, np.where(log_p > log_q, 1.0, -1.0)))


def _assembled(log_q: Array, log_p: Array, delta: Array, alpha: Array) -> Array:
    """Return the log of the loss from shifted logs, their difference, and alpha."""
    with np.errstate(invalid="ignore"):
        usual = scaled(2.0 - alpha, log_q) + log_relative(delta, alpha=alpha)
    without_truth = _log_from_zero(log_p, alpha)
    log_loss = np.where(np.isneginf(log_q), without_truth, usual)
    return np.asarray(np.where(delta == 0.0, -np.inf, log_loss))


def _log_from_zero(log_p: Array, alpha: Array) -> Array:
    """Return the log of the loss of p where q and the shift are 0: ``p^(2-alpha) / (2-alpha)``."""
    is_finite = alpha < 2.0
    power = np.where(is_finite, 2.0 - alpha, 1.0)
    return np.where(is_finite, power * log_p - np.log(power), np.inf)
