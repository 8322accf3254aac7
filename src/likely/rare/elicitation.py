"""The worst of many queries, forecast from a few: how likely it elicits an output. Unit: nats.

Each query of a sample has a probability with which the model answers it in some unwanted way.
Whoever will send far more queries wants the largest probability among those. On the scale
``-log(-log p)`` the log-survival of the probabilities is taken to fall in a straight line beyond a
high level; the line is fitted to the largest scores and read off where the best of ``n`` lies.

Sources: Jones and others (2025), "Forecasting rare language model behaviors", section 3: the scale
and the straight line. The interval is our own.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from scipy.optimize import brentq
from scipy.stats import beta, chi2

from likely.core.estimate import Estimate
from likely.core.logspace import check_log_probs
from likely.errors import InputError
from likely.stats.intervals import check_level
from likely.stats.pareto import fit_pareto

LEAST = 10
"""Scores that the line is fitted to, at least."""
_GRID = 64  # parts of equal probability that each unknown of the fit is cut into


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
    where it is one, and below 0 where the line over-predicts.

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
    tails = (0.5, (1.0 - level) / 2.0, (1.0 + level) / 2.0)
    value, low, high = (-float(np.exp(-tail.quantile(n, share))) for share in tails)
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

    def quantile(self, n: int, share: float) -> float:
        """Return the score that the best of ``n`` stays below with a probability.

        If the tail is exponential, the share of all scores beyond the start, the mean excess over
        its true value, and the draw itself are independent, with laws that hold no unknown: a beta
        law, a chi-squared one and that of the largest of ``n``. So the coverage is exact.
        """
        middles = (np.arange(_GRID) + 0.5) / _GRID
        beyond = beta.ppf(middles, self.top + 1, self.m - self.top)[:, None]
        excess = chi2.ppf(middles, 2 * self.top)[None, :] / (2 * self.top)  # fitted over true

        def surplus(times: float) -> float:
            survival = beyond * np.exp(-times * excess)
            return float(np.exp(n * np.log1p(-survival)).mean()) - share

        last = 2.0
        while surplus(last) < 0.0:
            last *= 2.0
        if surplus(0.0) >= 0.0:
            return self.start
        return self.start + self.mean_excess * float(brentq(surplus, 0.0, last, xtol=1e-10))


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
