"""How the share of pairs varies: its influences, and the coverage of the intervals."""

import math

import numpy as np
import pytest
from clouds import (
    exact_gaussian,
    gaussian,
    intervals_of,
    pair_hits,
    pairs_of,
    split_of,
    winning,
)
from scipy.stats import beta, norm
from test_decomposition import Normal

from likely.rare.qld.cloud import Cloud
from likely.rare.qld.decomposition import log_total
from likely.rare.qld.sampling import Pairs, tail_interval
from likely.rare.qld.survival import Extended
from likely.stats.intervals import clopper_pearson


@pytest.mark.parametrize("event", [winning(0), winning(5), winning(0, 7)], ids=str)
def test_influences_are_what_each_activation_adds_on_either_side(event):
    cloud = gaussian(120)
    parts, _, pairs = pairs_of(cloud, event)
    hits = pair_hits(cloud, parts.direction, event)
    rests = cloud.points - parts.along[:, None] * parts.direction
    pull = np.einsum("ik,k,id->d", hits, parts.along, rests) / 120**2
    sides = hits.mean(axis=0) + hits.mean(axis=1) - 2.0 * hits.mean()
    np.testing.assert_allclose(pairs.influence, sides + parts.along * (rests @ pull), atol=1e-6)
    assert pairs.influence.sum() == pytest.approx(0.0, abs=1e-4)
    # The first two are the derivative of the share by the weight of one activation.
    weights = np.full(120, 1.0)
    weights[7] += 1e-6
    weights /= weights.sum()
    slope = (weights @ hits @ weights - hits.mean()) / 1e-6 * 120
    assert slope == pytest.approx(sides[7], abs=1e-5)


def test_one_rival_alone_gives_the_error_of_plain_counting():
    cloud = gaussian(500, n_tokens=2)
    *_, pairs = pairs_of(cloud, winning(0))
    share = pairs.share
    assert 0.02 < share < 0.98
    assert pairs.variance == pytest.approx(share * (1 - share) / 500, rel=1e-6)
    low, high = pairs.interval(level=0.95)
    hits = round(500 * share)
    exact = beta.ppf(0.025, hits, 501 - hits), beta.isf(0.025, hits + 1, 500 - hits)
    assert math.exp(low) == pytest.approx(exact[0], rel=0.1)
    assert math.exp(high) == pytest.approx(exact[1], rel=0.1)


def test_no_pair_leaves_the_limit_of_no_hit_among_independent_activations():
    none = Pairs(count=0, influence=np.zeros(1000))
    low, high = none.interval(level=0.95)
    assert low == -math.inf
    assert math.exp(high) == pytest.approx(1 - 0.025**0.001)
    assert none.effective == 0.0


def test_pairs_that_all_hit_leave_the_limit_of_independent_activations_that_do():
    rounding = 1e-17 * np.random.default_rng(0).standard_normal(1000)
    every = Pairs(count=1000**2, influence=rounding)
    low, high = every.interval(level=0.95)
    assert math.exp(low) == pytest.approx(clopper_pearson(1000, 1000, level=0.95)[0], rel=1e-12)
    assert high == 0.0
    assert every.effective == 1000.0


@pytest.mark.parametrize(("n", "truth", "certain"), [(500, 0.9998, 0.9), (1000, 0.998, 0.13)])
def test_intervals_cover_the_truth_of_events_that_hardly_ever_miss(n, truth, certain):
    """Two rivals, one of them far off; 86 of 100 intervals cover at 95 %, but for 1e-4."""
    weight = np.array([[1.0, 0.0], [0.0, 0.0], [-3.0, 0.1]])
    bias, covered, n_certain = np.array([norm.ppf(truth), 0.0, -30.0]), 0, 0
    for run in range(100):
        points = np.random.default_rng(run).standard_normal((n, 2))
        *_, pairs = pairs_of(Cloud.of(points, weight, bias, ridge=0.0), winning(0))
        low, high = pairs.interval(level=0.95)
        covered += low <= math.log(truth) <= min(high, 0.0)
        n_certain += pairs.share == 1.0
    assert covered >= 86
    assert n_certain == pytest.approx(100 * certain, abs=15)


def test_intervals_cover_the_truth_of_gaussian_activations():
    """True coverages between .9 and .99 give these counts but for 1e-4."""
    n, event = 800, winning(6)
    exact = exact_gaussian(20_000)
    parts = split_of(exact, event)
    found = intervals_of(parts, exact, Normal(), negligible=1e-6)
    truth = log_total(found, Normal(), len(exact.points))
    assert -5.0 < truth < -4.0
    covered = 0
    for run in range(160):
        *_, pairs = pairs_of(gaussian(n, seed=run), event)
        low, high = pairs.interval(level=0.95)
        covered += low <= truth <= high
    assert 130 <= covered <= 160
    for kind, runs, least in (("gaussian", 30, 20), ("gpd", 15, 8)):
        tailed = 0
        for run in range(runs):
            cloud = gaussian(n, seed=run)
            parts = split_of(cloud, event)
            law = Extended.fit(parts.values, kind)
            found = intervals_of(parts, cloud, law, negligible=1e-6)
            low, high = tail_interval(parts, cloud, found, law, level=0.95)
            tailed += low <= truth <= high
        assert tailed >= least
