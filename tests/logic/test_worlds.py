"""Most probable assignments, in order, against sorted enumeration."""

import itertools
import math

import pytest
from enumeration import models, satisfiable, some_formulas, some_probs, weight
from golden import PROBS
from hypothesis import given
from hypothesis import strategies as st

from likely.errors import InconsistentTheory, InputError
from likely.logic.formula import count_of, holds, var, variables
from likely.logic.parser import parse
from likely.logic.worlds import iter_models, most_probable, violations


def weights(formula, probs):
    """The weights of the models over just the formula's events, the largest first."""
    own = {name: probs[name] for name in variables(formula)}
    return sorted((weight(x, own) for x in models(formula)), reverse=True)


@given(satisfiable(), some_probs())
def test_the_most_probable_model_is_one_and_none_is_heavier(formula, probs):
    best = most_probable(formula, probs)
    assert holds(formula, best.assignment)
    own = {name: probs[name] for name in variables(formula)}
    assert best.prob == pytest.approx(weight(best.assignment, own), rel=1e-12)
    assert best.prob == pytest.approx(weights(formula, probs)[0], rel=1e-12)


@given(some_formulas(), some_probs(extremes=True))
def test_models_come_each_once_the_most_probable_first(formula, probs):
    found = list(iter_models(formula, probs))
    # a probability of 1 - 1e-16 has its complement rounded here, so tiny weights differ
    expected = [w for w in weights(formula, probs) if w > 0.0]
    assert [world.prob for world in found] == pytest.approx(expected, rel=1e-11)
    assert all(holds(formula, world.assignment) for world in found)
    assert len({tuple(world.assignment.values()) for world in found}) == len(found)


@given(satisfiable(), some_probs())
def test_the_first_model_is_the_most_probable(formula, probs):
    first = next(iter_models(formula, probs))
    assert first.log_prob == pytest.approx(most_probable(formula, probs).log_prob, rel=1e-12)


def test_models_of_a_thousand_events_come_when_asked_for():
    names = [f"e{i}" for i in range(1000)]
    probs = {name: 0.1 + 0.0001 * i for i, name in enumerate(names)}
    found = iter_models(count_of(*map(var, names), low=1, high=1), probs)
    chosen = [[k for k, v in w.assignment.items() if v] for w in itertools.islice(found, 3)]
    assert chosen == [["e999"], ["e998"], ["e997"]]


def test_the_limit_ends_the_list_and_mistakes_show_before_the_first_is_asked_for():
    assert len(list(iter_models("a | b", PROBS, limit=2))) == 2
    assert list(iter_models("a | b", PROBS, limit=0)) == []
    assert list(iter_models("a & !a", PROBS)) == []
    assert [world.assignment for world in iter_models("true", {})] == [{}]
    with pytest.raises(InputError, match="limit"):
        iter_models("a", PROBS, limit=-1)
    with pytest.raises(InputError, match="no probability for 'zz'"):
        iter_models("zz", PROBS)


@given(some_formulas(), some_probs(), st.integers(1, 6))
def test_violations_are_the_most_probable_models_of_the_negation(formula, probs, k):
    found = violations(formula, probs, k=k)
    expected = weights(~formula, probs)[:k]
    assert [world.prob for world in found] == pytest.approx(expected, rel=1e-11)


def test_a_violation_names_the_rules_that_it_breaks():
    formula = parse("(a -> b) & (b -> c) & !d")
    for world in violations(formula, PROBS, k=20):
        rules = ("a -> b", "b -> c", "!d")
        broken = tuple(rule for rule in rules if not holds(parse(rule), world.assignment))
        assert world.broken == broken != ()
    worst = violations(formula, PROBS)[0]
    assert worst.assignment == {"a": True, "b": False, "c": True, "d": False}
    assert worst.prob == pytest.approx(0.9 * 0.8 * 0.6 * 0.7)
    assert worst.to_dict()["broken"] == ["a -> b"]


def test_impossible_violations_are_not_listed():
    assert violations("a -> b", {"a": 1.0, "b": 1.0}) == ()
    assert violations("a | !a", {"a": 0.5}) == ()
    only = violations("a & b", {"a": 1.0, "b": 0.25})
    assert [world.assignment for world in only] == [{"a": True, "b": False}]
    with pytest.raises(InputError, match="k is at least 1"):
        violations("a", PROBS, k=0)


def test_a_nearly_impossible_violation_keeps_its_digits():
    worst = violations("a -> b", {"a": 1e-200, "b": 0.25}, k=1)[0]
    assert worst.prob == pytest.approx(7.5e-201, rel=1e-12)


def test_the_most_probable_model_of_what_cannot_hold_is_an_error():
    with pytest.raises(InconsistentTheory, match=r"P\(a\) = 0"):
        most_probable("a & b", {"a": 0.0, "b": 0.5})
    with pytest.raises(InconsistentTheory, match="'a', '!a'"):
        most_probable("a & !a", {"a": 0.5})
    with pytest.raises(InconsistentTheory, match="'false'"):
        most_probable("false")
    assert most_probable("true").log_prob == 0.0
    assert math.isclose(most_probable("a", {"a": 0.25}).prob, 0.25)
