"""Masses of options at other temperatures of the whole vocabulary. Unit: nats.

At temperature T every step draws from ``softmax(logits / T)``, so a token has the log-probability
``log p / T - log Z_T`` with ``Z_T`` the sum of ``p ** (1 / T)`` over all tokens. A spelling is the
product of its steps, its word end a sum over tokens. One row before each token of a spelling is
therefore enough for all temperatures, and a row is reduced to a few sums where it arises.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from jaxtyping import Float

from likely.calibration.data_sets.items import Item
from likely.calibration.forecast import Forecast
from likely.calibration.remedies.evidence import Tempered
from likely.calibration.scored import Policy
from likely.calibration.scoring import BATCH, plan_items
from likely.core.answer_events import Event
from likely.core.engine import Answer, Continuation, Meter, Reduction, Request, Row, Store, evaluate
from likely.core.estimate import Cost
from likely.core.logspace import logsumexp
from likely.core.model import LanguageModel, Settings
from likely.core.text.word_ends import WordEnds
from likely.errors import InputError


@dataclass(frozen=True, slots=True, kw_only=True)
class TemperatureGrid:
    """Temperatures at even ratios, from ``2 ** hottest`` down to ``2 ** coldest``.

    Attributes:
        hottest: Octaves above temperature 1.
        coldest: Octaves, below or at 0.
        per_octave: Temperatures an octave.
    """

    hottest: int = 4
    coldest: int = -2
    per_octave: int = 8

    def __post_init__(self) -> None:
        if not (self.hottest >= 0 >= self.coldest and self.per_octave >= 1):
            raise InputError(f"a grid has temperature 1 and at least 1 step an octave, got {self}")

    @property
    def temperatures(self) -> Float[np.ndarray, "G"]:
        """All of them, descending."""
        steps = np.arange(self.hottest * self.per_octave, self.coldest * self.per_octave - 1, -1)
        return np.asarray(2.0 ** (steps / self.per_octave))

    @property
    def name(self) -> str:
        """What makes it differ from other grids."""
        return f"{self.hottest} {self.coldest} {self.per_octave}"


GRID = TemperatureGrid()
"""From 16 to 1/4 in 49 steps of 9 %. Around its minimum the divergence is flat: half a step beside
it a law of two options loses less than 0.001 bits."""


def tempered_masses(
    model: LanguageModel,
    items: Sequence[Item],
    *,
    policy: Policy | None = None,
    grid: TemperatureGrid = GRID,
    settings: Settings | None = None,
    cache: Store | None = None,
    meter: Meter | None = None,
    batch: int = BATCH,
) -> Tempered:
    """Return the masses of options at every temperature of a grid.

    Args:
        model: One that gives whole rows.
        items: In any order.
        policy: How items are put to the model.
        grid: Of temperatures.
        settings: How to evaluate; changes no number beyond rounding.
        cache: Where the sums of rows are kept, under the grid's name.
        meter: A progress meter, in tokens.
        batch: Items that are evaluated together.

    Raises:
        InputError: Unusable items.
        CapabilityError: The model gives no whole rows.
        NumericalError: As `likely.core.engine.evaluate`.
    """
    if batch < 1 or not items:
        raise InputError(f"items and batches of at least 1 are needed, got {len(items)}, {batch!r}")
    policy = policy or Policy()
    order = sorted(range(len(items)), key=lambda place: items[place].context)
    forecast = None if meter is None else Forecast(meter=meter, n_items=len(items))
    found: dict[int, list[Float[np.ndarray, "G"]]] = {}
    cost = Cost()
    for start in range(0, len(order), batch):
        places = order[start : start + batch]
        plan, _ = plan_items(model, [items[place] for place in places], policy)
        asked = [
            request
            for part in plan.contexts
            for event in part.events
            for request in _requests(event, grid)
        ]
        answered = evaluate(model, asked, settings=settings, cache=cache, meter=forecast)
        cost = cost + answered.cost
        answers = iter(answered.answers)
        for place, part in zip(places, plan.contexts, strict=True):
            totals: dict[str, list[Float[np.ndarray, "G"]]] = {name: [] for name in part.names}
            for event in part.events:
                totals[event.name].append(_event_mass(event, answers, grid))
            found[place] = [_sum_of_events(events) for events in totals.values()]
        if forecast is not None:
            forecast.settle(len(places))
    columns = [column for place in range(len(items)) for column in found[place]]
    return Tempered(
        temperatures=grid.temperatures, log_mass=np.stack(columns, axis=1), cost=cost
    )  # fmt: skip


def _requests(event: Event, grid: TemperatureGrid) -> Iterator[Request]:
    """Yield what is asked for an event: its tokens, the row before each, and that of its end."""
    yield Continuation(prefix=event.context, target=event.tokens)
    for n in range(len(event.tokens)):
        yield Row(prefix=event.context + event.tokens[:n], reduction=log_partitions(grid))
    if event.ends is not None:
        yield Row(prefix=event.context + event.tokens, reduction=_log_ends(event.ends, grid))


def _event_mass(
    event: Event, answers: Iterator[Answer], grid: TemperatureGrid
) -> Float[np.ndarray, "G"]:
    """Return the log mass of an event at each temperature from the answers to its requests."""
    inverse = 1.0 / grid.temperatures
    total = np.zeros(len(inverse))
    for log_prob in next(answers).values.tolist():
        total = total + log_prob * inverse
    for _ in event.tokens:
        total = total - next(answers).values
    return total if event.ends is None else total + next(answers).values


def _sum_of_events(log_masses: Sequence[Float[np.ndarray, "G"]]) -> Float[np.ndarray, "G"]:
    return np.asarray(np.minimum(logsumexp(np.stack(log_masses), axis=0), 0.0))  # but for rounding


@lru_cache
def log_partitions(grid: TemperatureGrid) -> Reduction:
    """Return the reduction of rows to ``log Z_T`` at each temperature of a grid.

    >>> rows = np.log(np.array([[0.5, 0.25, 0.25]]))
    >>> halves = log_partitions(TemperatureGrid(hottest=0, coldest=-1, per_octave=1)).apply(rows)
    >>> np.exp(halves).round(6)
    array([[1.   , 0.375]])
    """

    def apply(rows: Float[np.ndarray, "r V"]) -> Float[np.ndarray, "r G"]:
        return np.stack([_log_power_sums(row, grid) for row in rows])

    return Reduction(name=f"log_partitions {grid.name}", apply=apply)


def _log_ends(ends: WordEnds, grid: TemperatureGrid) -> Reduction:
    """Return the reduction of rows to the log mass of word ends at each temperature."""
    tokens = np.flatnonzero(ends.is_end)

    def apply(rows: Float[np.ndarray, "r V"]) -> Float[np.ndarray, "r G"]:
        of_ends = np.stack([_log_power_sums(row[tokens], grid) for row in rows])
        of_rows = np.stack([_log_power_sums(row, grid) for row in rows])
        return np.asarray(of_ends - of_rows)

    return Reduction(name=f"tempered {grid.name} {ends.reduction.name}", apply=apply)


def _log_power_sums(
    log_probs: Float[np.ndarray, "V"], grid: TemperatureGrid
) -> Float[np.ndarray, "G"]:
    """Return the log of the sum of ``p ** (1 / T)`` over tokens, at each temperature.

    An octave down squares every power, which takes a third of the time of an exponential; only the
    hottest octave is exponentiated. Row by row, powers stay in the processor's cache.
    """
    temperatures = grid.temperatures
    n, step = len(temperatures), grid.per_octave
    top = float(log_probs.max(initial=-math.inf))
    if top == -math.inf:
        return np.full(n, -math.inf)
    below = log_probs - top
    sums = np.empty(n)
    for first in range(min(step, n)):
        powers = np.exp(below / temperatures[first])
        for at in range(first, n, step):
            if at > first:
                np.multiply(powers, powers, out=powers)
            sums[at] = powers.sum()
    return np.asarray(np.log(sums) + top / temperatures)
