"""The worst of many queries: exact lines, coverage of new draws, and when there is no tail."""

import math

import numpy as np
import pytest

from likely import rare
from likely.errors import InputError, NumericalError
from likely.rare.elicitation import elicitation_scores, forecast_largest


def log_probs_of(scores):
    return -np.exp(-np.asarray(scores))


def straight(m, *, slope=1.0, start=-3.0):
    """Return scores whose log-survival is a straight line, at its quantiles."""
    return start - np.log1p(-(np.arange(m) + 0.5) / m) / slope


def test_elicitation_scores_are_gumbel_quantiles():
    probs = np.array([0.0, 1e-300, math.exp(-1), 1.0])
    with np.errstate(divide="ignore"):
        scores = elicitation_scores(np.log(probs))
    np.testing.assert_allclose(scores, [-np.inf, -math.log(300 * math.log(10)), 0.0, np.inf])
    np.testing.assert_allclose(log_probs_of(scores[1:3]), np.log(probs[1:3]))
    with pytest.raises(NumericalError, match=r"0\.5"):
        elicitation_scores(np.array([0.5]))


@pytest.mark.parametrize("slope", [0.5, 2.0])
def test_the_median_of_the_largest_is_read_off_the_line(slope):
    n = 10**7
    found = forecast_largest(log_probs_of(straight(50_000, slope=slope, start=-4.0)), n, top=5000)
    # Of the largest of n: survival log(2) / n. The fit's own error is 1 in sqrt(5000) of 5.3.
    exact = -4.0 - math.log(math.log(2.0) / n) / slope
    assert -math.log(-found.value) == pytest.approx(exact, abs=0.03 / slope)
    assert found.unit == "nats"
    assert abs(found.diagnostics["tail_shape"]) < 0.01


@pytest.mark.parametrize("level", [0.5, 0.95])
def test_the_interval_holds_the_largest_of_new_queries_as_often_as_it_says(level):
    rng = np.random.default_rng(4)
    n, runs, held = 10**5, 160, 0
    for _ in range(runs):
        found = forecast_largest(
            log_probs_of(rng.exponential(size=300) - 8.0), n, top=30, level=level
        )
        largest = -math.log(-math.expm1(math.log(rng.random()) / n)) - 8.0
        held += found.low <= -math.exp(-largest) <= found.high
    z = (held / runs - level) / math.sqrt(level * (1.0 - level) / runs)
    assert abs(z) < 4.0


@pytest.mark.parametrize("level", [0.99, 0.999])
@pytest.mark.parametrize(("m", "top", "n"), [(100, 10, 10**12), (100, 10, 10**5), (11, 10, 10**3)])
def test_each_end_is_missed_as_often_as_it_says_at_high_levels(level, m, top, n):
    """Share beyond the start, mean excess and the draw have laws without unknowns: drawn as such.

    With ``B exp(-Y)`` the survival at a height Y above the start, the largest of n has survival
    ``1 - V^(1/n)``, V uniform; Y over the mean excess that is found says which end is missed.
    """
    found = forecast_largest(log_probs_of(straight(m)), n, top=top, level=level)
    start, mean = found.diagnostics["tail_start"], found.diagnostics["tail_mean_excess"]
    low, high = ((-math.log(-end) - start) / mean for end in (found.low, found.high))
    rng, runs = np.random.default_rng(8), 1_000_000
    survival = -np.expm1(-rng.exponential(size=runs) / n)
    height = np.log(rng.beta(top + 1, m - top, size=runs) / survival)
    height /= rng.gamma(top, 1.0 / top, size=runs)
    tail = (1.0 - level) / 2.0
    for missed in (height < low, height > high):
        z = (missed.mean() - tail) / math.sqrt(tail * (1.0 - tail) / runs)
        assert abs(z) < 4.5  # one in 10,000 for the twelve together


def test_the_lower_end_is_open_where_the_best_may_lie_below_the_tail():
    """All 11 best of 200 queries are among the old 100 with one chance in 2,738."""
    sample = log_probs_of(straight(100))
    assert forecast_largest(sample, 100, top=10, level=0.9985).low > -math.inf
    assert forecast_largest(sample, 100, top=10, level=0.9995).low == -math.inf
    assert math.prod((100 - i) / (200 - i) for i in range(11)) == pytest.approx(1 / 2738, rel=1e-4)


def test_more_new_queries_only_raise_it_and_a_longer_tail_only_narrows_it():
    sample = log_probs_of(np.random.default_rng(1).exponential(size=2000) - 6.0)
    values = [forecast_largest(sample, n).value for n in (2000, 20_000, 2_000_000)]
    assert values == sorted(values)
    widths = [
        math.log(found.low / found.high)
        for found in (forecast_largest(sample, 10**6, top=top) for top in (20, 80, 320))
    ]
    assert widths == sorted(widths, reverse=True)


def test_a_tail_that_ends_shows_by_its_shape():
    bounded = log_probs_of(np.random.default_rng(2).beta(1.0, 2.0, size=5000) - 4.0)
    assert forecast_largest(bounded, 10**6, top=400).diagnostics["tail_shape"] < -0.3


def test_queries_that_never_elicit_it_count_as_queries():
    scores = straight(4000)
    few = log_probs_of(scores[2000:])
    all_of_them = np.concatenate([np.full(2000, -np.inf), few])
    exact = forecast_largest(log_probs_of(scores), 10**6, top=100)
    assert forecast_largest(all_of_them, 10**6, top=100).value == exact.value
    assert rare.forecast_largest(few, 10**6, top=100).value > exact.value


@pytest.mark.parametrize(
    ("log_probs", "n", "options", "part"),
    [
        (log_probs_of(straight(50)), 49, {}, "from 50 queries is for as many or more, got n=49"),
        (log_probs_of(straight(50)), 100, {"top": 9}, "got top=9 of 50"),
        (log_probs_of(straight(10)), 100, {}, "got top=10 of 10"),
        (np.full(50, -1.0), 100, {}, "make no tail"),
        (np.full(50, -np.inf), 100, {}, "make no tail"),
        (np.append(log_probs_of(straight(50)), 0.0), 100, {}, "to inf; give more queries"),
    ],
)
def test_what_makes_no_forecast_gets_one_line(log_probs, n, options, part):
    with pytest.raises(InputError, match=part):
        forecast_largest(log_probs, n, **options)
