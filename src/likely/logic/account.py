"""One item in words: its events, what is most likely to break, and what would mend it."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from likely.core.jsonio import dumps
from likely.errors import InconsistentTheory, InputError
from likely.logic.clash import conjuncts
from likely.logic.dependence import MAX_EVENTS, FrechetBounds, frechet
from likely.logic.explanations import Repair, repair
from likely.logic.formula import TRUE, Formula, holds, variables
from likely.logic.parser import parse_quietly
from likely.logic.queries import log_satisfaction
from likely.logic.results import Evaluation, EventReading, ItemScore
from likely.logic.worlds import World, violations

_LN_10 = math.log(10.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """Why a model keeps or breaks one claim, under one rescaling.

    Attributes:
        item: The item.
        rescaling: Label.
        events: Its events by key.
        worst: The most probable assignments that break the claim, given its evidence, likeliest
            first.
        mending: The cheapest change of mind that keeps it; None where events of probability 0 or 1
            leave none.
        bounds: What the events' probabilities alone say, whatever their dependence; None beyond
            `MAX_EVENTS` events, with evidence, and for soft or noisy rules.
    """

    item: ItemScore
    rescaling: str
    events: dict[str, EventReading]
    worst: tuple[World, ...]
    mending: Repair | None
    bounds: FrechetBounds | None

    def summary(self) -> str:
        """Return the account as a few lines for a person."""
        reading = self.item.readings[self.rescaling]
        scores = reading.scores
        corrected = scores.chance_corrected
        given = f" given {self.item.evidence}" if self.item.evidence else ""
        lines = [
            f"{self.item.id}: {self.item.formula}{given}",
            f"  holds with probability {_shown(scores.log_prob)}; by chance "
            f"{_shown(scores.log_chance)}"
            + ("" if corrected is None else f"; corrected for chance {corrected:+.3f}")
            + f"; {scores.log_ratio_bits:+.3f} of {scores.bits:.3f} bits earned",
        ]
        if self.bounds is not None and self.bounds.width > 0.0:
            lines.append(
                f"  between {self.bounds.low:.4f} and {self.bounds.high:.4f} if the events may "
                "depend on one another in any way"
            )
        lines.append(f"  events ({self.rescaling}):")
        lines += [f"    {self._event_line(key)}" for key in self.item.events]
        if len(reading.rules) > 1:
            lines.append("  rules:")
            lines += [
                f"    {name} holds with probability {_shown(log_prob)}"
                for name, log_prob in reading.rules.items()
            ]
        lines += self._worst_lines()
        lines.append(f"  cheapest repair: {self._mending_line()}")
        return "\n".join(lines)

    def to_dict(self) -> dict[str, object]:
        """Return the account as a mapping for strict JSON."""
        return {
            "item": self.item.to_dict(),
            "rescaling": self.rescaling,
            "events": {key: event.to_dict() for key, event in self.events.items()},
            "worst": [world.to_dict() for world in self.worst],
            "mending": None if self.mending is None else self.mending.to_dict(),
            "bounds": None if self.bounds is None else self.bounds.to_dict(),
        }

    def to_json(self) -> str:
        """Return `to_dict` as strict JSON."""
        return dumps(self.to_dict())

    def sentence(self, key: str) -> str:
        """Return the context of an event with its answer in brackets."""
        event = self.events[key]
        answer = event.answers[0].strip() + ("/..." if len(event.answers) > 1 else "")
        space = "" if event.context[-1:].isspace() or not event.context else " "
        return f"{event.context}{space}[{answer}]"

    @property
    def _width(self) -> int:
        return max(len(key) for key in self.item.events)

    def _event_line(self, key: str) -> str:
        event = self.events[key]
        odds = event.log_odds[self.rescaling]
        # What concerns other rescalings alone would only distract here.
        told = event.flags - (set() if self.rescaling in _SATURATING else {"clamped"})
        told -= {"closed_alone"}
        flags = f"  ({', '.join(sorted(told))})" if told else ""
        viable = _shown(float(-np.logaddexp(0.0, -odds)))
        return f"{key:<{self._width}} {viable}  {self.sentence(key)}{flags}"

    def _worst_lines(self) -> list[str]:
        if not self.worst:
            return ["  it cannot be broken at these probabilities"]
        world = self.worst[0]
        lines = [f"  most probable violation, probability {_shown(world.log_prob)}:"]
        for key, is_true in world.assignment.items():
            verdict = "counts as viable" if is_true else "does not"
            lines.append(f"    {key:<{self._width}} {verdict}: {self.sentence(key)}")
        broken = [text for text in world.broken if text != self.item.formula]
        if broken:
            lines.append(f"    breaks {'; '.join(broken)}")
        return lines

    def _mending_line(self) -> str:
        if self.mending is None:
            return "there is none, since some events are impossible or certain"
        if not self.mending.flipped:
            return "none is needed: it holds when each event is decided by its likelier side"
        parts = [
            f"{key} {'should' if self.mending.assignment[key] else 'should not'} be viable "
            f"({cost:.3f} nats)"
            for key, cost in self.mending.flipped.items()
        ]
        return f"{' and '.join(parts)}; {self.mending.cost:.3f} nats of log-odds in all"


_SATURATING = ("ratio", "ratio_soft", "tail", "rank", "closed")
"""Rescalings that reach 1, under which events may be clamped off it."""


def explain(
    evaluation: Evaluation, item: str, *, rescaling: str | None = None, k: int = 3
) -> Account:
    """Return why a model keeps or breaks one claim.

    Args:
        evaluation: From `evaluate`.
        item: Id of the item, or its end if that names one item alone.
        rescaling: A label of the evaluation; None for the headline.
        k: How many violations to list.

    Raises:
        UnknownNameError: There is no such item.
        InputError: The rescaling was not evaluated, or says nothing of this item.
    """
    chosen = evaluation.item(item)
    label = rescaling or evaluation.rescalings[0]
    if label not in chosen.readings:
        raise InputError(
            f"the item {chosen.id!r} has no reading under {label!r}; there are "
            f"{list(chosen.readings)}"
        )
    events = {key: evaluation.events[chosen.instance][key] for key in chosen.events}
    odds = {key: event.log_odds[label] for key, event in events.items()}
    formula = parse_quietly(chosen.formula)
    given = TRUE if chosen.evidence is None else parse_quietly(chosen.evidence)
    is_plain = chosen.info is not None and len(variables(formula)) <= MAX_EVENTS
    return Account(
        item=chosen,
        rescaling=label,
        events=events,
        worst=_worst(formula, given, odds, k),
        mending=_mending(formula & given, odds),
        bounds=frechet(formula, log_odds=odds) if is_plain else None,
    )


def _worst(
    formula: Formula, given: Formula, odds: Mapping[str, float], k: int
) -> tuple[World, ...]:
    """Return the most probable assignments that keep the evidence and break the formula."""
    log_given = log_satisfaction(given, log_odds=odds)
    return tuple(
        World(
            assignment=world.assignment,
            log_prob=min(0.0, world.log_prob - log_given),
            broken=tuple(
                str(part) for part in conjuncts(formula) if not holds(part, world.assignment)
            ),
        )
        for world in violations(given >> formula, log_odds=odds, k=k)
    )


def worst_items(
    evaluation: Evaluation, n: int, *, rescaling: str | None = None
) -> tuple[ItemScore, ...]:
    """Return the items on which a model loses most bits against chance, worst first.

    Items that stand for comparison alone, and those that the rescaling leaves undefined, are out.

    Args:
        evaluation: From `evaluate`.
        n: How many, at most.
        rescaling: A label of the evaluation; None for the headline.
    """
    label = rescaling or evaluation.rescalings[0]
    told = [item for item in evaluation.items if label in item.readings and not item.is_comparison]
    told.sort(key=lambda item: (item.readings[label].scores.log_ratio_bits, item.id))
    return tuple(told[:n])


def _mending(formula: Formula, odds: dict[str, float]) -> Repair | None:
    try:
        return repair(formula, log_odds=odds)
    except InconsistentTheory:
        return None


def _shown(log_prob: float) -> str:
    """Return a probability, given in nats, that reads 0 only where it is 0."""
    if log_prob == -math.inf or log_prob >= math.log(5e-4):
        return f"{math.exp(log_prob):.4f}"
    return f"{math.exp(log_prob):.1e}" if log_prob > -700.0 else f"10^{log_prob / _LN_10:.1f}"
