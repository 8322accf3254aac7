"""The loss of estimates of many probabilities, with what zeros among the estimates do to it.

Unit: that of the loss.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import overload

import numpy as np
from jaxtyping import Float

from likely.errors import InputError, ShapeError
from likely.rare.loss.kinds import Loss
from likely.rare.loss.values import Array, Values, as_log_probs, as_probs, exp_of, like, log_of


@dataclass(frozen=True, slots=True, kw_only=True)
class LossSummary:
    """What the estimates of a set of targets cost.

    One estimate of 0 can decide the mean, so the other fields stand beside it.

    Attributes:
        loss: The loss by name, with its settings.
        n: Targets.
        mean: Sum of the weighted losses over n, not over the sum of the weights; may be ``inf``.
        median: Of the weighted losses, zeros included.
        n_zeros: Targets whose estimate is 0.
        mean_without_zeros: Mean over the other targets; None if there is none.
    """

    loss: str
    n: int
    mean: float
    median: float
    n_zeros: int
    mean_without_zeros: float | None

    def to_dict(self) -> dict[str, object]:
        """Return the fields as a mapping for strict JSON."""
        return {
            "loss": self.loss,
            "n": self.n,
            "mean": self.mean,
            "median": self.median,
            "n_zeros": self.n_zeros,
            "mean_without_zeros": self.mean_without_zeros,
        }


def mean_loss(q: Float[np.ndarray, "N"], p: Float[np.ndarray, "K"], loss: Loss) -> LossSummary:
    """Return the mean weighted loss of the estimates p of the truths q.

    Args:
        q: Shape ``(N,)``, at least 0.
        p: Shape ``(N,)``, at least 0.
        loss: By which they are judged.

    Raises:
        InputError: No targets, a number that is negative, NaN or infinite, or a truth of 0 that the
            loss cannot weigh.
        ShapeError: Arrays of different lengths.

    >>> from likely.rare.loss.kinds import ITAKURA_SAITO
    >>> round(mean_loss(np.array([1e-7, 1e-6]), np.array([1e-7, 1e-7]), ITAKURA_SAITO).mean, 6)
    3.348707
    """
    return mean_loss_log(log_of(as_probs(q, what="q")), log_of(as_probs(p, what="p")), loss)


def mean_loss_log(
    log_q: Float[np.ndarray, "N"], log_p: Float[np.ndarray, "K"], loss: Loss
) -> LossSummary:
    """Return `mean_loss` of truths and estimates that are given by their logs.

    Args:
        log_q: Shape ``(N,)``, nats.
        log_p: Shape ``(N,)``, nats; ``-inf`` for an estimate of 0.
        loss: By which they are judged.

    Raises:
        InputError: No targets, a log that is NaN or ``+inf``, or a truth of 0 that the loss cannot
            weigh.
        ShapeError: Arrays of different lengths.
    """
    truth, estimate = check_targets(log_q, log_p)
    losses = exp_of(loss.log_losses(truth, estimate))
    is_zero = np.isneginf(estimate)
    n_zeros = int(is_zero.sum())
    return LossSummary(
        loss=loss.name,
        n=len(truth),
        mean=float(np.mean(losses)),
        median=median_of(losses),
        n_zeros=n_zeros,
        mean_without_zeros=float(np.mean(losses[~is_zero])) if n_zeros < len(truth) else None,
    )


def optimal_constant(q: Float[np.ndarray, "N"], loss: Loss) -> float:
    """Return the one estimate that costs least on all truths: the baseline of an estimator.

    It is the weighted mean of the truths under a power Bregman loss, whatever its shift (the plain
    mean under Itakura-Saito), and their geometric mean under the log-squared error.

    Args:
        q: Shape ``(N,)``, at least 0.
        loss: By which it is judged.

    Raises:
        InputError: No targets, a number that is negative, NaN or infinite, or a truth of 0 where
            the loss cannot weigh it.

    >>> from likely.rare.loss.kinds import LOG_SQUARED
    >>> round(1e7 * optimal_constant(np.array([1e-9, 1e-5]), LOG_SQUARED), 9)
    1.0
    """
    return float(np.exp(log_optimal_constant(log_of(as_probs(q, what="q")), loss)))


def log_optimal_constant(log_q: Float[np.ndarray, "N"], loss: Loss) -> float:
    """Return the log of `optimal_constant` for truths that are given by their logs, nats."""
    truth, _ = check_targets(log_q, log_q)
    return loss.log_constant(truth)


@overload
def zero_penalty(q: float, loss: Loss) -> float: ...  # type: ignore[overload-overlap]  # the first that fits counts
@overload
def zero_penalty(q: Values, loss: Loss) -> Array: ...
def zero_penalty(q: Values, loss: Loss) -> Values:
    """Return the weighted loss of an estimate of 0, for each truth.

    Args:
        q: At least 0.
        loss: By which it is judged.

    Returns:
        The shape of q; ``inf`` where the loss does not stand a zero.

    Raises:
        InputError: A number that is negative, NaN or infinite, or a truth of 0 that the loss cannot
            weigh.

    >>> from likely.rare.loss.kinds import Spb
    >>> round(zero_penalty(1e-9, Spb(alpha=2.0, weighting="shifted")), 1)
    2.6
    """
    log_q = log_of(as_probs(q, what="q")).reshape(-1)
    log_losses = loss.log_losses(log_q, np.full_like(log_q, -np.inf))
    return like(exp_of(log_losses), q)


def check_targets(
    log_q: Float[np.ndarray, "N"], log_p: Float[np.ndarray, "K"]
) -> tuple[Float[np.ndarray, "N"], Float[np.ndarray, "K"]]:
    """Return both as float64.

    Raises:
        InputError: No targets, or a log that is NaN or ``+inf``.
        ShapeError: Arrays of different lengths.
    """
    truth, estimate = as_log_probs(log_q, what="log_q"), as_log_probs(log_p, what="log_p")
    if truth.shape != estimate.shape:
        raise ShapeError(
            f"every truth needs one estimate, got shapes {truth.shape} and {estimate.shape}"
        )
    if not truth.size:
        raise InputError("at least one target is needed, got none")
    return truth, estimate


def median_of(values: Sequence[float] | Float[np.ndarray, "N"]) -> float:
    """Return the median; infinite only where the middle ones are.

    Args:
        values: At least one.

    >>> median_of([-np.inf, 1.0, 3.0]), median_of([-np.inf, 1.0])
    (1.0, -inf)
    """
    low, high = np.sort(values)[[(len(values) - 1) // 2, len(values) // 2]]
    return float(low) if low == high else float(0.5 * low + 0.5 * high)
