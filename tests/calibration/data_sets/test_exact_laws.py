"""Laws of coins, dice and evidence against enumeration."""

from collections import Counter
from fractions import Fraction
from itertools import product
from math import prod

import pytest
from hypothesis import given
from hypothesis import strategies as st

from likely.calibration.data_sets.exact_laws import binomial, dice_total, posterior
from likely.errors import InputError


@given(st.integers(1, 7), st.fractions(0, 1, max_denominator=50))
def test_binomial_is_the_sum_over_all_sequences_of_flips(n, p):
    law = [Fraction(0)] * (n + 1)
    for flips in product((0, 1), repeat=n):
        law[sum(flips)] += prod((p if flip else 1 - p for flip in flips), start=Fraction(1))
    assert binomial(n, p) == tuple(law)


def test_binomial_of_four_flips_at_three_tenths():
    # Golden values of the specification, section g.2.
    assert [float(x) for x in binomial(4, Fraction(3, 10))] == [
        0.2401,
        0.4116,
        0.2646,
        0.0756,
        0.0081,
    ]


@pytest.mark.parametrize(("d", "s"), [(1, 6), (2, 6), (3, 4), (4, 6), (5, 3), (2, 20), (6, 2)])
def test_the_sum_of_dice_counts_all_rolls(d, s):
    counts = Counter(sum(roll) for roll in product(range(1, s + 1), repeat=d))
    expected = tuple(Fraction(counts[total], s**d) for total in range(d, d * s + 1))
    assert dice_total(d, s) == expected


def test_two_dice_make_the_triangle():
    assert [36 * p for p in dice_total(2, 6)] == [1, 2, 3, 4, 5, 6, 5, 4, 3, 2, 1]


def test_posterior_of_a_rare_condition_after_a_positive_test():
    prior = (Fraction(1, 100), Fraction(99, 100))
    assert posterior(prior, (Fraction(90, 100), Fraction(5, 100)))[0] == Fraction(2, 13)


weights = st.lists(st.integers(1, 20), min_size=2, max_size=5)


@given(weights, st.integers(1, 9))
def test_posterior_is_a_share_of_a_joint_table(counts, k):
    total = sum(counts)
    prior = [Fraction(n, total) for n in counts]
    likelihood = [Fraction(1 + (i * k) % 10, 10) for i in range(len(counts))]
    joint = [n * (1 + (i * k) % 10) for i, n in enumerate(counts)]  # cases in a table of 10 * total
    assert posterior(prior, likelihood) == tuple(Fraction(cell, sum(joint)) for cell in joint)


@pytest.mark.parametrize(("n", "p"), [(0, Fraction(1, 2)), (3, Fraction(3, 2)), (3, Fraction(-1))])
def test_binomial_refuses_what_is_no_law(n, p):
    with pytest.raises(InputError, match="at least 1 trial"):
        binomial(n, p)


@pytest.mark.parametrize(("d", "s"), [(0, 6), (2, 0)])
def test_dice_need_a_die_and_a_side(d, s):
    with pytest.raises(InputError, match="at least 1 die"):
        dice_total(d, s)


def test_impossible_evidence_and_unequal_lengths_are_refused():
    half = Fraction(1, 2)
    with pytest.raises(InputError, match="probability 0"):
        posterior((half, half), (Fraction(0), Fraction(0)))
    with pytest.raises(InputError, match="one likelihood"):
        posterior((half, half), (half,))
