"""The affine fit: one law for all targets that moves estimates onto the truth, and its price.

The fit knows the truth, so it belongs to the comparison of methods only: it can turn any method
into the best constant. Show the unfitted loss beside it, and judge it by `leave_one_out`. Unit:
prob; logs in nats.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias, overload

import numpy as np
from jaxtyping import Float

from likely.core.logspace import logsumexp
from likely.errors import InputError
from likely.rare.affine_descent import Sets
from likely.rare.loss.data_set import check_targets
from likely.rare.loss.values import Array, Values, as_log_probs, as_probs, exp_of, like, log_of

Targets: TypeAlias = tuple[Float[np.ndarray, "..."], Float[np.ndarray, "..."]]
"""Logs of truths and of estimates, as many of each; sets of a batch may differ in size."""

_TOGETHER = 1024  # fits that take their steps together


@dataclass(frozen=True, slots=True, kw_only=True)
class AffineFit:
    """The map ``p -> c + exp(b + a log p)``; an estimate of 0 goes to c.

    Attributes:
        a: At least 0; 0 with ``b == -inf`` is the best constant.
        b: Nats.
        log_c: Nats; ``-inf`` where c is 0.
        loss: Mean Itakura-Saito loss after the fit, on the targets of the fit.
        constant_loss: That of the best constant: never below ``loss``.
    """

    a: float
    b: float
    log_c: float
    loss: float
    constant_loss: float

    @property
    def c(self) -> float:
        """The offset, a probability."""
        return math.exp(self.log_c)

    @overload
    def apply(self, p: float) -> float: ...  # type: ignore[overload-overlap]  # the first that fits
    @overload
    def apply(self, p: Values) -> Array: ...
    def apply(self, p: Values) -> Values:
        """Return the fitted estimates: a float for a float, else the shape of p.

        Raises:
            InputError: An estimate is negative, NaN or infinite.

        >>> fit = AffineFit(a=1.0, b=0.0, log_c=-math.inf, loss=0.0, constant_loss=1.0)
        >>> fit.apply(0.25)
        0.25
        """
        return like(exp_of(self.apply_log(log_of(as_probs(p, what="p")))), p)

    @overload
    def apply_log(self, log_p: float) -> float: ...  # type: ignore[overload-overlap]  # the first that fits
    @overload
    def apply_log(self, log_p: Values) -> Array: ...
    def apply_log(self, log_p: Values) -> Values:
        """Return the logs of the fitted estimates of estimates that are given by their logs.

        Raises:
            InputError: A log is NaN or ``+inf``.
        """
        logs = as_log_probs(log_p, what="log_p")
        is_zero = np.isneginf(logs)
        power = np.where(is_zero, -np.inf, self.b + self.a * np.where(is_zero, 0.0, logs))
        return like(np.logaddexp(self.log_c, power), log_p)

    def to_dict(self) -> dict[str, object]:
        """Return the fields as a mapping for strict JSON."""
        return {
            "a": self.a, "b": self.b, "log_c": self.log_c,
            "loss": self.loss, "constant_loss": self.constant_loss,
        }  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Recalibration:
    """The affine fit of some targets, judged within and without.

    Attributes:
        fit: Of all the targets.
        left_out: Shape ``(N,)``: the log of each target's estimate under the fit of the others.
    """

    fit: AffineFit
    left_out: Float[np.ndarray, "N"]


def fit_affine(q: Float[np.ndarray, "N"], p: Float[np.ndarray, "K"]) -> AffineFit:
    """Return the map of the estimates with the least mean Itakura-Saito loss from the truths.

    The loss has several valleys; the fit goes down from several starts and keeps the lowest. The
    best constant is one of the candidates, so the fit never costs more than it. It is the same at
    every call.

    Args:
        q: Shape ``(N,)``: the truths, above 0.
        p: Shape ``(N,)``: the estimates, at least 0.

    Raises:
        InputError: No targets, a truth of 0, or a number that is negative, NaN or infinite.
        ShapeError: Arrays of different lengths.

    Sources:
        Wu and Hilton (2024), "Estimating the probabilities of rare outputs in language models":
        the fit of estimates before they are compared; the offset c lets it move zeros.

    >>> p = np.array([1e-8, 1e-7, 1e-6, 1e-5])
    >>> fit = fit_affine(3e-9 + 2.0 * p**1.2, p)
    >>> round(fit.a, 3), round(float(np.exp(fit.b)), 3), round(fit.c * 1e9, 3)
    (1.2, 2.0, 3.0)
    """
    return fit_affine_log(log_of(as_probs(q, what="q")), log_of(as_probs(p, what="p")))


def fit_affine_log(log_q: Float[np.ndarray, "N"], log_p: Float[np.ndarray, "K"]) -> AffineFit:
    """Return `fit_affine` of truths and estimates that are given by their logs.

    Args:
        log_q: Shape ``(N,)``, nats, finite.
        log_p: Shape ``(N,)``, nats; ``-inf`` for an estimate of 0.

    Raises:
        InputError: No targets, a truth of 0, or a log that is NaN or ``+inf``.
        ShapeError: Arrays of different lengths.
    """
    return _fits([_checked(log_q, log_p)])[0]


def leave_one_out(q: Float[np.ndarray, "N"], p: Float[np.ndarray, "K"]) -> Float[np.ndarray, "N"]:
    """Return each target's estimate under the affine fit of all the others.

    An estimate of 0 stays 0 if the others have no zero and need no offset: the fit of the others
    cannot know better.

    Args:
        q: Shape ``(N,)``: the truths, above 0.
        p: Shape ``(N,)``: the estimates, at least 0.

    Returns:
        Shape ``(N,)``.

    Raises:
        InputError: Fewer than two targets, a truth of 0, or a number that is negative, NaN or
            infinite.
        ShapeError: Arrays of different lengths.

    >>> p = np.array([1e-8, 1e-7, 1e-6, 1e-5])
    >>> (leave_one_out(2.0 * p, p) / p).round(3)
    array([2., 2., 2., 2.])
    """
    log_q, log_p = log_of(as_probs(q, what="q")), log_of(as_probs(p, what="p"))
    return exp_of(leave_one_out_log(log_q, log_p))


def leave_one_out_log(
    log_q: Float[np.ndarray, "N"], log_p: Float[np.ndarray, "K"]
) -> Float[np.ndarray, "N"]:
    """Return the logs of `leave_one_out` for truths and estimates that are given by their logs.

    Args:
        log_q: Shape ``(N,)``, nats, finite.
        log_p: Shape ``(N,)``, nats; ``-inf`` for an estimate of 0.

    Raises:
        InputError: Fewer than two targets, a truth of 0, or a log that is NaN or ``+inf``.
        ShapeError: Arrays of different lengths.
    """
    return recalibrate([(log_q, log_p)])[0].left_out


def recalibrate(sets: Sequence[Targets]) -> list[Recalibration]:
    """Return the affine fit of each set of targets and what each of its targets has left out.

    Far cheaper together than one by one, and the same.

    Args:
        sets: Logs of the truths and of the estimates, nats; at least two targets each.

    Raises:
        InputError: A set has fewer than two targets, a truth of 0, or a log that is NaN or
            ``+inf``.
        ShapeError: Arrays of different lengths.
    """
    checked = [_checked(log_q, log_p) for log_q, log_p in sets]
    for log_q, _ in checked:
        if len(log_q) < 2:
            raise InputError(f"leaving one out needs at least two targets, got {len(log_q)}")
    whole = _fits(checked)
    others = [
        (np.delete(log_q, i), np.delete(log_p, i))
        for log_q, log_p in checked
        for i in range(len(log_q))
    ]
    rest = iter(_fits(others))
    return [
        Recalibration(
            fit=fit,
            left_out=np.array([next(rest).apply_log(float(x)) for x in log_p], dtype=np.float64),
        )
        for fit, (_, log_p) in zip(whole, checked, strict=True)
    ]


def _fits(sets: Sequence[Targets]) -> list[AffineFit]:
    """Return the fit of each set; those of one size go down together."""
    found: dict[int, AffineFit] = {}
    by_size: dict[int, list[int]] = {}
    for i, (log_q, _) in enumerate(sets):
        by_size.setdefault(len(log_q), []).append(i)
    for numbers in by_size.values():
        for start in range(0, len(numbers), _TOGETHER):
            part = numbers[start : start + _TOGETHER]
            log_q, log_p = (np.stack([sets[i][k] for i in part]) for k in (0, 1))
            found.update(zip(part, _best(Sets.of(log_q, log_p)), strict=True))
    return [found[i] for i in range(len(sets))]


def _best(sets: Sets) -> Iterator[AffineFit]:
    """Yield the lowest of the bottoms, each also without its offset, and of the constant."""
    bottoms = sets.bottoms()
    level = np.asarray(logsumexp(sets.log_q)) - math.log(sets.log_q.shape[1])
    a = bottoms[..., 0] / sets.spread[:, None]
    b = bottoms[..., 1] - a * sets.mean[:, None]
    shape = (*a.shape, 2)
    offsets = np.full(shape, -np.inf)
    offsets[..., 1] = bottoms[..., 2]
    flat = (len(a), -1)
    slopes, powers = (
        np.concatenate([first, np.repeat(one, 2, axis=1)], axis=1)
        for first, one in ((np.zeros((len(a), 1)), a), (np.full((len(a), 1), -np.inf), b))
    )
    log_c = np.concatenate([level[:, None], offsets.reshape(flat)], axis=1)
    log_p = np.where(sets.is_zero, 0.0, sets.log_p)[:, None]
    power = powers[..., None] + slopes[..., None] * log_p
    power = np.where(sets.is_zero[:, None], -np.inf, power)
    losses = sets.losses_of(np.logaddexp(log_c[..., None], power))
    for i, k in enumerate(losses.argmin(axis=1).tolist()):
        yield AffineFit(
            a=float(slopes[i, k]), b=float(powers[i, k]), log_c=float(log_c[i, k]),
            loss=float(losses[i, k]), constant_loss=float(losses[i, 0]),
        )  # fmt: skip


def _checked(log_q: Float[np.ndarray, "..."], log_p: Float[np.ndarray, "..."]) -> Targets:
    """Return the targets of one fit.

    Raises:
        InputError: No targets, a truth of 0, or a log that is NaN or ``+inf``.
        ShapeError: Arrays of different lengths.
    """
    truth, estimate = check_targets(log_q, log_p)
    if np.isneginf(truth).any():
        raise InputError("the fit needs truths above 0, got a truth of 0; leave that target out")
    return truth, estimate
