import re
from collections import Counter

import pytest

from likely.calibration.data_sets.families.wordproblems import NOTATIONS, PAIRS, TEMPLATES, plural
from likely.calibration.data_sets.family import build

COUNTED = ("W1", "W2", "W3", "W4", "W5", "W6")


def cells(items):
    """Return the number pairs of each template, scale and ordered pair of options."""
    found = {}
    for spec in items.specs:
        found.setdefault((spec.template_id, spec.scale, spec.pair), []).append(spec.numbers)
    return found


def readable():
    """Return each scene with each pair of options, at numbers with 1, with 2, and large ones."""
    items = build("wordproblems", preset="full")
    wanted = {"1-10": (1, 2), "100-999": None}
    chosen = {}
    for i, spec in enumerate(items.specs):
        low = wanted.get(spec.scale, ())
        for number in (spec.numbers.first, spec.numbers.second):
            if low is None or number in low:
                chosen.setdefault((spec.template_id, spec.pair, low and number), i)
    return [items[i] for i in chosen.values()]


READABLE = readable()


def test_ten_scenes_have_56_pairs_of_distinct_single_words():
    assert [len(PAIRS[scene]) for scene in TEMPLATES] == [10, 8, 6, 6, 5, 5, 4, 4, 4, 4]
    words = [word for pairs in PAIRS.values() for pair in pairs for word in pair]
    assert len(words) == len(set(words)) == 112
    assert all(word.isalpha() and word.islower() for word in words)


def test_the_full_set_crosses_112_ordered_pairs_and_3_scales_with_100_pairs_of_numbers():
    found = cells(build("wordproblems", preset="full"))
    assert len(found) == 112 * 3
    assert {len(numbers) for numbers in found.values()} == {100}


def test_lite_has_two_pairs_of_each_scene_and_smoke_two_scenes_on_one_scale():
    lite, smoke = (cells(build("wordproblems", preset=preset)) for preset in ("lite", "smoke"))
    assert Counter(scene for scene, _, _ in lite) == dict.fromkeys(TEMPLATES, 3 * 4)
    assert len(smoke) == 2 * 1 * 4
    assert {len(numbers) for numbers in (*lite.values(), *smoke.values())} == {20}


@pytest.mark.parametrize("preset", ["smoke", "lite", "full"])
def test_in_half_of_each_cell_the_first_option_has_the_larger_number(preset):
    for numbers in cells(build("wordproblems", preset=preset)).values():
        assert 2 * sum(n.first > n.second for n in numbers) == len(numbers)


def test_ties_and_the_grid_exist_too():
    ties = cells(build("wordproblems", preset="full", design="ties"))
    assert {tuple(n.first - n.second for n in numbers) for numbers in ties.values()} == {(0,) * 10}
    assert len(build("wordproblems", preset="full", design="grid")) == 112 * 100


def test_every_pair_comes_in_both_orders():
    pairs = {(scene, pair) for scene, _, pair in cells(build("wordproblems", preset="full"))}
    assert all((scene, pair[::-1]) in pairs for scene, pair in pairs)
    orders = Counter(item.order for item in build("wordproblems", preset="smoke"))
    assert orders["forward"] == orders["reversed"]


def test_the_law_and_the_notation_are_those_of_the_scene():
    for item in READABLE:
        n1, n2 = item.numbers
        assert item.ideal == (n1 / (n1 + n2), n2 / (n1 + n2))
        assert item.notation == NOTATIONS.get(item.template_id, "counts")
    assert set(NOTATIONS.values()) == {"odds", "shares", "weights"}


def test_a_stem_names_each_option_once_in_the_order_of_the_numbers():
    for item in READABLE:
        places = []
        for option in item.options:
            forms = {option.label}
            if item.template_id in COUNTED:
                forms.add(plural(option.label))
            named = list(re.finditer(rf"\b({'|'.join(forms)})\b", item.context))
            assert len(named) == 1, item.context
            places.append(named[0].start())
        assert places == sorted(places)
        assert re.findall(r"\d+", item.context) == [str(x) for x in item.numbers]


def test_a_counted_option_agrees_with_its_number():
    for item in READABLE:
        if item.template_id in COUNTED:
            for number, option in zip(item.numbers, item.options, strict=True):
                noun = option.label if number == 1 else plural(option.label)
                assert re.search(rf"\b{number} {noun}\b", item.context), item.context
        for unit in ("order", "part", "ticket"):
            assert not re.search(rf"\b1 {unit}s\b", item.context), item.context
            assert not re.search(rf"\b(?!1\b)\d+ {unit}\b", item.context), item.context


def test_the_plurals_are_those_of_the_language():
    irregular = {
        "cherry": "cherries", "canary": "canaries", "goose": "geese", "sheep": "sheep",
        "bus": "buses", "peach": "peaches", "wrench": "wrenches", "mango": "mangoes",
    }  # fmt: skip
    counted = [word for scene in COUNTED for pair in PAIRS[scene] for word in pair]
    for word in counted:
        assert plural(word) == irregular.get(word, word + "s")
        assert word in irregular or not re.search(r"(s|x|z|ch|sh|[^aeiou]y|f|fe)$", word), word
    assert set(irregular) <= set(counted)


def test_a_stem_ends_without_an_article_and_has_none_before_its_options():
    for item in READABLE:
        assert not re.search(r"\b(a|an|the)$", item.context)
        for option in item.options:
            assert not re.search(rf"\b(a|an|the) {option.label}", item.context)


def test_the_blank_is_the_stem_without_numbers():
    for item in READABLE:
        assert item.blank is not None
        assert item.blank.count("{n}") == 2
        if item.template_id in COUNTED:
            assert all(plural(option.label) in item.blank for option in item.options)
