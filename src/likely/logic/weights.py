"""Theories whose rules may be hard, soft (a weight) or noisy (a probability). Unit: nats."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from likely.errors import InputError
from likely.logic.circuits.circuit import Circuit
from likely.logic.circuits.compile import compile
from likely.logic.clash import check_possible, conjunction, conjuncts
from likely.logic.formula import TRUE, Formula, variables
from likely.logic.odds import Numbers, batches, ground, log_probability, log_sides, read_odds


@dataclass(frozen=True, slots=True, kw_only=True)
class Weighted:
    """Rules of three kinds over independent events, and what is known of the events.

    An assignment ``x`` has weight ``W(x)`` (the product law) times ``exp(w)`` for each soft rule
    that it satisfies, times ``1 - pi`` for each noisy rule that it breaks; assignments that break
    the hard rules or the evidence count for nothing. Build one with `weighted`.

    Attributes:
        hard: Must hold.
        soft: Rules with a weight ``w`` in nats, any finite number: Markov logic. Total mass is no
            longer 1, so every answer is a ratio.
        noisy: Rules with a probability ``pi`` in [0, 1] of being in force at all, independently of
            all else: ProbLog. Mass stays 1; at 1 a rule is hard, at 0 it is absent.
        evidence: What is known. Everything is asked given it.

    Raises:
        InputError: A weight is not finite, or a probability not in [0, 1].
    """

    hard: Formula = TRUE
    soft: tuple[tuple[Formula, float], ...] = ()
    noisy: tuple[tuple[Formula, float], ...] = ()
    evidence: Formula = TRUE

    def __post_init__(self) -> None:
        for rule, weight in self.soft:
            if not math.isfinite(weight):
                raise InputError(
                    f"the weight of the soft rule {str(rule)!r} is finite, got {weight!r}; "
                    "make it a hard rule if it must hold"
                )
        for rule, prob in self.noisy:
            if not 0.0 <= prob <= 1.0:
                raise InputError(
                    f"the probability of the noisy rule {str(rule)!r} lies in [0, 1], got {prob!r}"
                )

    def satisfaction(
        self, probs: Numbers | None = None, *, log_odds: Numbers | None = None
    ) -> float:
        """Return the probability that the hard rules and the noisy rules in force hold.

        The law is that of the events under the soft factors and the evidence: without soft rules
        and evidence this is `likely.logic.satisfaction` of the rules.

        Args:
            probs: Probability of each event.
            log_odds: Log-odds of each event in nats, instead of ``probs``.

        Raises:
            InputError: An event has no or no valid probability.
            InconsistentTheory: The evidence has probability 0.
        """
        return math.exp(self.log_satisfaction(probs, log_odds=log_odds))

    def log_satisfaction(
        self, probs: Numbers | None = None, *, log_odds: Numbers | None = None
    ) -> float:
        """Return the logarithm of `satisfaction`, in nats; ``-inf`` if the rules cannot hold."""
        odds = read_odds(self._formulas(), probs=probs, log_odds=log_odds)
        parts = {f"{part} (evidence)": part for part in conjuncts(self.evidence)}
        given = self._log_weight([self.evidence, *self._factors()], odds)
        check_possible(given, parts, odds, what="the evidence")
        log_prob = self._log_weight(self._everything(), odds) - given
        return log_probability(log_prob, what="the satisfaction of the theory")

    def conditional(
        self, query: Formula | str, probs: Numbers | None = None, *, log_odds: Numbers | None = None
    ) -> float:
        """Return the probability of a query given rules, soft factors and evidence.

        Raises:
            InputError: As for `satisfaction`, or the query cannot be read.
            InconsistentTheory: Hard rules and evidence have probability 0; ``clash`` names parts.
        """
        query = ground(query)
        odds = read_odds([query, *self._formulas()], probs=probs, log_odds=log_odds)
        given = self._possible_log_weight(odds)
        joint = self._log_weight([query, *self._everything()], odds)
        return math.exp(log_probability(joint - given, what=f"{str(query)!r} given the theory"))

    def marginals(
        self, probs: Numbers | None = None, *, log_odds: Numbers | None = None
    ) -> dict[str, float]:
        """Return the probability of each event given rules, soft factors and evidence.

        Raises:
            InputError: As for `satisfaction`.
            InconsistentTheory: As for `conditional`.
        """
        odds = read_odds(self._formulas(), probs=probs, log_odds=log_odds)
        given = self._possible_log_weight(odds)
        circuit = self._compile(self._everything(), odds)
        pos, neg = self._weights(circuit, odds)
        n = len(odds)
        log_joint = torch.empty(n, dtype=torch.float64)
        for part in batches(n, width=n):
            columns = torch.arange(part.start, part.stop)
            without = neg.repeat(len(columns), 1)
            without[torch.arange(len(columns)), columns] = -math.inf
            log_joint[part] = circuit.log_weight(pos.expand_as(without), without)
        return {
            name: math.exp(log_probability(value - given, what=f"{name!r} given the theory"))
            for name, value in zip(odds, log_joint.tolist(), strict=True)
        }

    def _formulas(self) -> list[Formula]:
        rules = [rule for rule, _ in (*self.soft, *self.noisy)]
        return [self.hard, *rules, self.evidence]

    def _factors(self) -> list[Formula]:
        return [_switch("soft", j).iff(rule) for j, (rule, _) in enumerate(self.soft)]

    def _everything(self) -> list[Formula]:
        noisy = [_switch("noisy", j) >> rule for j, (rule, _) in enumerate(self.noisy)]
        return [self.hard, *noisy, *self._factors(), self.evidence]

    def _possible_log_weight(self, odds: Mapping[str, float]) -> float:
        in_force = [rule for rule, prob in self.noisy if prob == 1.0]
        rules = {str(part): part for part in conjuncts(conjunction([self.hard, *in_force]))}
        known = {f"{part} (evidence)": part for part in conjuncts(self.evidence)}
        log_weight = self._log_weight(self._everything(), odds)
        check_possible(log_weight, {**rules, **known}, odds, what="the theory")
        return log_weight

    def _log_weight(self, parts: Iterable[Formula], odds: Mapping[str, float]) -> float:
        circuit = self._compile(parts, odds)
        return float(circuit.log_weight(*self._weights(circuit, odds))[0])

    def _compile(self, parts: Iterable[Formula], odds: Mapping[str, float]) -> Circuit:
        whole = conjunction(tuple(parts))
        switches = [name for name in variables(whole) if name not in odds]
        return compile(whole, names=(*odds, *switches))

    def _weights(self, circuit: Circuit, odds: Mapping[str, float]) -> tuple[Tensor, Tensor]:
        switches = [self._switch_weights(name) for name in circuit.names[len(odds) :]]
        pos, neg = log_sides(torch.tensor(list(odds.values()), dtype=torch.float64))
        true, false = torch.tensor(switches, dtype=torch.float64).reshape(-1, 2).T
        return torch.cat([pos, true])[None], torch.cat([neg, false])[None]

    def _switch_weights(self, name: str) -> tuple[float, float]:
        kind, _, place = name.partition("#")
        if kind == "soft":
            return self.soft[int(place)][1], 0.0
        prob = self.noisy[int(place)][1]
        log_true = math.log(prob) if prob > 0.0 else -math.inf
        return log_true, math.log1p(-prob) if prob < 1.0 else -math.inf


def weighted(
    hard: Formula | str = TRUE,
    *,
    soft: Iterable[tuple[Formula | str, float]] = (),
    noisy: Iterable[tuple[Formula | str, float]] = (),
    evidence: Formula | str = TRUE,
) -> Weighted:
    """Return a theory of hard, soft and noisy rules, each a `Formula` or a text.

    Raises:
        InputError: A formula cannot be read or ranges over rows, a weight is not finite, or a
            probability not in [0, 1].

    >>> theory = weighted(soft=[("a -> b", 1.5)], evidence="a | b")
    >>> {k: round(q, 4) for k, q in theory.marginals({"a": 0.9, "b": 0.2}).items()}
    {'a': 0.9445, 'b': 0.5545}
    """
    return Weighted(
        hard=ground(hard),
        soft=tuple((ground(rule), float(weight)) for rule, weight in soft),
        noisy=tuple((ground(rule), float(prob)) for rule, prob in noisy),
        evidence=ground(evidence),
    )


def _switch(kind: str, place: int) -> Formula:
    # No event can have this name, since '#' is no part of an identifier.
    return Formula("var", name=f"{kind}#{place}")
