"""Soft and noisy rules against enumeration with the factors written out."""

import math

import pytest
from enumeration import NAMES, assignments, some_formulas, some_probs, weight
from golden import PROBS
from hypothesis import assume, given
from hypothesis import strategies as st

from likely.errors import InconsistentTheory, InputError
from likely.logic.formula import holds, var
from likely.logic.parser import parse
from likely.logic.queries import conditional, marginals, satisfaction
from likely.logic.weights import weighted

CLOSE = {"rel": 1e-10, "abs": 1e-13}


def total(theory, probs, *, with_rules=True, query=None):
    """The summed weight of the assignments, factor by factor."""
    result = []
    for x in assignments(probs):
        if not holds(theory.evidence, x) or (query is not None and not holds(query, x)):
            continue
        factor = math.prod(math.exp(w) for rule, w in theory.soft if holds(rule, x))
        if with_rules:
            factor *= holds(theory.hard, x)
            factor *= math.prod(1 - pi for rule, pi in theory.noisy if not holds(rule, x))
        result.append(weight(x, probs) * factor)
    return math.fsum(result)


@st.composite
def theories(draw):
    rules = some_formulas()
    soft = st.lists(st.tuples(rules, st.floats(-3.0, 3.0)), max_size=2)
    noisy = st.lists(st.tuples(rules, st.floats(0.0, 1.0)), max_size=2)
    return weighted(draw(rules), soft=draw(soft), noisy=draw(noisy), evidence=draw(rules))


@given(theories(), some_formulas(), some_probs())
def test_every_query_matches_enumeration_with_explicit_factors(theory, query, probs):
    rules, evidence = total(theory, probs), total(theory, probs, with_rules=False)
    assume(evidence > 0.0)
    assert theory.satisfaction(probs) == pytest.approx(rules / evidence, **CLOSE)
    assume(rules > 1e-12)
    joint = total(theory, probs, query=query)
    assert theory.conditional(query, probs) == pytest.approx(joint / rules, **CLOSE)
    for name, q in theory.marginals(probs).items():
        expected = total(theory, probs, query=var(name)) / rules
        assert q == pytest.approx(expected, **CLOSE)


@given(some_formulas(), some_formulas(), some_probs())
def test_hard_rules_and_evidence_alone_are_the_plain_queries(rule, evidence, probs):
    assume(satisfaction(rule & evidence, probs) > 0.0)
    theory = weighted(rule, evidence=evidence)
    assert theory.satisfaction(probs) == pytest.approx(conditional(rule, evidence, probs), **CLOSE)
    assert theory.marginals(probs) == pytest.approx(marginals(rule & evidence, probs), **CLOSE)


def test_a_noisy_rule_at_one_is_hard_and_at_zero_absent():
    hard = weighted("(a -> b) & (c | d)")
    certain = weighted("c | d", noisy=[("a -> b", 1.0)])
    absent = weighted("c | d", noisy=[("a -> b", 0.0)])
    assert certain.marginals(PROBS) == pytest.approx(hard.marginals(PROBS), rel=1e-12)
    assert certain.satisfaction(PROBS) == pytest.approx(hard.satisfaction(PROBS), rel=1e-12)
    assert absent.satisfaction(PROBS) == pytest.approx(satisfaction("c | d", PROBS), rel=1e-12)


@pytest.mark.parametrize("w", [0.0, 0.5, 5.0])
def test_a_soft_rule_conditions_as_a_noisy_one_of_its_odds(w):
    soft = weighted("c | a", soft=[("a -> b", w)])
    noisy = weighted("c | a", noisy=[("a -> b", -math.expm1(-w))])
    assert soft.marginals(PROBS) == pytest.approx(noisy.marginals(PROBS), rel=1e-10)


@pytest.mark.parametrize("w", [-5.0, -0.5, 2.0])
def test_a_soft_rule_of_weight_w_against_its_negation_of_weight_minus_w(w):
    one, other = weighted(soft=[("a ^ b", w)]), weighted(soft=[("!(a ^ b)", -w)])
    assert one.marginals(PROBS) == pytest.approx(other.marginals(PROBS), rel=1e-10)


def test_soft_rules_alone_leave_the_satisfaction_of_nothing_at_one():
    assert weighted(soft=[("a -> b", 700.0)]).log_satisfaction(PROBS) == pytest.approx(0.0)
    assert weighted().satisfaction() == 1.0


def test_a_huge_weight_is_as_good_as_a_hard_rule():
    soft = weighted(soft=[("a -> b", 5000.0)])
    assert soft.marginals(PROBS) == pytest.approx(marginals("a -> b", PROBS), rel=1e-12)


def test_evidence_that_cannot_be_is_named_and_rules_that_cannot_hold_score_zero():
    broken = weighted("a", evidence="b & !b & c")
    with pytest.raises(InconsistentTheory, match="the evidence has probability 0") as error:
        broken.satisfaction(PROBS)
    assert error.value.clash == ("b (evidence)", "!b (evidence)")
    clashing = weighted("a -> b", noisy=[("b -> c", 1.0), ("d", 0.5)], evidence="a & !c")
    assert clashing.satisfaction(PROBS) == 0.0
    for ask in (clashing.marginals, lambda probs: clashing.conditional("d", probs)):
        with pytest.raises(InconsistentTheory) as error:
            ask(PROBS)
        assert error.value.clash == ("a -> b", "b -> c", "a (evidence)", "!c (evidence)")


def test_scoring_case_o_40_with_the_evidence_apart():
    theory = weighted("(w1 <-> t1) & (w2 <-> t2) & exactly_one(t1, t2)", evidence="!w1 & !w2")
    with pytest.raises(InconsistentTheory) as error:
        theory.conditional("t1", dict.fromkeys(("w1", "w2", "t1", "t2"), 0.5))
    assert set(error.value.clash) == {
        "w1 <-> t1", "w2 <-> t2", "exactly_one(t1, t2)", "!w1 (evidence)", "!w2 (evidence)",
    }  # fmt: skip


def test_a_query_may_name_events_of_no_rule():
    theory = weighted("a -> b", soft=[("b", 1.0)])
    assert theory.conditional("e", PROBS) == pytest.approx(PROBS["e"])
    assert list(theory.marginals(PROBS)) == ["a", "b"]
    assert theory.conditional(parse("e & a"), log_odds=dict.fromkeys(NAMES, 0.0)) > 0.0


@pytest.mark.parametrize("weight", [math.inf, -math.inf, math.nan])
def test_a_soft_weight_is_finite(weight):
    with pytest.raises(InputError, match="'a -> b' is finite"):
        weighted(soft=[("a -> b", weight)])


@pytest.mark.parametrize("prob", [-0.1, 1.1, math.nan])
def test_a_noisy_rule_has_a_probability(prob):
    with pytest.raises(InputError, match=r"'a -> b' lies in \[0, 1\]"):
        weighted(noisy=[("a -> b", prob)])
