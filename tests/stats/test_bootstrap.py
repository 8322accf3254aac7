"""Cluster bootstrap: its estimate, its intervals against theory, and their coverage."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom
from scipy.stats import t as student

from likely.core.streams import generator
from likely.errors import InputError, ShapeError
from likely.stats.bootstrap import cluster_bootstrap


@given(st.lists(st.tuples(st.floats(-5, 5), st.integers(0, 3)), min_size=4, max_size=30))
def test_the_value_is_the_mean_over_items_and_lies_in_its_interval(items):
    values = np.array([value for value, _ in items])
    clusters = [f"c{c}" for _, c in items]
    if len(set(clusters)) < 2:
        return
    found = cluster_bootstrap(values, clusters, n_resamples=100)
    assert found.value == pytest.approx(values.mean(), abs=1e-12)
    assert found.low <= found.value <= found.high
    assert found.diagnostics["n_clusters"] == len(set(clusters))
    assert found.diagnostics["n_items"] == len(items)


def test_a_ratio_of_sums_and_the_same_as_a_function_of_weights():
    rng = generator(0, "ratio")
    earned, bits = rng.normal(size=40), rng.uniform(1, 4, 40)
    clusters = np.repeat(np.arange(10), 4)
    ratio = cluster_bootstrap(earned, clusters, denominators=bits, unit="bits")
    assert ratio.value == pytest.approx(earned.sum() / bits.sum())
    same = cluster_bootstrap(
        earned, clusters, statistic=lambda w: (w @ earned) / (w @ bits), unit="bits"
    )
    assert (same.value, same.low, same.high) == pytest.approx((ratio.value, ratio.low, ratio.high))


def test_single_item_clusters_give_the_interval_of_a_mean():
    values = generator(1, "normal").normal(size=400)
    found = cluster_bootstrap(values, np.arange(400), n_resamples=20_000)
    half = 1.96 * values.std() / 20
    assert found.low == pytest.approx(values.mean() - half, abs=0.05 * half)
    assert found.high == pytest.approx(values.mean() + half, abs=0.05 * half)


def test_copies_within_clusters_add_no_certainty():
    values = generator(2, "copies").normal(size=20)
    alone = cluster_bootstrap(values, np.arange(20))
    copied = cluster_bootstrap(np.repeat(values, 7), [i for i in range(20) for _ in range(7)])
    assert (copied.low, copied.high) == pytest.approx((alone.low, alone.high))


def test_the_expanded_interval_of_few_clusters_is_about_student_s():
    values = generator(3, "few").normal(size=12)
    half = float(student.ppf(0.975, 11)) * values.std(ddof=1) / math.sqrt(12)
    found = cluster_bootstrap(values, np.arange(12), n_resamples=20_000)
    narrow = cluster_bootstrap(values, np.arange(12), n_resamples=20_000, interval="percentile")
    assert (found.high - found.low) / 2 == pytest.approx(half, rel=0.06)
    assert narrow.high - narrow.low < found.high - found.low


def test_bca_leans_with_a_skewed_law():
    values = generator(4, "skewed").exponential(size=60)
    plain = cluster_bootstrap(values, np.arange(60), interval="percentile")
    leaning = cluster_bootstrap(values, np.arange(60), interval="bca")
    assert leaning.low > plain.low
    assert leaning.high > plain.high


@pytest.mark.parametrize("interval", ["expanded", "percentile", "bca"])
def test_values_that_are_all_equal_leave_no_doubt(interval):
    found = cluster_bootstrap(np.full(6, 0.5), np.repeat(np.arange(3), 2), interval=interval)
    assert (found.low, found.value, found.high) == (0.5, 0.5, 0.5)


def coverage(interval, *, n_clusters, n_trials=600):
    """How many of the intervals hold the true mean 0 of clusters of correlated items."""
    hits = 0
    for trial in range(n_trials):
        rng = generator(trial, "coverage")
        shared = rng.normal(size=(n_clusters, 1)) + 0.5 * rng.normal(size=(n_clusters, 4))
        found = cluster_bootstrap(
            shared.ravel(), np.repeat(np.arange(n_clusters), 4), interval=interval,
            n_resamples=500, seed=trial,
        )  # fmt: skip
        hits += found.low <= 0.0 <= found.high
    return hits


def test_a_95_percent_interval_covers_95_percent_of_the_time():
    # a two-sided binomial bound with a false alarm of 1e-4, if the coverage is 0.95
    hits = coverage("expanded", n_clusters=31)
    low, high = binom.ppf([5e-5, 1 - 5e-5], 600, 0.95)
    assert low <= hits <= high


def test_resampling_items_instead_of_clusters_would_be_too_sure():
    shared = np.repeat(generator(5, "clusters").normal(size=30), 10)
    by_cluster = cluster_bootstrap(shared, np.repeat(np.arange(30), 10))
    by_item = cluster_bootstrap(shared, np.arange(300))
    assert by_cluster.high - by_cluster.low > 2.5 * (by_item.high - by_item.low)


def test_a_paired_difference_is_surer_than_both():
    rng = generator(6, "paired")
    easy = rng.normal(size=50)
    one, other = easy + 0.1 * rng.normal(size=50), easy + 0.2 + 0.1 * rng.normal(size=50)
    difference = cluster_bootstrap(other - one, np.arange(50))
    assert difference.low > 0.1
    assert cluster_bootstrap(other, np.arange(50)).low < cluster_bootstrap(one, np.arange(50)).high


def test_an_estimate_is_the_same_for_the_same_seed():
    values = generator(7, "seeds").normal(size=10)
    one, same, other = (
        cluster_bootstrap(values, np.arange(10), seed=seed).to_dict() for seed in (0, 0, 1)
    )
    assert one == same
    assert one != other
    assert one["method"] == "cluster-bootstrap-expanded"


def test_what_cannot_be_resampled_is_refused():
    values = np.array([1.0, 2.0])
    with pytest.raises(InputError, match="at least 2 clusters, got 1"):
        cluster_bootstrap(values, ["a", "a"])
    with pytest.raises(ShapeError, match="2, 3 and 2"):
        cluster_bootstrap(values, ["a", "b", "c"])
    with pytest.raises(InputError, match="finite"):
        cluster_bootstrap(np.array([1.0, -np.inf]), ["a", "b"])
    with pytest.raises(InputError, match=r"minimum of 0\.0"):
        cluster_bootstrap(values, ["a", "b"], denominators=np.array([1.0, 0.0]))
    with pytest.raises(InputError, match="level"):
        cluster_bootstrap(values, ["a", "b"], level=1.0)
    with pytest.raises(InputError, match="100 resamples"):
        cluster_bootstrap(values, ["a", "b"], n_resamples=10)
    with pytest.raises(InputError, match="not finite"), np.errstate(all="ignore"):
        cluster_bootstrap(values, ["a", "b"], statistic=lambda w: w[:, 0] / w[:, 0])
