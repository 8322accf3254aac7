"""How likely an event is: the estimate, its interval, and what a sceptic would ask. Unit: nats."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Literal

from likely.core.estimate import Cost, Estimate
from likely.core.logspace import prob_text
from likely.core.stored import Stored
from likely.rare.event import Event

if TYPE_CHECKING:
    import pandas as pd

Quantity = Literal["inputs", "activations"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Spent:
    """What an estimate took; a gradient costs about three forward passes.

    Attributes:
        forwards: Inputs that went through the model forward alone.
        gradients: Inputs that went through it forward and backward.
        scores: Activations that were scored by the output layer, without the model.
        token_evaluations: Token positions that went through the model.
        seconds: Wall-clock time.
    """

    forwards: int = 0
    gradients: int = 0
    scores: int = 0
    token_evaluations: int = 0
    seconds: float = 0.0

    def __add__(self, other: "Spent") -> "Spent":
        """Return what both took."""
        return Spent(
            forwards=self.forwards + other.forwards,
            gradients=self.gradients + other.gradients,
            scores=self.scores + other.scores,
            token_evaluations=self.token_evaluations + other.token_evaluations,
            seconds=self.seconds + other.seconds,
        )

    def divided(self, n: int) -> "Spent":
        """Return the share of each of ``n`` events that this served together, counts rounded up."""
        return Spent(
            forwards=-(-self.forwards // n),
            gradients=-(-self.gradients // n),
            scores=-(-self.scores // n),
            token_evaluations=-(-self.token_evaluations // n),
            seconds=self.seconds / n,
        )

    @property
    def calls(self) -> int:
        """Model calls as budgets count them: inputs that went through, with or without gradient."""
        return self.forwards + self.gradients

    @property
    def cost(self) -> Cost:
        """The same as every result of likely states it."""
        return Cost(
            token_evaluations=self.token_evaluations,
            model_calls=self.calls,
            seconds=self.seconds,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What a method says of one event, before it is framed as a result.

    Attributes:
        log_prob: Of the event, nats; ``-inf`` for an estimate of 0.
        low: Lower end of its interval; ``-inf`` where nothing is known from below.
        high: Upper end; 0 where nothing is known from above.
        spent: What it took; work that several events share is divided among them.
        diagnostics: Named figures.
        warnings: Sentences that a reader must see beside the number.
        replicates: Independent estimates of the probability, nats each, where there are several.
        levels: A table with one row for each level of a splitting run.
    """

    log_prob: float
    low: float
    high: float
    spent: Spent
    diagnostics: Mapping[str, float | int | str] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    replicates: tuple[float, ...] = ()
    levels: tuple[Mapping[str, float | int], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RareEstimate(Stored):
    """How likely an event is under a law of inputs.

    Attributes:
        event: What must happen.
        model: The model's name.
        fingerprint: Of the model.
        distribution: Name of the law of inputs.
        law: Fingerprint of that law.
        inputs: What its inputs look like, in words; empty if the law does not say.
        quantity: ``inputs``: the probability under the law of inputs. ``activations``: under a law
            of activations that was fitted to it, which differs by the misfit of that law.
        log_prob: The log-probability, nats; its value is ``-inf`` for an estimate of 0.
        spent: What it took.
        warnings: Sentences that a reader must see beside the number.
        replicates: Independent estimates of the log-probability, nats.
        levels: A row for each level of a splitting run.
        seed: Of the run.
        budget: Model calls that were allowed.
    """

    names_study: ClassVar[bool] = True

    event: Event
    model: str
    fingerprint: str
    distribution: str
    law: str
    inputs: str
    quantity: Quantity
    log_prob: Estimate
    spent: Spent
    warnings: tuple[str, ...]
    replicates: tuple[float, ...]
    levels: tuple[Mapping[str, float | int], ...]
    seed: int
    budget: int

    @property
    def prob(self) -> Estimate:
        """The probability, with the same interval."""
        log = self.log_prob
        return Estimate(
            value=math.exp(log.value), low=math.exp(log.low), high=math.exp(log.high),
            level=log.level, unit="prob", method=log.method, cost=log.cost,
            diagnostics=log.diagnostics,
        )  # fmt: skip

    @property
    def is_zero(self) -> bool:
        """Whether the estimate is 0, or missing; the interval still says how large it may be."""
        return self.log_prob.value == -math.inf

    @property
    def is_given_up(self) -> bool:
        """Whether there is no estimate at all, not even of 0: only the upper end says something."""
        return bool(self.log_prob.diagnostics.get("given_up", 0))

    def summary(self) -> str:
        """Return the estimate and its warnings as lines for a person."""
        log = self.log_prob
        ends = f"{prob_text(log.low)} to {prob_text(log.high)} at {log.level:.0%}"
        value = "no estimate" if self.is_given_up else prob_text(log.value)
        lines = [
            f"{self.event.name!r} under {self.distribution!r} ({self.model}, {log.method}): "
            f"{value} ({ends}; {self.spent.calls:,} calls)",
            *(f"warning: {text}" for text in self.warnings),
        ]
        return "\n".join(lines)

    def to_frame(self) -> "pd.DataFrame":
        """Return one row: what was asked, the estimate and what it took."""
        import pandas as pd

        row = {
            "model": self.model,
            "distribution": self.distribution,
            "event": self.event.name,
            "method": self.log_prob.method,
            "quantity": self.quantity,
            **self.log_prob.to_columns("log_prob"),
            "prob": self.prob.value,
            "level": self.log_prob.level,
            "forwards": self.spent.forwards,
            "gradients": self.spent.gradients,
            "scores": self.spent.scores,
            "token_evaluations": self.spent.token_evaluations,
            "seconds": self.spent.seconds,
            "seed": self.seed,
            "budget": self.budget,
            "warnings": "; ".join(self.warnings),
        }
        return pd.DataFrame([row])
