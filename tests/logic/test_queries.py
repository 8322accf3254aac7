"""Queries against enumeration of all assignments, and the laws that tie them together."""

import math

import numpy as np
import pytest
from enumeration import (
    NAMES,
    log_odds,
    mass,
    mass_given,
    models,
    satisfiable,
    some_formulas,
    some_probs,
    weight,
)
from golden import GOLDEN, PROBS
from hypothesis import assume, given
from hypothesis import strategies as st

from likely.errors import InconsistentTheory, InputError
from likely.logic.formula import FALSE, TRUE, count_of, holds, substitute, var, variables
from likely.logic.parser import parse
from likely.logic.queries import (
    conditional,
    count_models,
    entails,
    equivalent,
    log_satisfaction,
    marginals,
    pair_marginals,
    satisfaction,
    sensitivities,
)

DIGITS = {"abs": 5.1e-5}
"""Half a unit of the fourth digit, which is all that the golden table has."""
EXACT = {"rel": 1e-11, "abs": 1e-14}


@pytest.mark.parametrize("row", GOLDEN, ids=lambda row: row.formula)
def test_satisfaction_marginals_and_gradient_match_the_golden_table(row):
    assert satisfaction(row.formula, PROBS) == pytest.approx(row.prob, **DIGITS)
    found = marginals(row.formula, PROBS)
    assert tuple(found.values()) == pytest.approx(row.marginals, **DIGITS)
    gradient = [PROBS[name] - q for name, q in found.items()]
    assert gradient == pytest.approx(row.gradient, **DIGITS)


@given(some_formulas(), some_probs(extremes=True))
def test_satisfaction_is_the_summed_weight_of_the_models(formula, probs):
    assert satisfaction(formula, probs) == pytest.approx(mass(formula, probs), **EXACT)


@given(some_formulas(), some_probs(extremes=True))
def test_a_formula_and_its_negation_sum_to_one(formula, probs):
    assert satisfaction(formula, probs) + satisfaction(~formula, probs) == pytest.approx(1.0)


@given(some_formulas(), some_formulas(), some_probs())
def test_the_product_rule_and_inclusion_with_exclusion(one, other, probs):
    both = satisfaction(one & other, probs)
    assume(satisfaction(other, probs) > 0.0)
    product = conditional(one, other, probs) * satisfaction(other, probs)
    assert product == pytest.approx(both, **EXACT)
    either = satisfaction(one, probs) + satisfaction(other, probs) - both
    assert satisfaction(one | other, probs) == pytest.approx(either, **EXACT)


@given(satisfiable(), some_formulas(), some_probs())
def test_conditionals_match_enumeration(formula, query, probs):
    expected = mass_given(query, formula, probs)
    assert conditional(query, formula, probs) == pytest.approx(expected, **EXACT)


@given(satisfiable(), some_probs())
def test_marginals_are_conditionals_of_single_events(formula, probs):
    for name, q in marginals(formula, probs).items():
        assert q == pytest.approx(mass_given(var(name), formula, probs), **EXACT)


@given(satisfiable(), some_probs())
def test_pair_marginals_match_enumeration(formula, probs):
    pairs = pair_marginals(formula, probs)
    assert pairs.names == variables(formula)
    for i, one in enumerate(pairs.names):
        for j, other in enumerate(pairs.names):
            expected = mass_given(var(one) & var(other), formula, probs)
            assert pairs.matrix[i, j] == pytest.approx(expected, **EXACT)


def test_small_marginals_keep_their_digits():
    assert marginals("a | b", {"a": 1e-30, "b": 0.5})["a"] == pytest.approx(2e-30, rel=1e-12)
    assert marginals("a -> b", {"a": 1.0, "b": 1e-300})["b"] == 1.0


@given(satisfiable(), some_probs(), st.data())
def test_conditioning_on_an_event_is_setting_its_probability(formula, probs, data):
    name = data.draw(st.sampled_from(NAMES))
    for value, literal in ((1.0, var(name)), (0.0, ~var(name))):
        joint = satisfaction(formula & literal, probs)
        given_it = satisfaction(formula, probs | {name: value})
        assert joint == pytest.approx(given_it * satisfaction(literal, probs), **EXACT)


@given(some_formulas(), some_probs(), st.data())
def test_satisfaction_is_linear_in_each_probability(formula, probs, data):
    name = data.draw(st.sampled_from(NAMES))
    at_0, at_half, at_1 = (satisfaction(formula, probs | {name: p}) for p in (0.0, 0.5, 1.0))
    assert at_half == pytest.approx((at_0 + at_1) / 2, **EXACT)
    if name in variables(formula):
        assert sensitivities(formula, probs)[name] == pytest.approx(at_1 - at_0, **EXACT)


@given(some_formulas())
def test_at_one_half_satisfaction_is_the_share_of_models(formula):
    names = variables(formula)
    share = len(models(formula)) / 2 ** len(names)
    assert satisfaction(formula, dict.fromkeys(names, 0.5)) == pytest.approx(share, **EXACT)
    assert count_models(formula) == len(models(formula))


@given(satisfiable(), some_probs())
def test_the_gradient_identity_of_sensitivities(formula, probs):
    total, after = satisfaction(formula, probs), marginals(formula, probs)
    for name, delta in sensitivities(formula, probs).items():
        p = probs[name]
        assert after[name] - p == pytest.approx(p * (1 - p) * delta / total, rel=1e-9, abs=1e-12)


@given(satisfiable(), some_probs())
def test_the_loss_bounds_the_gradient_and_the_marginal_divergences(formula, probs):
    loss = -log_satisfaction(formula, probs)
    after = marginals(formula, probs)
    squares = sum((q - probs[name]) ** 2 for name, q in after.items())
    assert squares <= loss / 2 + 1e-12
    assert sum(divergence(q, probs[name]) for name, q in after.items()) <= loss + 1e-9


def divergence(q, p):
    parts = [(q, p), (1 - q, 1 - p)]
    return sum(x * math.log(x / y) for x, y in parts if x > 0)


@given(satisfiable(), some_probs())
def test_the_hessian_of_the_loss_is_prior_variance_minus_posterior_covariance(formula, probs):
    odds, step = log_odds(probs), 1e-4
    pairs = pair_marginals(formula, probs)
    prior = np.diag([probs[name] * (1 - probs[name]) for name in pairs.names])
    hessian = prior - pairs.covariance
    for j, name in enumerate(pairs.names):
        up = loss_gradient(formula, odds | {name: odds[name] + step})
        down = loss_gradient(formula, odds | {name: odds[name] - step})
        assert (up - down) / (2 * step) == pytest.approx(hessian[:, j], abs=1e-6)


def loss_gradient(formula, odds):
    after = marginals(formula, log_odds=odds)
    return np.array([1 / (1 + math.exp(-odds[name])) - q for name, q in after.items()])


def test_pure_agreement_at_one_half_is_a_saddle_without_gradient():
    half = {"a": 0.5, "b": 0.5}
    assert list(marginals("a <-> b", half).values()) == [0.5, 0.5]
    hessian = np.diag([0.25, 0.25]) - pair_marginals("a <-> b", half).covariance
    assert hessian == pytest.approx(np.array([[0.0, -0.25], [-0.25, 0.0]]))


@given(some_formulas(), some_formulas(), some_probs())
def test_what_entails_another_is_at_most_as_probable(one, other, probs):
    stronger = one & other
    assert entails(stronger, other)
    assert satisfaction(stronger, probs) <= satisfaction(other, probs) + 1e-12
    names = dict.fromkeys((*variables(one), *variables(other)))
    expected = all(holds(other, x) for x in models(one, names))
    assert entails(one, other) == expected
    assert equivalent(one, other) == (expected and entails(other, one))


@given(some_formulas(), some_formulas(), some_probs())
def test_rewriting_changes_no_query(one, other, probs):
    pairs = [
        (one, ~~(one & one)),
        (one & other, other & one),
        (~(one & other), ~one | ~other),
        (one ^ other, ~one.iff(other)),
        (one >> other, ~other >> ~one),
    ]
    for left, right in pairs:
        assert equivalent(left, right)
        assert satisfaction(left, probs) == pytest.approx(satisfaction(right, probs), **EXACT)


@given(some_formulas(), some_probs())
def test_renaming_changes_no_query(formula, probs):
    renamed = substitute(formula, lambda event: var(f"event_{event.name}"))
    after = {f"event_{name}": p for name, p in probs.items()}
    assert satisfaction(renamed, after) == pytest.approx(satisfaction(formula, probs), **EXACT)


def test_an_event_that_does_not_matter_has_no_gradient():
    probs = {"a": 0.3, "b": 0.6}
    assert sensitivities("a & (b | !b)", probs)["b"] == 0.0
    assert marginals("a & (b | !b)", probs)["b"] == pytest.approx(0.6)


def test_given_exactly_one_the_probabilities_are_a_softmax_of_the_log_odds():
    odds = dict(zip("abcd", (1.2, -0.3, 0.5, 2.0), strict=True))
    found = marginals("exactly_one(a, b, c, d)", log_odds=odds)
    scale = sum(math.exp(value) for value in odds.values())
    assert found == pytest.approx({k: math.exp(v) / scale for k, v in odds.items()}, rel=1e-12)
    assert tuple(found.values()) == pytest.approx((0.25347, 0.05656, 0.12587, 0.56411), abs=5e-6)
    c_is_it = conditional("c & !a", "exactly_one(a, b, c, d)", log_odds=odds)
    assert c_is_it == pytest.approx(found["c"], rel=1e-12)


def test_a_conjunction_of_next_tokens_has_the_cross_entropy_as_its_loss():
    probs = {"a": 0.01, "b": 1e-200, "c": 0.5, "d": 1e-200}
    expected = sum(math.log(p) for p in probs.values())
    assert log_satisfaction("a & b & c & d", probs) == pytest.approx(expected, rel=1e-14)


def test_probabilities_do_not_depend_on_how_many_events_are_known():
    # scoring case O-41: counts scale with the free events, probabilities do not
    formula = parse("x | !y | !z")
    assert count_models(formula) == 7
    assert count_models(formula, names=list("vwxyz")) == 28
    probs = dict.fromkeys("vwxyz", 0.5)
    assert satisfaction(formula, probs) == pytest.approx(7 / 8)
    assert satisfaction(
        "(a | b) & (!a | c)", {"a": 0.3, "b": 0.6, "c": 0.9, "d": 0.1}
    ) == pytest.approx(0.69)


def test_a_thousand_events_stay_finite_and_exact():
    names = [f"e{i}" for i in range(1000)]
    one_of = count_of(*map(var, names), low=1, high=1)
    probs = dict.fromkeys(names, 0.001)
    expected = math.log(1000) + math.log(0.001) + 999 * math.log1p(-0.001)
    assert log_satisfaction(one_of, probs) == pytest.approx(expected, rel=1e-12)
    assert marginals(one_of, probs)["e500"] == pytest.approx(0.001, rel=1e-12)
    assert count_models(one_of) == 1000
    assert entails(one_of, count_of(*map(var, names), low=1))


def test_certain_events_and_constant_formulas():
    assert satisfaction(TRUE) == 1.0
    assert satisfaction("a & !a", {"a": 0.5}) == 0.0
    assert log_satisfaction(FALSE) == -math.inf
    assert marginals(TRUE) == sensitivities(TRUE) == {}
    assert pair_marginals(TRUE).matrix.shape == (0, 0)
    assert count_models(TRUE) == 1
    assert marginals("a | b", {"a": 0, "b": 1}) == {"a": 0.0, "b": 1.0}
    assert conditional("b", "a | b", {"a": 0.0, "b": 1e-300}) == pytest.approx(1.0)


def test_a_violation_near_certainty_keeps_its_digits():
    probs = {"a": 1e-20, "b": 0.5}
    assert satisfaction("!(a -> b)", probs) == pytest.approx(5e-21, rel=1e-12)
    assert satisfaction("a -> b", probs) == 1.0


def test_what_is_asked_given_the_impossible_is_a_named_error():
    with pytest.raises(InconsistentTheory, match="'a', 'a -> b', '!b'") as error:
        conditional("c", "(c | d) & a & (a -> b) & !b", PROBS)
    assert error.value.clash == ("a", "a -> b", "!b")
    with pytest.raises(InconsistentTheory) as error:
        marginals("(a -> b) & (c | d)", PROBS | {"a": 1.0, "b": 0.0})
    assert error.value.clash == ("a -> b", "P(a) = 1", "P(b) = 0")


def test_evidence_that_cannot_be_names_the_smallest_clash():
    # scoring case O-40
    rules = "(w1 <-> t1) & (w2 <-> t2) & exactly_one(t1, t2)"
    probs = {"w1": 0.5, "w2": 0.5, "t1": 0.3, "t2": 0.6}
    with pytest.raises(InconsistentTheory) as error:
        conditional("t1", parse(rules) & parse("!w1 & !w2"), probs)
    assert error.value.clash == ("w1 <-> t1", "w2 <-> t2", "exactly_one(t1, t2)", "!w1", "!w2")
    shorter = parse(rules) & parse("!w1 & !w2 & none(t1, t2)")
    with pytest.raises(InconsistentTheory) as error:
        conditional("t1", shorter, probs)
    assert error.value.clash == ("exactly_one(t1, t2)", "none(t1, t2)")


@pytest.mark.parametrize(
    ("probs", "message"),
    [
        ({"rain_today": 0.5, "snow": 0.5}, r"'wet_today'; did you mean \['rain_today'\]"),
        ({"sun": 0.5}, r"'rain_today', 'wet_today'; given: \['sun'\]"),
        ({"rain_today": 0.5, "wet_todey": 0.5}, r"did you mean \['wet_todey'\]"),
        ({"rain_today": 0.5, "wet_today": 1.5}, r"'wet_today' lies in \[0, 1\], got 1.5"),
        ({"rain_today": math.nan, "wet_today": 0.5}, "'rain_today' lies in"),
    ],
)
def test_probabilities_that_cannot_be_used_are_named(probs, message):
    with pytest.raises(InputError, match=message):
        satisfaction("rain_today -> wet_today", probs)


def test_probabilities_or_log_odds_but_not_both():
    with pytest.raises(InputError, match="not both"):
        satisfaction("a", {"a": 0.5}, log_odds={"a": 0.0})
    with pytest.raises(InputError, match="no probability for 'a'"):
        satisfaction("a")
    with pytest.raises(InputError, match="log-odds of 'a'"):
        satisfaction("a", log_odds={"a": math.nan})
    assert satisfaction("a", log_odds={"a": math.inf}) == 1.0


def test_a_formula_over_rows_is_grounded_first():
    with pytest.raises(InputError, match="ground it on a data set first"):
        satisfaction("forall r in rows: a(r)", {"a": 0.5})


def test_pair_marginals_as_a_table():
    frame = pair_marginals("a | b", {"a": 0.5, "b": 0.5}).to_frame()
    assert frame.loc["a", "b"] == pytest.approx(1 / 3)
    assert pair_marginals("a", {"a": 0.5}).to_dict() == {"names": ["a"], "matrix": [[1.0]]}


def test_the_weights_of_all_assignments_sum_to_one():
    assert math.fsum(weight(x, PROBS) for x in models(TRUE, PROBS)) == pytest.approx(1.0)
