"""Three to six kinds with their counts."""

import re
from collections import Counter
from fractions import Fraction

import pytest
from family_checks import named, numerals, rendered

from likely.calibration.data_sets.families.categorical_k import KINDS, count_sets
from likely.calibration.data_sets.number_pairs import SCALES


@pytest.fixture(scope="module")
def items():
    return rendered("categorical_k", "full")


def read(context: str, name: str) -> int:
    """Return the count that stands beside a name."""
    before = re.search(rf"(\d+) (?:is |are )?{name}\b", context)
    after = re.search(rf"\b{name}(?:: | \()(\d+)", context)
    assert (before is None) != (after is None), (name, context)
    return int((before or after)[1])


def test_the_law_counts_the_things_of_each_name(items):
    for item in items:
        things = Counter()
        for option in item.options:
            things[option.label] += read(item.context, option.label)
        assert item.ideal == tuple(
            Fraction(things[option.label], things.total()) for option in item.options
        )
        assert item.numbers == tuple(numerals(item.context))


def test_each_name_stands_once_in_the_order_of_the_options(items):
    for item in items:
        labels = [option.label for option in item.options]
        assert all(named(item.context, label) == 1 for label in labels)
        places = [item.context.index(label) for label in labels]
        assert places == sorted(places)


@pytest.mark.parametrize("preset", ["smoke", "lite", "full"])
def test_the_largest_stands_in_each_place_and_belongs_to_each_name_equally_often(preset):
    places: dict[tuple[object, ...], Counter[object]] = {}
    names: dict[tuple[object, ...], Counter[object]] = {}
    for item in rendered("categorical_k", preset):
        largest = item.ideal.index(max(item.ideal))
        assert item.meta["largest"] == largest + 1
        key = (item.template_id, item.meta["thing"], item.scale, item.meta["n_options"])
        places.setdefault(key, Counter())[largest] += 1
        names.setdefault(key, Counter())[item.options[largest].label] += 1
    for key in places:
        for counts in (places[key], names[key]):
            assert len(counts) == key[-1]
            assert len(set(counts.values())) == 1


def test_counts_differ_and_lie_in_their_scale(items):
    for item in items:
        low, high = SCALES[item.scale]
        assert len(set(item.numbers)) == len(item.numbers)
        assert all(low <= n <= high for n in item.numbers)


def test_another_seed_draws_other_counts_and_a_longer_list_begins_with_the_shorter():
    assert count_sets("100-999", 4, 2, seed=0) != count_sets("100-999", 4, 2, seed=1)
    assert count_sets("10-100", 5, 3, seed=0)[:1] == count_sets("10-100", 5, 1, seed=0)


def test_one_thing_is_in_the_singular(items):
    ones = [item.context for item in items if 1 in item.numbers]
    assert ones
    for context in ones:
        assert not re.search(r"\b1 \w+ (beads|scarves)\b|\b1 are\b", context)


def test_there_are_names_enough():
    assert all(len(set(names)) == 6 for names in KINDS.values())
