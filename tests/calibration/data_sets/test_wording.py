import pytest
from hypothesis import given
from hypothesis import strategies as st

from likely.calibration.data_sets.wording import NUMBER, Wording, fill
from likely.errors import InputError


@given(n=st.integers(0, 1000))
def test_the_singular_stands_at_one_and_nowhere_else(n):
    text = fill("{n} {n|goose|geese}", {}, {"n": n}).text
    assert text == (f"{n} goose" if n == 1 else f"{n} geese")


def test_each_agreement_follows_its_own_number():
    wording = fill("{a} {a|is|are} {x}, {b} {b|is|are} {y}", {"x": "red", "y": "blue"},
                   {"a": 1, "b": 2})  # fmt: skip
    assert wording.text == "1 is red, 2 are blue"


@given(n=st.integers(0, 1000))
def test_the_blank_is_the_same_whatever_the_numbers(n):
    blank = fill("{n} {c} {n|bead|beads}", {"c": "red"}, {"n": n}).blank
    assert blank == f"{NUMBER} red beads"


def test_a_number_given_as_text_is_put_as_it_stands_and_takes_the_plural():
    wording = fill("{n} {n|bead|beads}", {}, {"n": "one"})
    assert wording == Wording(text="one beads", blank="{n} beads")


@given(text=st.text(st.characters(exclude_characters="{}")))
def test_text_without_slots_stays_as_it_is(text):
    assert fill(text, {}) == Wording(text=text, blank=text)


def test_an_agreement_may_be_empty_on_either_side():
    assert fill("{n} bead{n||s}", {}, {"n": 1}).text == "1 bead"
    assert fill("{n} bead{n||s}", {}, {"n": 2}).text == "2 beads"


@pytest.mark.parametrize(
    ("words", "numbers", "odd"),
    [
        ({}, {"n": 1}, "'c'"),
        ({"c": "red"}, {}, "'n'"),
        ({"c": "red", "d": "blue"}, {"n": 1}, "'d'"),
    ],
)
def test_slots_and_values_must_be_the_same_names(words, numbers, odd):
    with pytest.raises(InputError, match=rf"differ in \[{odd}\]"):
        fill("{n} {c}", words, numbers)


def test_a_word_has_no_singular():
    with pytest.raises(InputError, match="'c', which is no number"):
        fill("{c|bead|beads}", {"c": "red"})
