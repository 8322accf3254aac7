"""Probability of a formula by independent sampling: the last resort, with exact intervals."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from scipy.special import expit

from likely.core.estimate import Estimate
from likely.core.streams import generator
from likely.errors import InputError, NumericalError, ShapeError
from likely.logic.circuits.truth import pack, truth
from likely.logic.formula import Formula, variables
from likely.stats.intervals import clopper_pearson

_BLOCK = 1 << 22
"""Random numbers drawn at a time: 32 MiB."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SampledLogProb:
    """A log-probability estimated by sampling, with its gradient.

    Attributes:
        log_prob: log P in nats. The interval is that of Clopper and Pearson, exact at its level
            whatever P is: without a hit it goes from ``-inf`` to a number.
        gradient: Estimate of ``d log P / d log_odds``, shape (n,); None without a hit.
        gradient_low: Lower ends of intervals for each entry, at the same level each; None
            without a hit.
        gradient_high: Upper ends.
    """

    log_prob: Estimate
    gradient: Float[np.ndarray, "n"] | None
    gradient_low: Float[np.ndarray, "n"] | None
    gradient_high: Float[np.ndarray, "n"] | None


def estimate_log_prob(
    formula: Formula,
    log_odds: Float[np.ndarray, "n"],
    *,
    names: Sequence[str] | None = None,
    n_samples: int = 100_000,
    level: float = 0.95,
    seed: int = 0,
) -> SampledLogProb:
    """Return an estimate of log P of a formula of independent events, where compiling fails.

    The gradient is the mean of ``x_i - p_i`` over the samples in which the formula holds (the
    score function of the samples). Given the hits, each count of ``x_i`` is binomial, which gives
    its interval.

    Args:
        formula: Without quantifiers.
        log_odds: Of the events, nats, shape (n,); ``-inf`` and ``+inf`` are legal.
        names: The event of each entry; by default the variables in order of first appearance.
        n_samples: How many assignments are drawn; the interval of P is about
            ``4 sqrt(P / n_samples)`` wide at the default level.
        level: Coverage of the intervals.
        seed: Of the random stream, which is named after the formula.

    Raises:
        InputError: A variable is missing from the names, or a number is out of range.
        ShapeError: There is not one log-odds an event.
        NumericalError: A log-odds is NaN.

    >>> from likely.logic.parser import parse
    >>> result = estimate_log_prob(parse("a & b"), np.zeros(2), n_samples=10_000)
    >>> bool(result.log_prob.low < math.log(0.25) < result.log_prob.high)
    True
    """
    columns = tuple(variables(formula) if names is None else names)
    missing = sorted(set(variables(formula)) - set(columns))
    if missing:
        raise InputError(f"names must hold every event of the formula, {missing!r} are missing")
    if log_odds.shape != (len(columns),):
        raise ShapeError(
            f"there is one log-odds for each of {len(columns)} events, got shape {log_odds.shape}"
        )
    if np.isnan(log_odds).any():
        raise NumericalError(f"log-odds must be numbers, got NaN for {columns!r}")
    if n_samples < 1:
        raise InputError(f"n_samples is at least 1, got {n_samples!r}")
    hits, true_in_hits = _sample(formula, expit(log_odds), columns, n_samples, seed)
    return _result(hits, true_in_hits, expit(log_odds), n_samples=n_samples, level=level)


def _sample(
    formula: Formula,
    probs: Float[np.ndarray, "n"],
    names: Sequence[str],
    n_samples: int,
    seed: int,
) -> tuple[int, Float[np.ndarray, "n"]]:
    """Return in how many samples the formula holds, and in how many of these each event does."""
    stream = generator(seed, "logic", "monte-carlo", str(formula))
    hits, true_in_hits = 0, np.zeros(len(names))
    step = max(1, _BLOCK // max(1, len(names)))
    for start in range(0, n_samples, step):
        size = min(step, n_samples - start)
        columns = pack(stream.random((len(names), size)) < probs[:, None])
        is_hit = truth(formula, dict(zip(names, columns, strict=True)), one=(1 << size) - 1)
        hits += is_hit.bit_count()
        true_in_hits += [(column & is_hit).bit_count() for column in columns]
    return hits, true_in_hits


def _result(
    hits: int,
    true_in_hits: Float[np.ndarray, "n"],
    probs: Float[np.ndarray, "n"],
    *,
    n_samples: int,
    level: float,
) -> SampledLogProb:
    low, high = clopper_pearson(hits, n_samples, level=level)
    estimate = Estimate(
        value=_log(hits / n_samples),
        low=_log(low),
        high=_log(high),
        level=level,
        unit="nats",
        method="monte-carlo",
        diagnostics={"n_samples": n_samples, "hits": hits},
    )
    if hits == 0:
        return SampledLogProb(
            log_prob=estimate, gradient=None, gradient_low=None, gradient_high=None
        )
    ends = np.array([clopper_pearson(int(count), hits, level=level) for count in true_in_hits])
    ends = ends.reshape(len(probs), 2)
    return SampledLogProb(
        log_prob=estimate,
        gradient=true_in_hits / hits - probs,
        gradient_low=ends[:, 0] - probs,
        gradient_high=ends[:, 1] - probs,
    )


def _log(prob: float) -> float:
    return math.log(prob) if prob > 0.0 else -math.inf
