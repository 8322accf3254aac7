"""The two engines of one place: every candidate, or rounds of draws until enough is known. Nats."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeAlias

from scipy.stats import norm

from likely.attribution.evidence import Evidence
from likely.attribution.measures import Measures, Measuring, measure, measuring
from likely.attribution.search import Search
from likely.core.estimate import Estimate

Method: TypeAlias = Literal["exact", "adaptive"]
Reason: TypeAlias = Literal["exact", "tolerance", "budget"]

FIRST_SIZE = 4096.0
"""Size of the first round. With half as many, intervals cover less than they say (docs)."""

_MANY = 32.0  # effective draws from which one round is believed: with fewer, what it missed
# may be what matters, and another one must find the same
_FACTORS = (1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0)  # from a round's size to the next
_CAUTION = 1.5  # by what the error that is forecast has to stay below what is asked for


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What is known about a place, and how it came to be known.

    Attributes:
        evidence: The candidates evaluated.
        measures: Every number.
        method: ``exact`` if every candidate was evaluated, else ``adaptive``.
        converged: Whether the interval of the score is as narrow as was asked for.
        reason: Why no more was done.
        n_rounds: Of draws.
    """

    evidence: Evidence
    measures: Measures
    method: Method
    converged: bool
    reason: Reason
    n_rounds: int


def find_exactly(search: Search, *, level: float, n_rounds: int = 0) -> Found:
    """Evaluate every candidate of a place."""
    search.exhaust()
    evidence = search.evidence()
    return Found(
        evidence=evidence, measures=measure(evidence, level=level, method="exact"),
        method="exact", converged=True, reason="exact", n_rounds=n_rounds,
    )  # fmt: skip


def find_adaptively(
    search: Search,
    *,
    tolerance: float,
    level: float,
    budget: float,
    spent: Callable[[], int],
) -> Found:
    """Draw candidates of a place until its score is known to the tolerance.

    A round is larger than the one before it, as the width of the interval asks for. Where the next
    one would cost as much as to evaluate every candidate that is left, that is done.

    Args:
        search: Of the place, nothing evaluated yet.
        tolerance: Half the width that the interval of the score may have, nats.
        level: Coverage of that interval.
        budget: Token evaluations that may be spent. A first round is made as small as it asks for,
            down to the actual token alone; a later one that would go over it is not begun.
        spent: Returns how many were spent so far.
    """
    if search.n_candidates <= FIRST_SIZE:
        return find_exactly(search, level=level)
    n_rounds, start = 0, spent()
    size = min(FIRST_SIZE, max(1.0, budget / search.most_cost))
    was_known = False
    while True:
        before = spent()
        search.draw(size)
        n_rounds += 1
        evidence = search.evidence()
        if evidence.is_exact:
            return find_exactly(search, level=level, n_rounds=n_rounds)
        computed = measuring(evidence, level=level, method="adaptive")
        measures = computed.run()
        factor = _growth(computed, measures.score, tolerance)
        is_known = factor == 0.0
        if is_known and not was_known and _effective(measures.score) < _MANY:
            factor = 1.0
        was_known = is_known
        after = spent()
        next_cost = (after - before) * factor
        left = search.cost_left
        is_affordable = after - start + min(left, next_cost) <= budget
        if factor == 0.0 or not is_affordable:
            return Found(
                evidence=evidence, measures=measures, method="adaptive", converged=factor == 0.0,
                reason="tolerance" if factor == 0.0 else "budget", n_rounds=n_rounds,
            )  # fmt: skip
        if left <= next_cost:
            return find_exactly(search, level=level, n_rounds=n_rounds)
        size *= factor


def _effective(score: Estimate) -> float:
    return float(score.diagnostics["n_effective"])


def _growth(computed: Measuring, score: Estimate, tolerance: float) -> float:
    """Return by what the next round is to be larger than the last; 0 if none is needed."""
    half = max(score.high - score.value, score.value - score.low)
    if half <= tolerance:
        return 0.0
    wanted = tolerance / (float(norm.isf((1.0 - score.level) / 2.0)) * _CAUTION)
    return next((k for k in _FACTORS if computed.forecast(k) <= wanted), _FACTORS[-1])
