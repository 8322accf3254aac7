"""Few clusters: Student's interval in closed form, and the wild bootstrap against its own test."""

import math

import numpy as np
import pytest
from scipy.stats import binom
from scipy.stats import t as student

from likely.core.streams import generator
from likely.errors import InputError, ShapeError
from likely.stats.comparison import sign_flip
from likely.stats.few_clusters import cluster_t, wild_cluster_bootstrap


def test_equal_clusters_give_student_s_interval_of_their_means():
    rng = generator(0, "equal")
    values = rng.normal(size=(6, 10))
    found = cluster_t(values.ravel(), np.repeat(np.arange(6), 10), unit="bits")
    means = values.mean(axis=1)
    half = float(student.ppf(0.975, 5)) * means.std(ddof=1) / math.sqrt(6)
    assert found.value == pytest.approx(means.mean())
    assert found.high - found.value == pytest.approx(half)
    assert (found.unit, found.diagnostics["df"]) == ("bits", 5)


def test_unequal_clusters_give_the_cluster_robust_error_of_a_regression_on_a_constant():
    import statsmodels.api as sm

    rng = generator(1, "unequal")
    clusters = rng.integers(0, 7, 80)
    values = rng.normal(size=80) + 0.5 * rng.normal(size=7)[clusters]
    fit = sm.OLS(values, np.ones(80)).fit(
        cov_type="cluster", cov_kwds={"groups": clusters, "use_correction": False}, use_t=True
    )
    found = cluster_t(values, clusters)
    error = float(fit.bse[0]) * math.sqrt(7 / 6)
    assert found.value == pytest.approx(float(fit.params[0]))
    assert found.value - found.low == pytest.approx(error * float(student.ppf(0.975, 6)))


def test_a_note_goes_with_fewer_than_twenty_clusters():
    values = generator(2, "note").normal(size=40)
    few, many = (cluster_t(values, np.arange(40) % g) for g in (19, 20))
    assert few.diagnostics["note"] == "19 clusters, fewer than 20: read the interval loosely"
    assert "note" not in many.diagnostics


def test_undefined_items_are_left_out_and_counted():
    values = generator(3, "undefined").normal(size=30)
    clusters = np.arange(30) % 5
    values[::7] = np.nan
    ok = np.isfinite(values)
    for method in (cluster_t, wild_cluster_bootstrap):
        found, same = method(values, clusters), method(values[ok], clusters[ok])
        assert (found.low, found.high) == (same.low, same.high)
        assert (found.diagnostics["n_items"], found.diagnostics["n_undefined"]) == (25, 5)


def test_signs_on_equal_clusters_end_where_the_test_of_signs_refuses():
    values = generator(4, "signs").normal(size=(10, 3)) + 0.4
    clusters = np.repeat(np.arange(10), 3)
    found = wild_cluster_bootstrap(values.ravel(), clusters, weights="rademacher")
    assert found.diagnostics["n_patterns"] == 1024
    for end, inwards in ((found.low, 1e-6), (found.high, -1e-6)):
        outside = sign_flip((values - end + inwards).ravel(), clusters).p_value
        inside = sign_flip((values - end - inwards).ravel(), clusters).p_value
        assert outside < 0.05 <= inside


def test_five_clusters_need_more_than_signs():
    values = generator(5, "five").normal(size=5)
    with pytest.raises(InputError, match="32 patterns of 5 clusters are too few"):
        wild_cluster_bootstrap(values, np.arange(5), weights="rademacher")
    found = wild_cluster_bootstrap(values, np.arange(5))
    assert found.method == "wild-cluster-webb"
    assert found.diagnostics["n_patterns"] == 1999
    assert found.low < found.value < found.high
    assert wild_cluster_bootstrap(values[:4], [0, 1, 2, 3]).diagnostics["n_patterns"] == 6**4


@pytest.mark.parametrize("n_clusters", [5, 15])
def test_a_95_percent_wild_interval_covers_95_percent_of_the_time(n_clusters):
    hits, n_trials = 0, 120
    for trial in range(n_trials):
        rng = generator(trial, "wild", n_clusters)
        values = rng.normal(size=(n_clusters, 1)) + 0.5 * rng.normal(size=(n_clusters, 4))
        found = wild_cluster_bootstrap(
            values.ravel(), np.repeat(np.arange(n_clusters), 4), n_resamples=499, seed=trial
        )
        hits += found.low <= 0.0 <= found.high
    low, high = binom.ppf([5e-5, 1 - 5e-5], n_trials, 0.95)
    assert low <= hits <= high


@pytest.mark.parametrize("method", [cluster_t, wild_cluster_bootstrap])
def test_clusters_that_agree_leave_no_doubt(method):
    found = method(np.full(9, 0.1), np.arange(9) % 3)
    assert found.low == pytest.approx(0.1)
    assert found.high == pytest.approx(0.1)


def test_what_cannot_be_estimated_is_refused():
    values = np.array([1.0, 2.0])
    with pytest.raises(InputError, match="2 clusters with a defined value needed, got 1"):
        cluster_t(values, [0, 0])
    with pytest.raises(ShapeError, match="2, 3 and 2"):
        cluster_t(values, [0, 1, 2])
    with pytest.raises(InputError, match="infinite"):
        cluster_t(np.array([1.0, np.inf]), [0, 1])
    with pytest.raises(InputError, match=r"positive, got 0\.0"):
        cluster_t(values, [0, 1], denominators=np.array([1.0, 0.0]))
    with pytest.raises(InputError, match="level"):
        cluster_t(values, [0, 1], level=0.0)
    with pytest.raises(InputError, match="100 resamples"):
        wild_cluster_bootstrap(values, [0, 1], n_resamples=9)
