"""Numbers about counts are those of a full enumeration; tests and intervals keep their level."""

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom, binomtest, multinomial

from likely.errors import InputError
from likely.stats.multinomial import (
    corrected_total_variation,
    dirichlet_intervals,
    distance_interval,
    expected_total_variation,
    kolmogorov_smirnov_fit,
    multinomial_fit,
    total_variation_band,
)

LAWS = [(0.5, 0.5), (0.03, 0.97), (0.2, 0.3, 0.5), (0.0, 0.4, 0.6), (0.1, 0.1, 0.3, 0.5)]


def outcomes(n, k):
    return [c for c in product(range(n + 1), repeat=k) if sum(c) == n]


def distance(counts, ideal):
    counts = np.array(counts)
    return 0.5 * np.abs(counts / counts.sum() - np.array(ideal)).sum()


@pytest.mark.parametrize("n", [1, 4, 9])
@pytest.mark.parametrize("ideal", LAWS)
def test_the_mean_distance_is_that_of_all_outcomes(ideal, n):
    for law in (ideal, np.roll(ideal, 1)):
        wanted = sum(
            multinomial.pmf(c, n, law) * distance(c, ideal) for c in outcomes(n, len(ideal))
        )
        found = expected_total_variation(np.array(law), np.array(ideal), n)
        assert found == pytest.approx(wanted, abs=1e-12)


def test_the_mean_distance_of_the_right_law_is_as_stated():
    p, n = 0.3, 10_000
    found = expected_total_variation(np.array([p, 1 - p]), np.array([p, 1 - p]), n)
    assert found == pytest.approx(math.sqrt(2 * p * (1 - p) / (math.pi * n)), rel=1e-3)


@pytest.mark.parametrize(("law", "ideal"), [(0.3, 0.6), (0.5, 0.25), (0.1, 0.2)])
def test_the_corrected_distance_is_unbiased_to_first_order_away_from_the_ideal(law, ideal):
    n = 400
    counts = np.arange(n + 1)
    weights = binom.pmf(counts, n, law)
    corrected = [
        corrected_total_variation(np.array([c, n - c]), np.array([ideal, 1 - ideal]))
        for c in counts
    ]
    assert abs(weights @ corrected - abs(law - ideal)) < 0.01 / math.sqrt(n)


def test_the_corrected_distance_of_the_right_law_keeps_the_stated_part_of_its_bias():
    n, p = 400, 0.5
    counts = np.arange(n + 1)
    weights, ideal = binom.pmf(counts, n, p), np.array([p, 1 - p])
    corrected = [corrected_total_variation(np.array([c, n - c]), ideal) for c in counts]
    plug_in = weights @ np.abs(counts / n - p)
    assert weights @ corrected / plug_in == pytest.approx(2 - math.sqrt(2), abs=0.01)


@pytest.mark.parametrize("ideal", [(0.5, 0.5), (0.2, 0.3, 0.5)])
def test_the_null_band_covers_the_plug_in_at_its_level(ideal):
    n, level = 20, 0.9
    mean, high = total_variation_band(np.array(ideal), n, level=level, seed=1)
    every = outcomes(n, len(ideal))
    probs = np.array([multinomial.pmf(c, n, ideal) for c in every])
    distances = np.array([distance(c, ideal) for c in every])
    assert mean == pytest.approx(probs @ distances, abs=1e-12)
    inside = probs[distances <= high + 1e-12].sum()
    assert inside >= level - 4 * math.sqrt(level * (1 - level) / 4000)


@pytest.mark.parametrize("law", [(0.5, 0.5), (0.9, 0.1), (0.98, 0.02)])
@pytest.mark.parametrize("ideal", [(0.5, 0.5), (0.7, 0.3)])
def test_two_outcome_intervals_cover_the_distance_at_their_level(law, ideal):
    n, level = 30, 0.9
    truth = abs(law[0] - ideal[0])
    covered = 0.0
    for c in range(n + 1):
        low, high = distance_interval(np.array([c, n - c]), np.array(ideal), level=level)
        covered += binom.pmf(c, n, law[0]) * (low - 1e-12 <= truth <= high + 1e-12)
    assert covered >= level


@pytest.mark.parametrize("law", [(0.2, 0.3, 0.5), (0.9, 0.05, 0.05), (1 / 3, 1 / 3, 1 / 3)])
def test_intervals_of_more_outcomes_cover_the_distance_at_their_level(law):
    n, level = 24, 0.9
    ideal = np.array([0.2, 0.3, 0.5])
    truth = 0.5 * np.abs(np.array(law) - ideal).sum()
    covered = 0.0
    for c in outcomes(n, 3):
        low, high = distance_interval(np.array(c), ideal, level=level, n_draws=300)
        covered += multinomial.pmf(c, n, law) * (low <= truth <= high)
    assert covered >= level


def test_dirichlet_intervals_hold_the_truth_drawn_from_their_prior():
    rng = np.random.default_rng(0)
    laws = rng.dirichlet(np.full(3, 0.5), size=1500)
    hits = 0
    for law in laws:
        ends = dirichlet_intervals(rng.multinomial(15, law), level=0.8)
        hits += ends[0, 0] <= law[0] <= ends[0, 1]
    assert abs(hits / 1500 - 0.8) < 4 * math.sqrt(0.16 / 1500)


@given(
    law=st.sampled_from(LAWS), n=st.integers(1, 7), seed=st.integers(0, 1000),
)  # fmt: skip
def test_the_exact_test_adds_up_all_outcomes_as_improbable(law, n, seed):
    counts = np.random.default_rng(seed).multinomial(n, np.roll(law, 1))
    probs = np.array([multinomial.pmf(c, n, law) for c in outcomes(n, len(law))])
    own = multinomial.pmf(counts, n, law)
    wanted = probs[probs <= own * (1 + 1e-7)].sum()
    found = multinomial_fit(counts, np.array(law))
    assert found.method == "exact"
    assert found.p_value == pytest.approx(wanted, abs=1e-9)
    assert found.n_outcomes == len(probs)


def test_the_exact_test_of_two_outcomes_is_the_binomial_one():
    for hits in range(21):
        wanted = binomtest(hits, 20, 0.3).pvalue
        found = multinomial_fit(np.array([hits, 20 - hits]), np.array([0.3, 0.7])).p_value
        assert found == pytest.approx(wanted, rel=1e-9)


@pytest.mark.parametrize("test", [multinomial_fit, kolmogorov_smirnov_fit])
def test_exact_tests_reject_the_right_law_no_more_often_than_they_say(test):
    ideal, n = np.array([0.2, 0.3, 0.1, 0.4]), 12
    every = outcomes(n, 4)
    probs = np.array([multinomial.pmf(c, n, ideal) for c in every])
    p_values = np.array([test(np.array(c), ideal, method="exact").p_value for c in every])
    for level in (0.01, 0.05, 0.2):
        assert probs[p_values <= level].sum() <= level + 1e-12


@pytest.mark.parametrize("test", [multinomial_fit, kolmogorov_smirnov_fit])
def test_monte_carlo_agrees_with_the_exact_test(test):
    ideal = np.array([0.2, 0.3, 0.1, 0.4])
    for counts in ([3, 3, 1, 3], [6, 1, 1, 2], [0, 0, 5, 5]):
        exact = test(np.array(counts), ideal, method="exact").p_value
        drawn = test(np.array(counts), ideal, method="monte_carlo", n_draws=20_000)
        assert drawn.p_value == pytest.approx(
            exact, abs=4 * math.sqrt(exact * (1 - exact) / 20_000) + 1e-4
        )


def test_ruled_out_counts_have_no_chance():
    fit = multinomial_fit(np.array([1, 2, 2]), np.array([0.0, 0.5, 0.5]))
    assert (fit.statistic, fit.p_value) == (math.inf, 0.0)


def test_large_tables_are_simulated():
    fit = multinomial_fit(np.full(20, 10), np.full(20, 0.05))
    assert fit.method == "monte_carlo"
    assert fit.p_value == 1.0


@pytest.mark.parametrize(
    "ask",
    [
        lambda: multinomial_fit(np.array([0, 0]), np.array([0.5, 0.5])),
        lambda: multinomial_fit(np.array([1, -1, 2]), np.array([0.5, 0.5, 0.0])),
        lambda: multinomial_fit(np.array([1, 1]), np.array([0.5, 0.6])),
        lambda: total_variation_band(np.array([0.5, 0.5]), 5, level=1.0),
        lambda: dirichlet_intervals(np.array([1, 1]), prior=0.0),
    ],
)
def test_what_is_no_count_or_law_is_refused(ask):
    with pytest.raises(InputError):
        ask()
