"""Pairs of numbers; expected values over all pairs are those of the specification's table."""

from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from likely.calibration.data_sets.number_pairs import N_TIES, SCALES, crossed_numbers, number_pairs
from likely.errors import InputError

scales = pytest.mark.parametrize("scale", SCALES)


def unordered(pairs):
    return [tuple(sorted((pair.first, pair.second))) for pair in pairs]


@scales
def test_each_pair_comes_in_both_orders_side_by_side(scale):
    pairs = number_pairs(scale, 50)
    assert len(pairs) == 100
    for one, other in zip(pairs[::2], pairs[1::2], strict=True):
        assert (one.first, one.second) == (other.second, other.first)
        assert (one.draw, one.repeat, one.weight) == (other.draw, other.repeat, other.weight)
    assert sum(pair.first > pair.second for pair in pairs) == 50
    assert sum(pair.first < pair.second for pair in pairs) == 50


@scales
def test_numbers_stay_in_their_scale(scale):
    low, high = SCALES[scale]
    for design in ("balanced", "ties"):
        pairs = number_pairs(scale, 10, design=design)
        assert all(low <= x <= high for pair in pairs for x in (pair.first, pair.second))


def test_one_to_ten_uses_its_45_pairs_before_it_repeats_five():
    pairs = number_pairs("1-10", 50)
    assert len(set(unordered(pairs[:90]))) == 45
    twice = [pair for pair, n in Counter(unordered(pairs)).items() if n == 4]
    assert len(twice) == 5
    for pair, name in zip(pairs, unordered(pairs), strict=True):
        assert pair.weight == (Fraction(1, 2) if name in twice else 1)
    assert [pair.repeat for pair in pairs] == [0] * 90 + [1] * 10


@given(n=st.integers(1, 150))
def test_repeats_are_even_and_their_weights_make_each_pair_count_once(n):
    pairs = number_pairs("1-10", n)
    counts = Counter(unordered(pairs))
    assert max(counts.values()) - min(counts.values()) <= 2
    assert n < 45 or len(counts) == 45
    assert sum(pair.weight for pair in pairs) == 2 * len(counts)
    assert len({(pair.first, pair.second, pair.repeat) for pair in pairs}) == 2 * n


@pytest.mark.parametrize("scale", ["10-100", "100-999"])
def test_wide_scales_repeat_no_pair(scale):
    pairs = number_pairs(scale, 50)
    assert len(set(unordered(pairs))) == 50
    assert {pair.weight for pair in pairs} == {1}


@scales
def test_fewer_pairs_are_the_first_of_more(scale):
    few, many = number_pairs(scale, 10), number_pairs(scale, 50)
    assert unordered(few) == unordered(many[:20])


@scales
def test_the_seed_decides(scale):
    assert number_pairs(scale, 10, seed=3) == number_pairs(scale, 10, seed=3)
    assert number_pairs(scale, 10, seed=3) != number_pairs(scale, 10, seed=4)


@scales
def test_ties_are_distinct_equal_pairs(scale):
    pairs = number_pairs(scale, 10, design="ties")
    assert all(pair.first == pair.second for pair in pairs)
    assert len(set(unordered(pairs))) == 10


def test_the_grid_has_45_of_either_kind_and_10_ties():
    pairs = number_pairs("1-10", 1, design="grid")
    signs = Counter(np.sign(pair.first - pair.second).item() for pair in pairs)
    assert signs == {1: 45, -1: 45, 0: 10}
    assert len({(pair.first, pair.second) for pair in pairs}) == 100
    assert all(a.draw == b.draw for a in pairs for b in pairs if sorted_pair(a) == sorted_pair(b))
    assert len({pair.draw for pair in pairs}) == 55


def sorted_pair(pair):
    return sorted((pair.first, pair.second))


def test_a_family_crosses_one_set_of_numbers_with_all_it_has():
    numbers = crossed_numbers(tuple(SCALES), 50, seed=1)
    assert numbers == {scale: number_pairs(scale, 50, seed=1) for scale in SCALES}
    assert list(crossed_numbers(["100-999"], 50, design="grid")) == ["1-10"]
    ties = crossed_numbers(tuple(SCALES), 50, design="ties")
    assert [len(pairs) for pairs in ties.values()] == [N_TIES] * 3


# Over all unordered unequal pairs: mean p_high, mean H(P) in bits, and the mean distance of the
# predictor that gives .7 to the larger number.
TABLE = {
    "1-10": (0.6844, 0.8541, 0.0986),
    "10-100": (0.6516, 0.8948, 0.1015),
    "100-999": (0.6483, 0.8986, 0.1021),
}


@scales
def test_means_over_all_pairs_are_those_of_the_table(scale):
    low, high = SCALES[scale]
    numbers = np.arange(low, high + 1, dtype=np.float64)
    lower, higher = (numbers[at] for at in np.triu_indices(len(numbers), k=1))
    p = higher / (lower + higher)
    entropy = -(p * np.log2(p) + (1 - p) * np.log2(1 - p))
    means = (p.mean(), entropy.mean(), np.abs(p - 0.7).mean())
    assert means == pytest.approx(TABLE[scale], abs=5e-5)


@pytest.mark.parametrize(
    ("scale", "n", "design", "match"),
    [
        ("1-9", 5, "balanced", "scale is one of"),
        ("1-10", 0, "balanced", "at least 1 pair"),
        ("1-10", 11, "ties", "10 ties, got 11"),
        ("10-100", 5, "grid", "grid is of the scale '1-10', got '10-100'"),
    ],
)
def test_what_cannot_be_drawn_is_refused(scale, n, design, match):
    with pytest.raises(InputError, match=match):
        number_pairs(scale, n, design=design)
