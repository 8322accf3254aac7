"""Why a formula is not satisfied: what it takes to repair it, which rule breaks. Unit: nats."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from likely.errors import InputError
from likely.logic.clash import conjuncts
from likely.logic.formula import Formula
from likely.logic.odds import Numbers, ground, log_prob_of, log_probability, read_odds
from likely.logic.worlds import best_world


@dataclass(frozen=True, slots=True, kw_only=True)
class Repair:
    """The least that must change in what is believed of each event for the formula to hold.

    Attributes:
        cost: Log-odds given up in all, nats; 0 if taking the likelier side of each event satisfies
            the formula.
        flipped: Events whose likelier side is given up, with the log-odds that each costs. An event
            with probability one half has no likelier side and costs nothing.
        assignment: The most probable assignment that satisfies the formula.
    """

    cost: float
    flipped: Mapping[str, float]
    assignment: Mapping[str, bool]

    def to_dict(self) -> dict[str, object]:
        """Return the fields as a mapping that `likely.core.jsonio` writes as strict JSON."""
        return {
            "cost": self.cost,
            "flipped": dict(self.flipped),
            "assignment": dict(self.assignment),
        }


def repair(
    formula: Formula | str, probs: Numbers | None = None, *, log_odds: Numbers | None = None
) -> Repair:
    """Return the cheapest change of mind that satisfies the formula.

    The cost is the log-ratio between the most probable assignment of all, which takes the likelier
    side of each event, and the most probable one that satisfies the formula.

    Arguments and errors are those of `likely.logic.most_probable`.

    >>> fix = repair("a -> b", {"a": 0.9, "b": 0.2})
    >>> round(fix.cost, 4), list(fix.flipped)
    (1.3863, ['b'])
    """
    formula = ground(formula)
    odds = read_odds([formula], probs=probs, log_odds=log_odds)
    best = best_world(formula, odds)
    flipped = {
        name: abs(odds[name])
        for name, is_true in best.assignment.items()
        if odds[name] != 0.0 and is_true != (odds[name] > 0.0)
    }
    return Repair(cost=math.fsum(flipped.values()), flipped=flipped, assignment=best.assignment)


@dataclass(frozen=True, slots=True, kw_only=True)
class Blame:
    """How much of the violation of a formula one of its conjuncts takes part in.

    Attributes:
        rule: Text of the conjunct.
        log_prob_broken: Log-probability that it is broken, nats.
        share: Probability that it is broken given that the formula is; None if the formula is
            never broken. Shares of rules that break together sum to more than 1.
    """

    rule: str
    log_prob_broken: float
    share: float | None

    @property
    def prob_broken(self) -> float:
        """The probability that the conjunct is broken."""
        return math.exp(self.log_prob_broken)

    def to_dict(self) -> dict[str, object]:
        """Return the fields as a mapping that `likely.core.jsonio` writes as strict JSON."""
        return {"rule": self.rule, "log_prob_broken": self.log_prob_broken, "share": self.share}


def blame(
    formula: Formula | str, probs: Numbers | None = None, *, log_odds: Numbers | None = None
) -> tuple[Blame, ...]:
    """Return for each conjunct of the formula how often it is broken, in the formula's order.

    Arguments and input errors are those of `likely.logic.most_probable`.

    >>> [(b.rule, round(b.share, 3)) for b in blame("(a -> b) & c", {"a": .9, "b": .2, "c": .6})]
    [('a -> b', 0.865), ('c', 0.481)]
    """
    formula = ground(formula)
    odds = read_odds([formula], probs=probs, log_odds=log_odds)
    total = log_prob_of(~formula, odds)
    return tuple(_blame(rule, odds, total) for rule in conjuncts(formula))


def _blame(rule: Formula, odds: Mapping[str, float], total: float) -> Blame:
    log_broken = log_prob_of(~rule, odds)
    share = None
    if total > -math.inf:
        share = math.exp(log_probability(log_broken - total, what=f"the share of {str(rule)!r}"))
    return Blame(rule=str(rule), log_prob_broken=log_broken, share=share)


@dataclass(frozen=True, slots=True, kw_only=True)
class Implication:
    """How a rule ``if`` -> ``then`` fares where it applies, and how often it does.

    Attributes:
        violation: Probability that the consequent fails given the antecedent; None where the
            antecedent is impossible.
        vacuity: Probability that the antecedent fails: the rule then holds whatever the rest.
        commitment: For each event with a declared opposite, the sum of both probabilities: 1 for a
            coherent belief, near 0 for one who commits to neither, up to 2 for a contradiction.
    """

    violation: float | None
    vacuity: float
    commitment: Mapping[str, float] = field(default_factory=dict)

    def to_dict(self) -> dict[str, object]:
        """Return the fields as a mapping that `likely.core.jsonio` writes as strict JSON."""
        return {
            "violation": self.violation,
            "vacuity": self.vacuity,
            "commitment": dict(self.commitment),
        }


def implication(
    formula: Formula | str,
    probs: Numbers | None = None,
    *,
    log_odds: Numbers | None = None,
    opposites: Mapping[str, str] | None = None,
) -> Implication:
    """Return how often an implication fails where it applies, which its satisfaction hides.

    Args:
        formula: Ground, of the form ``antecedent -> consequent``.
        probs: Probability of each event of the formula, and of the opposites.
        log_odds: Log-odds of each event in nats, instead of ``probs``.
        opposites: For an event the one that states its negation (such as the answers yes and no to
            one question), where both were measured.

    Raises:
        InputError: As for `likely.logic.most_probable`, or the formula is no implication.

    Sources:
        arXiv 2606.21083 on coherence under commitment: who commits to nothing satisfies any rule.

    >>> rule = implication("a -> b", {"a": 0.01, "b": 0.2})
    >>> round(rule.violation, 4), round(rule.vacuity, 4)
    (0.8, 0.99)
    """
    formula = ground(formula)
    if formula.op != "implies":
        raise InputError(
            f"an implication has the form 'a -> b', got {str(formula)!r}; "
            "ask blame(...) for the parts of other formulas"
        )
    antecedent, consequent = formula.operands
    pairs = [
        (Formula("var", name=event), Formula("var", name=opposite))
        for event, opposite in (opposites or {}).items()
    ]
    asked = [formula, *(event for pair in pairs for event in pair)]
    odds = read_odds(asked, probs=probs, log_odds=log_odds)
    applies = log_prob_of(antecedent, odds)
    violation = None
    if applies > -math.inf:
        fails = log_prob_of(antecedent & ~consequent, odds)
        violation = math.exp(log_probability(fails - applies, what=f"breaking {str(formula)!r}"))
    return Implication(
        violation=violation,
        vacuity=math.exp(log_prob_of(~antecedent, odds)),
        commitment={
            event.key: math.fsum(math.exp(log_prob_of(side, odds)) for side in (event, opposite))
            for event, opposite in pairs
        },
    )
