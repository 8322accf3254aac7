"""Bounds on an entropy hold for every way to place the rest, and are reached by one of them."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from likely.errors import InputError
from likely.stats.partial_laws import entropy_bounds, entropy_of_counts


def shannon(masses):
    return -math.fsum(p * math.log(p) for p in masses if p > 0)


weights = st.lists(st.floats(0.0, 1.0), min_size=1, max_size=5)


@given(weights, weights, st.integers(0, 3), st.floats(0.0, 1.0))
def test_every_way_to_place_the_rest_lies_within(known, shares, n_more, rest):
    known = np.array(known) + 1e-3
    known = known / known.sum() * (1 - rest)
    left = max(0.0, 1 - float(known.sum()))  # rounding may put the sum above 1
    low, high = entropy_bounds(known, rest=left, n_more=n_more)
    room = np.resize(np.array(shares) + 1e-6, len(known) + n_more)
    law = np.append(known, np.zeros(n_more)) + left * room / room.sum()
    assert low - 1e-9 <= shannon(law) <= high + 1e-9
    top = known.copy()
    top[known.argmax()] += left
    assert low == pytest.approx(shannon(top), abs=1e-12)


def test_the_most_is_reached_by_filling_up():
    # 0.1 fills two empty outcomes and the one of 0.04 up to 0.14 / 3.
    _, high = entropy_bounds(np.array([0.04, 0.86]), rest=0.1, n_more=2)
    assert high == pytest.approx(shannon([0.14 / 3] * 3 + [0.86]))
    # so much rest that everything ends at one level
    assert entropy_bounds(np.array([0.05]), rest=0.95, n_more=9)[1] == pytest.approx(math.log(10))
    assert entropy_bounds(np.array([0.2, 0.3]), rest=0.5, n_more=0)[1] == pytest.approx(math.log(2))


def test_nothing_known_says_nothing_and_everything_known_says_all():
    low, high = entropy_bounds(np.empty(0), rest=1.0, n_more=8)
    assert (low, high) == (0.0, pytest.approx(math.log(8)))
    low, high = entropy_bounds(np.array([0.25, 0.75]), rest=0.0, n_more=8)
    assert low == high == pytest.approx(shannon([0.25, 0.75]))


def test_entropies_of_counts_are_the_published_ones():
    # arXiv 2605.21726, result files of gpt2, prompt 6: positions 1 and 7
    assert entropy_of_counts(np.array([2, 1])) == pytest.approx(0.6365, abs=5e-5)
    assert entropy_of_counts(np.array([2] + [1] * 7)) == pytest.approx(2.0432, abs=5e-5)


@pytest.mark.parametrize(
    "ask",
    [
        lambda: entropy_bounds(np.array([0.5]), rest=0.4, n_more=1),
        lambda: entropy_bounds(np.array([-0.5, 1.0]), rest=0.5, n_more=1),
        lambda: entropy_bounds(np.empty(0), rest=1.0, n_more=0),
        lambda: entropy_of_counts(np.array([0, 0])),
    ],
)
def test_what_is_no_part_of_a_law_is_refused(ask):
    with pytest.raises(InputError):
        ask()
