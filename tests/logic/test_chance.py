"""Scores beyond chance: their ends, their sums, and what is undefined."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from likely.errors import InputError, LikelyWarning, NumericalError
from likely.logic.chance import (
    Scores,
    chance_corrected,
    corpus_score,
    log_odds_gain,
    log_ratio_bits,
    normalised_log_ratio,
)

inside = st.floats(1e-3, 1 - 1e-3)


def scores_at(prob, chance):
    return Scores(
        log_prob=math.log(prob) if prob else -math.inf,
        log_broken=math.log1p(-prob) if prob < 1 else -math.inf,
        log_chance=math.log(chance),
        log_chance_broken=math.log1p(-chance) if chance < 1 else -math.inf,
    )


@given(inside, inside)
def test_the_record_and_the_plain_functions_agree(prob, chance):
    found = scores_at(prob, chance)
    assert found.chance_corrected == pytest.approx(chance_corrected(prob, chance), abs=1e-9)
    assert found.log_ratio_bits == pytest.approx(log_ratio_bits(prob, chance), abs=1e-9)
    assert found.normalised_log_ratio == pytest.approx(normalised_log_ratio(prob, chance), abs=1e-9)
    assert found.log_odds_gain == pytest.approx(log_odds_gain(prob, chance), abs=1e-9)


@given(inside)
def test_perfection_scores_one_and_chance_zero(chance):
    assert chance_corrected(1.0, chance) == 1.0
    assert normalised_log_ratio(1.0, chance) == 1.0
    assert chance_corrected(chance, chance) == log_ratio_bits(chance, chance) == 0.0
    assert log_odds_gain(chance, chance) == 0.0
    assert chance_corrected(0.0, chance) == pytest.approx(-chance / (1 - chance))


@given(inside, inside, inside, inside)
def test_log_ratios_add_up_over_independent_formulas(one, other, chance, other_chance):
    both = log_ratio_bits(one * other, chance * other_chance)
    parts = log_ratio_bits(one, chance) + log_ratio_bits(other, other_chance)
    assert both == pytest.approx(parts, abs=1e-9)


def test_a_violation_of_1e_minus_30_keeps_its_digits():
    half = math.log(0.5)
    near = Scores(
        log_prob=-1e-30, log_broken=math.log(1e-30), log_chance=half, log_chance_broken=half
    )
    assert 1.0 - near.chance_corrected == 0.0
    assert near.log_odds_gain == pytest.approx(30 * math.log(10))


def test_what_is_never_satisfied_scores_minus_infinity_and_certainty_has_no_log_odds():
    never = scores_at(0.0, 0.5)
    assert never.log_ratio_bits == never.normalised_log_ratio == never.log_odds_gain == -math.inf
    assert never.chance_corrected == -1.0
    assert scores_at(1.0, 0.5).log_odds_gain is None
    assert log_ratio_bits(0.0, 0.5) == log_odds_gain(0.0, 0.5) == -math.inf
    with pytest.raises(NumericalError, match="infinite"):
        log_odds_gain(1.0, 0.5)


def test_a_tautology_has_no_scores_and_a_corpus_leaves_it_out_with_a_warning():
    empty = scores_at(1.0, 1.0)
    assert empty.is_tautology
    assert (empty.bits, empty.log_ratio_bits) == (0.0, 0.0)
    assert empty.chance_corrected is empty.normalised_log_ratio is empty.log_odds_gain is None
    one = scores_at(0.5, 0.25)
    with pytest.warns(LikelyWarning, match="1 of 2 formulas are tautologies"):
        assert corpus_score([one, empty]) == pytest.approx(0.5)
    with (
        pytest.warns(LikelyWarning, match="1 of 1"),
        pytest.raises(InputError, match="can fail"),
    ):
        corpus_score([empty])


def test_a_corpus_score_weighs_formulas_by_their_bits():
    strong, weak = scores_at(1.0, 2.0**-9), scores_at(0.5, 0.5)
    assert corpus_score([strong, weak]) == pytest.approx(0.9)
    assert corpus_score([strong, scores_at(0.0, 0.5)]) == -math.inf


@pytest.mark.parametrize(("prob", "chance"), [(1.5, 0.5), (math.nan, 0.5), (0.5, 0.0), (0.5, 1.1)])
def test_numbers_that_are_no_probabilities_are_refused(prob, chance):
    for score in (chance_corrected, log_ratio_bits, normalised_log_ratio, log_odds_gain):
        with pytest.raises(InputError, match="lies in"):
            score(prob, chance)


def test_a_chance_of_one_leaves_nothing_to_earn():
    for score in (chance_corrected, normalised_log_ratio, log_odds_gain):
        with pytest.raises(InputError, match="cannot fail"):
            score(0.5, 1.0)


def test_impossible_records_are_refused():
    half = math.log(0.5)
    with pytest.raises(NumericalError):
        Scores(log_prob=0.1, log_broken=half, log_chance=half, log_chance_broken=half)
    with pytest.raises(InputError, match="chance above 0"):
        Scores(log_prob=half, log_broken=half, log_chance=-math.inf, log_chance_broken=0.0)


def test_the_figures_as_a_mapping():
    found = scores_at(0.5, 0.25).to_dict()
    assert found["bits"] == pytest.approx(2.0)
    assert found["chance_corrected"] == pytest.approx(1 / 3)
    assert found["normalised_log_ratio"] == pytest.approx(0.5)
    assert found["prob"] == 0.5
