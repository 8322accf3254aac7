"""A coin with a past."""

import re
from collections import Counter
from fractions import Fraction
from itertools import pairwise

import pytest
from family_checks import rendered

from likely.calibration.data_sets.families.independence import NOTHING, pasts


@pytest.fixture(scope="module")
def items():
    return rendered("independence", "full")


def read(item) -> tuple[Fraction, list[str]]:
    """Return the chance of the first option, and the past."""
    stated = [int(x) for x in re.findall(r"(\d+)%", item.context)]
    assert bool(stated) != ("a fair coin" in item.context)
    assert not stated or sum(stated) == 100
    first, second = (option.label for option in item.options)
    assert item.context.index(first) < item.context.index(second)
    shown = re.search(r": ([^:]*?)\. (?:The|Next|On)", item.context)[1]
    past = [] if shown == NOTHING else shown.split(", ")
    assert set(past) <= {first, second}
    return Fraction(stated[0], 100) if stated else Fraction(1, 2), past


def test_the_law_is_the_stated_bias_whatever_came_before(items):
    for item in items:
        first, _ = read(item)
        assert item.ideal == (first, 1 - first)


def test_the_meta_data_describe_the_past(items):
    for item in items:
        _, past = read(item)
        changes = sum(x != y for x, y in pairwise(past))
        assert item.meta["length"] == len(past)
        if not past:
            assert (item.meta["history"], item.meta["run"], item.meta["last"]) == ("none", 0, None)
            continue
        labels = [option.label for option in item.options]
        assert item.meta["last"] == ("first", "second")[labels.index(past[-1])]
        if item.meta["history"] == "run":
            assert changes == 0
            assert item.meta["run"] == len(past)
        else:
            assert item.meta["history"] == "alternating"
            assert changes == len(past) - 1
            assert item.meta["run"] == 0


def test_each_history_of_one_side_has_its_mirror_image(items):
    seen = {}
    for item in items:
        _, past = read(item)
        labels = [option.label for option in item.options]
        key = (item.template_id, item.option_pair_id, item.meta["percent"])
        seen.setdefault(key, set()).add(tuple(labels.index(x) for x in past))
    for found in seen.values():
        assert found == {tuple(1 - side for side in past) for past in found}
        assert found == set(pasts((1, 2, 3, 5, 8), (3, 4, 5, 8)))


def test_runs_have_controls_of_the_same_length(items):
    kinds = Counter((item.meta["history"], item.meta["length"]) for item in items)
    assert kinds["none", 0] > 0
    for length in (3, 5, 8):
        assert kinds["run", length] == kinds["alternating", length] > 0


def test_a_fair_coin_has_no_number_and_so_no_blank(items):
    for item in items:
        assert (item.blank is None) == (item.meta["coin"] == "fair") == (item.numbers == ())
