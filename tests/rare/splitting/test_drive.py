"""Many targets together: the same numbers as alone, and every mode."""

import math
from dataclasses import replace

import pytest

from likely.core.jsonio import dumps
from likely.errors import InputError
from likely.rare.splitting.config import MODES, Schedule, SplittingConfig
from likely.rare.splitting.drive import split, split_fixed

CONFIG = SplittingConfig(n_particles=60, n_steps=3, n_replicates=3)


@pytest.mark.parametrize(
    ("mode", "kernel"), [*((mode, "aug") for mode in MODES), ("two_stage", "mala_radial")]
)
def test_targets_are_the_same_together_and_alone(spherical, linear, streams, mode, kernel):
    probs = (1e-2, 3e-3, 0.1)
    config = replace(CONFIG, mode=mode, kernel=kernel, n_particles=30, n_replicates=2)
    if mode == "last_particle":
        probs, config = (0.1, 0.2, 0.3), replace(config, n_particles=10, n_steps=2)
    prior = spherical(3, 4.0)
    together = split(linear(*probs, tail=4.0), prior, config, streams=streams(0), n_targets=3)
    few = replace(config, batch_states=1)  # one run at a time
    for number, prob in enumerate(probs):
        alone = split(
            linear(prob, tail=4.0),
            prior,
            few,
            streams=lambda target, part, number=number: streams(0)(number, part),
        )[0]
        assert replace(alone, target=number) == together[number]


@pytest.mark.parametrize("mode", MODES)
def test_every_mode_finds_the_probability_and_is_written_as_json(spherical, linear, streams, mode):
    config = replace(CONFIG, mode=mode, n_particles=100, n_replicates=8)
    if mode == "last_particle":
        config = replace(config, n_particles=10, n_steps=16, n_replicates=4)
    scorer = linear(0.01)
    found = split(scorer, spherical(2), config, streams=streams(1))[0]
    assert abs(found.log_prob - math.log(0.01)) < 1.2
    assert found.combined.low < found.log_prob < found.combined.high
    assert (found.pilot is None) == (mode == "adaptive")
    assert found.n_scored == scorer.n_states
    assert found.n_extinct == 0
    text = dumps(found.to_dict())
    assert '"mode": "' + mode in text
    assert (found.poisson_exact is not None) == (mode == "last_particle")


def test_scores_are_asked_for_many_runs_at_a_time(spherical, linear, streams):
    scorer = linear(1e-3, 1e-3)
    split(scorer, spherical(2), CONFIG, streams=streams(2), n_targets=2)
    together, states = scorer.n_calls, scorer.n_states
    scorer = linear(1e-3, 1e-3)
    config = replace(CONFIG, batch_states=1)
    found = split(scorer, spherical(2), config, streams=streams(2), n_targets=2)
    assert scorer.n_states == states == sum(one.n_scored for one in found)
    assert scorer.n_calls > 3 * together


def test_given_levels_need_no_pilot(spherical, linear, streams):
    schedule = Schedule(levels=(-2.0, -1.0, 0.0), steps=((0.8,), (0.5,)))
    found = split_fixed(linear(0.01), spherical(2), [schedule], CONFIG, streams=streams(3))[0]
    assert found.pilot is None
    assert [one.level for one in found.runs[0].levels] == [-2.0, -1.0, 0.0]


def test_levels_must_rise_to_the_threshold(spherical, linear, streams):
    with pytest.raises(InputError, match="rise strictly"):
        Schedule(levels=(-1.0, -1.0), steps=((0.5,),))
    with pytest.raises(InputError, match="step sizes, got 2"):
        Schedule(levels=(-1.0, 0.0), steps=((0.5,), (0.5,)))
    with pytest.raises(InputError, match="end at the threshold"):
        split_fixed(
            linear(0.01), spherical(2), [Schedule(levels=(1.0,), steps=())], streams=streams(4)
        )
    with pytest.raises(InputError, match="needs a target"):
        split(linear(0.01), spherical(2), streams=streams(4), n_targets=0)


def test_steps_of_a_schedule_belong_to_the_level_below():
    schedule = Schedule(levels=(-2.0, -1.0, 0.0), steps=((0.8,), (0.5,)))
    assert [schedule.steps_at(level) for level in (-9.0, -2.0, -1.5, -1.0, 5.0)] == [
        (0.8,), (0.8,), (0.8,), (0.5,), (0.5,),
    ]  # fmt: skip
    assert Schedule(levels=(0.0,), steps=()).steps_at(-1.0) is None


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"survival": 1.0}, "shares in"),
        ({"n_particles": 1}, "needs 2 particles"),
        ({"n_steps": -1}, "negative number"),
        ({"level": 1.0}, "the level of an interval"),
    ],
)
def test_a_configuration_out_of_range_is_refused(change, message):
    with pytest.raises(InputError, match=message):
        SplittingConfig(**change)


def test_a_target_out_of_reach_is_zero_with_an_upper_end(spherical, streams):
    found = split(
        lambda states, run, floor: -1.0 - abs(states[:, 0]),
        spherical(1),
        replace(CONFIG, n_particles=200, n_steps=4, max_levels=12),
        streams=streams(5),
    )[0]
    assert found.log_prob == -math.inf
    assert found.n_extinct == 3
    assert -12.0 < found.combined.high < math.log(0.1)
    assert any("pilot was given up (max_levels)" in one for one in found.warnings)
    assert any("3 of 3 runs went extinct" in one for one in found.warnings)
