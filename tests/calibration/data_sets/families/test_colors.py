import re
from collections import Counter
from fractions import Fraction
from itertools import combinations

import pytest

from likely.calibration.data_sets.families.colors import COLOUR_NAMES, TEMPLATES, lite_pairs
from likely.calibration.data_sets.family import build

NOUNS = ("bead", "token", "balloon", "card")


def cells(items):
    """Return the items of each template, scale and ordered pair of colours."""
    found = {}
    for spec in items.specs:
        found.setdefault((spec.template_id, spec.scale, spec.pair), []).append(spec.numbers)
    return found


def test_the_full_set_crosses_5_templates_3_scales_and_110_pairs_with_100_pairs_of_numbers():
    found = cells(build("colors", preset="full"))
    assert len(found) == 5 * 3 * 110
    assert {len(numbers) for numbers in found.values()} == {100}
    for scale in ("1-10", "10-100", "100-999"):
        same = {tuple(n) for (_, s, _), n in found.items() if s == scale}
        assert len(same) == 1


@pytest.mark.parametrize("preset", ["smoke", "lite", "full"])
def test_in_half_of_each_cell_the_first_colour_has_the_larger_number(preset):
    for numbers in cells(build("colors", preset=preset)).values():
        assert 2 * sum(n.first > n.second for n in numbers) == len(numbers)
        assert not any(n.first == n.second for n in numbers)


@pytest.mark.parametrize(("preset", "times"), [("full", 10), ("lite", 2)])
def test_each_colour_is_first_and_second_equally_often(preset, times):
    pairs = {pair for _, _, pair in cells(build("colors", preset=preset))}
    for place in (0, 1):
        assert Counter(pair[place] for pair in pairs) == dict.fromkeys(COLOUR_NAMES, times)


def test_lite_has_11_pairs_in_both_orders():
    pairs = lite_pairs()
    assert len(set(pairs)) == 22
    assert len({frozenset(pair) for pair in pairs}) == 11
    assert all(pair[::-1] in pairs for pair in pairs)


def test_the_strata_of_ties_and_of_the_grid_have_their_counts():
    for numbers in cells(build("colors", preset="full", design="ties")).values():
        assert [n.first == n.second for n in numbers] == [True] * 10
    grid = cells(build("colors", preset="full", design="grid"))
    assert {scale for _, scale, _ in grid} == {"1-10"}
    for numbers in grid.values():
        kinds = Counter((n.first > n.second) - (n.first < n.second) for n in numbers)
        assert kinds == {1: 45, -1: 45, 0: 10}


def test_the_mean_of_the_likelier_colour_over_the_grid_is_that_of_all_pairs():
    cell = build("colors", preset="smoke", design="grid")[:100]
    untied = [max(item.ideal) for item in cell if item.higher != "tie"]
    pairs = list(combinations(range(1, 11), 2))
    expected = sum(Fraction(b, a + b) for a, b in pairs) / len(pairs)
    assert sum(untied) / len(untied) == expected
    assert round(float(expected), 4) == 0.6844


@pytest.mark.parametrize("design", ["balanced", "ties", "grid"])
def test_the_law_is_the_share_of_each_count(design):
    for item in build("colors", preset="smoke", design=design):
        n1, n2 = item.numbers
        assert item.ideal == (n1 / (n1 + n2), n2 / (n1 + n2))
        assert item.higher == ("tie" if n1 == n2 else "first" if n1 > n2 else "second")


def test_a_stem_names_each_colour_and_each_number_once_and_agrees_with_it():
    for item in one_to_ten_and_large():
        text = item.context
        for option in item.options:
            assert len(re.findall(rf"\b{option.label}\b", text)) == 1
        numbers = [str(x) for x in item.numbers]
        assert sorted(re.findall(r"\d+", text)) == sorted(numbers)
        assert text.index(item.options[0].label) < text.index(item.options[1].label)
        colour, noun = "|".join(COLOUR_NAMES), "|".join(NOUNS)
        assert not re.search(rf"\b1 (({colour}) )?({noun})s\b", text), text
        assert not re.search(rf"\b(?!1\b)\d+ (({colour}) )?({noun})\b", text), text
        assert not re.search(rf"\b1 (({noun}) )?are ({colour})", text), text
        assert not re.search(rf"\b(?!1\b)\d+ (({noun})s )?is\b", text), text


def test_a_stem_ends_before_the_colour_without_an_article():
    for item in one_to_ten_and_large():
        assert re.search(r"\b(is|was)$|:$", item.context)
        assert item.lead == " "


def test_the_blank_is_the_stem_without_numbers():
    for item in one_to_ten_and_large():
        assert item.blank is not None
        assert item.blank.count("{n}") == 2
        assert not re.search(r"\d", item.blank)


def one_to_ten_and_large():
    """Return every number pair with every template, on one pair of colours and scales 1 and 3."""
    items = build("colors", preset="lite")
    chosen = [
        i for i, spec in enumerate(items.specs)
        if spec.pair == ("black", "green") and spec.scale != "10-100"
    ]  # fmt: skip
    ones = [
        i for i, spec in enumerate(items.specs)
        if spec.pair == ("orange", "red") and 1 in (spec.numbers.first, spec.numbers.second)
    ]  # fmt: skip
    found = [items[i] for i in (*chosen, *ones)]
    assert {item.template_id for item in found} == set(TEMPLATES)
    return found
