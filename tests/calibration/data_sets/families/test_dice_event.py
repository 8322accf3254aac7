"""One of two events of a roll."""

import re
from collections import Counter
from collections.abc import Container
from fractions import Fraction
from functools import cache
from itertools import product

import pytest
from family_checks import named, rendered

from likely.calibration.data_sets.families.dice_event import event_probability, thresholds
from likely.errors import InputError


@pytest.fixture(scope="module")
def items():
    return rendered("dice_event", "full")


@cache
def totals(n_dice: int, n_sides: int) -> Counter[int]:
    """Count all rolls of each total; two halves of a large roll are enumerated apart."""
    half = Counter(map(sum, product(range(1, n_sides + 1), repeat=n_dice // 2)))
    rest = Counter(map(sum, product(range(1, n_sides + 1), repeat=n_dice - n_dice // 2)))
    both: Counter[int] = Counter()
    for (x, n), (y, m) in product(half.items(), rest.items()):
        both[x + y] += n * m
    return both


def share(n_dice: int, n_sides: int, wanted: Container[int]) -> Fraction:
    counts = totals(n_dice, n_sides)
    return Fraction(sum(n for total, n in counts.items() if total in wanted), counts.total())


def test_the_law_counts_the_rolls_that_the_text_describes(items):
    for item in items:
        d, s = map(int, re.search(r"(\d+) fair d\w+ with faces numbered from 1 to (\d+)",
                                  item.context).groups())  # fmt: skip
        events = re.findall(r"(at least|less than) (\d+)", item.context)
        if item.meta["kind"] == "parity":
            assert not events
            first = share(d, s, range(1 if item.options[0].label == "odd" else 0, d * s + 1, 2))
        else:
            (said, t), (other, same) = events
            assert {said, other} == {"at least", "less than"}
            assert t == same
            upper = share(d, s, range(int(t), d * s + 1))
            first = upper if said == "at least" else 1 - upper
        assert item.ideal == (first, 1 - first)


def test_each_option_is_named_once_and_right_before_or_after_its_event(items):
    for item in items:
        first, second = (option.label for option in item.options)
        assert named(item.context, first) == named(item.context, second) == 1
        assert re.search(rf"\b{first}\b.*\b{second}\b", item.context)


def test_one_die_is_in_the_singular(items):
    for item in items:
        assert ("1 fair die" in item.context) == (item.meta["n_dice"] == 1)
        assert not re.search(r"\b1 fair dice|\b[2-9] fair die\b|dice .*\d is (rolled|thrown)",
                             item.context)  # fmt: skip


def test_no_certain_event(items):
    assert all(0 < p < 1 for item in items for p in item.ideal)


def test_high_and_big_are_the_upper_events(items):
    for item in items:
        if item.template_id == "H3":
            upper = item.options[0 if item.meta["event1"] == "upper" else 1].label
            assert upper in ("high", "big")


@pytest.mark.parametrize(("d", "s"), [(1, 10), (1, 20), (2, 6), (3, 6), (4, 6)])
def test_thresholds_come_in_mirrored_pairs(d, s):
    found = thresholds(d, s)
    assert len(set(found)) == len(found)
    for t, mirrored in zip(found[::2], found[1::2], strict=True):
        upper = event_probability(d, s, "upper", t)
        assert upper == event_probability(d, s, "lower", mirrored)
        assert event_probability(d, s, "upper", mirrored) == 1 - upper


@pytest.mark.parametrize("s", [3, 5, 7])
@pytest.mark.parametrize("d", [1, 2, 3, 4])
def test_parity_of_odd_faces_alternates_with_the_number_of_dice(d, s):
    # The mean of (-1)^face is -1/s, so that of (-1)^total is (-1/s)^d.
    assert event_probability(d, s, "even", None) == (1 + Fraction(-1, s) ** d) / 2


@pytest.mark.parametrize(("event", "threshold"), [("prime", None), ("upper", None)])
def test_an_event_without_meaning_is_refused(event, threshold):
    with pytest.raises(InputError, match="an event is one of"):
        event_probability(2, 6, event, threshold)
