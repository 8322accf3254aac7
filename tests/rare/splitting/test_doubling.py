"""Twice the steps at the same levels."""

import math
from dataclasses import replace

import pytest

from likely.errors import InputError
from likely.rare.splitting.config import SplittingConfig
from likely.rare.splitting.doubling import double_steps
from likely.rare.splitting.drive import split

CONFIG = SplittingConfig(n_particles=200, n_steps=4, n_replicates=4)


def test_particles_that_mix_do_not_care(spherical, linear, streams):
    prior = spherical(2)
    found = split(linear(1e-4, 1e-3), prior, CONFIG, streams=streams(0), n_targets=2)
    checked = double_steps(linear(1e-4, 1e-3), prior, found, CONFIG, streams=streams(0))
    for one, before in zip(checked, found, strict=True):
        assert abs(one.log_ratio) < 4.0 * max(one.error, 0.2)
        assert one.log_ratio == pytest.approx(one.doubled.log_prob - before.log_prob)
        assert [level.level for level in one.doubled.runs[0].levels] == [
            level.level for level in before.runs[0].levels
        ]
        assert one.doubled.n_scored > 1.5 * sum(run.n_scored for run in before.runs)


def test_a_zero_has_no_ratio(spherical, linear, streams):
    prior = spherical(2)
    found = split(linear(1e-3), prior, CONFIG, streams=streams(1))
    runs = tuple(replace(run, log_prob=-math.inf, stop="extinct") for run in found[0].runs)
    gone = replace(found[0], runs=runs, combined=replace(found[0].combined, log_prob=-math.inf))
    assert (
        double_steps(linear(1e-3), prior, [gone], CONFIG, streams=streams(1))[0].log_ratio is None
    )


def test_only_results_of_a_pilot_can_be_doubled(spherical, linear, streams):
    config = replace(CONFIG, mode="adaptive", n_replicates=1)
    found = split(linear(1e-2), spherical(2), config, streams=streams(2))
    with pytest.raises(InputError, match="mode 'two_stage'"):
        double_steps(linear(1e-2), spherical(2), found, config, streams=streams(2))
