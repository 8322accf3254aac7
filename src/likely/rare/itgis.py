"""Importance sampling from independent places that lean along the mean gradient. Unit: nats.

Source: section b2 of the specification, after Wu and Hilton (2024, arXiv 2410.13211). Each batch is
drawn from the law of inputs tilted towards what raised the winner's logit in the batches before;
given the past its weighted hits have the probability as their expectation, so the mean over any
batches that are fixed beforehand is unbiased however the tilt has been learnt.

What differs from the published procedure:

- The first batches only teach the tilt; as published they count. One that is drawn from the law
  itself adds q n / n^2 to the variance of a mean over n draws, all of it from hits that almost
  never come; without them the mean is low by the share of that batch.
- An eighth of each batch goes backward. The tilt is a mean over some ten batches: on `tiny-2l` hits
  are worth as much with a sixteenth as with all.
- Half of each batch is drawn at warmer temperatures, and all of it weighted by the mixture: else
  a region that the tilt leads away from is met seldom and with a huge weight, which no interval can
  know of before. It costs at most a factor of two.
- The temperature is chosen by a pilot that does not know the truth, and whose draws are not used
  again; published are those of three models.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import numpy as np
from jaxtyping import Float

from likely.core.logspace import log_of
from likely.errors import InputError
from likely.rare.event import Event
from likely.rare.gradient.guide import Batch, Guide, draw_batch, learn
from likely.rare.gradient.landscape import Landscape
from likely.rare.gradient.pilot import LEAST_PILOT, Pilot, run_pilot
from likely.rare.gradient.places import Places
from likely.rare.gradient.weighted_hits import WeightedHits
from likely.rare.gradient.whole import Gradients
from likely.rare.method import Task, require_independent
from likely.rare.reading import Meter
from likely.rare.result import Found, Quantity
from likely.stats.intervals import clopper_pearson

FEW_HITS = 30
"""Effective hits below which an estimate comes with a warning."""
_LARGE_SHARE = 0.2
_WARMER = (2.25, 5.0)  # times the temperature
_LEARNING = 12  # batches, or an eighth of all if that is less
_PILOT = 4096  # calls of a pilot, or a quarter of the budget if that is less


@dataclass(frozen=True, slots=True, kw_only=True)
class Itgis:
    """Importance sampling with places tilted by the mean gradient.

    Attributes:
        temperature: Divides the gradient; ``inf`` leaves the law as it is. Where a number is
            given, the first twelve batches (or an eighth of all, if that is less) only teach the
            tilt. ``"auto"`` takes the best of 0.2 to 5 by a pilot of 4,096 calls (a quarter of a
            budget below 16,384), which are part of the budget; one below 576 has 1 as if given.
        decay: What a batch's gradient counts for after the next one, in [0, 1).
        batch: Inputs that are drawn from one tilt.
        gradient_share: Of each batch, that goes backward, in (0, 1]; 1 as published.
        warmer_share: Of each batch, that is drawn at 2.25 and at 5 times the temperature, in
            [0, 1); 0 as published.

    Raises:
        InputError: An option is out of range.
    """

    name: ClassVar[str] = "itgis"
    quantity: ClassVar[Quantity] = "inputs"

    temperature: float | Literal["auto"] = "auto"
    decay: float = 0.9
    batch: int = 256
    gradient_share: float = 0.125
    warmer_share: float = 0.5

    def __post_init__(self) -> None:
        check_temperature(self.temperature)
        if not 0.0 <= self.decay < 1.0:
            raise InputError(f"a decay lies in [0, 1), got {self.decay!r}")
        if self.batch < 1:
            raise InputError(f"a batch has at least one input, got {self.batch!r}")
        if not 0.0 < self.gradient_share <= 1.0:
            raise InputError(f"a share of gradients lies in (0, 1], got {self.gradient_share!r}")
        if not 0.0 <= self.warmer_share < 1.0:
            raise InputError(f"a share of warmer inputs lies in [0, 1), got {self.warmer_share!r}")

    def run(self, task: Task) -> tuple[Found, ...]:
        """Return the mean of weighted hits of each event, each from its own draws."""
        places = Places.of(require_independent(task, self.name))
        found = []
        for event in task.events:
            meter = Meter(progress=task.progress)
            landscape = Gradients(task.model, event, places, meter)
            own = replace(task, budget=task.n_inputs(event))
            found.append(self.answer(own, event, landscape, meter))
        return tuple(found)

    def answer(self, task: Task, event: Event, landscape: Landscape, meter: Meter) -> Found:
        """Return the mean of weighted hits of one event.

        Args:
            task: Its seed and level; its budget is a number of inputs.
            event: What must happen.
            landscape: Reads inputs for it.
            meter: Has counted what was read.
        """
        pilot = self._pilot(task, event, landscape)
        n_calls = task.budget - pilot.n_calls
        drawn = [  # without the slopes of batches, which are most of what they hold
            (batch.log_weights, batch.hits)
            for batch in self._iter_batches(task, event, landscape, pilot, n_calls)
        ]
        log_weights, hit = zip(*drawn[_n_learning(pilot, len(drawn)) :], strict=True)
        hits = WeightedHits.of(np.concatenate(log_weights), np.concatenate(hit))
        n_plain, n_plain_hits = pilot.n_plain, pilot.n_plain_hits
        if not pilot.n_calls:  # then the first batch is drawn from the law itself
            n_plain, n_plain_hits = len(drawn[0][1]), int(drawn[0][1].sum())
        low, high = hits.interval(level=task.level)
        if not hits.hits and not hits.is_plain:
            high = log_of(clopper_pearson(n_plain_hits, n_plain, level=task.level)[1])
        return Found(
            log_prob=hits.log_prob, low=low, high=high, spent=meter.spent,
            diagnostics={
                "temperature": pilot.temperature, "draws": hits.n, "hits": hits.hits,
                "effective_hits": hits.effective_hits, "largest_share": hits.largest_share,
                "pilot_calls": pilot.n_calls, "plain_draws": n_plain,
                "plain_hits": n_plain_hits,
            },
            warnings=tuple(_warnings(hits, n_plain)),
        )  # fmt: skip

    def _pilot(self, task: Task, event: Event, landscape: Landscape) -> Pilot:
        n_calls = min(_PILOT, task.budget // 4)
        if self.temperature == "auto" and n_calls >= LEAST_PILOT:
            stream = task.stream(event, self.name, "pilot")
            return run_pilot(
                landscape, n_calls, decay=self.decay, gradient_share=self.gradient_share,
                rng=stream,
            )  # fmt: skip
        temperature = 1.0 if self.temperature == "auto" else self.temperature
        start = Guide.start(landscape.places, decay=self.decay)
        return Pilot(temperature=temperature, guide=start, n_calls=0, n_plain=0, n_plain_hits=0)

    def _laws(
        self, guide: Guide, places: Places, temperature: float, size: int
    ) -> tuple[list[Float[np.ndarray, "P K"]], list[int]]:
        """Return the laws that a batch is drawn from, and how many inputs from each."""
        each = int(self.warmer_share * size) // len(_WARMER)
        if not each or not guide.n_batches or math.isinf(temperature):
            return [guide.log_ratios(places, temperature)], [size]
        temperatures = [temperature, *(factor * temperature for factor in _WARMER)]
        laws = [guide.log_ratios(places, one) for one in temperatures]
        return laws, [size - each * len(_WARMER), *[each] * len(_WARMER)]

    def _iter_batches(
        self, task: Task, event: Event, landscape: Landscape, pilot: Pilot, n: int
    ) -> Iterator[Batch]:
        guide = pilot.guide
        for number, start in enumerate(range(0, n, self.batch)):
            size = min(self.batch, n - start)
            laws, counts = self._laws(guide, landscape.places, pilot.temperature, size)
            batch = draw_batch(
                landscape, laws, counts, n_slopes=math.ceil(self.gradient_share * size),
                rng=task.stream(event, self.name, number),
            )  # fmt: skip
            guide = learn(guide, landscape, batch)
            yield batch


def check_temperature(temperature: float | Literal["auto"]) -> None:
    """Raise unless a temperature is a positive number or ``"auto"``.

    Raises:
        InputError: It is not.
    """
    if temperature != "auto" and not (isinstance(temperature, int | float) and temperature > 0.0):
        raise InputError(f"a temperature is a positive number or 'auto', got {temperature!r}")


def _n_learning(pilot: Pilot, n_batches: int) -> int:
    """Return how many batches only teach: none after a pilot, nor where nothing can be taught."""
    if pilot.n_calls or math.isinf(pilot.temperature) or n_batches == 1:
        return 0
    return min(_LEARNING, -(-n_batches // 8))


def _warnings(hits: WeightedHits, n_plain: int) -> Iterator[str]:
    if hits.hits == 0:
        yield (
            f"no hit among {hits.n:,} inputs: the tilted ones say nothing of an event that they "
            f"never met, so the upper limit is that of the {n_plain:,} drawn from the law itself"
        )
        return
    if hits.effective_hits < FEW_HITS and not hits.is_plain:
        yield (
            f"{hits.hits:,} hits are worth {hits.effective_hits:.1f} of equal weight: the estimate "
            "is more often far too low than its interval says; raise the budget"
        )
    if hits.largest_share > _LARGE_SHARE and not hits.is_plain:
        yield f"one input alone makes {hits.largest_share:.0%} of the estimate"
