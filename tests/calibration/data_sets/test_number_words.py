"""Numbers in words."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from likely.calibration.data_sets.number_words import LARGEST, in_words
from likely.errors import InputError

UNITS = (
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten",
    "eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen",
    "nineteen",
)  # fmt: skip
TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
VALUES = {word: i for i, word in enumerate(UNITS)} | {
    word: 10 * i for i, word in enumerate(TENS, start=2)
}


def read(words: str) -> int:
    """Read the number back, word by word."""
    total = group = 0
    for word in re.split(r"[ -]", words):
        if word == "hundred":
            group *= 100
        elif word in ("thousand", "million"):
            total += group * (1_000 if word == "thousand" else 1_000_000)
            group = 0
        elif word != "and":
            group += VALUES[word]
    return total + group


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (0, "zero"),
        (13, "thirteen"),
        (21, "twenty-one"),
        (40, "forty"),
        (100, "one hundred"),
        (105, "one hundred and five"),
        (999, "nine hundred and ninety-nine"),
        (1_000, "one thousand"),
        (1_001, "one thousand and one"),
        (1_100, "one thousand one hundred"),
        (2_345, "two thousand three hundred and forty-five"),
        (100_000, "one hundred thousand"),
        (1_000_000, "one million"),
        (1_000_017, "one million and seventeen"),
        (
            999_999_999,
            "nine hundred and ninety-nine million nine hundred and ninety-nine thousand nine "
            "hundred and ninety-nine",
        ),
    ],
)
def test_numbers_are_written_as_a_reader_expects(number, words):
    assert in_words(number) == words


def test_every_number_below_ten_thousand_is_read_back():
    assert all(read(in_words(n)) == n for n in range(10_000))


@given(st.integers(0, LARGEST))
def test_numbers_are_read_back(number):
    assert read(in_words(number)) == number


@pytest.mark.parametrize("number", [-1, LARGEST + 1])
def test_a_number_out_of_range_is_refused(number):
    with pytest.raises(InputError, match="got"):
        in_words(number)
