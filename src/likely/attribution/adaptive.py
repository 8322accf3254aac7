"""The two engines of one place: every candidate, or rounds of draws until enough is known. Nats."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias, runtime_checkable

from scipy.stats import norm

from likely.attribution.evidence import Evidence
from likely.attribution.measures import Measures, measure, measuring
from likely.core.estimate import Estimate

Method: TypeAlias = Literal["exact", "adaptive"]
Reason: TypeAlias = Literal["exact", "tolerance", "budget"]
Forecast: TypeAlias = Callable[[float], float]

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Rounds:
    """How a search came to its end.

    Attributes:
        reason: Why no more was done.
        n_rounds: Of draws.
    """

    reason: Reason
    n_rounds: int

    @property
    def converged(self) -> bool:
        """Whether the number is known to the tolerance."""
        return self.reason != "budget"


@runtime_checkable
class Seeker(Protocol):
    """Draws candidates of one place: of one token (`Search`) or of several (`TreeSearch`)."""

    @property
    def n_candidates(self) -> int:
        """How many candidates there are."""
        ...

    @property
    def most_cost(self) -> float:
        """How many token evaluations a round takes at most for each unit of its size."""
        ...

    @property
    def cost_left(self) -> int:
        """How many token evaluations it takes to evaluate those that were not, to the end."""
        ...

    def exhaust(self) -> None:
        """Evaluate every candidate to the end."""
        ...

    def draw(self, size: float) -> None:
        """Run a round of draws."""
        ...

    def evidence(self) -> Evidence:
        """Return what is known now."""
        ...


def find_exactly(search: Seeker, *, level: float, n_rounds: int = 0) -> Found:
    """Evaluate every candidate of a place."""
    search.exhaust()
    evidence = search.evidence()
    return Found(
        evidence=evidence, measures=measure(evidence, level=level, method="exact"),
        method="exact", converged=True, reason="exact", n_rounds=n_rounds,
    )  # fmt: skip


def find_adaptively(
    search: Seeker,
    *,
    tolerance: float,
    level: float,
    budget: float,
    spent: Callable[[], int],
) -> Found:
    """Draw candidates of a place until its score is known to the tolerance; see `run_rounds`."""

    def aim() -> tuple[Estimate, Forecast]:
        computed = measuring(search.evidence(), level=level, method="adaptive")
        return computed.run().score, computed.forecast

    rounds = run_rounds(search, aim, tolerance=tolerance, budget=budget, spent=spent)
    method: Method = "exact" if rounds.reason == "exact" else "adaptive"
    evidence = search.evidence()
    return Found(
        evidence=evidence, measures=measure(evidence, level=level, method=method),
        method=method, converged=rounds.converged, reason=rounds.reason, n_rounds=rounds.n_rounds,
    )  # fmt: skip


def run_rounds(
    search: Seeker,
    aim: Callable[[], tuple[Estimate, Forecast]],
    *,
    tolerance: float,
    budget: float,
    spent: Callable[[], int],
) -> Rounds:
    """Draw candidates of a place until one number is known to the tolerance.

    A round is larger than the one before it, as the width of the interval asks for. Where the next
    one would cost as much as to evaluate every candidate that is left, that is done.

    Args:
        search: Of the place, nothing evaluated yet.
        aim: Returns the number, as it is known now, with the diagnostics of a `Spread`; and a
            function from the growth of a round to the standard error that is to be expected.
        tolerance: Half the width that its interval may have, nats.
        budget: Token evaluations that may be spent. A first round is made as small as it asks for,
            down to the actual token alone; a later one that would go over it is not begun.
        spent: Returns how many were spent so far.
    """
    if search.n_candidates <= FIRST_SIZE:
        search.exhaust()
        return Rounds(reason="exact", n_rounds=0)
    n_rounds, start = 0, spent()
    size = min(FIRST_SIZE, max(1.0, budget / search.most_cost))
    was_known = False
    while True:
        before = spent()
        search.draw(size)
        n_rounds += 1
        if search.evidence().is_exact:
            search.exhaust()
            return Rounds(reason="exact", n_rounds=n_rounds)
        found, forecast = aim()
        factor = _growth(found, forecast, tolerance)
        is_known = factor == 0.0
        if is_known and not was_known and float(found.diagnostics["n_effective"]) < _MANY:
            factor = 1.0
        was_known = is_known
        after = spent()
        next_cost = (after - before) * factor
        left = search.cost_left
        is_affordable = after - start + min(left, next_cost) <= budget
        if factor == 0.0 or not is_affordable:
            return Rounds(reason="tolerance" if factor == 0.0 else "budget", n_rounds=n_rounds)
        if left <= next_cost:
            search.exhaust()
            return Rounds(reason="exact", n_rounds=n_rounds)
        size *= factor


def _growth(score: Estimate, forecast: Forecast, tolerance: float) -> float:
    """Return by what the next round is to be larger than the last; 0 if none is needed."""
    half = max(score.high - score.value, score.value - score.low)
    if half <= tolerance:
        return 0.0
    wanted = tolerance / (float(norm.isf((1.0 - score.level) / 2.0)) * _CAUTION)
    return next((k for k in _FACTORS if forecast(k) <= wanted), _FACTORS[-1])
