"""The error of one run, from its ancestors, and the ideal error."""

import math

import numpy as np
import pytest

from likely.errors import InputError
from likely.rare.splitting.config import SplittingConfig
from likely.rare.splitting.drive import split
from likely.rare.splitting.variance import ideal_variance, one_run_variance


def test_one_run_tells_the_spread_of_many(spherical, linear, streams):
    config = SplittingConfig(n_particles=100, n_steps=3, n_replicates=200)
    found = split(linear(3e-3), spherical(2), config, streams=streams(0))[0]
    spread = found.combined.relative_error * math.sqrt(200)
    told = np.mean([math.exp(2.0 * run.log_prob) * run.relative_variance for run in found.runs])
    told /= math.exp(2.0 * found.log_prob)
    assert math.sqrt(told) == pytest.approx(spread, rel=0.2)


def test_without_a_draw_it_is_the_variance_of_a_share():
    # K of N independent particles: (1 - K/N) / K as an unbiased share, (N - K) / ((N - 1) K)
    assert one_run_variance(np.arange(30), n_particles=100, n_draws=0) == pytest.approx(
        70.0 / (99.0 * 30.0)
    )


def test_one_ancestor_tells_nothing():
    assert one_run_variance(np.zeros(50, dtype=np.int64), n_particles=100, n_draws=9) == 1.0


def test_a_share_of_all_adds_nothing_to_the_ideal_error():
    assert ideal_variance([1.0, 0.25], n_particles=10) == pytest.approx(0.3)
    with pytest.raises(InputError, match="shares lie"):
        ideal_variance([0.0], n_particles=10)


def test_a_run_without_survivors_has_no_error():
    with pytest.raises(InputError, match="a survivor"):
        one_run_variance(np.empty(0, dtype=np.int64), n_particles=10, n_draws=1)
