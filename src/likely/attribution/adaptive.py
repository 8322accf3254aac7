"""The two engines of one place: every candidate, or rounds of draws until enough is known. Nats."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal, Protocol, TypeAlias, runtime_checkable

from scipy.stats import norm

from likely.attribution.evidence import Evidence
from likely.attribution.measures import Measures, measure, measuring
from likely.core.branches import Stem
from likely.core.estimate import Cost, Estimate

Method: TypeAlias = Literal["exact", "adaptive"]
Reason: TypeAlias = Literal["exact", "tolerance", "budget"]
Forecast: TypeAlias = Callable[[float], float]

FIRST_SIZE = 4096.0
"""Size of the first round. With half as many, intervals cover less than they say (docs)."""

_MANY = 32.0  # effective draws from which one round is believed: with fewer, what it missed
# may be what matters, and another one must find the same
_AGAIN = 2.0  # growth of the round that must find the same
_FACTORS = (1.5, 2.0, 3.0, 4.0, 6.0, 8.0)  # from a round's size to the next
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


@runtime_checkable
class Seeker(Protocol):
    """Draws candidates of one place: of one token (`Search`) or of several (`TreeSearch`)."""

    @property
    def stem(self) -> Stem:
        """The text; its spending counts what draws cost."""
        ...

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


class Hunt:
    """Rounds of draws at one place until one number is known to the tolerance.

    A round is larger than the one before it, as the width of the interval asks for. Where the next
    one would cost as much as to evaluate every candidate that is left, that is done.

    Args:
        search: Of the place, nothing evaluated yet.
        aim: Returns the number, as it is known now, with the diagnostics of a `Spread`; and a
            function from the growth of a round to the standard error that is to be expected.
        tolerance: Half the width that its interval may have, nats.

    Attributes:
        cost: What was spent on the place.
        n_rounds: Of draws.
        reason: Why no more was done, as far as is known now.
        next_cost: Token evaluations that the next step is thought to take; 0 if none is needed.
    """

    def __init__(
        self, search: Seeker, aim: Callable[[], tuple[Estimate, Forecast]], *, tolerance: float
    ) -> None:
        self.search = search
        self.aim = aim
        self.tolerance = tolerance
        self.cost = Cost()
        self.n_rounds = 0
        self.reason: Reason = "budget"
        self.next_cost = math.inf
        self._size = FIRST_SIZE
        self._was_known = False

    @property
    def method(self) -> Method:
        """How candidates were chosen."""
        return "exact" if self.reason == "exact" else "adaptive"

    @property
    def converged(self) -> bool:
        """Whether the number is known to the tolerance."""
        return self.reason != "budget"

    def exhaust(self) -> None:
        """Evaluate every candidate."""
        before = self.search.stem.spending.cost
        self.search.exhaust()
        self.cost += self.search.stem.spending.cost - before
        self.reason, self.next_cost = "exact", 0.0

    def start(self, budget: float) -> None:
        """Take the first step.

        Args:
            budget: Token evaluations; the round is made as small as that asks for, down to the
                actual token alone, which is evaluated in any case.
        """
        if self.search.n_candidates <= FIRST_SIZE:
            self.exhaust()
            return
        self._size = min(FIRST_SIZE, max(1.0, budget / self.search.most_cost))
        self._draw()

    def go_on(self) -> None:
        """Take the next step: a round, or all that is left where that costs no more."""
        if self.search.cost_left <= self.next_cost:
            self.exhaust()
        else:
            self._draw()

    def _draw(self) -> None:
        before = self.search.stem.spending.cost
        self.search.draw(self._size)
        self.cost += self.search.stem.spending.cost - before
        self.n_rounds += 1
        if self.search.evidence().is_exact:
            self.exhaust()
            return
        found, forecast = self.aim()
        factor = _growth(found, forecast, self.tolerance)
        is_known = factor == 0.0
        if is_known and not self._was_known and float(found.diagnostics["n_effective"]) < _MANY:
            factor = _AGAIN
        self._was_known = is_known
        self.reason = "tolerance" if factor == 0.0 else "budget"
        thought = self.cost.token_evaluations * max(0.0, factor - 1.0)
        self.next_cost = min(max(1.0, thought), float(self.search.cost_left)) if factor else 0.0
        self._size *= max(1.0, factor)


def run_hunts(
    hunts: Sequence[Hunt], *, budget: float, told: Callable[[int], None] | None = None
) -> None:
    """Take first steps at all places, and then those that are cheapest to take.

    Args:
        hunts: One a place, those that cost least to evaluate first.
        budget: Token evaluations for all of them together. What the first steps leave goes where
            least is missing, so that most places come to be known.
        told: Is told of token evaluations as they are done.
    """
    left = budget

    def take(step: Callable[[], None], hunt: Hunt) -> None:
        nonlocal left
        before = hunt.cost.token_evaluations
        step()
        spent = hunt.cost.token_evaluations - before
        left -= spent
        if told is not None:
            told(spent)

    for i, hunt in enumerate(hunts):
        share = max(0.0, left) / (len(hunts) - i)
        take(partial(hunt.start, share), hunt)
    while pending := [hunt for hunt in hunts if 0.0 < hunt.next_cost <= left]:
        cheapest = min(pending, key=lambda hunt: hunt.next_cost)
        take(cheapest.go_on, cheapest)


def hunt_score(search: Seeker, *, tolerance: float, level: float) -> Hunt:
    """Return the hunt for the score of a place."""

    def aim() -> tuple[Estimate, Forecast]:
        computed = measuring(search.evidence(), level=level, method="adaptive", missed=tolerance)
        computed.check()
        return computed.score(), computed.forecast

    return Hunt(search, aim, tolerance=tolerance)


def found_by(hunt: Hunt, *, level: float, evidence: Evidence | None = None) -> Found:
    """Return what a hunt found about its place.

    Args:
        hunt: Over, or out of budget.
        level: Coverage of intervals.
        evidence: Of one response, where several were read; by default that of the search.
    """
    evidence = hunt.search.evidence() if evidence is None else evidence
    measures = measure(evidence, level=level, method=hunt.method, missed=hunt.tolerance)
    return Found(
        evidence=evidence, measures=measures, method=hunt.method, converged=hunt.converged,
        reason=hunt.reason, n_rounds=hunt.n_rounds,
    )  # fmt: skip


def _growth(score: Estimate, forecast: Forecast, tolerance: float) -> float:
    """Return by what the next round is to be larger than the last; 0 if none is needed."""
    half = max(score.high - score.value, score.value - score.low)
    if half <= tolerance:
        return 0.0
    wanted = tolerance / (float(norm.isf((1.0 - score.level) / 2.0)) * _CAUTION)
    return next((k for k in _FACTORS if forecast(k) <= wanted), _FACTORS[-1])
