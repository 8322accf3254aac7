"""One probability in six notations."""

import re
from fractions import Fraction

import pytest
from family_checks import named, rendered

from likely.calibration.data_sets.families.notation import MIXES
from likely.calibration.data_sets.number_words import in_words

WORDS = {in_words(n): n for n in range(101)}


@pytest.fixture(scope="module")
def items():
    return rendered("notation", "full")


def read(item) -> tuple[Fraction, Fraction]:
    """Return the two numbers that a text gives, as they stand there."""
    if item.notation == "words":
        found = [WORDS[word] for word in re.findall(r"[a-z-]+", item.context) if word in WORDS]
        found = [n for n in found if n != 1]  # "one bead is drawn"
    else:
        found = re.findall(r"\d+/\d+|\d+\.\d+|\d+", item.context)
    first, second = (Fraction(x) for x in found)
    return first, second


def test_the_law_is_the_share_of_the_numbers_in_every_notation(items):
    for item in items:
        first, second = read(item)
        assert item.numbers == (first, second)
        assert item.ideal == (first / (first + second), second / (first + second))


def test_fractions_and_percent_add_up_and_ratios_are_in_lowest_terms(items):
    totals = {"counts": 100, "percent": 100, "words": 100, "decimal": 1, "fraction": 1}
    for item in items:
        if item.notation in totals:
            assert sum(item.numbers) == totals[item.notation]
        else:
            p = item.ideal[0]
            assert item.numbers == (p.numerator, p.denominator - p.numerator)


def test_one_name_of_the_numbers_links_all_notations(items):
    notations: dict[tuple[str, ...], list[str]] = {}
    for item in items:
        key = (item.template_id, item.option_pair_id, item.number_pair_id, str(item.ideal[0]))
        notations.setdefault(key, []).append(item.notation)
    assert all(sorted(found) == sorted(MIXES) for found in notations.values())
    for item in items:
        assert item.number_pair_id == ":".join(str(p) for p in sorted(item.ideal))


def test_each_colour_is_named_once_in_its_order(items):
    for item in items:
        first, second = (option.label for option in item.options)
        assert named(item.context, first) == named(item.context, second) == 1
        assert item.context.index(first) < item.context.index(second)


def test_blanks_of_counts_and_words_are_the_same(items):
    blanks = {
        notation: {item.blank for item in items if item.notation == notation} for notation in MIXES
    }
    assert blanks["counts"] == blanks["words"]
    assert all(item.blank.count("{n}") == 2 for item in items)
