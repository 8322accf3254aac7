"""Notations of a probability."""

from fractions import Fraction

import pytest

from likely.calibration.data_sets.notations import (
    PERCENTS,
    WRITERS,
    as_chances,
    as_decimal,
    as_fraction,
    as_percent,
    as_words,
    whole_percent,
)
from likely.errors import InputError


def test_the_levels_are_those_of_the_specification_and_their_own_mirror():
    assert [1, *range(5, 96, 5), 99] == list(PERCENTS)
    assert [100 - q for q in reversed(PERCENTS)] == list(PERCENTS)


@pytest.mark.parametrize("percent", range(1, 100))
def test_what_is_written_is_the_probability_exactly(percent):
    p = Fraction(percent, 100)
    assert whole_percent(p) == percent
    assert as_percent(p) == f"{percent}%"
    assert Fraction(as_decimal(p)) == p
    assert not as_decimal(p).endswith("0")
    assert Fraction(as_fraction(p)) == p
    assert Fraction(as_chances(p).replace(" in ", "/")) == p
    assert as_words(p).endswith(" percent")


def test_notations_differ_for_each_probability():
    for percent in PERCENTS:
        written = {write(Fraction(percent, 100)) for write in WRITERS.values()}
        assert len(written) == len(WRITERS)


@pytest.mark.parametrize("write", [as_percent, as_decimal, as_words])
def test_a_probability_that_a_notation_cannot_write_is_refused(write):
    with pytest.raises(InputError, match="whole number of per cent"):
        write(Fraction(1, 3))


def test_a_decimal_of_one_is_refused():
    with pytest.raises(InputError, match="below 1"):
        as_decimal(Fraction(1))


def test_zero_is_a_decimal():
    assert as_decimal(Fraction(0)) == "0"
