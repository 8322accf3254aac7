"""Repairs, blame and vacuity against enumeration."""

import math

import pytest
from enumeration import (
    NAMES,
    log_odds,
    mass,
    models,
    satisfiable,
    some_formulas,
    some_probs,
    weight,
)
from golden import PROBS
from hypothesis import assume, given

from likely.errors import InconsistentTheory, InputError
from likely.logic.clash import conjuncts
from likely.logic.explanations import blame, implication, repair
from likely.logic.formula import Formula, holds, variables
from likely.logic.worlds import most_probable


@given(satisfiable(), some_probs())
def test_a_repair_costs_the_log_ratio_of_the_best_assignment_to_the_best_model(formula, probs):
    own = {name: probs[name] for name in variables(formula)}
    best = math.prod(max(p, 1 - p) for p in own.values())
    best_model = max(weight(x, own) for x in models(formula))
    fix = repair(formula, probs)
    assert fix.cost == pytest.approx(math.log(best / best_model), rel=1e-9, abs=1e-12)
    assert holds(formula, fix.assignment)
    likelier = {name: p > 0.5 for name, p in own.items()}
    for name, cost in fix.flipped.items():
        assert fix.assignment[name] != likelier[name]
        assert cost == pytest.approx(abs(log_odds(own)[name]), rel=1e-9, abs=1e-12)
    if holds(formula, likelier):
        assert fix.cost == 0.0


def test_an_undecided_event_costs_nothing_and_is_not_flipped():
    fix = repair("a & b", {"a": 0.5, "b": 0.2})
    assert fix.assignment == {"a": True, "b": True}
    assert list(fix.flipped) == ["b"]
    assert fix.cost == pytest.approx(math.log(4))
    assert fix.to_dict()["assignment"] == {"a": True, "b": True}


def test_what_no_change_of_mind_repairs_is_an_error():
    with pytest.raises(InconsistentTheory, match=r"P\(b\) = 0"):
        repair("a -> b", {"a": 1.0, "b": 0.0})


@given(some_formulas(), some_formulas(), some_probs())
def test_blame_is_the_probability_of_breaking_a_rule_and_its_share(one, other, probs):
    formula = Formula("and", (one, other))
    broken = mass(~formula, probs)
    assume(broken > 0.0)
    rules = conjuncts(formula)
    for rule, found in zip(rules, blame(formula, probs), strict=True):
        assert found.rule == str(rule)
        expected = mass(~rule, probs)
        assert found.prob_broken == pytest.approx(expected, rel=1e-11, abs=1e-14)
        assert found.share == pytest.approx(expected / broken, rel=1e-9, abs=1e-12)
        assert found.share <= 1.0


def test_a_formula_that_never_breaks_has_no_shares():
    (only,) = blame("a | !a", PROBS)
    assert (only.log_prob_broken, only.share) == (-math.inf, None)
    assert only.to_dict() == {"rule": "a | !a", "log_prob_broken": -math.inf, "share": None}


def test_rare_violations_are_blamed_with_all_digits():
    first, second = blame("(a -> b) & (b -> c)", {"a": 1e-30, "b": 2e-30, "c": 0.5})
    assert first.share == pytest.approx(0.5, rel=1e-12)
    assert second.share == pytest.approx(0.5, rel=1e-12)


def test_the_violation_of_an_implication_is_conditional_on_its_antecedent():
    rule = implication("a & b -> c", {"a": 0.2, "b": 0.5, "c": 0.75})
    assert rule.violation == pytest.approx(0.25)
    assert rule.vacuity == pytest.approx(0.9)
    assert rule.commitment == {}


@given(some_formulas(), some_formulas(), some_probs())
def test_violation_and_vacuity_make_up_the_satisfaction(one, other, probs):
    rule = implication(one >> other, probs)
    if rule.violation is None:
        assert mass(one, probs) == 0.0
        assert rule.vacuity == 1.0
    else:
        satisfied = 1.0 - mass(one, probs) * rule.violation
        assert satisfied == pytest.approx(mass(one >> other, probs), abs=1e-12)
    assert rule.vacuity == pytest.approx(1.0 - mass(one, probs), abs=1e-12)


def test_commitment_sums_an_event_and_its_declared_opposite():
    probs = {"yes": 0.125, "no": 0.25, "b": 0.5}
    rule = implication("yes -> b", probs, opposites={"yes": "no"})
    assert rule.commitment == {"yes": pytest.approx(0.375)}
    assert rule.to_dict()["commitment"] == {"yes": pytest.approx(0.375)}
    with pytest.raises(InputError, match="no probability for 'nope'"):
        implication("yes -> b", probs, opposites={"yes": "nope"})


def test_only_an_implication_has_an_antecedent():
    with pytest.raises(InputError, match=r"form 'a -> b', got 'a <-> b'"):
        implication("a <-> b", PROBS)


def test_most_probable_and_repair_agree_on_the_assignment():
    formula = "exactly_one(a, b, c, d, e)"
    assert repair(formula, PROBS).assignment == most_probable(formula, PROBS).assignment
    assert set(NAMES) == set(PROBS)
