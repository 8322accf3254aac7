"""Replicates together: means of probabilities, intervals, and what zeros leave to say."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import chi2, norm, t

from likely.core.streams import generator
from likely.errors import InputError
from likely.rare.splitting.intervals import (
    combine,
    poisson_exact_interval,
    poisson_score_interval,
    relative_error,
)
from likely.rare.splitting.records import Level, Run
from likely.stats.intervals import clopper_pearson


def level_of(level: float, n_alive: int, log_prob: float) -> Level:
    return Level(level=level, n_particles=100, n_alive=n_alive, log_prob=log_prob, n_ancestors=1)


def run_of(log_prob: float | None, *, stop="threshold", levels=(), variance=None, reached=0.0):
    return Run(
        log_prob=log_prob, stop=stop, levels=tuple(levels), relative_variance=variance,
        n_particles=100, n_ancestors=1, n_scored=1,
        log_reached=reached if log_prob in (None, -math.inf) else 0.0,
    )  # fmt: skip


def test_the_mean_is_of_probabilities_zeros_among_them():
    runs = [run_of(math.log(3e-9)), run_of(math.log(1e-9)), run_of(-math.inf, stop="extinct")]
    found = combine(runs, level=0.95)
    assert found.log_prob == pytest.approx(math.log(4e-9 / 3.0))
    assert "1 of them 0" in found.basis


def test_intervals_are_those_of_the_formula():
    logs = [math.log(p) for p in (0.8e-9, 1.0e-9, 1.5e-9, 0.9e-9)]
    found = combine([run_of(one) for one in logs], level=0.9)
    probs = np.exp(logs)
    error = probs.std(ddof=1) / 2.0
    half = t.isf(0.05, 3) * error / probs.mean()
    middle = math.log(probs.mean())
    assert found.relative_error == pytest.approx(error / probs.mean())
    assert found.log_scale == pytest.approx((middle - half, middle + half))
    ends = tuple(math.log(probs.mean() + sign * t.isf(0.05, 3) * error) for sign in (-1, 1))
    assert found.linear == pytest.approx(ends)
    assert found.low == found.log_scale[0]
    assert found.high >= found.log_scale[1]
    assert found.floor == pytest.approx(middle + math.log(0.1))


def test_a_linear_interval_that_reaches_zero_says_so():
    found = combine([run_of(0.0 - 20), run_of(-30.0)], level=0.95)
    assert found.linear[0] == -math.inf
    assert math.isfinite(found.low)


def test_tiny_probabilities_do_not_underflow():
    found = combine([run_of(-2000.0), run_of(-2001.0), run_of(-2000.5)], level=0.95)
    assert -2002.0 < found.low < found.log_prob < found.high < -1998.0


@pytest.mark.parametrize(("spread", "n"), [(0.3, 4), (1.0, 4), (1.0, 8), (0.5, 3)])
def test_intervals_of_log_normal_estimates_cover(spread, n):
    rng = generator(0, "coverage", n)
    logs = spread * rng.standard_normal((500, n)) - 0.5 * spread**2 - 20.0
    found = [combine([run_of(float(one)) for one in row], level=0.95) for row in logs]
    covered = sum(one.low <= -20.0 <= one.high for one in found)
    assert clopper_pearson(covered, 500, level=1.0 - 1e-4)[0] < 0.99
    assert covered / 500 > 0.9


def test_the_floor_holds_for_the_most_skewed_of_unbiased_estimates():
    # Markov: an estimate that is 20 p once in 20 times and else 0 is too large just as often as is
    # allowed, and then its floor is p itself
    found = combine([run_of(math.log(20.0) - 9.0), run_of(math.log(20.0) - 9.0)], level=0.95)
    assert found.floor == pytest.approx(-9.0, abs=1e-12)


def test_all_extinct_leaves_the_upper_end_of_a_level_that_all_reached():
    steps = [(-2.0, 50), (-1.0, 30), (0.0, 0)]
    runs = []
    for shift in (-0.1, 0.0, 0.1):
        logs = (math.log(0.5) + shift, math.log(0.15) + shift, -math.inf)
        levels = [level_of(a, k, p) for (a, k), p in zip(steps, logs, strict=True)]
        runs.append(run_of(-math.inf, stop="extinct", levels=levels, reached=logs[1]))
    found = combine(runs, level=0.95)
    assert found.log_prob == -math.inf
    assert found.low == -math.inf
    assert math.log(0.15) < found.high < math.log(0.15) + 0.5
    wild = [
        run_of(
            -math.inf, stop="extinct", levels=[run.levels[0], replace(run.levels[1], log_prob=p)]
        )
        for run, p in zip(runs, (-2.0, -9.0, -30.0), strict=True)
    ]
    assert math.log(0.5) < combine(wild, level=0.95).high < math.log(0.8)  # the level before
    assert "no run reached the event" in found.basis
    early = run_of(-math.inf, stop="extinct", levels=[level_of(-2.0, 0, -math.inf)])
    assert combine([*runs, early], level=0.95).high == 0.0  # nothing below 1 can be said
    single = combine(runs[:1], level=0.95)
    assert runs[0].log_reached < single.high < 0.0


def test_a_run_given_up_leaves_no_estimate_but_an_upper_end():
    levels = [[level_of(a, 50, math.log(0.5))] for a in (-2.0, -2.1)]  # levels of their own
    runs = [
        run_of(None, stop="stuck", levels=levels[0], reached=math.log(0.4)),
        run_of(math.log(0.2), levels=levels[1]),
    ]
    found = combine(runs, level=0.95)
    assert found.log_prob is None
    assert found.low == -math.inf
    assert found.high <= 0.0
    assert "given up" in found.basis


def test_one_run_has_the_interval_of_its_ancestors():
    found = combine([run_of(-20.0, variance=0.04)], level=0.95)
    assert found.high - found.log_prob == pytest.approx(1.959964 * 0.2, abs=1e-6)
    assert found.relative_error == pytest.approx(0.2)
    unknown = combine([run_of(-20.0, variance=1.0)], level=0.95)  # one ancestor: it tells nothing
    assert (unknown.low, unknown.high) == (-math.inf, 0.0)
    assert unknown.relative_error is None


def same_runs(share: float, n: int, *, levels=True):
    """Runs of 100 particles whose one level was reached by a share of them, the same in all."""
    level = level_of(0.0, round(100 * share), math.log(share))
    return [run_of(math.log(share), levels=[level] if levels else [])] * n


@pytest.mark.parametrize("levels", [True, False])
def test_runs_that_agree_by_chance_have_the_interval_of_their_counts(levels):
    found = combine(same_runs(0.4, 3, levels=levels), level=0.95)
    # by counts at a level; or as particles that die one by one, nearly -log p / N
    variance = 0.6 / 0.4 / 100 if levels else math.expm1(-math.log(0.4) / 100)
    half = norm.isf(0.025) * math.sqrt(variance / 3)
    assert found.log_prob == pytest.approx(math.log(0.4))
    assert (found.low, found.high) == pytest.approx(
        (math.log(0.4) - half, math.log(0.4) + half), rel=1e-12
    )
    assert "3 runs are the same" in found.basis


def test_runs_agree_too_where_their_counts_came_in_another_order():
    counts = ((0.1, 0.1, 0.3), (0.3, 0.1, 0.1))
    levels = [level_of(float(k), round(100 * one), 0.0) for k, one in enumerate(counts[0])]
    runs = [run_of(sum(map(math.log, shares)), levels=levels) for shares in counts]
    assert runs[0].log_prob != runs[1].log_prob  # by the last digit
    found = combine(runs, level=0.95)
    variance = sum((1.0 - one) / one for one in counts[0]) / 100 / 2
    assert found.relative_error == pytest.approx(math.sqrt(variance))


@pytest.mark.parametrize(("n", "variance"), [(4, None), (1, 0.0), (1, -1e-16), (1, 1e-16)])
def test_runs_without_a_death_have_the_lower_end_of_a_share(n, variance):
    runs = [replace(run, relative_variance=variance) for run in same_runs(1.0, n)]
    found = combine(runs, level=0.95)
    assert found.log_prob == found.high == 0.0
    assert math.exp(found.low) == pytest.approx(0.025 ** (1.0 / (100 * n)))
    assert found.relative_error is None


def test_no_run_is_refused():
    with pytest.raises(InputError, match="one run or more"):
        combine([], level=0.95)


def test_the_relative_error_of_equal_numbers_is_zero():
    assert relative_error([-5.0, -5.0, -5.0]) == 0.0


def test_poisson_intervals_invert_their_tests():
    low, high = poisson_exact_interval(25, 10)
    assert chi2.cdf(2 * -low * 10, 52) == pytest.approx(0.975)
    assert chi2.sf(2 * -high * 10, 50) == pytest.approx(0.975)
    low, high = poisson_score_interval(25, 10)
    for mean in (-10 * low, -10 * high):
        assert abs(25 - mean) / math.sqrt(mean) == pytest.approx(1.959964, abs=1e-6)
    assert poisson_exact_interval(0, 10)[1] == 0.0
