"""A theory put to a model: every claim about every row, under several rescalings. Unit: nats."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import product

import numpy as np
from jaxtyping import Float

from likely.core.engine import Meter, Store
from likely.core.logspace import log1mexp
from likely.core.model import LanguageModel, Settings
from likely.core.text.encode import Bos
from likely.errors import BudgetError, InconsistentTheory, InputError
from likely.logic.batches import Bound, canonical, log_probs
from likely.logic.chance import Scores
from likely.logic.clash import conjunction
from likely.logic.events import EventScores, Multi, Rescaling, score_events
from likely.logic.formula import TRUE, Formula, holds, variables
from likely.logic.information import Informativeness, informativeness
from likely.logic.instances import Instance, instances
from likely.logic.queries import entails
from likely.logic.results import (
    ConditionalScore,
    Evaluation,
    EventReading,
    ItemScore,
    OrderingScore,
    QueryScore,
    Reading,
)
from likely.logic.theory import Claim, Rule, Theory
from likely.logic.weights import Weighted, weighted

ALSO = ("minp", "identity", "closed")
"""The rescalings reported beside the one asked for: a conclusion is shown under several."""

MAX_INTERVALS = 10
"""Of how many events known only by an interval a claim is bounded: it takes 2 to that power."""


def evaluate(
    model: LanguageModel,
    theory: Theory,
    *,
    rescaling: str | Rescaling = "duel",
    also: Sequence[str | Rescaling] = ALSO,
    multi: Multi = "conj",
    bos: Bos = "auto",
    settings: Settings | None = None,
    cache: Store | None = None,
    meter: Meter | None = None,
) -> Evaluation:
    """Return how far a model satisfies each claim of a theory, corrected for chance.

    Args:
        model: Any model; with less than whole next-token rows some rescalings give intervals.
        theory: What should hold.
        rescaling: From token probabilities to events: the one that headlines.
        also: Others, reported beside it.
        multi: How answers of several tokens become one event.
        bos: As in `likely.score`.
        settings: How to evaluate; changes no number beyond rounding.
        cache: A `ScoreCache`.
        meter: A progress meter.

    Returns:
        One item a claim, row and frame pack, with everything to explain it.

    Raises:
        InputError: A claim says nothing, or an event cannot be encoded.
        InconsistentTheory: A claim, or its evidence, can never hold.
        CapabilityError: The model cannot give what a rescaling needs.
    """
    (evaluation,) = evaluate_all(
        model, [theory], rescaling=rescaling, also=also, multi=multi, bos=bos, settings=settings,
        cache=cache, meter=meter,
    )  # fmt: skip
    return evaluation


def evaluate_all(
    model: LanguageModel,
    theories: Sequence[Theory],
    *,
    rescaling: str | Rescaling = "duel",
    also: Sequence[str | Rescaling] = ALSO,
    multi: Multi = "conj",
    bos: Bos = "auto",
    settings: Settings | None = None,
    cache: Store | None = None,
    meter: Meter | None = None,
) -> tuple[Evaluation, ...]:
    """Return what `evaluate` returns for each theory, from one pass over the model.

    Contexts that theories share are evaluated once. Each evaluation carries the cost of the whole
    call. Arguments and errors are those of `evaluate`.
    """
    made = [instances(theory) for theory in theories]
    flat = [instance for group in made for instance in group]
    known = {claim_id(i, c): check_claim(i, c) for i in flat for c in i.claims}
    scored = score_events(
        model, [event for instance in flat for event in instance.events.values()],
        list(dict.fromkeys((rescaling, *also))), multi=multi, bos=bos, settings=settings,
        cache=cache, meter=meter,
    )  # fmt: skip
    columns = _columns(flat)
    return tuple(
        _evaluation(model, theory, known, _Table(made=group, scored=scored, columns=columns))
        for theory, group in zip(theories, made, strict=True)
    )


def _columns(made: Sequence[Instance]) -> dict[str, dict[str, int]]:
    """Return the column of each event of each instance, in the order in which they were scored."""
    columns: dict[str, dict[str, int]] = {}
    at = 0
    for instance in made:
        if instance.id in columns:
            theory = instance.id.split("/", 1)[0]
            raise InputError(f"two theories are named {theory!r}; give each its own name")
        columns[instance.id] = {key: at + i for i, key in enumerate(instance.events)}
        at += len(instance.events)
    return columns


def _evaluation(
    model: LanguageModel,
    theory: Theory,
    known: Mapping[str, Informativeness | None],
    table: "_Table",
) -> Evaluation:
    return Evaluation(
        theory=theory.name,
        digest=theory.digest,
        model=model.info.name,
        fingerprint=model.info.fingerprint,
        rescalings=table.rescalings,
        multi=table.scored.multi,
        events=table.event_readings(),
        items=_items(table, known),
        conditionals=_conditionals(table),
        orderings=_orderings(table),
        queries=_queries(table),
        clamped=table.scored.clamped,
        cost=table.scored.cost,
    )


def claim_id(instance: Instance, claim: Claim) -> str:
    """Return the id of an item."""
    return f"{instance.id}/{claim.name}"


@dataclass(frozen=True, kw_only=True)
class _Table:
    """All events as columns, and every formula that is asked, evaluated once at the end.

    Attributes:
        made: The instances of one theory.
        scored: The events of all theories, in order.
        columns: By instance, the column of each event.
    """

    made: Sequence[Instance]
    scored: EventScores
    columns: Mapping[str, Mapping[str, int]]

    @property
    def rescalings(self) -> tuple[str, ...]:
        return tuple(self.scored.log_odds)

    def log_probs(self, formulas: Sequence[tuple[Instance, Formula]]) -> Float[np.ndarray, "R1 N"]:
        """Return the log-probability of each formula under each rescaling, and last by chance."""
        bound = [Bound(formula=f, columns=self.columns[i.id]) for i, f in formulas]
        rows = list(self.scored.log_odds.values())
        return log_probs(bound, np.stack([*rows, np.zeros_like(rows[0])]))

    def odds_of(self, instance: Instance, label: str) -> dict[str, float]:
        """Return the log-odds of an instance's events under one rescaling."""
        row = self.scored.log_odds[label]
        return {key: float(row[column]) for key, column in self.columns[instance.id].items()}

    def is_defined(self, instance: Instance, keys: Sequence[str], label: str) -> bool:
        """Return whether a rescaling says something of each event: in a set of one nothing does."""
        return label != "closed" or "closed_alone" not in self.flags(instance, keys)

    def flags(self, instance: Instance, keys: Sequence[str]) -> frozenset[str]:
        """Return all flags of these events."""
        columns = self.columns[instance.id]
        return frozenset[str]().union(*(self.scored.flags[columns[key]] for key in keys))

    def bounds(self, instance: Instance, claim: Claim, label: str) -> tuple[float, float] | None:
        """Return the sure interval of a claim's log-probability; None where its events are exact.

        The probability is linear in that of each event, so that its extremes are at corners.

        Raises:
            InputError: Too many events are known only by intervals.
        """
        columns = self.columns[instance.id]
        low, high = self.scored.low[label], self.scored.high[label]
        keys = dict.fromkeys(key for f in claim.formulas for key in variables(f))
        loose = [key for key in keys if low[columns[key]] < high[columns[key]]]
        if not loose or not _is_product(claim) or claim.evidence is not None:
            return None
        if len(loose) > MAX_INTERVALS:
            raise InputError(
                f"{claim_id(instance, claim)!r} has {len(loose)} events of which the model tells "
                f"only an interval, at most {MAX_INTERVALS} are bounded; ask for 'identity' alone"
            )
        corners = np.tile(self.scored.log_odds[label], (2 ** len(loose), 1))
        for row, choice in enumerate(product((low, high), repeat=len(loose))):
            for key, end in zip(loose, choice, strict=True):
                corners[row, columns[key]] = end[columns[key]]
        values = log_probs([Bound(formula=_joint(claim), columns=columns)], corners)
        return float(values.min()), float(values.max())

    def event_readings(self) -> dict[str, dict[str, EventReading]]:
        return {
            instance.id: {
                key: self._event_reading(instance, key, column)
                for key, column in self.columns[instance.id].items()
            }
            for instance in self.made
        }

    def _event_reading(self, instance: Instance, key: str, column: int) -> EventReading:
        event = instance.events[key]
        return EventReading(
            context=event.context,
            answers=event.answers or event.spellings or (),
            log_prob=float(self.scored.log_prob[column]),
            log_odds={name: float(row[column]) for name, row in self.scored.log_odds.items()},
            pieces=self.scored.pieces[column],
            flags=self.scored.flags[column],
        )


def _joint(claim: Claim) -> Formula:
    """Return the conjunction of the hard rules; true if there are none."""
    return conjunction([rule.formula for rule in claim.rules if rule.kind == "hard"])


def _binding(claim: Claim) -> list[Rule]:
    """Return the rules that are to be satisfied: ``soft`` and ``score`` rules only weigh."""
    return [rule for rule in claim.rules if rule.kind in ("hard", "noisy")]


def _is_product(claim: Claim) -> bool:
    """Return whether the claim is judged under the product law of the events alone."""
    return all(rule.kind in ("hard", "score") for rule in claim.rules)


def check_claim(instance: Instance, claim: Claim) -> Informativeness | None:
    """Return how much a plain claim says; refuse a claim that says nothing or cannot hold.

    Raises:
        InputError: It is a tautology, or has no rule that could be satisfied.
        InconsistentTheory: It cannot hold.
    """
    where = f"the claim {claim.name!r} of {instance.id!r}"
    if not _binding(claim):
        raise InputError(f"{where} has no hard or noisy rule, so there is nothing to satisfy")
    joint = _joint(claim)
    evidence = claim.given
    try:
        _informed(joint & evidence)
    except InconsistentTheory as error:
        raise InconsistentTheory(f"{where} can never hold: {error}", clash=error.clash) from None
    except BudgetError as error:
        raise BudgetError(f"{where}: {error}") from None
    if _is_product(claim) and _holds_always(evidence >> joint):
        raise InputError(
            f"{where} always holds, {str(joint)!r}, so no score on it means anything; make it say "
            "something, or delete it"
        )
    for rule in claim.rules:
        if _holds_always(rule.formula):
            raise InputError(
                f"the rule {rule.name!r} of {claim_id(instance, claim)!r} always holds, "
                f"{str(rule.formula)!r}; make it say something, or delete it"
            )
    return _informed(joint) if _is_product(claim) and claim.evidence is None else None


def _informed(formula: Formula) -> Informativeness:
    """Return how much a formula says; one computation a shape.

    Raises:
        InconsistentTheory: It cannot hold.
    """
    shape, names = canonical(formula)
    try:
        info = _shape_information(shape)
    except InconsistentTheory:
        return informativeness(formula)  # raises with the formula's own names
    own = dict(zip(variables(shape), names, strict=True))
    return replace(info, share_true={own[key]: x for key, x in info.share_true.items()})


def _holds_always(formula: Formula) -> bool:
    """Return whether a formula is a tautology; one computation a shape."""
    return _shape_holds_always(canonical(formula)[0])


@lru_cache(maxsize=512)
def _shape_holds_always(shape: Formula) -> bool:
    return entails(TRUE, shape)


@lru_cache(maxsize=512)
def _shape_information(shape: Formula) -> Informativeness:
    return informativeness(shape)


@dataclass(frozen=True, kw_only=True)
class _Judged:
    """Claims with the log-probabilities of their rules, nats, by rescaling and last by chance.

    Attributes:
        placed: Instance and claim.
        kept: Of rules and evidence together, shape ``(R + 1, N)``.
        broken: Of the evidence without the rules.
        given: Of the evidence.
        rules: Of each rule and the evidence, by place of the claim and name of the rule.
    """

    placed: Sequence[tuple[Instance, Claim]]
    kept: Float[np.ndarray, "R1 N"]
    broken: Float[np.ndarray, "R1 N"]
    given: Float[np.ndarray, "R1 N"]
    rules: Mapping[tuple[int, str], Float[np.ndarray, "R1"]]

    @classmethod
    def over(cls, table: _Table) -> "_Judged":
        placed = [(instance, claim) for instance in table.made for claim in instance.claims]
        parts = [(i, _joint(c), c.given) for i, c in placed]
        rules = [
            (n, i, rule.name, rule.formula & c.given)
            for n, (i, c) in enumerate(placed)
            for rule in c.rules
        ]
        ruled = table.log_probs([(i, formula) for _, i, _, formula in rules])
        return cls(
            placed=placed,
            kept=table.log_probs([(i, joint & given) for i, joint, given in parts]),
            broken=table.log_probs([(i, ~joint & given) for i, joint, given in parts]),
            given=table.log_probs([(i, given) for i, _, given in parts]),
            rules={(n, name): ruled[:, at] for at, (n, _, name, _) in enumerate(rules)},
        )

    def scores(self, n: int, k: int, odds: Mapping[str, float]) -> Scores:
        """Return the scores of claim ``n`` under rescaling ``k``."""
        instance, claim = self.placed[n]
        if self.given[k, n] == -math.inf:
            raise InconsistentTheory(
                f"the evidence {str(claim.evidence)!r} of {claim_id(instance, claim)!r} has "
                "probability 0 on this model; weaken it",
                clash=[str(claim.evidence)],
            )
        if not _is_product(claim):
            return _weighted_scores(claim, odds)
        return Scores(
            log_prob=min(0.0, float(self.kept[k, n] - self.given[k, n])),
            log_broken=min(0.0, float(self.broken[k, n] - self.given[k, n])),
            log_chance=min(0.0, float(self.kept[-1, n] - self.given[-1, n])),
            log_chance_broken=min(0.0, float(self.broken[-1, n] - self.given[-1, n])),
        )

    def rule_log_probs(self, n: int, k: int) -> dict[str, float]:
        """Return the log-probability of each rule of claim ``n`` given its evidence."""
        _, claim = self.placed[n]
        return {
            rule.name: min(0.0, float(self.rules[n, rule.name][k] - self.given[k, n]))
            for rule in claim.rules
        }


def _items(table: _Table, known: Mapping[str, Informativeness | None]) -> tuple[ItemScore, ...]:
    judged = _Judged.over(table)
    items = []
    for n, (instance, claim) in enumerate(judged.placed):
        name = claim_id(instance, claim)
        keys = tuple(dict.fromkeys(key for f in claim.formulas for key in variables(f)))
        joint = conjunction([rule.formula for rule in _binding(claim)])
        items.append(
            ItemScore(
                id=name,
                instance=instance.id,
                pack=instance.pack,
                row=instance.row,
                claim=claim.name,
                formula=str(joint),
                evidence=None if claim.evidence is None else str(claim.evidence),
                events=keys,
                info=known[name],
                readings={
                    label: _reading(table, judged, n, k, label)
                    for k, label in enumerate(table.rescalings)
                    if table.is_defined(instance, keys, label)
                },
                is_comparison=claim.is_comparison,
                flags=table.flags(instance, keys),
            )
        )
    return tuple(items)


def _reading(table: _Table, judged: _Judged, n: int, k: int, label: str) -> Reading:
    instance, claim = judged.placed[n]
    odds = table.odds_of(instance, label)
    scores = judged.scores(n, k, odds)
    rules = judged.rule_log_probs(n, k)
    extra = [(r.weight or 0.0) * rules[r.name] for r in claim.rules if r.kind == "score"]
    hard = {key: value > 0.0 for key, value in odds.items()}
    return Reading(
        scores=scores,
        is_kept=all(holds(rule.formula, hard) for rule in _binding(claim)),
        rules=rules,
        loss=-scores.log_prob - math.fsum(extra),
        bounds=table.bounds(instance, claim, label),
    )


def _weighted_scores(claim: Claim, odds: Mapping[str, float]) -> Scores:
    theory = weighted_of(claim)
    chance = theory.log_satisfaction(log_odds=dict.fromkeys(odds, 0.0))
    log_prob = theory.log_satisfaction(log_odds=odds)
    return Scores(
        log_prob=log_prob,
        log_broken=float(log1mexp(np.array(log_prob))),
        log_chance=chance,
        log_chance_broken=float(log1mexp(np.array(chance))),
    )


def weighted_of(claim: Claim) -> Weighted:
    """Return a claim's rules as a weighted theory; ``score`` rules stand outside it."""
    return weighted(
        _joint(claim),
        soft=[(r.formula, r.weight or 0.0) for r in claim.rules if r.kind == "soft"],
        noisy=[(r.formula, r.weight or 0.0) for r in claim.rules if r.kind == "noisy"],
        evidence=claim.given,
    )


def _conditionals(table: _Table) -> tuple[ConditionalScore, ...]:
    asked = [(i, name, a, b) for i in table.made for name, (a, b) in i.conditionals.items()]
    antecedent = table.log_probs([(i, a) for i, _, a, _ in asked])
    vacuous = table.log_probs([(i, ~a) for i, _, a, _ in asked])
    broken = table.log_probs([(i, a & ~b) for i, _, a, b in asked])
    scores = []
    for n, (instance, name, a, b) in enumerate(asked):
        keys = variables(a & b)
        told = [
            (k, label)
            for k, label in enumerate(table.rescalings)
            if table.is_defined(instance, keys, label)
        ]
        scores.append(
            ConditionalScore(
                name=name,
                instance=instance.id,
                row=instance.row,
                violation={
                    label: math.exp(min(0.0, broken[k, n] - antecedent[k, n]))
                    for k, label in told
                    if antecedent[k, n] > -math.inf
                },
                vacuity={label: math.exp(vacuous[k, n]) for k, label in told},
            )
        )
    return tuple(scores)


def _orderings(table: _Table) -> tuple[OrderingScore, ...]:
    raw = table.scored.log_prob
    scores = []
    for instance in table.made:
        columns = table.columns[instance.id]
        for name, (more, less) in instance.orderings.items():
            high, low = raw[columns[more.key]], raw[columns[less.key]]
            # Two impossible answers are neither above the other.
            ratio = 0.0 if high == low else float(high - low)
            scores.append(
                OrderingScore(name=name, instance=instance.id, row=instance.row, log_ratio=ratio)
            )
    return tuple(scores)


def _queries(table: _Table) -> tuple[QueryScore, ...]:
    asked = [(i, name, query) for i in table.made for name, query in i.queries.items()]
    alone = table.log_probs([(i, query) for i, _, query in asked])
    pairs = [
        (n, i, claim.name, query, _joint(claim) & claim.given)
        for n, (i, _, query) in enumerate(asked)
        for claim in i.claims
        if _is_product(claim)
    ]
    joint = table.log_probs([(i, query & given) for _, i, _, query, given in pairs])
    given = table.log_probs([(i, given) for _, i, _, _, given in pairs])
    conditional: dict[int, dict[str, dict[str, float]]] = {}
    for at, (n, instance, claim, query, formula) in enumerate(pairs):
        for k, label in enumerate(table.rescalings):
            keys = variables(query & formula)
            if given[k, at] > -math.inf and table.is_defined(instance, keys, label):
                prob = math.exp(min(0.0, joint[k, at] - given[k, at]))
                conditional.setdefault(n, {}).setdefault(label, {})[claim] = prob
    return tuple(
        QueryScore(
            name=name,
            instance=instance.id,
            row=instance.row,
            prob={
                label: math.exp(alone[k, n])
                for k, label in enumerate(table.rescalings)
                if table.is_defined(instance, variables(query), label)
            },
            given=conditional.get(n, {}),
        )
        for n, (instance, name, query) in enumerate(asked)
    )
