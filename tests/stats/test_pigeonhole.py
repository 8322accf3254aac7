"""Pigeonhole bootstrap: its estimate, the coverage of its intervals, and what it refuses."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from jaxtyping import TypeCheckError
from scipy.stats import binom
from scipy.stats import t as student

from likely.core.streams import generator
from likely.errors import InputError, ShapeError
from likely.stats.bootstrap import cluster_bootstrap
from likely.stats.pigeonhole import (
    pigeonhole_bootstrap,
    pigeonhole_bootstrap_many,
    pigeonhole_correlation,
)

N_DATA_SETS = 500
SHAPE = (5, 20, 30)
SPREADS = {
    # standard deviations of the effects of templates, colours and numbers, and of an item's noise
    "even": (0.5, 0.5, 0.5, 0.5),
    "noisy": (0.3, 0.3, 0.3, 1.0),
    "templates": (1.0, 0.3, 0.3, 1.0),
    "colours": (0.1, 1.0, 0.3, 1.0),
    "numbers": (0.1, 0.3, 1.0, 1.0),
}


def crossed_data(spreads, *, seed=0, shape=SHAPE, n=N_DATA_SETS):
    """Many data sets of mean 0, each with random effects of three crossed factors: (N, n)."""
    rng = generator(seed, "crossed", *(str(s) for s in spreads))
    template, colour, number, noise = spreads
    a, b, c = shape
    x = template * rng.normal(size=(a, 1, 1, n)) + colour * rng.normal(size=(1, b, 1, n))
    x = x + number * rng.normal(size=(1, 1, c, n)) + noise * rng.normal(size=(a, b, c, n))
    levels = np.meshgrid(*(np.arange(k) for k in shape), indexing="ij")
    names = ("template", "option_set", "number_pair")
    return x.reshape(-1, n), {k: v.ravel() for k, v in zip(names, levels, strict=True)}


def coverage(found):
    return float(np.mean([estimate.low <= 0.0 <= estimate.high for estimate in found]))


@pytest.mark.parametrize("name", SPREADS)
def test_a_95_percent_interval_covers_93_to_97_percent_of_crossed_data_sets(name):
    values, factors = crossed_data(SPREADS[name])
    found = pigeonhole_bootstrap_many(values, factors, n_resamples=600)
    assert 0.93 <= coverage(found) <= 0.97


def test_a_bootstrap_over_items_covers_far_too_seldom():
    values, _ = crossed_data(SPREADS["noisy"])
    half = 1.96 * values.std(axis=0) / math.sqrt(len(values))
    assert np.mean(np.abs(values.mean(axis=0)) <= half) < 0.4
    iid = cluster_bootstrap(values[:, 0], np.arange(len(values)), n_resamples=500)
    assert iid.high - iid.low == pytest.approx(2 * half[0], rel=0.15)


def test_percentiles_cover_too_seldom_where_five_templates_differ():
    values, factors = crossed_data(SPREADS["templates"])
    plain = pigeonhole_bootstrap_many(values, factors, n_resamples=600, interval="percentile")
    assert coverage(plain) < 0.88


def test_expansion_for_the_scarcest_factor_covers_too_often_where_another_differs():
    values, factors = crossed_data(SPREADS["numbers"])
    wide = pigeonhole_bootstrap_many(values, factors, n_resamples=600, interval="expanded")
    assert coverage(wide) > 0.97


def test_noise_of_items_alone_counts_seven_times_in_the_variance():
    # a product of three independent weights of variance about 1 has second moment 2**3
    values, factors = crossed_data((0.0, 0.0, 0.0, 1.0), shape=(20, 20, 20), n=40)
    found = pigeonhole_bootstrap_many(values, factors, n_resamples=400, interval="percentile")
    widths = np.array([(e.high - e.low) / 2 / 1.96 for e in found]) ** 2
    truth = 1.0 / len(values)
    assert 5.5 < widths.mean() / truth < 8.5
    assert coverage(found) == 1.0


def test_one_factor_gives_student_s_interval_of_its_means():
    rng = generator(1, "one factor")
    means = rng.normal(size=12)
    found = pigeonhole_bootstrap(np.repeat(means, 3), {"row": np.repeat(np.arange(12), 3)})
    half = float(student.ppf(0.975, 11)) * means.std(ddof=1) / math.sqrt(12)
    assert found.diagnostics["df"] == pytest.approx(11)
    assert (found.high - found.low) / 2 == pytest.approx(half, rel=0.06)


@given(st.lists(st.tuples(st.floats(-5, 5), st.integers(0, 3), st.integers(0, 3)), min_size=4))
def test_the_value_is_the_mean_and_lies_in_its_interval(items):
    values = np.array([item[0] for item in items])
    factors = {"row": [item[1] for item in items], "column": [item[2] for item in items]}
    (found,) = pigeonhole_bootstrap_many(values[:, None], factors, n_resamples=100)
    if found is None:
        assert all(len(set(codes)) == 1 for codes in factors.values())
        return
    assert found.value == pytest.approx(values.mean(), abs=1e-12)
    assert found.low <= found.value <= found.high


def test_a_metric_that_is_not_defined_for_an_item_leaves_both_sums():
    rng = generator(2, "undefined")
    values = rng.normal(size=(60, 2))
    values[:20, 1] = np.nan
    factors = {"row": np.arange(60) % 6, "column": np.arange(60) % 5}
    _, found = pigeonhole_bootstrap_many(values, factors)
    assert found.value == pytest.approx(values[20:, 1].mean())
    assert (found.diagnostics["n_items"], found.diagnostics["n_undefined"]) == (40, 20)
    ratio = pigeonhole_bootstrap(
        np.nan_to_num(values[:, 1]), factors, denominators=(np.arange(60) >= 20).astype(float)
    )
    assert (ratio.low, ratio.high) == pytest.approx((found.low, found.high))


def test_many_metrics_get_what_each_gets_alone():
    values, factors = crossed_data(SPREADS["even"], shape=(4, 5, 6), n=3)
    values[7, 1] = np.nan
    together = pigeonhole_bootstrap_many(values, factors, units=("prob", "bits", "none"))
    for k, unit in enumerate(("prob", "bits", "none")):
        alone = pigeonhole_bootstrap(values[:, k].copy(), factors, unit=unit)
        assert together[k].unit == unit
        assert (together[k].value, together[k].low, together[k].high) == pytest.approx(
            (alone.value, alone.low, alone.high)
        )


def test_a_metric_defined_nowhere_has_no_estimate():
    values = np.array([[1.0, np.nan], [2.0, np.nan], [3.0, np.nan]])
    first, second = pigeonhole_bootstrap_many(values, {"row": [0, 1, 2]})
    assert first.value == 2.0
    assert second is None
    with pytest.raises(InputError, match="0 defined of 3"):
        pigeonhole_bootstrap(values[:, 1].copy(), {"row": [0, 1, 2]})


def test_a_factor_of_one_level_is_fixed():
    values = generator(3, "fixed").normal(size=30)
    rows = np.arange(30) % 10
    alone = pigeonhole_bootstrap(values, {"row": rows})
    beside = pigeonhole_bootstrap(values, {"template": ["C1"] * 30, "row": rows})
    assert (beside.low, beside.high) == (alone.low, alone.high)
    assert beside.diagnostics["levels_template"] == 1


@pytest.mark.parametrize("interval", ["student", "expanded", "percentile"])
def test_values_that_are_all_equal_leave_no_doubt(interval):
    found = pigeonhole_bootstrap(np.full(6, 0.5), {"row": [0, 0, 1, 1, 2, 2]}, interval=interval)
    assert (found.low, found.value, found.high) == (0.5, 0.5, 0.5)
    assert found.method == f"pigeonhole-{interval}"


def test_an_estimate_is_the_same_for_the_same_seed():
    values, factors = crossed_data(SPREADS["even"], shape=(3, 4, 5), n=1)
    one, same, other = (
        pigeonhole_bootstrap(values[:, 0].copy(), factors, seed=seed).to_dict()
        for seed in (0, 0, 1)
    )
    assert one == same
    assert one != other


def test_a_correlation_is_pearson_s_and_its_interval_covers_it():
    hits, n_trials = 0, 200
    for trial in range(n_trials):
        rng = generator(trial, "correlation")
        common, own = rng.normal(size=(2, 40, 1))
        x = common + 0.3 * rng.normal(size=(40, 6))
        y = 0.6 * common + 0.8 * own + 0.3 * rng.normal(size=(40, 6))
        found = pigeonhole_correlation(
            x.ravel(), y.ravel(), {"row": np.repeat(np.arange(40), 6)}, n_resamples=200
        )
        assert found.value == pytest.approx(np.corrcoef(x.ravel(), y.ravel())[0, 1])
        truth = 0.6 / 1.09
        hits += found.low <= truth <= found.high
    low, high = binom.ppf([5e-5, 1 - 5e-5], n_trials, 0.95)
    assert low <= hits <= high


def test_a_correlation_leaves_out_what_is_not_defined_and_stays_within_one():
    rng = generator(4, "nan")
    x = rng.normal(size=30)
    y = x + 0.1 * rng.normal(size=30)
    y[3], x[5] = np.nan, np.nan
    ok = np.isfinite(x + y)
    found = pigeonhole_correlation(x, y, {"row": np.arange(30)})
    assert found.value == pytest.approx(np.corrcoef(x[ok], y[ok])[0, 1])
    assert found.diagnostics["n_undefined"] == 2
    assert 0.9 < found.low < found.value < found.high < 1.0
    assert pigeonhole_correlation(x, -2 * x + 1, {"row": np.arange(30)}).value == -1.0
    with pytest.raises(InputError, match="two sides that vary"):
        pigeonhole_correlation(x, np.ones(30), {"row": np.arange(30)})


def test_what_cannot_be_resampled_is_refused():
    values = np.array([1.0, 2.0])
    rows = {"row": [0, 1]}
    with pytest.raises(ShapeError, match="3 items"):
        pigeonhole_bootstrap(values, {"row": [0, 1, 2]})
    with pytest.raises(InputError, match="1 infinite"):
        pigeonhole_bootstrap(np.array([1.0, np.inf]), rows)
    with pytest.raises(InputError, match=r"not negative, got -1\.0"):
        pigeonhole_bootstrap(values, rows, denominators=np.array([1.0, -1.0]))
    with pytest.raises(InputError, match="at least 2 levels"):
        pigeonhole_bootstrap(values, {"row": [0, 0]})
    with pytest.raises(InputError, match="level"):
        pigeonhole_bootstrap(values, rows, level=1.0)
    with pytest.raises(InputError, match="100 resamples"):
        pigeonhole_bootstrap(values, rows, n_resamples=10)
    with pytest.raises((InputError, TypeCheckError), match="interval"):
        pigeonhole_bootstrap(values, rows, interval="bca")
    with pytest.raises(ShapeError, match="one unit a metric"):
        pigeonhole_bootstrap_many(values[:, None], rows, units=("bits", "nats"))
    sparse = np.full(50, np.nan)
    sparse[:2] = 1.0, 2.0
    factors = {name: np.arange(50) for name in "abc"}
    with pytest.raises(InputError, match="half of its resamples; got 2 defined of 50"):
        pigeonhole_bootstrap(sparse, factors)
    both = np.stack([sparse, np.ones(50)], axis=1)
    assert [found is None for found in pigeonhole_bootstrap_many(both, factors)] == [True, False]
