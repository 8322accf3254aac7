"""One run through levels: unbiasedness, extinction, ties and the ways a run can end."""

import math
from dataclasses import replace

import numpy as np
import pytest

from likely.core.streams import generator
from likely.rare.splitting.config import Schedule, SplittingConfig
from likely.rare.splitting.kernels import make_kernel
from likely.rare.splitting.levels import frozen, level_above, quantile_level, run_levels
from likely.rare.splitting.lockstep import run_together

CONFIG = SplittingConfig(n_particles=8, n_steps=1, n_replicates=1)


def runs_of(kernel, config, score, n, *, schedule=None, name="runs"):
    jobs = [
        (0, run_levels(kernel, config, schedule=schedule, rng=generator(0, name, k)))
        for k in range(n)
    ]
    return run_together(jobs, score, n_together=500)


def estimates(runs) -> np.ndarray:
    return np.exp(np.array([run.log_prob for run in runs]))


@pytest.mark.parametrize(("kernel", "step"), [("aug", 0.05), ("mala_radial", 0.002)])
def test_frozen_levels_are_unbiased_with_few_particles_that_hardly_move(
    spherical, linear, kernel, step
):
    # eight particles, one tiny step: wide and often extinct, and right on average all the same
    truth = 0.05
    made = make_kernel(kernel, spherical(2))
    steps = (step,) * len(made.moves)
    schedule = Schedule(levels=(-1.4, -0.6, 0.0), steps=(steps, steps))
    runs = runs_of(made, CONFIG, linear(truth), 700, schedule=schedule)
    found = estimates(runs)
    error = found.std() / math.sqrt(len(found))
    assert error < 0.1 * truth
    assert abs(found.mean() - truth) < 4.0 * error
    n_extinct = sum(run.stop == "extinct" for run in runs)
    assert n_extinct > 100
    assert found[found > 0.0].mean() > truth + 4.0 * error  # leaving zeros out would be biased


def test_a_run_through_no_inner_level_is_plain_counting(spherical, linear):
    schedule = Schedule(levels=(0.0,), steps=())
    config = replace(CONFIG, n_particles=1000)
    kernel = make_kernel("aug", spherical(1))
    run = runs_of(kernel, config, linear(0.3), 1, schedule=schedule)[0]
    share = math.exp(run.log_prob)
    assert abs(share - 0.3) < 4.0 * math.sqrt(0.21 / 1000)
    assert run.relative_variance == pytest.approx((1.0 - share) / (share * 999.0))
    assert run.n_scored == 1000
    assert len(run.levels) == 1


def test_a_level_that_none_reaches_ends_the_run_at_zero(spherical, linear):
    schedule = Schedule(levels=(-4.0, 50.0, 60.0), steps=((0.5,), (0.5,)))
    config = replace(CONFIG, threshold=60.0)
    kernel = make_kernel("aug", spherical(1))
    run = runs_of(kernel, config, linear(1e-3), 1, schedule=schedule)[0]
    assert run.stop == "extinct"
    assert run.log_prob == -math.inf
    assert run.relative_variance is None
    assert run.levels[0].n_alive > 0
    assert run.levels[1].n_alive == 0
    assert run.log_reached == run.levels[0].log_prob


def test_the_estimate_is_the_product_of_the_shares(spherical, linear):
    kernel = make_kernel("aug", spherical(3, 4.0))
    config = replace(CONFIG, n_particles=100, n_steps=4)
    run = runs_of(kernel, config, linear(1e-4, tail=4.0), 1)[0]
    shares = [one.n_alive / one.n_particles for one in run.levels]
    assert run.log_prob == pytest.approx(math.fsum(map(math.log, shares)))
    assert all(0.5 <= share < 0.6 for share in shares[:-1])
    levels = [one.level for one in run.levels]
    assert levels == sorted(set(levels))
    assert levels[-1] == 0.0
    assert run.n_ancestors == run.levels[-1].n_ancestors <= 100


def tied(states: np.ndarray, run: np.ndarray, floor: np.ndarray) -> np.ndarray:
    """A score of whole numbers: floor of the absolute first coordinate, doubled, less 4."""
    return np.floor(2.0 * np.abs(states[:, 0])) - 4.0


def test_ties_are_counted_exactly(spherical):
    # P(|x| >= 2) = 0.0455: the levels are whole numbers that many particles share
    kernel = make_kernel("aug", spherical(1))
    config = replace(CONFIG, n_particles=200, n_steps=3)
    pilot = runs_of(kernel, config, tied, 1)[0]
    schedule = frozen(pilot, threshold=0.0)
    assert all(level == round(level) for level in schedule.levels)
    found = estimates(runs_of(kernel, config, tied, 60, schedule=schedule))
    error = found.std() / math.sqrt(60)
    assert abs(found.mean() - 0.0455002638963584) < 4.0 * error
    assert error < 0.15 * 0.0455


def test_a_score_that_most_particles_share_is_left_by_the_least_rise(spherical):
    def three_values(states: np.ndarray, run: np.ndarray, floor: np.ndarray) -> np.ndarray:
        size = np.abs(states[:, 0])
        return np.where(size < 1.5, -2.0, np.where(size < 2.0, -1.0, 0.0))

    kernel = make_kernel("aug", spherical(1))
    config = replace(CONFIG, n_particles=300, n_steps=3)
    run = runs_of(kernel, config, three_values, 1)[0]
    assert [one.level for one in run.levels] == [-2.0, -1.0, 0.0]
    assert run.levels[0].n_alive == 300
    assert abs(run.log_prob - math.log(0.0455)) < 4.0 * math.sqrt(run.relative_variance)


def test_a_level_that_does_not_rise_ends_the_run_without_an_estimate(spherical):
    def flat(states: np.ndarray, run: np.ndarray, floor: np.ndarray) -> np.ndarray:
        return np.minimum(np.floor(states[:, 0]), -1.0)

    kernel = make_kernel("aug", spherical(1))
    run = runs_of(kernel, replace(CONFIG, n_particles=50), flat, 1)[0]
    assert run.stop == "stuck"
    assert run.log_prob is None
    assert run.levels[-1].level == -1.0
    assert run.log_reached == run.levels[-1].log_prob
    schedule = frozen(run, threshold=0.0)  # what is frozen of it is still unbiased, and extinct
    again = runs_of(kernel, CONFIG, flat, 1, schedule=schedule)[0]
    assert again.stop == "extinct"


def test_more_levels_than_allowed_end_the_run_without_an_estimate(spherical, linear):
    kernel = make_kernel("aug", spherical(1))
    config = replace(CONFIG, n_particles=50, n_steps=2, max_levels=5)
    run = runs_of(kernel, config, linear(1e-9), 1)[0]
    assert run.stop == "max_levels"
    assert run.log_prob is None
    assert len(run.levels) == 5


def test_steps_are_frozen_inside_a_level_and_tuned_between(spherical, linear):
    kernel = make_kernel("aug", spherical(4, 4.0))
    config = replace(CONFIG, n_particles=200, n_steps=4)
    run = runs_of(kernel, config, linear(1e-5, tail=4.0), 1)[0]
    for one, after in zip(run.levels[:-2], run.levels[1:-1], strict=True):
        for before, now in zip(one.moves, after.moves, strict=True):
            expected = before.step * math.exp(0.5 * (before.acceptance - 0.4))
            largest = 1.0 if now.name == "joint" else 5.0
            assert now.step == pytest.approx(min(expected, largest))
    schedule = frozen(run, threshold=0.0)
    again = runs_of(kernel, config, linear(1e-5, tail=4.0), 1, schedule=schedule, name="again")[0]
    pairs = zip(again.levels, run.levels, strict=True)
    assert all(
        [move.step for move in one.moves] == [move.step for move in two.moves]
        and one.level == two.level
        for one, two in pairs
    )


def test_only_what_may_pass_is_scored_and_floors_may_screen(spherical, linear):
    # a scorer that rejects early, with any number below the floor, changes nothing
    exact = linear(1e-4, tail=4.0)

    def screened(states: np.ndarray, run: np.ndarray, floor: np.ndarray) -> np.ndarray:
        scores = exact(states, run, floor)
        return np.where(scores >= floor, scores, np.maximum(floor - 1.0, -1e9))

    kernel = make_kernel("aug", spherical(3, 4.0))
    config = replace(CONFIG, n_particles=100, n_steps=4)
    runs = [runs_of(kernel, config, score, 1)[0] for score in (exact, screened)]
    assert runs[0] == runs[1]
    assert exact.n_states == sum(run.n_scored for run in runs)
    tried = 100 + sum(2 * 4 * 100 for one in runs[0].levels if one.moves)
    assert runs[0].n_scored < 0.95 * tried  # the rest failed the prior's test


def test_runner_ups_are_counted_at_each_level(spherical, linear):
    class Named:
        def __call__(self, states, run, floor):
            return linear(0.01)(states, run, floor)

        def runner_up(self, states, run):
            return np.where(states[:, 0] > 1.0, 5, 3)

    kernel = make_kernel("aug", spherical(1))
    config = replace(CONFIG, n_particles=100, runner_up=True)
    run = runs_of(kernel, config, Named(), 1)[0]
    assert all(math.isclose(sum(share for _, share in one.runner_up), 1.0) for one in run.levels)
    assert run.levels[-1].runner_up == ((5, 1.0),)


def test_a_quantile_keeps_at_least_its_share():
    scores = np.array([3.0, 1.0, 2.0, 2.0, 5.0])
    assert quantile_level(scores, 0.2) == 5.0
    assert quantile_level(scores, 0.5) == 2.0  # three of five, and a tie makes it four
    assert quantile_level(scores, 0.4) == 3.0
    assert quantile_level(scores, 0.99) == 1.0


def test_a_level_above_the_dead_keeps_its_share_at_most():
    scores = np.array([3.0, 1.0, 2.0, 2.0, 5.0])
    assert level_above(scores, 0.2) == np.nextafter(3.0, 4.0)
    assert level_above(scores, 0.4) == np.nextafter(2.0, 3.0)
    assert level_above(scores, 0.6) == np.nextafter(2.0, 3.0)  # three would, and a tie leaves two
    assert level_above(scores, 0.99) == np.nextafter(1.0, 2.0)
    assert level_above(np.array([1.0, 2.0, 2.0, 2.0]), 0.5) == 2.0  # else none would be left
