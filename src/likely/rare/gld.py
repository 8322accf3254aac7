"""The method ``gld``: margins of activations taken for normal. Unit: nats.

Source: Wu and Hilton (2024), arXiv 2410.13211, section 3.2 ("Gaussian logit difference"). The
margin of a token over the best of all others is a difference of maxima and strongly skewed, so the
estimate is off by orders of magnitude for many tokens; it is here as a baseline. Against a single
other token, and for normal activations, it is exact.
"""

import math
import time
from dataclasses import dataclass, replace
from typing import ClassVar, Literal, get_args

import numpy as np
from jaxtyping import Bool, Float
from scipy.special import log_ndtr
from scipy.stats import norm

from likely.core.logspace import log_of
from likely.errors import InputError
from likely.rare.activations import collect
from likely.rare.event import Event
from likely.rare.method import Task
from likely.rare.misfit import UNCHECKED, misfit_warnings, observable
from likely.rare.result import Found, Quantity, Spent

Difference = Literal["signed", "clipped"]

NORMALITY = "the interval covers the error of mean and spread alone, not whether margins are normal"


@dataclass(frozen=True, slots=True, kw_only=True)
class Gld:
    """Takes the margin of each event for normal.

    Attributes:
        difference: ``signed``: the margin itself, right for common events too. ``clipped``: at
            most 0 where the event happens, as published (the best of all tokens includes the
            winner); the two are the same where the event is not in the sample.

    Raises:
        InputError: An option is unusable.
    """

    name: ClassVar[str] = "gld"
    quantity: ClassVar[Quantity] = "activations"

    difference: Difference = "signed"

    def __post_init__(self) -> None:
        if self.difference not in get_args(Difference):
            raise InputError(
                f"a difference is one of {list(get_args(Difference))}, got {self.difference!r}"
            )

    def run(self, task: Task) -> tuple[Found, ...]:
        """Return the probability of each event under a normal law of its margin."""
        activations = collect(task)
        began = time.perf_counter()
        margins = activations.margins(task.events)
        scored = Spent(scores=len(activations), seconds=time.perf_counter() - began)
        share = (activations.spent + scored).divided(len(task.events))
        return tuple(
            replace(self.of_margins(column, event, level=task.level), spent=share)
            for column, event in zip(margins.T, task.events, strict=True)
        )

    def of_margins(self, margins: Float[np.ndarray, "n"], event: Event, *, level: float) -> Found:
        """Return what a normal law of some margins says of an event.

        Args:
            margins: Shape ``(n,)``, nats.
            event: Whose margins they are.
            level: Coverage of the interval, in (0, 1).
        """
        leads = margins - event.above
        if self.difference == "clipped":
            leads = np.minimum(leads, 0.0)
        spread = float(leads.std(ddof=1)) if len(leads) > 1 else 0.0
        if spread == 0.0:
            return _constant(margins > event.above)
        score = float(leads.mean()) / spread
        unit = (leads - leads.mean()) / spread
        influence = unit - 0.5 * score * (np.square(unit) - 1.0)
        half = float(norm.isf((1.0 - level) / 2.0)) * float(influence.std()) / math.sqrt(len(leads))
        warnings, checked = [NORMALITY], {}
        observed = observable(margins, event.above)
        if observed is None:
            warnings.append(UNCHECKED)
        else:
            near = (float(leads.mean()) + event.above - observed.margin) / spread
            log_ratio = float(log_ndtr(near)) - observed.log_share
            warnings += misfit_warnings(log_ratio, observed)
            checked = {"misfit_log_ratio": log_ratio, "misfit_margin": observed.margin}
        return Found(
            log_prob=float(log_ndtr(score)),
            low=float(log_ndtr(score - half)),
            high=float(log_ndtr(score + half)),
            spent=Spent(),
            diagnostics={
                "activations": len(leads), "mean": float(leads.mean()), "spread": spread,
                "skewness": float(np.mean(unit**3)), "excess": float(np.mean(unit**4)) - 3.0,
                **checked,
            },
            warnings=tuple(warnings),
        )  # fmt: skip


def _constant(hits: Bool[np.ndarray, "n"]) -> Found:
    """Return what leads that are all the same say: the share of margins that hit.

    It is 1 or 0, but where margins are cut at 0 and some are 0 by themselves.
    """
    return Found(
        log_prob=log_of(float(hits.mean())), low=-math.inf, high=0.0, spent=Spent(),
        warnings=("all margins (cut at 0 if clipped) are the same: there is no spread to go by",),
    )  # fmt: skip
