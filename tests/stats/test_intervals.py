import math

import numpy as np
import pytest
from scipy.stats import binom, binomtest

from likely.errors import InputError
from likely.stats.intervals import clopper_pearson


@pytest.mark.parametrize("level", [0.5, 0.95, 0.9999])
@pytest.mark.parametrize(("hits", "n_trials"), [(0, 1), (1, 1), (3, 10), (10, 10), (7, 100_000)])
def test_ends_are_those_of_the_exact_binomial_test(hits, n_trials, level):
    expected = binomtest(hits, n_trials).proportion_ci(confidence_level=level, method="exact")
    assert clopper_pearson(hits, n_trials, level=level) == pytest.approx(
        (expected.low, expected.high), rel=1e-7, abs=1e-15
    )


@pytest.mark.parametrize("prob", [0.0, 0.003, 0.2, 0.5, 0.97, 1.0])
def test_the_interval_covers_every_probability_at_its_level(prob):
    n_trials, level = 50, 0.9
    covers = [
        low <= prob <= high
        for low, high in (clopper_pearson(k, n_trials, level=level) for k in range(n_trials + 1))
    ]
    coverage = float(np.sum(binom.pmf(np.arange(n_trials + 1), n_trials, prob)[covers]))
    assert coverage >= level


def test_no_hit_and_nothing_but_hits_mirror_each_other():
    low, high = clopper_pearson(0, 30)
    assert low == 0.0
    assert high == pytest.approx(1 - 0.025 ** (1 / 30))
    assert clopper_pearson(30, 30) == pytest.approx((1 - high, 1.0))


@pytest.mark.parametrize(("hits", "n_trials"), [(-1, 5), (6, 5), (0, 0)])
def test_impossible_counts_are_refused(hits, n_trials):
    with pytest.raises(InputError, match="0 <= hits <= n_trials"):
        clopper_pearson(hits, n_trials)


@pytest.mark.parametrize("level", [0.0, 1.0, math.inf])
def test_a_level_outside_its_range_is_refused(level):
    with pytest.raises(InputError, match="level"):
        clopper_pearson(1, 2, level=level)
