"""Intervals of weighted hits: exact for equal weights, and covering for unequal ones."""

import math

import numpy as np
import pytest
from scipy.stats import chi2

from likely.errors import InputError
from likely.stats.weighted_counts import gamma_interval


@pytest.mark.parametrize("count", [0, 1, 7, 400])
@pytest.mark.parametrize("weight", [1.0, 1e-200])
def test_equal_weights_give_the_exact_interval_of_a_poisson_count(count, weight):
    found = gamma_interval(count * weight, math.sqrt(count) * weight, largest=weight, level=0.9)
    low = math.log(0.5 * chi2.ppf(0.05, 2 * count)) if count else -math.inf
    high = math.log(0.5 * chi2.isf(0.05, 2 * count + 2))
    assert found == pytest.approx((low + math.log(weight), high + math.log(weight)), rel=1e-9)


def test_intervals_cover_the_mean_of_unequal_weights():
    rng = np.random.default_rng(0)
    weights, rates = np.array([0.2, 1.0, 3.0]), np.array([4.0, 1.0, 0.5])
    truth, covered = math.log(float(weights @ rates)), 0
    for counts in rng.poisson(rates, size=(400, 3)):
        low, high = gamma_interval(
            weights @ counts, math.sqrt(weights**2 @ counts), largest=3.0, level=0.95
        )
        covered += low <= truth <= high
    assert covered >= 366  # at least .95 but for 1e-4


def test_one_hit_more_can_only_widen_the_upper_end():
    ends = [gamma_interval(2.0, 2.0, largest=size)[1] for size in (0.5, 1.0, 5.0)]
    assert ends == sorted(ends)


@pytest.mark.parametrize(
    ("value", "error", "largest"),
    [
        (-1.0, 1.0, 1.0),
        (1.0, 0.0, 1.0),
        (1.0, 1.0, 0.0),
        (1.0, math.nan, 1.0),
        (0.0, 0.0, math.inf),
    ],
)
def test_unusable_numbers_get_one_line(value, error, largest):
    with pytest.raises(InputError):
        gamma_interval(value, error, largest=largest)
