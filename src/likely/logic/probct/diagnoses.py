"""How claims fail: vacuous implications, orderings, patterns of violation, bounds, and CLOSE."""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from likely.core.estimate import Estimate
from likely.logic.circuits.compile import compile
from likely.logic.circuits.literals import log_literals
from likely.logic.dependence import MAX_EVENTS, FrechetBounds, frechet
from likely.logic.formula import variables
from likely.logic.parser import parse_quietly
from likely.logic.probct.tables import interval, item_shapes
from likely.logic.results import Evaluation, ItemScore

Mean = Callable[[Sequence[float], Sequence[str]], Estimate | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnosis:
    """One number of a family beside its scores, with an interval over rows.

    Attributes:
        family: Its name.
        kind: ``violation`` and ``vacuity`` of an implication; ``ordering``: share of items in which
            the event that should be the likelier is so, ties counting one half; ``close``,
            ``close_given`` and ``claim``: the probability of the query CLOSE, the same given a
            claim, and that of the claim; ``bound_low`` and ``bound_high``: what the events alone
            say of a claim whatever their dependence; ``position``: where the product law lies
            between the two, 0 to 1.
        name: Of the conditional, ordering or claim.
        rescaling: Label; None where no rescaling enters.
        n_items: How many items it rests on.
        mean: Over items.
    """

    family: str
    kind: str
    name: str
    rescaling: str | None
    n_items: int
    mean: Estimate | None

    def to_dict(self) -> dict[str, object]:
        """Return the fields as a mapping for strict JSON."""
        return {
            "family": self.family,
            "kind": self.kind,
            "name": self.name,
            "rescaling": self.rescaling,
            "n_items": self.n_items,
            "mean": None if self.mean is None else self.mean.to_dict(),
        }


def diagnoses(
    evaluations: Mapping[str, Evaluation], *, n_resamples: int, seed: int
) -> tuple[Diagnosis, ...]:
    """Return the numbers beside the scores of each family.

    Bounds and their positions are those under the headline rescaling.

    Args:
        evaluations: By family, without controls.
        n_resamples: Of the bootstrap over rows.
        seed: Of its streams.
    """

    def mean(values: Sequence[float], rows: Sequence[str]) -> Estimate | None:
        return interval(
            np.array(values, dtype=np.float64), rows, n_resamples=n_resamples, seed=seed
        )

    found: list[Diagnosis] = []
    for family, evaluation in evaluations.items():
        told = (*_conditionals(evaluation), *_orderings(evaluation), *_closes(evaluation))
        found += _gathered(family, (*told, *_bounds(evaluation)), mean)
    return tuple(found)


_Told = tuple[tuple[str, str, str | None], float, str]
"""Kind, name and rescaling; a value; the row that it is of."""


def _gathered(family: str, told: Iterable[_Told], mean: Mean) -> list[Diagnosis]:
    groups: dict[tuple[str, str, str | None], list[tuple[float, str]]] = {}
    for key, value, row in told:
        groups.setdefault(key, []).append((value, row))
    return [
        Diagnosis(
            family=family,
            kind=kind,
            name=name,
            rescaling=label,
            n_items=len(members),
            mean=mean([value for value, _ in members], [row for _, row in members]),
        )
        for (kind, name, label), members in groups.items()
    ]


def _conditionals(evaluation: Evaluation) -> Iterable[_Told]:
    for score in evaluation.conditionals:
        row = score.row or "*"
        for label, value in score.violation.items():
            yield ("violation", score.name, label), value, row
        for label, value in score.vacuity.items():
            yield ("vacuity", score.name, label), value, row


def _orderings(evaluation: Evaluation) -> Iterable[_Told]:
    for score in evaluation.orderings:
        won = 0.5 if score.log_ratio == 0.0 else float(score.log_ratio > 0.0)
        yield ("ordering", score.name, None), won, score.row or "*"


def _closes(evaluation: Evaluation) -> Iterable[_Told]:
    claims = {(item.instance, item.claim): item for item in evaluation.items}
    for query in evaluation.queries:
        row = query.row or "*"
        for label, value in query.prob.items():
            yield ("close", query.name, label), value, row
        for label, given in query.given.items():
            for claim, value in given.items():
                item = claims[query.instance, claim]
                if label in item.readings:
                    yield ("close_given", claim, label), value, row
                    yield ("claim", claim, label), item.readings[label].scores.prob, row


def _bounds(evaluation: Evaluation) -> Iterable[_Told]:
    label = evaluation.rescalings[0]
    for item in evaluation.items:
        if item.info is None or label not in item.readings or len(item.events) > MAX_EVENTS:
            continue
        bounds = _frechet(evaluation, item, label)
        row = item.row or "*"
        yield ("bound_low", item.claim, label), bounds.low, row
        yield ("bound_high", item.claim, label), bounds.high, row
        # The program that finds the bounds is exact to about 1e-9, the product law to 1e-15.
        prob = min(max(item.readings[label].scores.prob, bounds.low), bounds.high)
        position = bounds.position(prob)
        if position is not None:
            yield ("position", item.claim, label), position, row


def _frechet(evaluation: Evaluation, item: ItemScore, label: str) -> FrechetBounds:
    events = evaluation.events[item.instance]
    odds = {key: events[key].log_odds[label] for key in item.events}
    return frechet(parse_quietly(item.formula), log_odds=odds)


def violation_patterns(
    evaluation: Evaluation, *, rescaling: str | None = None
) -> dict[str, dict[str, int]]:
    """Return for each claim which assignments are its most probable violations, and how often.

    Args:
        evaluation: Of one theory.
        rescaling: A label; None for the headline.

    Returns:
        By claim and assignment, such as ``a & !c``, events in the order of the formula; the most
        frequent first. Claims that are no plain formulas are left out.
    """
    label = rescaling or evaluation.rescalings[0]
    items = [i for i in evaluation.items if i.info is not None and label in i.readings]
    patterns: dict[str, Counter[str]] = {item.claim: Counter() for item in items}
    for members, formula, log_odds in item_shapes(evaluation, items, label):
        circuit = compile(~formula, names=variables(formula))
        values, models = circuit.most_probable(*log_literals(torch.from_numpy(log_odds)))
        for item, value, model in zip(members, values.tolist(), models.tolist(), strict=True):
            if value > -math.inf:
                names = variables(parse_quietly(item.formula))
                signs = zip(names, model, strict=True)
                pattern = " & ".join(name if is_true else f"!{name}" for name, is_true in signs)
                patterns[item.claim][pattern] += 1
    return {claim: dict(counts.most_common()) for claim, counts in patterns.items()}
