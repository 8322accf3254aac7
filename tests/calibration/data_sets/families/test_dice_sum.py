"""The sum of several dice."""

import re
from collections import Counter
from fractions import Fraction
from functools import cache
from itertools import product

import pytest
from family_checks import rendered

from likely.calibration.data_sets.families.dice_sum import DICE, LARGEST_TOTAL
from likely.calibration.data_sets.number_words import in_words

DIGITS = {in_words(n): str(n) for n in range(LARGEST_TOTAL + 1)}


@pytest.fixture(scope="module")
def items():
    return rendered("dice_sum", "full")


@cache
def ways(n_dice: int, n_sides: int) -> Counter[int]:
    """Count the rolls of each total, die by die."""
    counts = Counter({0: 1})
    for _ in range(n_dice):
        longer: Counter[int] = Counter()
        for (total, n), face in product(counts.items(), range(1, n_sides + 1)):
            longer[total + face] += n
        counts = longer
    return counts


def in_digits(context: str) -> str:
    """Write the number words of a context in digits."""
    return re.sub(r"[a-z]+", lambda word: DIGITS.get(word[0], word[0]), context)


def read(context: str) -> tuple[int, int]:
    """Return how many dice a text states, and how many sides."""
    text = in_digits(context)
    sides = re.search(r"(?:from |each: )1 to (\d+)|(\d+)-sided", text)
    dice = re.search(
        r"(\d+) fair|Dice: (\d+),|thrown (\d+) times|draws (\d+) whole|Each of (\d+)", text
    )
    assert sides, text
    assert dice, text
    return tuple(int(next(filter(None, match.groups()))) for match in (dice, sides))


def test_the_law_counts_the_rolls_of_the_stated_dice(items):
    for item in items:
        n_dice, n_sides = read(item.context)
        counts = ways(n_dice, n_sides)
        assert [option.value for option in item.options] == sorted(counts)
        assert item.ideal == tuple(
            Fraction(counts[total], n_sides**n_dice) for total in sorted(counts)
        )


@pytest.mark.parametrize(("d", "s"), [(2, 6), (3, 6), (4, 4), (5, 3)])
def test_counting_die_by_die_is_counting_all_rolls(d, s):
    assert ways(d, s) == Counter(map(sum, product(range(1, s + 1), repeat=d)))


def test_two_dice_make_the_triangle():
    found = [i for i in rendered("dice_sum", "smoke") if i.number_pair_id == "2d6"]
    assert {item.notation for item in found} == {"digits", "words"}
    for item in found:
        assert [36 * p for p in item.ideal] == [1, 2, 3, 4, 5, 6, 5, 4, 3, 2, 1]


def test_words_leave_no_digit_and_digits_no_word(items):
    for item in items:
        has_digit = bool(re.search(r"\d", item.context))
        assert has_digit == (item.notation == "digits")
        if has_digit:
            assert in_digits(item.context) == item.context


def test_both_notations_have_the_same_items(items):
    shared = [{(i.template_id, i.number_pair_id) for i in items if i.notation == n} for n in
              ("digits", "words")]  # fmt: skip
    assert shared[0] == shared[1]
    assert len(shared[0]) * 2 == len(items)


def test_totals_end_at_sixty():
    assert max(d * s for d, s in DICE) == LARGEST_TOTAL
    assert (2, 6) in DICE
    assert all(d >= 2 for d, _ in DICE)
