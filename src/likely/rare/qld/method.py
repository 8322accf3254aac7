"""The method ``qld``: quadratic logit decomposition of last activations. Unit: nats.

Sources: Wu and Hilton (2024), arXiv 2410.13211, section 3.2, with three corrections to the released
code: activations are whitened, the part along the direction is taken off the rest, and the
direction is the exact solution of its quadratic program.
"""

import math
import time
from dataclasses import dataclass, replace
from typing import ClassVar, get_args

import numpy as np
from jaxtyping import Float

from likely.core.logspace import log_of
from likely.errors import InputError
from likely.rare.activations import Activations, collect
from likely.rare.event import Event
from likely.rare.method import Task
from likely.rare.misfit import UNCHECKED, misfit_warnings, observable
from likely.rare.qld.cloud import Cloud
from likely.rare.qld.decomposition import Intervals, Split, intervals, log_total, split
from likely.rare.qld.sampling import Pairs, count_pairs, tail_interval
from likely.rare.qld.survival import Counted, Extended, Tail
from likely.rare.result import Found, Quantity, Spent
from likely.stats.intervals import clopper_pearson
from likely.stats.pareto import Pareto

NEGLIGIBLE = 1e-6
"""Share of an estimate with a tail that need not be checked against every token."""
FEW = 10.0
"""Effective pairs below which an estimate is called coarse."""
CHECKED = 1024
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
        activations = collect(task)
        began = time.perf_counter()
        margins = activations.margins(task.events)
        cloud = _whitened(activations, self.ridge)
        scored = Spent(scores=len(activations), seconds=time.perf_counter() - began)
        share = (activations.spent + scored).divided(len(task.events))
        return tuple(
            self._one(cloud, event, margins[:, column], level=task.level, share=share)
            for column, event in enumerate(task.events)
        )

    def _one(
        self,
        cloud: Cloud | None,
        event: Event,
        margins: Float[np.ndarray, "n"],
        *,
        level: float,
        share: Spent,
    ) -> Found:
        began = time.perf_counter()
        parts = split(cloud, event) if cloud is not None else None
        if cloud is None or parts is None:
            why = _SAME if cloud is None else _NEVER
            return _counted(margins, event, level=level, spent=share, why=why)
        counted = Counted(values=parts.values)
        found = intervals(parts, cloud, counted)
        pairs = count_pairs(parts, cloud, found, counted)
        answer = _from_pairs(parts, pairs, level)
        if self.tail != "none":
            law = Extended.fit(counted.values, self.tail)
            found = intervals(parts, cloud, law, negligible=NEGLIGIBLE)
            answer = _with_tail(answer, parts, cloud, (found, law), level)
        checked = _checked(answer, parts, cloud, counted, event, margins)
        seconds = time.perf_counter() - began
        return replace(checked, spent=share + Spent(scores=found.n_checked, seconds=seconds))


_SAME = "all activations are the same: the event was counted"
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


def _counted(
    margins: Float[np.ndarray, "n"], event: Event, *, level: float, spent: Spent, why: str
) -> Found:
    """Return what plain counting says."""
    hits = int((margins > event.above).sum())
    low, high = clopper_pearson(hits, len(margins), level=level)
    return Found(
        log_prob=log_of(hits / len(margins)), low=log_of(low), high=log_of(high),
        spent=spent, diagnostics={"hits": hits, "activations": len(margins)}, warnings=(why,),
    )  # fmt: skip


def _from_pairs(parts: Split, pairs: Pairs, level: float) -> Found:
    """Return the share of pairs that hit, with its interval."""
    n = len(pairs.influence)
    low, high = pairs.interval(level=level)
    diagnostics: dict[str, float | int | str] = {
        "activations": n, "pairs": pairs.count, "effective_pairs": pairs.effective,
        "distance": parts.distance, "log_floor": -2.0 * math.log(n),
    }  # fmt: skip
    warnings = [INDEPENDENCE]
    if pairs.count == 0:
        warnings.append(
            f"no pair of {n:,} activations hits: the estimate is below the resolution of "
            f"{1.0 / n**2:.1e}; tail='gpd' or 'gaussian' goes on below it"
        )
    elif pairs.effective < FEW:
        warnings.append(
            f"only {pairs.count:,} pairs hit, worth {pairs.effective:.2g} independent hits; "
            "a larger budget or a tail helps"
        )
    return Found(
        log_prob=log_of(pairs.share), low=low, high=min(high, 0.0), spent=Spent(),
        diagnostics=diagnostics, warnings=tuple(warnings),
    )  # fmt: skip


def _with_tail(
    counted: Found, parts: Split, cloud: Cloud, tailed: tuple[Intervals, Extended], level: float
) -> Found:
    """Return the estimate with a tail, and the counted one among its figures."""
    found, law = tailed
    n = len(cloud.points)
    low, high = tail_interval(parts, cloud, found, law, level=level) or (
        -math.inf,
        counted.high,
    )
    log_prob = min(log_total(found, law, n), 0.0)
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
    cloud: Cloud,
    law: Counted,
    event: Event,
    margins: Float[np.ndarray, "n"],
) -> Found:
    """Return an answer with the check of independence at a margin that is seen often enough."""
    observed = observable(margins, event.above)
    if observed is None:
        return replace(answer, warnings=(*answer.warnings, UNCHECKED))
    near, n = parts.at_margin(event.above - observed.margin), min(CHECKED, len(margins))
    log_ratio = log_total(intervals(near, cloud, law, first=n), law, n) - observed.log_share
    return replace(
        answer,
        diagnostics={
            **answer.diagnostics, "misfit_log_ratio": log_ratio, "misfit_margin": observed.margin,
        },
        warnings=(*answer.warnings, *misfit_warnings(log_ratio, observed)),
    )  # fmt: skip
