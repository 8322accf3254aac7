"""What a baseline is handed, and what it gives back. Unit: nats."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias, runtime_checkable

from likely.attribution.case import Case
from likely.attribution.removal import Removal, Removed, log_probs_without
from likely.core.engine import Meter
from likely.core.estimate import Cost, Estimate
from likely.core.model import LanguageModel, Settings
from likely.errors import InputError

Facts: TypeAlias = Mapping[str, float | int | str | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """What is attributed, and under which terms.

    Attributes:
        model: Whose response it is.
        case: Prompt, response, positions; at least one.
        level: Coverage of intervals.
        seed: Of whatever is drawn.
        settings: How to evaluate.
        meter: Is told of progress, or None.
    """

    model: LanguageModel
    case: Case
    level: float
    seed: int
    settings: Settings | None
    meter: Meter | None

    def without(self, sets: list[frozenset[int]], removal: Removal) -> Removed:
        """Return the response's log-probabilities without sets of tokens; the first set is empty.

        Raises:
            InputError: The response is impossible after the whole prompt.
        """
        found = log_probs_without(
            self.model, self.case, [frozenset(), *sets], removal=removal, settings=self.settings,
            meter=self.meter,
        )  # fmt: skip
        check_possible(float(found.log_probs[0]))
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What a baseline found.

    Attributes:
        estimates: Score of each of the case's positions, nats.
        log_response: Log-probability of the response after the whole prompt.
        removal: How it takes tokens out, or None where it takes out none.
        diagnostics: Figures of the method; None where one is not defined.
        flags: What a reader has to know before trusting it.
        cost: Of all of it; for gradients the forward part, see the diagnostics for the other.
    """

    estimates: tuple[Estimate, ...]
    log_response: float
    removal: str | None
    diagnostics: Facts = field(default_factory=dict)
    flags: frozenset[str] = frozenset()
    cost: Cost


@runtime_checkable
class Method(Protocol):
    """A baseline: a dataclass of its options that can be run."""

    def run(self, task: Task) -> Found:
        """Return the score of each position, with what it took."""
        ...


def check_possible(log_response: float) -> None:
    """Raise if the response cannot follow the prompt.

    Raises:
        InputError: It cannot.
    """
    if log_response == -float("inf"):
        raise InputError(
            "the response has probability 0 after the whole prompt, so nothing made it likely; "
            "give a response that the model can produce"
        )
