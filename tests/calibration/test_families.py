"""Laws of every registered family."""

import pytest
from family_checks import (
    check_agreement,
    check_ids,
    check_item,
    check_mirror,
    check_nested,
    check_pure,
    check_round_trip,
    check_templates,
    check_twins,
    rendered,
)

from likely.calibration.data_sets.family import FAMILIES, PAPER, PRESETS, build
from likely.calibration.data_sets.items import Item

COUNTS = {
    "colors": (120, 6_600, 165_000),
    "wordproblems": (160, 2_400, 33_600),
    "distributions": (40, 320, 4_800),
    "coin_bias": (36, 288, 1_008),
    "coin_count": (40, 240, 2_268),
    "dice_sum": (20, 120, 1_032),
    "dice_event": (28, 276, 1_452),
    "weather_pct": (50, 300, 5_040),
    "notation": (60, 300, 4_560),
    "bayes_update": (24, 256, 1_656),
    "no_replacement": (48, 360, 5_600),
    "independence": (42, 270, 1_900),
    "categorical_k": (36, 340, 5_160),
    "zero_one": (24, 360, 3_240),
    "large_numbers": (24, 360, 5_760),
    "scaled": (32, 320, 5_400),
    "distractor": (40, 400, 5_400),
    "uniform_words": (30, 318, 1_200),
    "named_dist": (32, 192, 1_152),
    "languages": (40, 400, 6_000),
    "icl": (40, 290, 1_890),
    "verbalised": (56, 280, 2_160),
}
"""Items of smoke, lite and full."""

BOUNDS = ((20, 60), (120, 400), (1_000, 6_000))
"""Sizes of a family that is not the paper's."""

NOT_NESTED = {
    "colors": "a pair of numbers that full draws twice has half the weight",
    "wordproblems": "the same numbers as colors",
    "distributions": "lite draws fewer intervals",
}
"""Families whose presets do not hold one another, and why."""

CHECKED_IN_PART = 10_000
"""The largest set that is rendered whole here: the paper's sets have tests of their own."""

CHECKED_OF_OTHER_DESIGNS = 400
"""The largest set of a design that is not the default; the paper's have tests of their own."""

NAMES = FAMILIES.names()


def in_reach(name: str) -> list[tuple[Item, ...]]:
    sizes = {preset: len(build(name, preset=preset)) for preset in PRESETS}
    return [rendered(name, preset) for preset in PRESETS if sizes[preset] <= CHECKED_IN_PART]


def other_designs(name: str) -> list[tuple[Item, ...]]:
    designs = FAMILIES.load(name).designs[1:]
    sets = [build(name, preset="lite", design=design) for design in designs]
    return [tuple(items) for items in sets if len(items) <= CHECKED_OF_OTHER_DESIGNS]


@pytest.mark.parametrize("name", NAMES)
def test_presets_have_their_fixed_sizes(name):
    sizes = tuple(len(build(name, preset=preset)) for preset in PRESETS)
    assert sizes == COUNTS[name]
    if name not in PAPER:
        assert all(low <= size <= high for size, (low, high) in zip(sizes, BOUNDS, strict=True))


@pytest.mark.parametrize("name", NAMES)
def test_every_item_is_well_formed_and_states_an_exact_law(name):
    family = FAMILIES.load(name)
    assert family.name == name
    check_templates(family)
    used: set[str] = set()
    for items in in_reach(name) + other_designs(name):
        used |= {item.template_id for item in items}
        for item in items:
            check_item(item, family)
        check_ids(items)
        check_mirror(items)
        check_twins(items)
        check_agreement(items, family)
    assert used == set(family.templates)


@pytest.mark.parametrize("name", NAMES)
def test_items_come_back_from_their_line_of_json(name):
    check_round_trip(rendered(name, "smoke"))


@pytest.mark.parametrize("name", NAMES)
def test_a_set_is_a_function_of_its_arguments_alone(name):
    check_pure(build(name, preset="smoke", seed=3), build(name, preset="smoke", seed=3))


@pytest.mark.parametrize("name", NAMES)
def test_each_seed_gives_a_set_of_the_same_size(name):
    assert len(build(name, preset="lite", seed=1)) == len(build(name, preset="lite", seed=0))


@pytest.mark.parametrize("name", [name for name in NAMES if name not in NOT_NESTED])
def test_each_preset_holds_the_smaller_ones(name):
    check_nested({preset: build(name, preset=preset).specs for preset in PRESETS})
