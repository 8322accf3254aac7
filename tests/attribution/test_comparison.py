"""Two attributions side by side, on the text that both prompts have."""

from dataclasses import replace

import numpy as np
import pytest
from attributions import chain, drawn, exact, grouped, strict, words_model

from likely.attribution import attribute, compare
from likely.core.estimate import Estimate
from likely.errors import InputError

SMALL = ("a", "b", " ", "c")
LARGE = ("ab", "a", "b", " c", " ", "c")


def by(tokens, prompt="ab c a", response="c", seed=0, **options):
    return attribute(words_model(tokens, seed=seed), prompt, response, method="exact", **options)


def with_interval(found, half):
    """Return an attribution whose scores have intervals of a half-width."""
    places = tuple(
        replace(
            place,
            measures=replace(
                place.measures,
                score=Estimate(
                    value=place.measures.score.value, low=place.measures.score.value - half,
                    high=place.measures.score.value + 2.0 * half, level=0.95, unit="nats",
                    method="adaptive",
                ),
            ),
        )
        for place in found.places
    )  # fmt: skip
    return replace(found, places=places)


def test_a_result_and_itself_differ_in_nothing():
    found = exact()
    compared = compare(found, found, by="spans")
    assert [one.difference.value for one in compared.texts] == [0.0, 0.0, 0.0]
    assert all(one.difference.is_exact for one in compared.texts)
    assert [one.first.value for one in compared.texts] == found.scores.tolist()


def test_different_tokenisers_meet_in_words_and_spans():
    first, second = by(SMALL), by(LARGE, seed=1)
    assert (len(first.places), len(second.places)) == (6, 4)
    compared = compare(first, second, names=("small", "large"))
    assert [one.text for one in compared.texts] == ["ab", " c", " a"]
    assert [one.first_positions for one in compared.texts] == [(0, 1), (2, 3), (4, 5)]
    assert [one.second_positions for one in compared.texts] == [(0,), (1,), (2, 3)]
    for one in compared.texts:
        wanted = first.scores[list(one.first_positions)].sum()
        assert one.first.value == pytest.approx(wanted, abs=1e-14)
        theirs = second.scores[list(one.second_positions)].sum()
        assert one.difference.value == pytest.approx(wanted - theirs, abs=1e-14)
    spans = compare(first, second, by="spans")
    assert [one.text for one in spans.texts] == ["ab", " c", " ", "a"]


def test_intervals_of_differences_come_from_both_sides():
    first, second = with_interval(by(SMALL), 0.1), with_interval(by(SMALL, seed=1), 0.2)
    one = compare(first, second, by="spans").texts[0]
    below = one.difference.value - one.difference.low
    above = one.difference.high - one.difference.value
    assert below == pytest.approx(np.hypot(0.1, 0.4))
    assert above == pytest.approx(np.hypot(0.2, 0.2))
    assert one.difference.level == 0.95
    word = compare(first, second).texts[0]
    assert word.first.value - word.first.low == pytest.approx(np.sqrt(2) * 0.1)


def test_two_prompts_meet_in_the_words_that_both_have():
    first, second = by(SMALL, "a b c"), by(SMALL, "a c c")
    compared = compare(first, second)
    shown = [(one.text, one.difference is not None) for one in compared.texts]
    assert shown == [("a", True), (" b", False), (" c", True), (" c", False)]
    assert [one.text for one in compared.shared] == ["a", " c"]
    alone = compared.texts[1]
    assert alone.second is None
    assert alone.second_positions == ()
    assert alone.first is not None


def test_what_was_not_attributed_has_no_score():
    first, second = by(SMALL, positions=[0, 1, 3]), by(SMALL, seed=1)
    compared = compare(first, second)
    assert [one.first is None for one in compared.texts] == [False, True, True]
    assert all(one.second is not None for one in compared.texts)
    frame = compared.to_frame()
    assert frame["first"].isna().tolist() == [False, True, True]


def test_numbers_a_character_of_the_response():
    first, second = by(SMALL, response="bab"), by(SMALL, response="c")
    whole, each = compare(first, second), compare(first, second, per_character=True)
    assert each.first_log_response == pytest.approx(first.log_response / 3)
    assert each.second_log_response == second.log_response
    for one, other in zip(each.texts, whole.texts, strict=True):
        assert one.first.value == pytest.approx(other.first.value / 3)
        assert one.second.value == pytest.approx(other.second.value)
    assert "nats a character" in each.summary()


def test_a_place_of_several_tokens_stays_whole():
    first = grouped(by(SMALL))
    compared = compare(first, by(LARGE), by="spans")
    assert compared.texts[0].first == first.places[0].measures.score
    wide = replace(first.places[0], positions=(0, 3))
    first = replace(first, places=(wide,), excluded_mass=np.zeros(1))
    compared = compare(first, by(LARGE), by="spans")
    assert compared.texts[0].text == "ab c"
    assert compared.texts[0].first is None  # two of its tokens were not attributed


def test_drawn_scores_compare_with_their_intervals():
    found = drawn()
    other = replace(found, seed=1)
    compared = compare(found, other, by="spans")
    assert all(one.difference.low < 0.0 < one.difference.high for one in compared.texts)


def test_the_record_is_strict_json_and_the_summary_says_all(tmp_path):
    compared = compare(by(SMALL), by(SMALL, seed=1), names=("one", "two"))
    record = strict(compared.to_json())
    assert record["first"] == "one"
    assert record["texts"][0]["difference"]["unit"] == "nats"
    lines = compared.summary().splitlines()
    assert len(lines) == 2 + len(compared.texts)
    assert "(one)" in lines[0]
    short = compared.summary(limit=1).splitlines()
    assert len(short) == 4
    assert "2 more that differ less" in short[-1]
    most = max(compared.texts, key=lambda one: abs(one.difference.value))
    assert repr(most.text) in short[2]


def test_what_cannot_be_compared_is_one_line():
    found = exact()
    with pytest.raises(InputError, match="no characters"):
        compare(found, exact(response=""), per_character=True)
    twice = replace(found, places=(*found.places, found.places[0]), excluded_mass=np.zeros(4))
    with pytest.raises(InputError, match="position 0 is in two places"):
        compare(twice, found)
    first, second = with_interval(found, 0.1), with_interval(found, 0.1)
    place = second.places[0]
    score = replace(place.measures.score, level=0.9)
    place = replace(place, measures=replace(place.measures, score=score))
    with pytest.raises(InputError, match="share unit and level"):
        compare(first, replace(second, places=(place, *second.places[1:])), by="spans")


def test_models_of_one_name_are_told_apart():
    compared = compare(exact(), attribute(chain(), "aab", "ba", method="exact"))
    assert compared.first != compared.second
