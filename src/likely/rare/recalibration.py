"""The affine fit: one law for all targets that moves estimates onto the truth, and its price.

The fit knows the truth, so it belongs to the comparison of methods only: it can turn any method
into the best constant. Show the unfitted loss beside it, and judge it by `leave_one_out`. Unit:
prob; logs in nats.
"""

import itertools
import math
from dataclasses import dataclass
from typing import overload

import numpy as np
from jaxtyping import Bool, Float
from scipy.optimize import minimize

from likely.core.logspace import logsumexp
from likely.errors import InputError
from likely.rare.loss.data_set import check_targets
from likely.rare.loss.values import Array, Values, as_log_probs, as_probs, exp_of, like, log_of

Theta = Float[np.ndarray, "3"]
"""A slope per standard deviation of log p, the log of the power at mean log p, and log c."""

_FAR = 30.0
"""Below the least truth, in nats: an offset there is 1e-13 of any truth."""

_SLOPES = np.array([0.0, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0])
"""Of the coarse grid: standard deviations of log q for one of log p."""

_DESCENTS = 4
"""From how many slopes of the grid the fit goes down."""

_STEPS = {"maxiter": 2000, "maxfun": 4000, "ftol": 1e-15, "gtol": 1e-9}


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
    problem = _problem(log_q, log_p)
    return problem.best([problem.descend(start) for start in problem.starts()])


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
    check_targets(log_q, log_p)
    if len(log_q) < 2:
        raise InputError(f"leaving one out needs at least two targets, got {len(log_q)}")
    fits = (fit_affine_log(np.delete(log_q, i), np.delete(log_p, i)) for i in range(len(log_q)))
    return np.array([fit.apply_log(float(x)) for fit, x in zip(fits, log_p, strict=True)])


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Problem:
    """Truths and standardised estimates.

    Attributes:
        log_q: Nats.
        log_p: Nats.
        u: ``(log p - mean) / spread`` over the estimates above 0; 0 for the others.
        is_zero: Which estimates are 0.
        mean: Of log p over the estimates above 0, nats; 0 if there are none.
        spread: Their standard deviation; 1 where it is 0 (then the slope stays 0).
    """

    log_q: Float[np.ndarray, "N"]
    log_p: Float[np.ndarray, "N"]
    u: Float[np.ndarray, "N"]
    is_zero: Bool[np.ndarray, "N"]
    mean: float
    spread: float

    def starts(self) -> list[Theta]:
        """Return where to start from: the estimates as they are, and the best of a coarse grid.

        The grid has the slope, the offset, and the power at the largest estimate or the level that
        fits without an offset; the lowest points of its best slopes are taken.
        """
        above = ~self.is_zero
        if not above.any():
            return []
        u, truth = self.u[above], self.log_q
        is_flat = not u.any()
        low = float(truth.min()) - math.log(10.0)
        offsets = [low, *np.quantile(truth, [0.25, 0.5]), float(logsumexp(truth - _log_n(truth)))]
        tops = np.quantile(truth, [0.75, 1.0])
        found = []
        for slope in [0.0] if is_flat else float(truth.std()) * _SLOPES:
            alone = float(logsumexp(truth[above] - slope * u - _log_n(u)))
            levels = [alone, *(tops - slope * float(u.max()))]
            thetas = [np.array([slope, *x]) for x in itertools.product(levels, offsets)]
            found.append(min(((self.value_and_slope(t)[0], i, t) for i, t in enumerate(thetas))))
        found.sort(key=lambda x: x[0])
        plain = np.array([0.0 if is_flat else self.spread, self.mean, low])
        return [plain, *(theta for _, _, theta in found[:_DESCENTS])]

    def descend(self, start: Theta) -> Theta:
        """Return the bottom of the valley that holds ``start``."""
        low, high = float(self.log_q.min()) - _FAR, float(self.log_q.max()) + _FAR
        steepest = None if self.u.any() else 0.0
        bounds = [(0.0, steepest), (low, high), (low, high)]
        inside = np.clip(start, [0.0, low, low], [np.inf, high, high])
        found = minimize(
            self.value_and_slope, inside, jac=True, bounds=bounds,
            method="L-BFGS-B", options=_STEPS,
        )  # fmt: skip
        return np.asarray(found.x)

    def value_and_slope(self, theta: Theta) -> tuple[float, Theta]:
        """Return the mean Itakura-Saito loss and its gradient; no gradient where it is ``inf``."""
        power = np.where(self.is_zero, -np.inf, theta[1] + theta[0] * self.u)
        fitted = np.logaddexp(theta[2], power)
        gap = self.log_q - fitted
        with np.errstate(over="ignore"):
            excess = np.expm1(gap)
        if np.isposinf(excess).any():
            return math.inf, np.zeros(3)
        share = np.exp(power - fitted)
        pull = -excess * share / len(gap)
        slope = np.array([pull @ self.u, pull.sum(), -excess.mean() - pull.sum()])
        return float(np.mean(excess - gap)), slope

    def best(self, thetas: list[Theta]) -> AffineFit:
        """Return the lowest of the bottoms, each also without its offset, and of the constant."""
        level = float(logsumexp(self.log_q - _log_n(self.log_q)))
        constant = (0.0, -math.inf, level)
        candidates = [constant]
        for theta in thetas:
            a = float(theta[0]) / self.spread
            b = float(theta[1]) - a * self.mean
            candidates += [(a, b, -math.inf), (a, b, float(theta[2]))]
        losses = [self._loss(*candidate) for candidate in candidates]
        a, b, log_c = candidates[int(np.argmin(losses))]
        return AffineFit(a=a, b=b, log_c=log_c, loss=min(losses), constant_loss=losses[0])

    def _loss(self, a: float, b: float, log_c: float) -> float:
        fit = AffineFit(a=a, b=b, log_c=log_c, loss=math.nan, constant_loss=math.nan)
        gap = self.log_q - np.asarray(fit.apply_log(self.log_p))
        with np.errstate(over="ignore"):
            excess = np.expm1(gap)
        return math.inf if np.isposinf(excess).any() else float(np.mean(excess - gap))


def _log_n(values: Float[np.ndarray, "M"]) -> float:
    """Return the log of how many values there are."""
    return math.log(len(values))


def _problem(log_q: Float[np.ndarray, "N"], log_p: Float[np.ndarray, "K"]) -> _Problem:
    """Return the problem of one fit.

    Raises:
        InputError: No targets, a truth of 0, or a log that is NaN or ``+inf``.
        ShapeError: Arrays of different lengths.
    """
    truth, estimate = check_targets(log_q, log_p)
    if np.isneginf(truth).any():
        raise InputError("the fit needs truths above 0, got a truth of 0; leave that target out")
    is_zero = np.isneginf(estimate)
    above = estimate[~is_zero]
    mean = float(above.mean()) if len(above) else 0.0
    spread = float(above.std()) if len(above) else 0.0
    u = np.zeros_like(estimate)
    if spread > 0.0:
        u[~is_zero] = (above - mean) / spread
    return _Problem(
        log_q=truth, log_p=estimate, u=u, is_zero=is_zero, mean=mean, spread=spread or 1.0
    )
