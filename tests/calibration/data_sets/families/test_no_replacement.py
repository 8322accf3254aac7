"""An urn from which some draws are known."""

import re
from collections import Counter
from fractions import Fraction
from functools import cache
from itertools import permutations

import pytest
from family_checks import rendered


def read(item) -> tuple[int, int, tuple[int, ...]]:
    """Return the two counts of a text, and its draws as positions of the options."""
    n1, n2 = map(int, re.findall(r"\d+", item.context))
    labels = [option.label for option in item.options]
    shown = re.search(r": ((?:\w+, )*\w+)\. (?:The|Colour)", item.context)[1].split(", ")
    return n1, n2, tuple(map(labels.index, shown))


@pytest.fixture(scope="module")
def items():
    return rendered("no_replacement", "full")


@cache
def by_enumeration(n1: int, n2: int, draws: tuple[int, ...]) -> Fraction:
    """Draw once more than shown, in every way, from balls that differ."""
    balls = [0] * n1 + [1] * n2
    next_ones = Counter(
        drawn[-1] for drawn in permutations(balls, len(draws) + 1) if drawn[:-1] == draws
    )
    return Fraction(next_ones[0], next_ones.total())


def test_the_law_is_that_of_all_ways_to_draw_on():
    for item in rendered("no_replacement", "lite"):
        n1, n2, draws = read(item)
        if n1 + n2 <= 15:
            assert item.ideal[0] == by_enumeration(n1, n2, draws)


def test_the_law_is_the_share_of_what_is_left(items):
    for item in items:
        n1, n2, draws = read(item)
        left = (n1 - draws.count(0), n2 - draws.count(1))
        assert min(left) >= 1
        assert item.ideal == tuple(Fraction(n, sum(left)) for n in left)
        assert item.numbers == (n1, n2)
        assert (item.meta["left1"], item.meta["left2"]) == left


def test_draws_can_turn_the_likelier_option_round(items):
    kinds = Counter((item.higher == "tie", item.meta["is_turned"]) for item in items)
    assert all(kinds[kind] > 0 for kind in [(False, False), (False, True), (True, False)])
    for item in items:
        n1, n2, _ = read(item)
        before = "first" if n1 > n2 else "second"
        assert item.meta["is_turned"] == (item.higher not in (before, "tie"))


def test_every_sequence_of_draws_is_shown_for_every_pair_of_numbers(items):
    seen = {}
    for item in items:
        n1, n2, draws = read(item)
        seen.setdefault((item.template_id, item.option_pair_id, n1, n2), set()).add(draws)
    assert {len(found) for found in seen.values()} == {2 + 4 + 8}
