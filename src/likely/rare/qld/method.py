"""The method ``qld``: quadratic logit decomposition of last activations. Unit: nats.

Sources: Wu and Hilton (2024), arXiv 2410.13211, section 3.2, with three corrections to the released
code: activations are whitened, the part along the direction is taken off the rest, and the
direction is the exact solution of its quadratic program.
"""

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Literal, get_args

import numpy as np
from jaxtyping import Float

from likely.core.logspace import log_of
from likely.errors import InputError
from likely.rare.activations import Activations, collect
from likely.rare.event import Event
from likely.rare.method import Task
from likely.rare.misfit import UNCHECKED, misfit_warnings, observable
from likely.rare.qld.cloud import Cloud
from likely.rare.qld.decomposition import intervals, largest_intervals, log_total
from likely.rare.qld.sampling import Pairs, iter_pairs, tail_interval
from likely.rare.qld.split import Split, split
from likely.rare.qld.survey import Survey, survey
from likely.rare.qld.survival import Counted, Extended, Tail
from likely.rare.result import Found, Quantity, Spent
from likely.stats.intervals import clopper_pearson
from likely.stats.pareto import Pareto

NEGLIGIBLE = 1e-6
"""Share of an estimate with a tail that need not be checked against every token."""
FEW = 10.0
"""Effective pairs below which an estimate is called coarse."""
TOGETHER = 256
"""Events whose activations are checked in one pass over the logits."""
CHECKED = 256
"""Activations whose rests are recombined at the level where the law is compared to the sample."""
INDEPENDENCE = (
    "the interval covers sampling error alone, not whether the part of activations along the "
    "direction is independent of the rest"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Qld:
    """Recombines the part of activations towards an event with the rest of others.

    Attributes:
        tail: What continues the part along the direction beyond its largest values: ``none``
            (shares of pairs, at least one of ``n^2``), ``gpd`` or ``gaussian``.
        ridge: Added to the variance of activations in all directions, as a share of their mean
            variance: enough to keep directions apart from rounding.

    Raises:
        InputError: An option is unusable.
    """

    name: ClassVar[str] = "qld"
    quantity: ClassVar[Quantity] = "activations"

    tail: Tail = "none"
    ridge: float = 1e-5

    def __post_init__(self) -> None:
        if self.tail not in get_args(Tail):
            raise InputError(f"a tail is one of {list(get_args(Tail))}, got {self.tail!r}")
        if not 0.0 <= self.ridge < math.inf:
            raise InputError(f"a ridge is a share of variance, at least 0, got {self.ridge!r}")

    def run(self, task: Task) -> tuple[Found, ...]:
        """Return the probability of each event under recombined activations."""
        return self.of_activations(collect(task), task.events, level=task.level)

    def of_activations(
        self, activations: Activations, events: Sequence[Event], *, level: float
    ) -> tuple[Found, ...]:
        """Return the probability of each event, from activations that were read before.

        Args:
            activations: Of inputs of the law.
            events: Of one step each.
            level: Coverage of the intervals, in (0, 1).
        """
        began = time.perf_counter()
        cloud = _whitened(activations, self.ridge)
        if cloud is None:
            return _all_counted(activations, events, level=level)
        share = activations.spent + Spent(
            scores=len(activations), seconds=time.perf_counter() - began
        )
        found: list[Found] = []
        for start in range(0, len(events), TOGETHER):
            some = events[start : start + TOGETHER]
            found += self._some(cloud, some, level=level, share=share.divided(len(events)))
        return tuple(found)

    def _some(
        self, cloud: Cloud, events: Sequence[Event], *, level: float, share: Spent
    ) -> list[Found]:
        """Return what is found of some events, whose activations are checked together."""
        began = time.perf_counter()
        seen = survey(cloud, events)
        parts = split(cloud, events)
        real = [one for one in parts if one is not None]
        laws = [Counted(values=one.values) for one in real]
        exact = intervals(real, seen, laws)
        counted = iter(zip(laws, iter_pairs(real, cloud, exact, laws), strict=True))
        answers = []
        for event, one, margins in zip(events, parts, seen.margins.T, strict=True):
            if one is None:
                answers.append(_counted(margins, event, level=level, why=_NEVER))
                continue
            law, pairs = next(counted)
            answer = _from_pairs(one, pairs, level, has_tail=self.tail != "none")
            if self.tail != "none":
                answer = _with_tail(answer, one, cloud, seen, self.tail, level)
            answers.append(_checked(answer, one, seen, law, event, margins))
        spent = share + Spent(seconds=(time.perf_counter() - began) / len(events))
        return [replace(answer, spent=spent) for answer in answers]


_SAME = "all activations are the same: the event was counted"
_TIED = (
    "the largest parts of activations along the direction are mostly equal, as of a law of few "
    "inputs: no tail is fitted to them, and pairs were counted"
)
_NEVER = (
    "no activation in the span of those seen makes the event happen: the upper end is that of "
    "counting hits"
)


def _whitened(activations: Activations, ridge: float) -> Cloud | None:
    """Return the cloud of activations; None where they do not vary."""
    states = activations.normed()
    if not np.ptp(states, axis=0).any():
        return None
    layer = activations.readout
    return Cloud.of(states, layer.weight.numpy(), layer.bias.numpy(), ridge=ridge)


def _all_counted(
    activations: Activations, events: Sequence[Event], *, level: float
) -> tuple[Found, ...]:
    """Return what plain counting says of activations that do not vary."""
    margins = activations.margins(events)
    share = (activations.spent + Spent(scores=len(activations))).divided(len(events))
    return tuple(
        replace(_counted(margins[:, place], event, level=level, why=_SAME), spent=share)
        for place, event in enumerate(events)
    )


def _counted(margins: Float[np.ndarray, "n"], event: Event, *, level: float, why: str) -> Found:
    """Return what plain counting says."""
    hits = int((margins > event.above).sum())
    low, high = clopper_pearson(hits, len(margins), level=level)
    return Found(
        log_prob=log_of(hits / len(margins)), low=log_of(low), high=log_of(high),
        spent=Spent(), diagnostics={"hits": hits, "activations": len(margins)}, warnings=(why,),
    )  # fmt: skip


def _from_pairs(parts: Split, pairs: Pairs, level: float, *, has_tail: bool) -> Found:
    """Return the share of pairs that hit, with its interval."""
    n = len(pairs.influence)
    log_prob, (low, high) = log_of(pairs.share), pairs.interval(level=level)
    diagnostics: dict[str, float | int | str] = {
        "activations": n, "pairs": pairs.count, "effective_pairs": pairs.effective,
        "distance": parts.distance, "log_floor": -2.0 * math.log(n),
    }  # fmt: skip
    warnings = [INDEPENDENCE]
    if pairs.count == 0:
        remedy = "" if has_tail else "; tail='gpd' or 'gaussian' goes on below it"
        warnings.append(
            f"no pair of {n:,} activations hits: the estimate is below the resolution of "
            f"{1.0 / n**2:.1e}{remedy}"
        )
    elif pairs.effective < FEW:
        warnings.append(
            f"only {pairs.count:,} pairs hit, worth {pairs.effective:.2g} independent hits; "
            f"a larger budget{'' if has_tail else ' or a tail'} helps"
        )
    return Found(
        log_prob=log_prob, low=min(low, log_prob), high=min(high, 0.0), spent=Spent(),
        diagnostics=diagnostics, warnings=tuple(warnings),
    )  # fmt: skip


def _with_tail(
    counted: Found,
    parts: Split,
    cloud: Cloud,
    seen: Survey,
    tail: Literal["gpd", "gaussian"],
    level: float,
) -> Found:
    """Return the estimate with a tail, and the counted one among its figures.

    Where there is no tail it is the counted one that is returned. A sample of which all pairs hit
    cannot tell the event from a certain one, whatever the tail.
    """
    law = Extended.fit(parts.values, tail)
    if law is None:
        return replace(counted, warnings=(*counted.warnings, _TIED))
    found = largest_intervals(parts, seen, law, negligible=NEGLIGIBLE)
    n = len(cloud.points)
    low, high = tail_interval(parts, cloud, found, law, level=level) or (
        -math.inf,
        counted.high,
    )
    log_prob = min(log_total(found, law, n), 0.0)
    if counted.log_prob == 0.0:
        low, high = min(low, counted.low), 0.0
    beyond = found.low >= law.start
    log_beyond = log_total(found.without(~beyond), law, n)
    kept = tuple(text for text in counted.warnings if text == INDEPENDENCE)
    shape = {"tail_shape": law.tail.shape} if isinstance(law.tail, Pareto) else {}
    return replace(
        counted,
        log_prob=log_prob,
        low=min(low, log_prob),
        high=max(high, log_prob),
        diagnostics={
            **counted.diagnostics, **shape, "log_prob_counted": counted.log_prob,
            "tail_start": law.start,
            "tail_part": math.exp(log_beyond - log_prob) if log_prob > -math.inf else 0.0,
        },
        warnings=kept,
    )  # fmt: skip


def _checked(
    answer: Found,
    parts: Split,
    seen: Survey,
    law: Counted,
    event: Event,
    margins: Float[np.ndarray, "n"],
) -> Found:
    """Return an answer with the check of independence at a margin that is seen often enough."""
    observed = observable(margins, event.above)
    if observed is None:
        return replace(answer, warnings=(*answer.warnings, UNCHECKED))
    near, n = parts.at_margin(event.above - observed.margin), min(CHECKED, len(margins))
    (found,) = intervals([near], seen, [law], first=n)
    log_ratio = log_total(found, law, n) - observed.log_share
    return replace(
        answer,
        diagnostics={
            **answer.diagnostics, "misfit_log_ratio": log_ratio, "misfit_margin": observed.margin,
        },
        warnings=(*answer.warnings, *misfit_warnings(log_ratio, observed)),
    )  # fmt: skip
