"""The checks of families catch what they are for: each is shown a broken set."""

from dataclasses import replace
from fractions import Fraction

import pytest
from family_checks import (
    check_agreement,
    check_ids,
    check_item,
    check_mirror,
    check_nested,
    check_pure,
    check_templates,
    check_twins,
    rendered,
)

from likely.calibration.data_sets.family import FAMILIES


@pytest.fixture
def family():
    return FAMILIES.load("coin_bias")


@pytest.fixture
def items():
    return list(rendered("coin_bias", "smoke"))


def test_two_items_of_one_id_are_caught(items):
    with pytest.raises(AssertionError):
        check_ids([*items, items[0]])


def test_one_context_twice_is_caught(items):
    with pytest.raises(AssertionError):
        check_ids([*items, replace(items[0], id="another")])


def test_a_cell_out_of_balance_is_caught(items):
    check_mirror(items)
    with pytest.raises(AssertionError):
        check_mirror([item for item in items if item.higher != "first"])


def test_a_missing_twin_is_caught(items):
    check_twins(items)
    with pytest.raises(AssertionError):
        check_twins(items[1:])


def test_a_law_that_goes_with_the_place_and_not_with_the_name_is_caught(items):
    with pytest.raises(AssertionError):
        check_twins([item for item in items if item.meta["percent"] == 10])


@pytest.mark.parametrize("text", ["There are 1 red beads", "There are 12 bead", "She has 0 bead"])
def test_a_false_plural_is_caught(text, items):
    colors = FAMILIES.load("colors")
    with pytest.raises(AssertionError):
        check_agreement([replace(items[0], context=text)], colors)


@pytest.mark.parametrize("text", ["1 red bead", "21 beads", "1 black and 4 red beads", "0.1 beads"])
def test_a_true_plural_is_let_pass(text, items):
    check_agreement([replace(items[0], context=text)], FAMILIES.load("colors"))


@pytest.mark.parametrize(
    "change",
    [
        {"context": "A slot {a} is left"},
        {"context": "Two  spaces"},
        {"family": "colors"},
        {"template_id": "F0"},
        {"number_pair_id": ""},
    ],
)
def test_an_item_out_of_form_is_caught(change, items, family):
    check_item(items[0], family)
    with pytest.raises(AssertionError):
        check_item(replace(items[0], **change), family)


def test_an_option_of_two_words_is_caught(items, family):
    first, second = items[0].options
    with pytest.raises(AssertionError):
        check_item(
            replace(items[0], options=(replace(first, words=("two words",)), second)), family
        )


def test_values_out_of_order_are_caught(items, family):
    first, second = items[0].options
    options = (replace(first, value=Fraction(2)), replace(second, value=Fraction(1)))
    with pytest.raises(AssertionError):
        check_item(replace(items[0], options=options), family)


def test_too_few_wordings_are_caught(family):
    with pytest.raises(AssertionError):
        check_templates(replace(family, templates=dict(list(family.templates.items())[:4])))


def test_a_set_that_changes_is_caught(items):
    with pytest.raises(AssertionError):
        check_pure(items, items[::-1])


def test_a_preset_outside_the_larger_one_is_caught():
    with pytest.raises(AssertionError):
        check_nested({"smoke": [1], "lite": [2, 3], "full": [1, 2, 3]})
