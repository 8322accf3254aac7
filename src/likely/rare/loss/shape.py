"""The shape of the power Bregman losses: what a relative error costs, apart from the scale.

With ``delta = log(p / q)`` the loss is ``q^(2 - alpha) g_alpha(delta)``, and

    g_alpha(delta) = delta^2 exp[0, (1 - alpha) delta, (2 - alpha) delta]

where ``exp[x, y, z]`` is the second divided difference of the exponential function. It is positive
and does not mind the order of its nodes, so that the loss has no cancellation at any alpha, and
``g_alpha(-delta) = g_(3 - alpha)(delta)`` can be seen: both have the same nodes. Unit: none.
"""

from typing import overload

import numpy as np

from likely.errors import InputError
from likely.rare.loss.values import Array, Values, broadcast, exp_of, like

_NEAR = 1.0
"""Nodes closer than this are summed as a series, all of whose terms are positive."""

_TERMS = 18
"""Of that series: the first one left out is below 2e-16 of the sum."""


@overload
def log_relative(delta: float, *, alpha: float) -> float: ...  # type: ignore[overload-overlap]  # the first that fits counts
@overload
def log_relative(delta: Values, *, alpha: Values) -> Array: ...
def log_relative(delta: Values, *, alpha: Values) -> Values:
    """Return ``log g_alpha(delta)``; see `relative`.

    Args:
        delta: ``log(p / q)``, nats, any shape; ``-inf`` for an estimate of 0.
        alpha: Any finite number, broadcast against ``delta``.

    Returns:
        The broadcast shape; ``-inf`` at ``delta == 0``. A float if both arguments are floats.

    Raises:
        InputError: ``delta`` is NaN, or ``alpha`` is not finite.

    >>> log_relative(0.0, alpha=1.5)
    -inf
    """
    gap, power = broadcast(delta, alpha)
    if np.isnan(gap).any() or not np.isfinite(power).all():
        raise InputError(f"needs a delta and a finite alpha, got {delta!r} and {alpha!r}")
    finite = np.isfinite(gap)
    inner = np.where(finite, gap, 0.0)
    nodes = np.sort([np.zeros_like(inner), (1.0 - power) * inner, (2.0 - power) * inner], axis=0)
    with np.errstate(divide="ignore"):
        shape = 2.0 * np.log(np.abs(inner)) + _log_divided_exp(nodes[0], nodes[1], nodes[2])
    return like(np.asarray(np.where(finite, shape, _log_limit(gap, power))), delta, alpha)


@overload
def relative(delta: float, *, alpha: float) -> float: ...  # type: ignore[overload-overlap]  # the first that fits counts
@overload
def relative(delta: Values, *, alpha: Values) -> Array: ...
def relative(delta: Values, *, alpha: Values) -> Values:
    """Return ``g_alpha(delta)``, the loss of an estimate that is ``exp(delta)`` times the truth.

    Near 0 it is ``delta^2 / 2`` for every alpha: half the log-squared error.

    Args:
        delta: ``log(p / q)``, nats, any shape; ``-inf`` for an estimate of 0.
        alpha: Any finite number, broadcast against ``delta``.

    Returns:
        The broadcast shape; 0 at ``delta == 0`` only. At ``-inf`` it is
        ``1 / ((1 - alpha)(2 - alpha))`` for alpha < 1, else ``inf``. A float if both arguments are
        floats.

    Raises:
        InputError: ``delta`` is NaN, or ``alpha`` is not finite.

    >>> round(relative(float(np.log(5.0)), alpha=3.0), 9)
    0.32
    """
    return like(exp_of(log_relative(*broadcast(delta), alpha=alpha)), delta, alpha)


@overload
def asymmetry(alpha: float, factor: float) -> float: ...  # type: ignore[overload-overlap]  # the first that fits counts
@overload
def asymmetry(alpha: Values, factor: Values) -> Array: ...
def asymmetry(alpha: Values, factor: Values) -> Values:
    """Return how much dearer ``q / factor`` is than ``q * factor`` as an estimate of q.

    Below 1 for alpha < 3/2, exactly 1 at 3/2, above 1 for alpha > 3/2.

    Args:
        alpha: Any finite number.
        factor: At least 1; at 1 the limit, which is 1.

    Returns:
        The broadcast shape, a ratio of losses; a float if both arguments are floats.

    Raises:
        InputError: A factor below 1 or not finite, or an alpha that is not finite.

    >>> round(asymmetry(2.0, 10.0), 3)
    4.775
    """
    power, times = broadcast(alpha, factor)
    if not (np.isfinite(times).all() and (times >= 1.0).all()):
        raise InputError(f"needs finite factors of at least 1, got {factor!r}")
    delta = np.log(times)
    with np.errstate(invalid="ignore"):
        log_ratio = log_relative(-delta, alpha=power) - log_relative(delta, alpha=power)
    return like(exp_of(np.where(delta == 0.0, 0.0, log_ratio)), alpha, factor)


def _log_divided_exp(low: Array, mid: Array, high: Array) -> Array:
    """Return the log of ``exp[low, mid, high]`` for sorted nodes."""
    spread = high - low
    is_near = spread < _NEAR
    near = low + np.log(
        _near_series(np.where(is_near, mid - low, 0.0), np.where(is_near, spread, 0.0))
    )
    far_spread = np.where(is_near, _NEAR, spread)
    upper = np.where(is_near, 0.0, high - mid)
    lower = np.where(is_near, _NEAR, mid - low)
    gap = _mean_decay(upper) - np.exp(-upper) * _mean_decay(lower)
    return np.asarray(np.where(is_near, near, high + np.log(gap) - np.log(far_spread)))


def _near_series(mid: Array, high: Array) -> Array:
    """Return ``exp[0, mid, high]`` for ``0 <= mid <= high < 1`` from its power series.

    The n-th term is the sum of all products of n factors from mid and high, over (n + 2)!.
    """
    product, power, factorial = np.ones_like(high), np.ones_like(mid), 2.0
    total = product / factorial
    for n in range(1, _TERMS):
        power = power * mid
        product = high * product + power
        factorial *= n + 2
        total = total + product / factorial
    return total


def _mean_decay(width: Array) -> Array:
    """Return the mean of ``exp(-x)`` over ``0 <= x <= width``."""
    safe = np.where(width == 0.0, 1.0, width)
    return np.where(width == 0.0, 1.0, -np.expm1(-safe) / safe)


def _log_limit(gap: Array, power: Array) -> Array:
    """Return ``log g`` at ``delta = -inf`` or ``+inf``."""
    mirrored = np.where(gap > 0.0, 3.0 - power, power)
    is_finite = mirrored < 1.0
    below = np.where(is_finite, mirrored, 0.0)
    return np.where(is_finite, -np.log((1.0 - below) * (2.0 - below)), np.inf)
