"""Certain draws: the law follows from the text, in each of the three ways to say "none"."""

import re
from collections import defaultdict
from fractions import Fraction

import pytest
from family_checks import rendered

LITE = rendered("zero_one", "lite")


def urn(item):
    """Return the colours of the things that the text describes, one entry a thing."""
    if item.notation == "all":
        total = int(re.search(r"\d+", item.context)[0])
        kinds = re.findall(r"\b(all|none)\b(?: of (?:them|these))? are (\w+)", item.context)
        assert sorted(word for word, _ in kinds) == ["all", "none"], item.context
        return [colour for word, colour in kinds if word == "all" for _ in range(total)]
    counts = re.findall(r"\b(\d+|no) (red|blue|green|yellow|black|white)\b", item.context)
    return [colour for n, colour in counts for _ in range(0 if n == "no" else int(n))]


def test_the_law_is_that_of_a_draw_from_the_urn_in_the_text():
    for item in LITE:
        things = urn(item)
        law = [Fraction(things.count(option.label), len(things)) for option in item.options]
        assert tuple(law) == item.ideal, item.context
        assert sorted(law) == [0, 1]


def test_each_colour_is_named_once():
    for item in LITE:
        for option in item.options:
            assert len(re.findall(rf"\b{option.label}\b", item.context)) == 1, item.context


@pytest.mark.parametrize(
    ("notation", "says"), [("counts", r"\b0 "), ("no", r"\bno "), ("all", r"\ball\b.*\bnone\b")]
)
def test_a_notation_says_nothing_in_its_own_way(notation, says):
    items = [item for item in LITE if item.notation == notation]
    assert len(items) == len(LITE) // 3
    for item in items:
        text = item.context
        assert re.search(says, text) or re.search(r"\bnone\b.*\ball\b", text), text
        assert len(re.findall(r"\d+", text)) == (2 if notation == "counts" else 1)


def test_a_link_has_each_notation_once_and_one_law():
    links = defaultdict(list)
    for item in LITE:
        links[item.meta["link"]].append(item)
    for items in links.values():
        assert sorted(item.meta["variant"] for item in items) == ["all", "counts", "no"]
        assert len({item.ideal for item in items}) == 1
        assert len({item.number_pair_id for item in items}) == 1


def test_the_first_colour_is_the_only_one_as_often_as_the_second():
    first = sum(item.ideal[0] == 1 for item in LITE)
    assert 2 * first == len(LITE)
