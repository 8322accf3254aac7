"""Chains that lean towards an event, token by token, weighted back to the law. Unit: nats.

Source: section b3 of the specification, after Wu and Hilton (2024, arXiv 2410.13211): each chain
changes one token at a time, proposed by the gradient and accepted by the rule of Metropolis and
Hastings. Here the chains go through the varying places in turn, which leaves the same law alone;
calls of the burn-in count (as published the burn-in comes on top, half as much again); and the
published way back to the law, whose normaliser usually errs high, is one of three.
"""

import itertools
import math
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import numpy as np
from jaxtyping import Bool, Float

from likely.core.logspace import log_of
from likely.errors import InputError
from likely.rare.event import Event
from likely.rare.gradient.landscape import Landscape
from likely.rare.gradient.onward import open_landscape
from likely.rare.gradient.places import Places
from likely.rare.itgis import check_temperature
from likely.rare.method import Task, require_independent
from likely.rare.reading import Meter
from likely.rare.result import Found, Quantity
from likely.rare.walk.annealing import anneal
from likely.rare.walk.chain_report import ChainReport
from likely.rare.walk.tilted_draws import FromTilted, TiltedDraws
from likely.rare.walk.walkers import Trace, Walkers
from likely.stats.intervals import clopper_pearson

_SHORTEST = 16  # calls of a chain
_RATIO = 1.5  # between neighbours of the ladder


@dataclass(frozen=True, slots=True, kw_only=True)
class Mhis:
    """Metropolis-Hastings importance sampling.

    No chain is shorter than 16 calls: where the budget is too small for that, there are fewer
    chains and rungs. What was run is among the diagnostics.

    Attributes:
        temperature: Divides the score; of the coldest rung. ``"auto"`` cools the chains from 5 down
            to 0.2 in the first half of the burn-in, until a twentieth of their inputs hit.
        chains: That run side by side, all rungs taken together.
        burn_in: Calls of each chain that are left out, or half of its calls if they are fewer.
        estimator: ``"self-normalised"`` as published; ``"bridge"``, with a quarter of the budget
            for draws from the law itself; ``"ladder"``, in which the chains of a group walk at
            different temperatures and exchange them.
        rungs: Of the ladder: the law itself, and temperatures 1.5 times apart up from the coldest.

    Raises:
        InputError: An option is out of range.
    """

    name: ClassVar[str] = "mhis"
    quantity: ClassVar[Quantity] = "inputs"

    temperature: float | Literal["auto"] = "auto"
    chains: int = 32
    burn_in: int = 1024
    estimator: Literal["self-normalised", "bridge", "ladder"] = "ladder"
    rungs: int = 8

    def __post_init__(self) -> None:
        check_temperature(self.temperature)
        known = ("self-normalised", "bridge", "ladder")
        if self.estimator not in known:
            raise InputError(f"an estimator is one of {list(known)}, got {self.estimator!r}")
        if self.burn_in < 0:
            raise InputError(f"a burn-in is at least 0 calls, got {self.burn_in!r}")
        least = 2 * self.rungs if self.estimator == "ladder" else 2
        if self.rungs < 2 or self.chains < least:
            raise InputError(
                f"{self.estimator!r} needs two rungs and {least} chains at least, got "
                f"{self.rungs!r} rungs and {self.chains!r} chains"
            )

    def run(self, task: Task) -> tuple[Found, ...]:
        """Return what the chains of each event say, each from its own draws."""
        places = Places.of(require_independent(task, self.name))
        least = self._least_budget()
        found = []
        for event in task.events:
            own = replace(task, budget=task.n_inputs(event))
            if own.budget < least:
                raise InputError(
                    f"method 'mhis' with estimator {self.estimator!r} needs a budget of "
                    f"{least * len(event.steps)} calls at least, got {task.budget!r} for "
                    f"{event.name!r}"
                )
            meter = Meter(progress=task.progress)
            landscape = open_landscape(task.model, event, places, meter)
            found.append(self.answer(own, event, landscape, meter))
        return tuple(found)

    def answer(self, task: Task, event: Event, landscape: Landscape, meter: Meter) -> Found:
        """Return what the chains say of one event.

        Args:
            task: Its seed and level; its budget is a number of inputs.
            event: What must happen.
            landscape: Reads inputs for it.
            meter: Has counted what was read.
        """
        found, report = self._estimate(task, event, landscape)
        low, high = _interval(found, report, level=task.level)
        return Found(
            log_prob=found.log_prob, low=low, high=high, spent=meter.spent,
            diagnostics=report.diagnostics(found), warnings=tuple(report.warnings(found)),
        )  # fmt: skip

    def _estimate(
        self, task: Task, event: Event, landscape: Landscape
    ) -> tuple[FromTilted, ChainReport]:
        n_groups, n_rungs = self._n_groups(task.budget), self._n_rungs(task.budget)
        n_plain = self._n_plain(task.budget) // n_groups
        n_calls = task.budget - n_plain * n_groups
        start = Walkers(
            landscape, np.zeros(n_rungs), n_groups, rng=task.stream(event, self.name, "walk")
        )
        plain = (start.scores, start.hits)
        n_burn_in = min(self.burn_in * start.hits.size, n_calls // 2)
        temperature, walkers = self._burnt_in(start, n_burn_in)
        trace = Trace.of(walkers.walk(n_calls))
        draws = _draws_of(trace, walkers.ladder)
        if n_plain:
            rng = task.stream(event, self.name, "plain")
            scores, hits = _plain_draws(landscape, (n_groups, n_plain), rng)
            plain = (
                np.concatenate([plain[0], scores.ravel()]), np.concatenate([plain[1], hits.ravel()])
            )  # fmt: skip
            draws = draws.with_plain(scores, hits)
        report = ChainReport.of(
            trace, estimator=self.estimator, temperature=temperature,
            n_burn_in=n_burn_in // start.hits.size, plain=plain,
        )  # fmt: skip
        is_alone = self.estimator == "self-normalised"
        return draws.self_normalised() if is_alone else draws.mixture(), report

    def _burnt_in(self, walkers: Walkers, n_calls: int) -> tuple[float, Walkers]:
        """Return the temperature, and the chains when they have forgotten their start."""
        temperature = self.temperature
        if temperature == "auto":
            temperature = anneal(walkers, n_calls // 2)
        n_rungs = len(walkers.ladder)
        walkers.set_ladder(ladder(temperature, n_rungs))
        for _ in walkers.walk(n_calls):
            pass
        return temperature, walkers

    def _n_rungs(self, budget: int) -> int:
        """Return how many rungs a budget has room for, with two groups of them."""
        if self.estimator != "ladder":
            return 1
        return min(self.rungs, max(2, budget // (2 * _SHORTEST)))

    def _n_groups(self, budget: int) -> int:
        """Return how many groups of rungs there are."""
        wanted = self.chains // self.rungs if self.estimator == "ladder" else self.chains
        n_calls = budget - self._n_plain(budget)
        return max(2, min(wanted, n_calls // (_SHORTEST * self._n_rungs(budget))))

    def _n_plain(self, budget: int) -> int:
        """Return how many draws from the law itself there may be."""
        return budget // 4 if self.estimator == "bridge" else 0

    def _least_budget(self) -> int:
        """Return the calls of two chains of the least length, or of two groups of two."""
        n_calls = 2 * _SHORTEST * (2 if self.estimator == "ladder" else 1)
        return next(n for n in itertools.count(n_calls) if n - self._n_plain(n) >= n_calls)


def ladder(temperature: float, n_rungs: int) -> Float[np.ndarray, "R"]:
    """Return inverse temperatures: 0, then up to the coldest by a constant ratio.

    Args:
        temperature: The coldest.
        n_rungs: How many; one is the coldest alone.

    >>> ladder(0.5, 4).round(3)
    array([0.   , 0.889, 1.333, 2.   ])
    """
    rising = _RATIO ** -np.arange(n_rungs - 1.0, -1.0, -1.0) / temperature
    return np.concatenate([np.zeros(1), rising[1:]]) if n_rungs > 1 else rising


def _draws_of(trace: Trace, rungs: Float[np.ndarray, "R"]) -> TiltedDraws:
    """Return the draws of each group, those of a rung together, one rung after the other."""
    n_groups = trace.scores.shape[1]
    return TiltedDraws(
        ladder=rungs, counts=np.full(len(rungs), len(trace)),
        scores=np.transpose(trace.scores, (1, 2, 0)).reshape(n_groups, -1),
        hits=np.transpose(trace.hits, (1, 2, 0)).reshape(n_groups, -1),
    )  # fmt: skip


def _plain_draws(
    landscape: Landscape, shape: tuple[int, int], rng: np.random.Generator
) -> tuple[Float[np.ndarray, "G n"], Bool[np.ndarray, "G n"]]:
    places = landscape.places
    uniforms = rng.random((shape[0] * shape[1], len(places)))
    found = landscape.read(places.draw(places.log_probs, uniforms), n_slopes=0)
    return found.scores.reshape(shape), found.hits.reshape(shape)


def _interval(found: FromTilted, report: ChainReport, *, level: float) -> tuple[float, float]:
    """Return the interval; where chains cannot tell, what draws from the law itself say.

    They cannot without a hit, where all draws agree, and where they disagree by far.
    """
    low, high = found.interval(level=level)
    ends = clopper_pearson(report.n_plain_hits, report.n_plain, level=level)
    if report.hits == 0:
        return -math.inf, log_of(ends[1])
    if found.is_certain:
        return log_of(ends[0]), 0.0
    if report.is_unmixed:
        return min(log_of(ends[0]), found.log_prob), max(log_of(ends[1]), found.log_prob)
    return low, high
