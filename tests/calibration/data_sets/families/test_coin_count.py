"""The number of heads in several flips."""

import re
from fractions import Fraction
from functools import cache
from itertools import product
from math import prod

import pytest
from family_checks import numerals, rendered

from likely.calibration.data_sets.families.coin_count import FACES
from likely.calibration.data_sets.notations import PERCENTS


@pytest.fixture(scope="module")
def items():
    return rendered("coin_count", "full")


@cache
def by_enumeration(n_flips: int, percent: int) -> tuple[Fraction, ...]:
    """Add up whole-number weights of all sequences of flips."""
    weights = [0] * (n_flips + 1)
    for flips in product((True, False), repeat=n_flips):
        weights[sum(flips)] += prod(percent if flip else 100 - percent for flip in flips)
    return tuple(Fraction(weight, 100**n_flips) for weight in weights)


def read(context: str) -> tuple[int, int]:
    """Return the flips and the bias in per cent that a text states."""
    biased = re.search(r"with probability (\d+)%", context)
    assert biased or "a fair coin" in context
    percent = int(biased[1]) if biased else 50
    rest = context.replace(biased[0], "") if biased else context
    (n_flips,) = numerals(rest)
    return n_flips, percent


def test_the_law_is_that_of_all_sequences_of_the_stated_coin(items):
    for item in items:
        assert item.ideal == by_enumeration(*read(item.context))


def test_options_are_the_numbers_from_none_to_all(items):
    for item in items:
        n_flips, _ = read(item.context)
        assert [int(option.label) for option in item.options] == list(range(n_flips + 1))
        assert [option.value for option in item.options] == list(range(n_flips + 1))


def test_the_counted_face_is_the_face_of_the_bias(items):
    for item in items:
        faces = {face for face in FACES if face in item.context}
        assert faces == {item.meta["face"]}


def test_flips_from_two_to_ten_meet_every_bias(items):
    read_back = {read(item.context) for item in items}
    assert read_back == set(product(range(2, 11), PERCENTS))


def test_four_flips_at_three_tenths():
    # Golden values of the specification, section g.2.
    found = [i for i in rendered("coin_count", "smoke") if i.number_pair_id == "4:30"]
    assert found
    for item in found:
        assert [float(p) for p in item.ideal] == [0.2401, 0.4116, 0.2646, 0.0756, 0.0081]
