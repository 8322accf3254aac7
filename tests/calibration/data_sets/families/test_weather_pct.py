"""A forecast in five notations."""

import re
from fractions import Fraction

import pytest
from family_checks import named, rendered

from likely.calibration.data_sets.families.weather_pct import SECOND_STATED
from likely.calibration.data_sets.notations import PERCENTS, WRITERS
from likely.calibration.data_sets.number_words import in_words

WORDS = {in_words(n): n for n in range(101)}


@pytest.fixture(scope="module")
def items():
    return rendered("weather_pct", "full")


def read(context: str) -> Fraction:
    """Return the chance that a text states, in whatever notation."""
    found = re.findall(r"(\d+) in (\d+)|(\d+)/(\d+)|(\d+)%|(0\.\d+)|([a-z-]+) percent", context)
    ((chances, k, above, below, percent, decimal, words),) = found
    if chances:
        return Fraction(int(chances), int(k))
    if above:
        return Fraction(int(above), int(below))
    if percent:
        return Fraction(int(percent), 100)
    return Fraction(decimal) if decimal else Fraction(WORDS[words], 100)


def test_the_law_is_what_the_text_says_of_the_option_that_it_speaks_of(items):
    for item in items:
        stated = 1 if item.template_id in SECOND_STATED else 0
        assert item.ideal[stated] == read(item.context)
        assert item.numbers == (read(item.context),)
        assert item.meta["stated"] == ("first", "second")[stated]


def test_each_notation_has_the_same_items(items):
    crossed = {}
    for item in items:
        key = (item.template_id, item.option_pair_id, item.meta["percent"])
        crossed.setdefault(item.notation, set()).add(key)
    assert set(crossed) == set(WRITERS)
    assert len({frozenset(keys) for keys in crossed.values()}) == 1
    assert {percent for _, _, percent in crossed["percent"]} == set(PERCENTS)


def test_each_weather_is_named_once_in_its_order(items):
    for item in items:
        first, second = (option.label for option in item.options)
        assert named(item.context, first) == named(item.context, second) == 1
        assert item.context.index(first) < item.context.index(second)


def test_no_article_before_a_vowel(items):
    assert not any(re.search(r"\ba [aeiou8]|\ba 1[18]\b", item.context) for item in items)


def test_the_number_is_one_hole_in_the_blank(items):
    assert all(item.blank.count("{n}") == 1 for item in items)
    assert not any(re.search(r"\d", item.blank) for item in items)
