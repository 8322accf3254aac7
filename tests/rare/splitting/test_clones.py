"""Only clones move: unbiased with levels from the particles; and the Poisson law of deaths."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import chi2, poisson

from likely.core.streams import generator
from likely.errors import NumericalError
from likely.rare.splitting.clones import count_kills, run_clones
from likely.rare.splitting.config import Schedule, SplittingConfig
from likely.rare.splitting.intervals import poisson_exact_interval, poisson_score_interval
from likely.rare.splitting.kernels import make_kernel
from likely.rare.splitting.lockstep import run_together
from likely.stats.intervals import clopper_pearson

CONFIG = SplittingConfig(mode="clones", n_particles=8, n_steps=1)


def runs_of(kernel, config, score, n, *, step):
    schedule = Schedule(levels=(-1e9, config.threshold), steps=((step,) * len(kernel.moves),))
    jobs = [
        (0, run_clones(kernel, config, schedule=schedule, rng=generator(0, "clones", k)))
        for k in range(n)
    ]
    return run_together(jobs, score, n_together=500)


@pytest.mark.parametrize(
    ("mode", "n_particles", "n_steps", "n_runs"),
    [("clones", 6, 1, 700), ("clones", 6, 0, 700), ("last_particle", 3, 1, 300)],
)
def test_levels_from_the_particles_are_unbiased_if_only_clones_move(
    spherical, linear, mode, n_particles, n_steps, n_runs
):
    truth = 0.1
    config = replace(CONFIG, mode=mode, n_steps=n_steps, n_particles=n_particles)
    runs = runs_of(make_kernel("aug", spherical(2)), config, linear(truth), n_runs, step=0.2)
    found = np.exp(np.array([run.log_prob for run in runs]))
    error = found.std() / math.sqrt(len(found))
    assert error < 0.1 * truth
    assert abs(found.mean() - truth) < 4.0 * error
    assert any(run.stop == "extinct" for run in runs)


def test_scores_with_ties_are_unbiased_too(spherical):
    def tied(states: np.ndarray, run: np.ndarray, floor: np.ndarray) -> np.ndarray:
        return np.floor(2.0 * np.abs(states[:, 0])) - 4.0

    config = replace(CONFIG, n_particles=20, n_steps=2)
    runs = runs_of(make_kernel("aug", spherical(1)), config, tied, 400, step=0.7)
    found = np.exp(np.array([run.log_prob for run in runs]))
    assert abs(found.mean() - 0.0455002638963584) < 4.0 * found.std() / math.sqrt(400)
    assert all(run.n_killed > run.n_passes * config.n_killed for run in runs if run.n_passes > 1)


def test_the_estimate_is_the_share_that_lives_each_time(spherical, linear):
    config = replace(CONFIG, mode="last_particle", n_particles=20, n_steps=16)
    run = runs_of(make_kernel("aug", spherical(2)), config, linear(0.05), 1, step=0.8)[0]
    assert run.n_killed == run.n_passes  # all died alone
    assert run.log_prob == pytest.approx(run.n_killed * math.log1p(-1.0 / 20.0))
    assert run.levels == ()
    assert run.n_scored == 20 + 16 * run.n_killed


def test_a_score_that_never_comes_ends_the_run(spherical):
    def flat(states: np.ndarray, run: np.ndarray, floor: np.ndarray) -> np.ndarray:
        return np.minimum(states[:, 0], -1.0)

    run = runs_of(make_kernel("aug", spherical(1)), CONFIG, flat, 1, step=0.5)[0]
    assert run.stop == "extinct"
    assert run.log_prob == -math.inf
    unending = lambda states, run, floor: -np.exp(-states[:, 0])  # noqa: E731
    config = replace(CONFIG, max_levels=3, n_particles=50)
    run = runs_of(make_kernel("aug", spherical(1)), config, unending, 1, step=0.5)[0]
    assert run.stop == "max_levels"
    assert run.log_prob is None
    assert run.log_reached < math.log(0.2)


N, LOG_PROB = 40, -8.0


@pytest.fixture(scope="module")
def kills() -> np.ndarray:
    """Deaths of ideal runs: exponential scores forget how high they are."""
    rng = generator(0, "ideal")
    above = lambda level, rng: level + rng.exponential()  # noqa: E731
    return np.array(
        [
            count_kills(rng.exponential(size=N), above, threshold=-LOG_PROB, rng=rng)
            for _ in range(2000)
        ]
    )


def test_deaths_of_the_ideal_case_are_poisson(kills):
    mean = -N * LOG_PROB
    assert abs(kills.mean() - mean) < 4.0 * math.sqrt(mean / 2000)
    assert abs(kills.var(ddof=1) / mean - 1.0) < 4.0 * math.sqrt(2.0 / 2000)
    edges = poisson.ppf(np.linspace(0.05, 0.95, 19), mean)
    seen = np.bincount(np.searchsorted(edges, kills), minlength=20)
    expected = 2000 * np.diff([0.0, *poisson.cdf(edges, mean), 1.0])
    statistic = float((np.square(seen - expected) / expected).sum())
    assert statistic < chi2.isf(1e-4, 19)


def test_the_ideal_estimate_is_unbiased_with_the_stated_variance(kills):
    ratios = np.exp(kills * math.log1p(-1.0 / N) - LOG_PROB)
    variance = math.expm1(-LOG_PROB / N)
    assert abs(ratios.mean() - 1.0) < 4.0 * math.sqrt(variance / 2000)
    # the ratio is nearly log-normal: four standard errors of its variance are about 20 per cent
    assert ratios.var(ddof=1) == pytest.approx(variance, rel=0.2)


@pytest.mark.parametrize("interval", [poisson_score_interval, poisson_exact_interval])
def test_poisson_intervals_cover_as_often_as_they_say(kills, interval):
    ends = [interval(int(count), N) for count in kills]
    covered = sum(low <= LOG_PROB <= high for low, high in ends)
    low, high = clopper_pearson(covered, 2000, level=1.0 - 1e-4)
    assert high >= 0.95
    assert low <= 0.956  # of a Poisson mean of 320, exact intervals cover little more than asked


def test_a_draw_must_be_above_its_level():
    with pytest.raises(NumericalError, match="a draw above"):
        count_kills(np.zeros(2), lambda level, rng: level, threshold=1.0, rng=generator(0))
