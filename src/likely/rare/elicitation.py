"""The worst of many queries, forecast from a few: how likely it elicits an output. Unit: nats.

Each query of a sample has a probability with which the model answers it in some unwanted way.
Whoever will send far more queries wants the largest probability among those. On the scale
``-log(-log p)`` the log-survival of the probabilities is taken to fall in a straight line beyond a
high level; the line is fitted to the largest scores and read off where the best of ``n`` lies.

Sources: Jones and others (2025), "Forecasting rare language model behaviors", section 3: the scale
and the straight line. The interval is our own.
"""

import math
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from scipy.optimize import brentq
from scipy.special import betaincinv, expit, gammainccinv, gammaincinv, logit

from likely.core.estimate import Estimate
from likely.core.logspace import check_log_probs
from likely.errors import InputError
from likely.stats.intervals import check_level
from likely.stats.pareto import fit_pareto

LEAST = 10
"""Scores that the line is fitted to, at least."""
_BEYOND = 1e-18  # probability that is left out at each end of a law

Rule = tuple[Float[np.ndarray, "k"], Float[np.ndarray, "k"]]
"""Points and their weights: a law that is smooth along the whole line, in equal steps. The error of
such sums falls exponentially with the number of steps; here it is below 1e-11."""


def elicitation_scores(log_probs: Float[np.ndarray, "m"]) -> Float[np.ndarray, "m"]:
    """Return ``-log(-log p)`` of the probability with which each query elicits an output.

    Args:
        log_probs: Shape ``(m,)``, nats; ``-inf`` is a score of ``-inf``, 0 one of ``+inf``.

    Raises:
        NumericalError: An entry is no log-probability.

    Sources:
        Jones and others (2025), "Forecasting rare language model behaviors", section 3.

    >>> elicitation_scores(np.log(np.array([0.5, 1e-9]))).round(3).tolist()
    [0.367, -3.031]
    """
    check_log_probs(log_probs, what="elicitation scores", slack=0.0)
    with np.errstate(divide="ignore"):
        return np.asarray(-np.log(-log_probs))


def forecast_largest(
    log_probs: Float[np.ndarray, "m"], n: int, *, top: int | None = None, level: float = 0.95
) -> Estimate:
    """Return how likely an output is for the query, among ``n`` new ones, that elicits it most.

    The value is the median of that largest log-probability. The interval holds it with the stated
    coverage, the chance of the draw and the error of the fit both counted, as long as the tail is
    a straight line; ``tail_shape`` among the diagnostics, of a generalised Pareto fit, is near 0
    where it is one, and below 0 where the line over-predicts. The lower end is ``-inf`` where the
    largest of ``n`` may well lie below the tail, of which the line says nothing: for a level beyond
    0.999 and hardly more new queries than old ones.

    Args:
        log_probs: Shape ``(m,)``, nats: of independent queries, such as `output_probability`
            gives; ``-inf`` for those that never elicit it.
        n: New queries, drawn as those were; at least ``m``.
        top: The line is fitted to so many of the largest; None for a tenth, from 10 to 100.
        level: Coverage, in (0, 1).

    Raises:
        InputError: There are fewer new queries than old ones, or the ``top + 1`` largest
            probabilities are too few, all alike, 0 or 1.
        NumericalError: An entry is no log-probability.

    >>> scores = -np.log(1 - (np.arange(1000) + 0.5) / 1000) - 3  # a straight line of slope 1
    >>> found = forecast_largest(-np.exp(-scores), 10**6)
    >>> round(found.value, 6), round(found.low, 4), round(found.high, 8)
    (-1.2e-05, -0.0002, -1.6e-07)
    """
    check_level(level)
    m = len(log_probs)
    if n < m:
        raise InputError(f"a forecast from {m} queries is for as many or more, got n={n!r}")
    tail = _fit(elicitation_scores(log_probs), top)
    probs = (0.5, (1.0 + level) / 2.0, (1.0 - level) / 2.0)
    value, low, high = (-float(np.exp(-tail.reached(n, prob))) for prob in probs)
    return Estimate(
        value=value, low=low, high=high, level=level, unit="nats", method="largest of n",
        diagnostics={
            "queries": m, "new_queries": n, "top": tail.top, "tail_start": tail.start,
            "tail_mean_excess": tail.mean_excess, "tail_shape": tail.shape,
            "largest_log_prob": float(log_probs.max()),
        },
    )  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class _Tail:
    """A straight line fitted to the largest scores.

    Attributes:
        m: Scores in all.
        top: Of the fit.
        start: The largest score below those.
        mean_excess: Theirs above it.
        shape: Of the generalised Pareto law that fits them best.
    """

    m: int
    top: int
    start: float
    mean_excess: float
    shape: float

    def reached(self, n: int, prob: float) -> float:
        """Return the score that the best of ``n`` exceeds with a probability.

        If the tail is exponential, the share of all scores beyond the start, the mean excess over
        its true value, and the draw itself are independent, with laws that hold no unknown: a beta
        law, a gamma law and that of the largest of ``n``. So the coverage is exact.

        Returns:
            ``-inf`` where it does not even exceed the start as often.
        """
        beyond, beyond_weights = _shares(self.top + 1, self.m - self.top)
        excess, excess_weights = _mean_excesses(self.top, slope=math.log(n))

        def surplus(times: float) -> float:
            survival = beyond[:, None] * np.exp(-times * excess)
            with np.errstate(divide="ignore"):  # a share of 1 is exceeded for certain
                exceeds = -np.expm1(float(n) * np.log1p(-survival))
            return float(beyond_weights @ exceeds @ excess_weights) - prob

        if surplus(0.0) < 0.0:
            return -math.inf
        last = 2.0
        while surplus(last) > 0.0:
            last *= 2.0
        return self.start + self.mean_excess * float(brentq(surplus, 0.0, last, xtol=1e-12))


def _shares(one: int, other: int) -> Rule:
    """Return shares and weights that stand for a beta law: equal steps of the log-odds."""
    ends = -logit(betaincinv(other, one, _BEYOND)), logit(betaincinv(one, other, _BEYOND))
    step = 0.5 * math.sqrt(1.0 / one + 1.0 / other)
    log_odds = np.arange(ends[1], ends[0] + step, step)
    log_weights = -one * np.logaddexp(0.0, -log_odds) - other * np.logaddexp(0.0, log_odds)
    return expit(log_odds), _normalised(log_weights)


def _mean_excesses(top: int, *, slope: float) -> Rule:
    """Return means of ``top`` exponential excesses over the true one, and weights: equal log steps.

    Args:
        top: Excesses.
        slope: How fast the law of the largest may change with the log, in its own widths.
    """
    ends = math.log(gammaincinv(top, _BEYOND) / top), math.log(gammainccinv(top, _BEYOND) / top)
    logs = np.arange(ends[0], ends[1], min(0.5 / math.sqrt(top), 0.25 / max(1.0, slope)))
    return np.exp(logs), _normalised(top * (logs - np.exp(logs)))


def _normalised(log_weights: Float[np.ndarray, "k"]) -> Float[np.ndarray, "k"]:
    weights = np.exp(log_weights - log_weights.max())
    return np.asarray(weights / weights.sum())


def _fit(scores: Float[np.ndarray, "m"], top: int | None) -> _Tail:
    """Return the line through the largest scores.

    Raises:
        InputError: There is none.
    """
    m = len(scores)
    chosen = top if top is not None else min(max(round(m / 10), LEAST), 100)
    if not LEAST <= chosen < m:
        raise InputError(
            f"a forecast is fitted to {LEAST} or more of the largest probabilities, and to fewer "
            f"than there are, got top={chosen!r} of {m}"
        )
    largest = np.sort(scores)[m - chosen - 1 :]
    if not np.isfinite(largest).all() or largest[-1] <= largest[0]:
        raise InputError(
            f"the {chosen + 1} largest probabilities make no tail (all alike, or one is 0 or 1), "
            f"got scores from {float(largest[0])!r} to {float(largest[-1])!r}; give more queries"
        )
    excesses = largest[1:] - largest[0]
    return _Tail(
        m=m, top=chosen, start=float(largest[0]), mean_excess=float(excesses.mean()),
        shape=fit_pareto(excesses).shape,
    )  # fmt: skip
