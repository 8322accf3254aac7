"""A coin whose bias is stated."""

from fractions import Fraction

import pytest
from family_checks import named, numerals, rendered

from likely.calibration.data_sets.families.coin_bias import SIDES, TEMPLATES
from likely.calibration.data_sets.notations import PERCENTS


@pytest.fixture(scope="module")
def items():
    return rendered("coin_bias", "full")


def test_every_bias_meets_every_wording_and_both_orders_of_the_sides(items):
    orders = {sides for pair in SIDES for sides in (pair, pair[::-1])}
    crossed = {(i.template_id, i.option_pair_id, i.meta["percent"]) for i in items}
    assert len(crossed) == len(items) == len(TEMPLATES) * len(orders) * len(PERCENTS)
    assert {i.option_pair_id for i in items} == {"/".join(sides) for sides in orders}


def test_the_first_number_of_the_text_is_the_probability_of_the_first_side(items):
    for item in items:
        stated = numerals(item.context)
        assert item.ideal[0] == Fraction(stated[0], 100)
        assert stated[1:] in ([], [100 - stated[0]])
        assert item.numbers == tuple(stated)


def test_each_side_is_named_once_in_its_order(items):
    for item in items:
        first, second = (option.label for option in item.options)
        assert named(item.context, first) == named(item.context, second) == 1
        assert item.context.index(first) < item.context.index(second)


def test_a_bias_and_its_complement_share_their_numbers(items):
    for item in items:
        low, high = sorted((item.meta["percent"], 100 - item.meta["percent"]))
        assert item.number_pair_id == f"{low}:{high}"


def test_a_blank_has_no_number_left(items):
    for item in items:
        assert not numerals(item.blank)
        assert item.blank.count("{n}") == len(item.numbers)
