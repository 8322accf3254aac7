"""Exact counts, the split of bits, and scores against the golden table and enumeration."""

import math

import pytest
from enumeration import mass, models, satisfiable, some_probs
from golden import GOLDEN, PROBS
from hypothesis import given
from hypothesis import strategies as st
from strategies import formulas

from likely.errors import InconsistentTheory
from likely.logic.formula import all_equal, count_of, holds, var, variables
from likely.logic.information import informativeness, scores
from likely.logic.parser import parse
from likely.logic.queries import marginals

DIGITS = {"abs": 5.1e-5}
THOUSAND = [var(f"e{i}") for i in range(1000)]


@pytest.mark.parametrize("row", GOLDEN, ids=lambda row: row.formula)
def test_information_and_scores_match_the_golden_table(row):
    info = informativeness(row.formula)
    assert (info.n_variables, info.n_models) == (row.n, row.n_models)
    assert info.bits == pytest.approx(row.bits, **DIGITS)
    assert info.marginal_bits == pytest.approx(row.marginal_bits, **DIGITS)
    assert info.interaction_bits == pytest.approx(row.interaction_bits, **DIGITS)
    assert info.gradient_norm_squared == pytest.approx(row.gradient_norm_squared, **DIGITS)
    earned = scores(row.formula, PROBS)
    assert earned.prob == pytest.approx(row.prob, **DIGITS)
    assert earned.chance_corrected == pytest.approx(row.chance_corrected, **DIGITS)
    assert earned.log_ratio_bits == pytest.approx(row.log_ratio_bits, **DIGITS)


def support(formula):
    """The events whose flip changes the truth of the formula somewhere."""
    names = variables(formula)
    everything = models(parse("true"), names)
    return {
        name
        for name in names
        if any(holds(formula, x) != holds(formula, x | {name: not x[name]}) for x in everything)
    }


@given(satisfiable())
def test_information_is_counted_over_the_events_that_matter(formula):
    info = informativeness(formula)
    matter = support(formula)
    assert set(info.share_true) == matter
    assert info.n_variables == len(matter)
    count = len(models(formula)) // 2 ** (len(variables(formula)) - len(matter))
    assert info.n_models == count
    assert info.bits == pytest.approx(len(matter) - math.log2(count), abs=1e-12)
    assert info.is_tautology == (not matter)
    assert info.density == pytest.approx(info.bits / len(matter) if matter else 0.0)
    for name, share in info.share_true.items():
        true = sum(x[name] for x in models(formula))
        assert share == pytest.approx(true / len(models(formula)), rel=1e-14)


@given(satisfiable())
def test_information_splits_into_marginal_and_interaction_bits(formula):
    info = informativeness(formula)
    by_hand = sum(1 - binary_entropy_bits(q) for q in info.share_true.values())
    assert info.marginal_bits == pytest.approx(by_hand, abs=1e-12)
    assert info.interaction_bits >= -1e-12
    assert info.marginal_bits + info.interaction_bits == pytest.approx(info.bits, abs=1e-12)


@given(satisfiable())
def test_the_first_gradient_is_that_of_the_loss_at_one_half_and_bounded_by_the_bits(formula):
    info = informativeness(formula)
    after = marginals(formula, dict.fromkeys(variables(formula), 0.5))
    squares = sum((0.5 - q) ** 2 for q in after.values())
    assert info.gradient_norm_squared == pytest.approx(squares, abs=1e-12)
    assert info.gradient_norm_squared <= info.bits * math.log(2) / 2 + 1e-12


def binary_entropy_bits(q):
    return -sum(x * math.log2(x) for x in (q, 1 - q) if x > 0)


@given(formulas("a", "b", max_leaves=5), formulas("c", "d", max_leaves=5))
def test_information_adds_up_over_formulas_that_share_no_event(one, other):
    if not models(one) or not models(other):
        return
    parts = [informativeness(one), informativeness(other)]
    whole = informativeness(one & other)
    assert whole.bits == pytest.approx(sum(part.bits for part in parts), abs=1e-12)
    assert whole.interaction_bits == pytest.approx(
        sum(part.interaction_bits for part in parts), abs=1e-12
    )


def test_an_event_that_does_not_matter_changes_nothing():
    plain = informativeness("a -> b")
    assert informativeness("(a -> b) & (c | !c)") == plain
    assert informativeness("(a & c) | (a & !c)").n_variables == 1
    assert informativeness("odd(a, b, a) & (c <-> d)").share_true.keys() == {"b", "c", "d"}


def test_nothing_overflows_or_cancels_at_a_thousand_events():
    one_of = informativeness(count_of(*THOUSAND, low=1, high=1))
    assert one_of.bits == pytest.approx(1000 - math.log2(1000), rel=1e-14)
    assert one_of.n_models == 1000
    clause = informativeness(count_of(*THOUSAND, low=1))
    assert clause.bits == pytest.approx(2.0**-1000 / math.log(2), rel=1e-12)
    assert clause.log_chance_broken == pytest.approx(-1000 * math.log(2), rel=1e-14)
    assert not clause.is_tautology
    same = informativeness(all_equal(*THOUSAND))
    assert (same.bits, same.marginal_bits, same.n_variables) == (999.0, 0.0, 1000)
    conjunction = informativeness(count_of(*THOUSAND, low=1000))
    assert (conjunction.bits, conjunction.interaction_bits) == (1000.0, 0.0)
    assert conjunction.gradient_norm_squared == 250.0


def test_a_small_lean_keeps_its_digits():
    # 1 - h2(1/2 + x) is 2 x^2 / ln 2 + O(x^4), here with x of about 2^-41
    clause = informativeness(count_of(*THOUSAND[:40], low=1))
    lean = 1 / (2**40 - 1)
    assert clause.marginal_bits == pytest.approx(40 * lean**2 / 2 / math.log(2), rel=1e-9)


def test_a_tautology_says_nothing_and_a_contradiction_is_an_error():
    nothing = informativeness("a | !a")
    assert (nothing.bits, nothing.n_variables, nothing.density) == (0.0, 0, 0.0)
    assert nothing.log2_chance == 0.0
    assert nothing.is_tautology
    with pytest.raises(InconsistentTheory) as error:
        informativeness("a & (b | c) & !a")
    assert error.value.clash == ("a", "!a")


def test_the_figures_of_an_exactly_one_as_a_mapping():
    assert informativeness("exactly_one(a, b)").to_dict() == {
        "bits": 1.0,
        "marginal_bits": 0.0,
        "interaction_bits": 1.0,
        "n_models": 2,
        "n_variables": 2,
        "density": 0.5,
        "share_true": {"a": 0.5, "b": 0.5},
        "gradient_norm_squared": 0.0,
        "log_chance": pytest.approx(math.log(0.5)),
        "log_chance_broken": pytest.approx(math.log(0.5)),
    }


@given(satisfiable(), some_probs())
def test_scores_match_their_definitions(formula, probs):
    info, earned = informativeness(formula), scores(formula, probs)
    prob, chance = mass(formula, probs), 2.0**-info.bits
    assert earned.log_ratio_bits == pytest.approx(math.log2(prob / chance), abs=1e-9)
    assert earned.log_ratio_bits <= info.bits + 1e-12
    if info.is_tautology:
        assert (
            earned.chance_corrected is earned.normalised_log_ratio is earned.log_odds_gain is None
        )
    else:
        expected = (prob - chance) / (1 - chance)
        assert earned.chance_corrected == pytest.approx(expected, abs=1e-9)
        surprisal = -math.log2(prob)
        assert earned.normalised_log_ratio == pytest.approx(1 - surprisal / info.bits, abs=1e-9)


@given(satisfiable(), some_probs(), st.data())
def test_at_chance_every_score_is_zero(formula, probs, data):
    half = dict.fromkeys(probs, 0.5)
    earned = scores(formula, half)
    for score in (earned.chance_corrected, earned.log_ratio_bits, earned.log_odds_gain):
        assert score is None or score == pytest.approx(0.0, abs=1e-12)


@given(satisfiable().filter(lambda f: models(~f)), some_probs())
def test_the_log_odds_gain_changes_its_sign_with_the_formula(formula, probs):
    gain = scores(formula, probs).log_odds_gain
    assert scores(~formula, probs).log_odds_gain == pytest.approx(-gain, abs=1e-9)
