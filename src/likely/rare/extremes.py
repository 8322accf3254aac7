"""The method ``forecast``: the tail of the largest margins of sampled inputs, extended. Unit: nats.

The margin of an event is its score. Beyond a high level its log-survival is taken to fall in a
straight line (an exponential tail) or as a generalised Pareto law, fitted to the largest margins
and read off where the event begins. It needs no gradient and no activations, and takes events of
several steps; it knows nothing of a mode that the sample has not met.

Sources: Jones and others (2025), "Forecasting rare language model behaviors", who fit the largest
scores of elicitation probabilities; for theirs see `likely.rare.elicitation`.
"""

import math
from dataclasses import dataclass, field, replace
from typing import ClassVar, Literal, get_args

import numpy as np
from jaxtyping import Float
from scipy.stats import beta, chi2

from likely.core.logspace import log_of
from likely.errors import InputError
from likely.rare.event import Event
from likely.rare.method import Task, iter_shared
from likely.rare.reading import Reader
from likely.rare.result import Found, Quantity, Spent
from likely.stats.intervals import clopper_pearson
from likely.stats.pareto import fit_exponential, fit_pareto, is_tied, survival_interval

Shape = Literal["exponential", "gpd"]

LEAST = 10
"""Margins that a tail is fitted to, at least."""
DOUBTFUL = 1.0
"""Nats: a forecast from a part of the sample that misses the whole by more is a warning."""
_PART = 8  # the part of the sample that the forecast is tried on, as a divisor

EXTRAPOLATION = (
    "the interval holds if the tail goes on as it begins; straight tails of margins tend to "
    "over-predict, and a mode that no sampled input meets is missed"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecast:
    """Extends the tail of the largest margins to where the event begins.

    Attributes:
        tail: ``exponential``: log-survival falls in a straight line. ``gpd``: a generalised Pareto
            law, whose interval is wide but shows when the straight line is wrong.
        top: Margins that the tail is fitted to; None for a hundredth of the inputs, from 20 to 200.

    Raises:
        InputError: An option is unusable.
    """

    name: ClassVar[str] = "forecast"
    quantity: ClassVar[Quantity] = "inputs"

    tail: Shape = "exponential"
    top: int | None = None

    def __post_init__(self) -> None:
        if self.tail not in get_args(Shape):
            raise InputError(f"a tail is one of {list(get_args(Shape))}, got {self.tail!r}")
        if self.top is not None and self.top < LEAST:
            raise InputError(f"a tail is fitted to {LEAST} margins or more, got top={self.top!r}")

    def run(self, task: Task) -> tuple[Found, ...]:
        """Return the forecast of each event from the same inputs."""
        reader = Reader(task.model, settings=task.settings, progress=task.progress)
        parts: list[list[Float[np.ndarray, "b"]]] = [[] for _ in task.events]
        for inputs, served in iter_shared(task, task.distribution, self.name):
            found = reader.margins(inputs, [task.events[place] for place in served])
            for place, column in zip(served, found.T, strict=True):
                parts[place].append(column)
        share = reader.meter.spent.divided(len(task.events))
        return tuple(
            self.of_margins(np.concatenate(part), event, level=task.level, spent=share)
            for part, event in zip(parts, task.events, strict=True)
        )

    def of_margins(
        self, margins: Float[np.ndarray, "m"], event: Event, *, level: float, spent: Spent
    ) -> Found:
        """Return what the largest of some margins say of an event.

        Args:
            margins: Shape ``(m,)``, nats.
            event: Whose margins they are.
            level: Coverage of the interval, in (0, 1).
            spent: What they took.
        """
        m, hits = len(margins), int((margins > event.above).sum())
        top = self.top if self.top is not None else min(max(round(m / 100), 20), 200)
        if hits >= top:
            note = f"{hits:,} of {m:,} inputs hit: they were counted, no tail was needed"
            return _counted(hits, m, level=level, spent=spent, note=note)
        found = extend(margins, event.above, tail=self.tail, top=top, level=level)
        if found is None:
            note = (
                f"the {top + 1} largest of {m:,} margins make no tail (too few inputs, or margins "
                "that are mostly equal or infinite): hits were counted"
            )
            return _counted(hits, m, level=level, spent=spent, note=note)
        answer = Found(
            log_prob=found.log_prob, low=min(found.low, found.log_prob),
            high=max(found.high, found.log_prob), spent=spent,
            diagnostics={"hits": hits, "inputs": m, **found.diagnostics},
            warnings=(EXTRAPOLATION,),
        )  # fmt: skip
        return _tried(answer, margins, self, top)


@dataclass(frozen=True, slots=True, kw_only=True)
class Extension:
    """How likely a score exceeds a threshold, from the largest of a sample.

    Attributes:
        log_prob: Nats; ``-inf`` where the fitted tail ends before.
        low: Lower end of its interval.
        high: Upper end.
        diagnostics: Named figures.
    """

    log_prob: float
    low: float
    high: float
    diagnostics: dict[str, float | int | str] = field(default_factory=dict)


def extend(
    scores: Float[np.ndarray, "m"], threshold: float, *, tail: Shape, top: int, level: float = 0.95
) -> Extension | None:
    """Return how likely a score exceeds a threshold beyond the sample, or None without a tail.

    The share of the sample beyond the level where the tail begins, and the tail itself, are
    independent; their intervals are put together by the squares of their lengths.

    Args:
        scores: Shape ``(m,)``, of independent inputs.
        threshold: At or above the level where the tail begins.
        tail: As in `Forecast`.
        top: Scores that the tail is fitted to, less than ``m``.
        level: Coverage, in (0, 1).

    Returns:
        None where the ``top + 1`` largest scores are not finite or fewer than half of them are
        distinct, or the threshold is not above the least of them. Many ties are those of a law of
        few inputs: it has a largest score, and nothing beyond.

    Sources:
        Zou and Donner (2008), "Construction of confidence limits about effect measures: a general
        approach": the limits of a sum from those of its parts.

    >>> scores = -np.log(1 - (np.arange(2000) + 0.5) / 2000)  # survival exp(-score)
    >>> round(extend(scores, 14.0, tail="exponential", top=100).log_prob, 1)
    -14.0
    """
    m = len(scores)
    if top >= m:
        return None
    largest = np.sort(scores[np.argpartition(scores, m - top - 1)[m - top - 1 :]])
    start = float(largest[0])
    if not np.isfinite(largest).all() or is_tied(largest) or threshold <= start:
        return None
    excesses = largest[1:] - start
    beyond = np.array([threshold - start])
    bend = fit_pareto(excesses).shape
    if tail == "gpd":
        log_tail = float(fit_pareto(excesses).log_survival(beyond)[0])
        low, high = survival_interval(excesses, float(beyond[0]), level=level)
    else:
        log_tail = float(fit_exponential(excesses).log_survival(beyond)[0])
        ends = np.array([(1.0 + level) / 2.0, (1.0 - level) / 2.0])
        low, high = (log_tail * chi2.ppf(ends, 2 * top) / (2 * top)).tolist()
    log_share = math.log(top / m)
    share = np.log(beta.ppf([(1.0 - level) / 2.0, (1.0 + level) / 2.0], top + 1, m - top))
    value = log_share + log_tail
    return Extension(
        log_prob=value,
        low=_less(value, log_tail - low, log_share - float(share[0])),
        high=min(value + _root(high - log_tail, float(share[1]) - log_share), 0.0)
        if log_tail > -math.inf else min(high + float(share[1]), 0.0),
        diagnostics={
            "top": top, "tail_start": start, "tail_mean_excess": float(excesses.mean()),
            "tail_shape": bend, "largest_score": float(largest[-1]),
        },
    )  # fmt: skip


def _tried(answer: Found, margins: Float[np.ndarray, "m"], method: Forecast, top: int) -> Found:
    """Return an answer with a trial: what a part of the sample forecasts of the whole."""
    part, seen = margins[: len(margins) // _PART], LEAST
    if len(part) <= 2 * LEAST:
        return answer
    threshold = float(np.sort(margins)[-seen - 1])
    share = float((margins > threshold).mean())
    tail = max(LEAST, min(top, round(len(part) / 20)))
    tried = extend(part, threshold, tail=method.tail, top=tail)
    if tried is None or share == 0.0:
        return answer
    error = tried.log_prob - math.log(share)
    warnings = answer.warnings
    if abs(error) > DOUBTFUL:
        side = "over" if error > 0.0 else "under"
        warnings += (
            f"on trial it {side}-predicts: from 1/{_PART} of the inputs it misses the share of "
            f"the {seen} largest margins by {error:+.2f} nats",
        )
    return replace(
        answer, diagnostics={**answer.diagnostics, "trial_log_ratio": error}, warnings=warnings
    )


def _counted(hits: int, m: int, *, level: float, spent: Spent, note: str) -> Found:
    low, high = clopper_pearson(hits, m, level=level)
    return Found(
        log_prob=log_of(hits / m), low=log_of(low), high=log_of(high), spent=spent,
        diagnostics={"hits": hits, "inputs": m}, warnings=(note,),
    )  # fmt: skip


def _root(one: float, other: float) -> float:
    return math.hypot(max(one, 0.0), max(other, 0.0))


def _less(value: float, one: float, other: float) -> float:
    return -math.inf if value == -math.inf else value - _root(one, other)
