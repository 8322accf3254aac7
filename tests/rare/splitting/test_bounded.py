"""Particles that climb by a bound of their score still count the score itself."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import norm

from likely.errors import CapabilityError
from likely.rare.splitting.config import SplittingConfig
from likely.rare.splitting.drive import split
from likely.rare.splitting.lockstep import Request, run_together

CONFIG = SplittingConfig(n_particles=200, n_steps=5, n_replicates=10)


class TwoWalls:
    """The score is the lower of two coordinates less their cuts; its bound knows of the first."""

    def __init__(self, first, second):
        self.cuts = np.array([first, second])
        self.n_exact = 0
        self.n_upper = 0

    def __call__(self, states, run, floor):
        self.n_exact += len(states)
        return (states[:, :2] - self.cuts).min(axis=1)

    def settle(self):
        self.n_before = self.n_exact

    def upper(self, states, run):
        self.n_upper += len(states)
        return states[:, 0] - self.cuts[0]


@pytest.mark.parametrize("second", [-1.0, 0.5])
def test_what_the_bound_misses_is_counted(spherical, streams, close_to, second):
    first = float(norm.isf(1e-5))
    truth = 1e-5 * float(norm.sf(second))
    score = TwoWalls(first, second)
    found = split(score, spherical(3), CONFIG, streams=streams(1))[0]
    assert close_to([run.log_prob for run in found.runs], truth, least=0.3)
    assert score.n_exact - score.n_before < 0.2 * score.n_upper


def test_each_level_counts_the_score(spherical, streams):
    # at the first levels nothing has been climbed: the share is that of plain draws
    score = TwoWalls(1.5, 1.5)
    found = split(score, spherical(2), CONFIG, streams=streams(2))[0]
    level = found.runs[0].levels[0].level
    truth = float(norm.sf(1.5 + level) ** 2)
    shares = [math.exp(run.levels[0].log_prob) for run in found.runs]
    bounds = [run.levels[0].n_alive / 200 for run in found.runs]
    assert np.mean(bounds) > 1.05 * np.mean(shares)
    assert abs(np.mean(shares) - truth) < 4.0 * math.sqrt(truth * (1.0 - truth) / 2000)


def test_a_level_that_bounds_alone_reach_leaves_the_estimate(spherical, streams):
    score = TwoWalls(2.0, 2.6)
    few = replace(CONFIG, n_particles=30, n_replicates=40)
    found = split(score, spherical(2), few, streams=streams(4))[0]
    inner = [level for run in found.runs for level in run.levels[:-1]]
    assert any(math.isinf(level.log_prob) for level in inner)  # 30 particles, no score among them
    assert all(level.n_alive for level in inner)
    assert math.isfinite(found.combined.high)
    truth = float(norm.sf(2.0) * norm.sf(2.6))
    ratios = np.array([math.exp(run.log_prob) for run in found.runs]) / truth
    assert abs(ratios.mean() - 1.0) < 4.0 * ratios.std(ddof=1) / math.sqrt(40)


def test_a_bound_that_no_score_reaches_is_an_estimate_of_zero(spherical, streams):
    score = TwoWalls(1.0, 1.0)
    easy = replace(CONFIG, n_replicates=2)
    score.upper = lambda states, run: np.full(len(states), 5.0)
    score.cuts = np.array([50.0, 50.0])
    found = split(score, spherical(2), replace(easy, max_levels=2), streams=streams(3))[0]
    assert found.log_prob == -math.inf
    assert [run.stop for run in found.runs] == ["extinct", "extinct"]


def test_only_scorers_with_bounds_are_asked_for_them():
    def asks():
        yield Request(states=np.zeros((1, 1)), wish="upper")

    with pytest.raises(CapabilityError, match="a method 'upper', got 'function'"):
        run_together([(0, asks())], lambda states, run, floor: states[:, 0], n_together=1)
