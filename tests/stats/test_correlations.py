"""Weighted correlations: against SciPy on items repeated as often as they weigh."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from jaxtyping import TypeCheckError
from scipy.stats import binom, pearsonr, spearmanr

from likely.core.streams import generator
from likely.errors import InputError, ShapeError
from likely.stats.correlations import (
    _pearson,
    _spearman,
    cluster_correlation,
    rank_correlation,
)


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4), st.integers(0, 3)), min_size=3))
def test_a_cluster_drawn_several_times_counts_as_so_many_copies(items):
    x, y, clusters = (np.array(side) for side in zip(*items, strict=True))
    x, y = x.astype(float), y.astype(float)
    members = np.unique(clusters, return_inverse=True)[1]
    rng = generator(0, "copies")
    n = members.max() + 1
    weights = rng.multinomial(n, np.full(n, 1 / n), size=3).astype(float)
    for ours, theirs in ((_spearman, spearmanr), (_pearson, pearsonr)):
        found = ours(x, y, members, weights)
        for value, row in zip(found, weights, strict=True):
            copies = row[members].astype(int)
            many_x, many_y = np.repeat(x, copies), np.repeat(y, copies)
            if len(set(many_x)) > 1 and len(set(many_y)) > 1:
                assert value == pytest.approx(theirs(many_x, many_y).statistic, abs=1e-9)
            else:
                assert np.isnan(value)


def test_batches_of_items_do_not_change_ranks(monkeypatch):
    rng = generator(1, "batches")
    x, y, members = rng.normal(size=50), rng.normal(size=50), rng.integers(0, 6, 50)
    whole = cluster_correlation(x, y, members, n_resamples=100)
    assert whole.value == pytest.approx(rank_correlation(x, y), abs=1e-12)
    monkeypatch.setattr("likely.stats.correlations._CELLS", 500)
    parts = cluster_correlation(x, y, members, n_resamples=100)
    assert (parts.low, parts.high) == pytest.approx((whole.low, whole.high))


def test_intervals_over_clusters_cover():
    hits, n_trials = 0, 150
    for trial in range(n_trials):
        rng = generator(trial, "ranks")
        x = np.repeat(rng.normal(size=40), 3)
        y = 0.5 * x + np.sqrt(0.75) * np.repeat(rng.normal(size=40), 3)
        found = cluster_correlation(x, y, np.repeat(np.arange(40), 3), n_resamples=300, seed=trial)
        # Spearman's correlation of a normal law with correlation 0.5
        hits += found.low <= 6 / np.pi * np.arcsin(0.25) <= found.high
    low, _ = binom.ppf([5e-5, 1 - 5e-5], n_trials, 0.92)
    assert hits >= low


def test_a_side_that_does_not_vary_has_no_correlation():
    x = np.arange(6.0)
    for kind in ("spearman", "pearson"):
        assert cluster_correlation(x, np.ones(6), np.arange(6), kind=kind) is None
    assert rank_correlation(x, np.ones(6)) is None
    found = cluster_correlation(x, -(x**3), np.arange(6), n_resamples=100)
    assert (found.low, found.value, found.high) == (-1.0, -1.0, -1.0)


def test_what_cannot_be_correlated_is_refused():
    x = np.arange(4.0)
    with pytest.raises(ShapeError, match="4, 4 and 3 clusters"):
        cluster_correlation(x, x, [0, 1, 2])
    with pytest.raises(InputError, match="finite"):
        cluster_correlation(np.array([1.0, np.nan]), np.ones(2), [0, 1])
    with pytest.raises(InputError, match="at least 2, got 1"):
        cluster_correlation(x, x, [0, 0, 0, 0])
    with pytest.raises(InputError, match="100 resamples"):
        cluster_correlation(x, x, [0, 1, 2, 3], n_resamples=5)
    with pytest.raises((InputError, TypeCheckError), match="kind"):
        cluster_correlation(x, x, [0, 1, 2, 3], kind="kendall")
