"""Arithmetic on log-probabilities, in nats and float64; ``-inf`` means impossible."""

import math
from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

from likely.errors import NumericalError

_LOG_HALF = float(np.log(0.5))


def logsumexp(log_weights: Float[np.ndarray, "..."], *, axis: int = -1) -> Float[np.ndarray, "..."]:
    """Return ``log(sum(exp(log_weights)))`` along one axis, without overflow.

    Args:
        log_weights: Nats, any shape with at least one axis; ``-inf`` is allowed.
        axis: The axis that is summed.

    Returns:
        Nats, the shape without ``axis``; ``-inf`` where every entry is ``-inf`` or none is there.

    Raises:
        NumericalError: An entry is NaN or ``+inf``.

    >>> logsumexp(np.log(np.array([[0.25, 0.5]]))).round(6)
    array([-0.287682])
    """
    weights = np.asarray(log_weights, dtype=np.float64)
    if weights.shape[axis] == 0:
        return np.full(np.delete(weights.shape, axis), -np.inf)
    top = np.max(weights, axis=axis, keepdims=True)
    if np.isnan(top).any() or np.isposinf(top).any():
        raise NumericalError(
            f"logsumexp needs finite or -inf entries, got a maximum of {np.max(top)!r}"
        )
    shift = np.where(np.isneginf(top), 0.0, top)
    total = np.sum(np.exp(weights - shift), axis=axis)
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(total) + np.squeeze(shift, axis=axis))


def log_of(prob: float) -> float:
    """Return the log of a probability or a weight, nats; ``-inf`` for 0.

    >>> log_of(1.0), log_of(0.0)
    (0.0, -inf)
    """
    return math.log(prob) if prob > 0.0 else -math.inf


def log_sum(log_weights: Sequence[float]) -> float:
    """Return the log of the sum of weights given by their logs, nats; ``-inf`` for none.

    >>> log_sum([])
    -inf
    """
    return float(logsumexp(np.array(log_weights, dtype=np.float64)))


def log_union(log_probs: Sequence[float]) -> float:
    """Return the log-probability of any of some events that exclude one another, nats.

    What rounding puts above 0 is taken off: an excess that rounding cannot explain is for the
    caller to find.

    >>> log_union([float(np.log(1 / 3))] * 3)
    0.0
    """
    return min(0.0, log_sum(log_probs))


def prob_text(log_prob: float, *, digits: int = 3) -> str:
    """Return a probability as a person reads it, however small; ``0`` only where it is 0.

    Args:
        log_prob: Nats.
        digits: Significant digits.

    >>> prob_text(math.log(2.5e-9)), prob_text(-1500.0), prob_text(-math.inf), prob_text(0.0)
    ('2.50e-09', '10^-651.4', '0', '1')
    """
    if log_prob == -math.inf:
        return "0"
    if log_prob < -700.0:
        return f"10^{log_prob / math.log(10.0):.1f}"
    prob = math.exp(log_prob)
    return f"{prob:.{digits - 1}e}" if prob < 1e-3 else f"{prob:.{digits}g}"


_NAMED_POWERS = ((6, "million"), (9, "billion"), (12, "trillion"))


def one_in(log_prob: float) -> str:
    """Return once in how many trials a person has to expect an event; a dash where it is never.

    Args:
        log_prob: Nats.

    >>> [one_in(x) for x in (math.log(1e-9), math.log(1 / 123456), math.log(0.7), -math.inf)]
    ['1.0 billion', '123,000', '1.4', '-']
    """
    if log_prob == -math.inf:
        return "-"
    power = -log_prob / math.log(10.0)
    if power < math.log10(999_500.0):
        times = math.exp(-log_prob)
        return f"{times:.2g}" if times < 9.95 else f"{float(f'{times:.3g}'):,.0f}"
    if power > math.log10(999.5e12):
        return f"10^{power:.1f}"
    named, name = [one for one in _NAMED_POWERS if power >= math.log10(0.9995) + one[0]][-1]
    times = 10.0 ** (power - named)
    return f"{times:.{1 if times < 9.95 else 0}f} {name}"


def tempered(
    log_probs: Float[np.ndarray, "*rows V"], temperature: float
) -> Float[np.ndarray, "*rows V"]:
    """Return each row's law to the power 1/temperature, normalised; at 1 the rows as they are.

    Args:
        log_probs: Nats; ``-inf`` stays so.
        temperature: Positive and finite.

    >>> np.exp(tempered(np.log(np.array([0.2, 0.8])), 0.5)).round(4).tolist()
    [0.0588, 0.9412]
    """
    if temperature == 1.0:
        return log_probs
    powers = log_probs / temperature
    return np.asarray(powers - logsumexp(powers)[..., None])


def log1mexp(log_prob: Float[np.ndarray, "..."]) -> Float[np.ndarray, "..."]:
    """Return ``log(1 - exp(log_prob))`` without cancellation.

    Args:
        log_prob: Shape ``(...)``, nats, every entry <= 0; ``-inf`` is allowed.

    Returns:
        Shape ``(...)``, nats; ``-inf`` where ``log_prob == 0``.

    Raises:
        NumericalError: An entry is NaN or positive.

    Sources:
        Maechler (2012), "Accurately computing log(1 - exp(-|a|))": the switch at log 2.

    >>> log1mexp(np.log(np.array([0.25]))).round(6)
    array([-0.287682])
    """
    if not np.all(log_prob <= 0.0):
        worst = float(np.max(log_prob))
        raise NumericalError(f"log1mexp needs log-probabilities <= 0, got a maximum of {worst!r}")
    with np.errstate(divide="ignore"):
        near_zero = np.log(-np.expm1(log_prob))
        far_below = np.log1p(-np.exp(log_prob))
    return np.asarray(np.where(log_prob > _LOG_HALF, near_zero, far_below))


def entropy(log_probs: Float[np.ndarray, "*rows V"]) -> Float[np.ndarray, "*rows"]:
    """Return the Shannon entropy of each row, in nats.

    Args:
        log_probs: Normalised log-probabilities, nats; ``-inf`` counts as probability 0.

    Returns:
        Nats, one number a row, between 0 and ``log V``.

    >>> float(entropy(np.log(np.full(4, 0.25))).round(6))
    1.386294
    """
    probs = np.exp(log_probs)
    finite = np.where(np.isneginf(log_probs), 0.0, log_probs)
    return np.asarray(0.0 - np.sum(probs * finite, axis=-1))


def check_log_probs(log_probs: Float[np.ndarray, "..."], *, what: str, slack: float = 1e-9) -> None:
    """Raise unless every entry is a log-probability: not NaN, and at most ``slack`` above 0.

    Args:
        log_probs: Nats.
        what: Names the item in the message, so that the caller can find it.
        slack: How far above 0 rounding may put a probability of 1.

    Raises:
        NumericalError: An entry is NaN or above ``slack``.
    """
    if not np.all(log_probs <= slack):
        bad = np.asarray(log_probs)[~(np.asarray(log_probs) <= slack)]
        raise NumericalError(
            f"{what}: the model gave {float(bad[0])!r} as a log-probability; "
            "check its weights and dtype (likely self-check)"
        )
