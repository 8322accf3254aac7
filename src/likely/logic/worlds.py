"""Assignments in order of probability: those that satisfy a formula, those that break it. Nats."""

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from likely.errors import InputError
from likely.logic.best_first import iter_best
from likely.logic.circuits.circuit import Circuit
from likely.logic.circuits.compile import compile
from likely.logic.circuits.graph import smooth
from likely.logic.clash import check_possible, conjuncts
from likely.logic.formula import Formula, holds
from likely.logic.odds import Numbers, ground, literal_weights, log_probability, read_odds


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """One assignment of truth values to the events, with its probability.

    Attributes:
        assignment: Truth by event.
        log_prob: Of just this assignment, nats.
        broken: Texts of the conjuncts that it breaks; empty if it satisfies the formula.
    """

    assignment: Mapping[str, bool]
    log_prob: float
    broken: tuple[str, ...] = ()

    @property
    def prob(self) -> float:
        """The probability of just this assignment."""
        return math.exp(self.log_prob)

    def to_dict(self) -> dict[str, object]:
        """Return the fields as a mapping that `likely.core.jsonio` writes as strict JSON."""
        return {
            "assignment": dict(self.assignment),
            "log_prob": self.log_prob,
            "broken": list(self.broken),
        }


def most_probable(
    formula: Formula | str, probs: Numbers | None = None, *, log_odds: Numbers | None = None
) -> World:
    """Return the most probable assignment among those that satisfy the formula.

    Args:
        formula: Ground.
        probs: Probability of each event of the formula; further events are ignored.
        log_odds: Log-odds of each event in nats, instead of ``probs``.

    Raises:
        InputError: The formula cannot be read, or an event has no or no valid probability.
        InconsistentTheory: No assignment of positive probability satisfies the formula.

    >>> most_probable("exactly_one(a, b)", {"a": 0.9, "b": 0.2}).assignment
    {'a': True, 'b': False}
    """
    formula = ground(formula)
    odds = read_odds([formula], probs=probs, log_odds=log_odds)
    return best_world(formula, odds)


def iter_models(
    formula: Formula | str,
    probs: Numbers | None = None,
    *,
    log_odds: Numbers | None = None,
    limit: int | None = None,
) -> Iterator[World]:
    """Yield the assignments that satisfy the formula, the most probable first, each when asked for.

    The first costs one pass over the compiled formula, each further one about one walk from its top
    to its bottom. Assignments of probability 0 are not listed.

    Args:
        formula: Ground.
        probs: Probability of each event of the formula.
        log_odds: Log-odds of each event in nats, instead of ``probs``.
        limit: Stop after so many; None for all.

    Raises:
        InputError: As for `most_probable`, or a negative limit; raised before the first is asked
            for.

    >>> [round(world.prob, 2) for world in iter_models("a | b", {"a": 0.9, "b": 0.2})]
    [0.72, 0.18, 0.02]
    """
    if limit is not None and limit < 0:
        raise InputError(f"the limit is at least 0, or None for all, got {limit!r}")
    formula = ground(formula)
    odds = read_odds([formula], probs=probs, log_odds=log_odds)
    return itertools.islice(_iter_worlds(formula, odds), limit)


def violations(
    formula: Formula | str,
    probs: Numbers | None = None,
    *,
    k: int = 3,
    log_odds: Numbers | None = None,
) -> tuple[World, ...]:
    """Return the most probable assignments that break the formula, each with what it breaks.

    Args:
        formula: Ground; its conjuncts are the rules that an assignment may break.
        probs: Probability of each event of the formula.
        k: How many, at least 1; there are fewer if fewer have a positive probability.
        log_odds: Log-odds of each event in nats, instead of ``probs``.

    Raises:
        InputError: As for `most_probable`, or ``k`` below 1.

    >>> worst = violations("(a -> b) & (b -> c)", {"a": 0.9, "b": 0.2, "c": 0.6}, k=1)[0]
    >>> worst.assignment, round(worst.prob, 3), worst.broken
    ({'a': True, 'b': False, 'c': True}, 0.432, ('a -> b',))
    """
    if k < 1:
        raise InputError(f"k is at least 1, got {k!r}")
    formula = ground(formula)
    odds = read_odds([formula], probs=probs, log_odds=log_odds)
    rules = conjuncts(formula)
    return tuple(
        World(
            assignment=world.assignment,
            log_prob=world.log_prob,
            broken=tuple(str(rule) for rule in rules if not holds(rule, world.assignment)),
        )
        for world in itertools.islice(_iter_worlds(~formula, odds), k)
    )


def best_world(formula: Formula, odds: Mapping[str, float]) -> World:
    """Return the most probable assignment of a ground formula; see `most_probable`."""
    circuit = compile(formula)
    values, assignments = circuit.most_probable(*literal_weights(circuit, odds))
    value = float(values[0])
    parts = {str(part): part for part in conjuncts(formula)}
    check_possible(value, parts, odds, what=f"the formula {str(formula)!r}")
    return _world(circuit, value, assignments[0].tolist())


def _iter_worlds(formula: Formula, odds: Mapping[str, float]) -> Iterator[World]:
    circuit = compile(formula)
    log_pos, log_neg = literal_weights(circuit, odds)
    found = iter_best(smooth(circuit.graph), log_pos[0].tolist(), log_neg[0].tolist())
    return (_world(circuit, value, truth) for value, truth in found)


def _world(circuit: Circuit, value: float, truth: Sequence[bool]) -> World:
    return World(
        assignment=dict(zip(circuit.names, truth, strict=True)),
        log_prob=log_probability(value, what="the probability of an assignment"),
    )
