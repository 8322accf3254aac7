"""Only clones move: where that is unbiased, and where not; and the Poisson law of deaths."""

import math
from dataclasses import replace
from fractions import Fraction
from itertools import product

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
    [("clones", 6, 0, 700), ("last_particle", 3, 0, 500), ("clones", 6, 8, 150)],
)
def test_clones_that_stay_or_forget_are_unbiased(
    spherical, linear, mode, n_particles, n_steps, n_runs
):
    truth = 0.2
    config = replace(CONFIG, mode=mode, n_steps=n_steps, n_particles=n_particles)
    runs = runs_of(make_kernel("aug", spherical(2)), config, linear(truth), n_runs, step=1.0)
    found = np.exp(np.array([run.log_prob for run in runs]))
    error = found.std() / math.sqrt(len(found))
    assert error < 0.12 * truth
    assert abs(found.mean() - truth) < 4.0 * error
    assert any(run.stop == "extinct" for run in runs) or n_steps


# The law of four points 0 to 3 with halving probabilities, and a walk that proposes either
# neighbour; the event is point 3. Expectations are exact, in fractions.
POINTS = (Fraction(1, 2), Fraction(1, 4), Fraction(1, 8), Fraction(1, 8))


def walk_above(level: int, point: int) -> dict[int, Fraction]:
    """The law of one Metropolis step from a point, above a level."""
    law = {
        other: Fraction(1, 2) * min(Fraction(1), POINTS[other] / POINTS[point])
        for other in (point - 1, point + 1)
        if level < other < 4
    }
    return {point: 1 - sum(law.values(), Fraction(0)), **law}


def expected(points: tuple[int, ...], *, n_killed: int, moves: str) -> Fraction:
    """The expected estimate from particles at these points, times how many there are."""
    n, level = len(points), sorted(points)[n_killed - 1]
    if level == 3:
        return Fraction(points.count(3), n)
    alive = [point for point in points if point > level]
    if not alive:
        return Fraction(0)
    law: dict[int, Fraction] = {}
    for parent in alive:
        for point, prob in clone_law(level, parent, moves).items():
            law[point] = law.get(point, Fraction(0)) + prob / len(alive)
    total = Fraction(0)
    for clones in product(law, repeat=n - len(alive)):
        prob = math.prod((law[point] for point in clones), start=Fraction(1))
        total += prob * expected((*alive, *clones), n_killed=n_killed, moves=moves)
    return Fraction(len(alive), n) * total


def clone_law(level: int, parent: int, moves: str) -> dict[int, Fraction]:
    if moves == "stay":
        return {parent: Fraction(1)}
    if moves == "walk":
        return walk_above(level, parent)
    above = sum(POINTS[level + 1 :], Fraction(0))
    return {point: POINTS[point] / above for point in range(level + 1, 4)}


@pytest.mark.parametrize("n_killed", [1, 2])
@pytest.mark.parametrize("n", [2, 3])
def test_clones_that_move_a_little_are_biased_exactly(n, n_killed):
    # against b9.6 of the specification: the kernel keeps the law above each level, survivors stay
    # fixed, ties are counted, and the mean is still not the probability
    means = {
        moves: sum(
            math.prod((POINTS[point] for point in points), start=Fraction(1))
            * expected(points, n_killed=n_killed, moves=moves)
            for points in product(range(4), repeat=n)
        )
        for moves in ("stay", "fresh", "walk")
    }
    assert means["stay"] == means["fresh"] == POINTS[3]
    if (n, n_killed) == (2, 1):
        assert means["walk"] == Fraction(17, 16) * POINTS[3]
    assert means["walk"] > POINTS[3] or n == n_killed
    for level in range(3):  # the walk is in detailed balance above each level
        for a, b in product(range(level + 1, 4), repeat=2):
            there, back = walk_above(level, a).get(b, 0), walk_above(level, b).get(a, 0)
            assert POINTS[a] * there == POINTS[b] * back


def test_scores_with_ties_are_counted_exactly(spherical):
    def tied(states: np.ndarray, run: np.ndarray, floor: np.ndarray) -> np.ndarray:
        return np.floor(2.0 * np.abs(states[:, 0])) - 4.0

    config = replace(CONFIG, n_particles=20, n_steps=6)
    runs = runs_of(make_kernel("aug", spherical(1)), config, tied, 150, step=1.0)
    found = np.exp(np.array([run.log_prob for run in runs]))
    assert abs(found.mean() - 0.0455002638963584) < 4.0 * found.std() / math.sqrt(150)
    died = sum(run.n_killed for run in runs)
    assert died > 1.1 * config.n_killed * sum(run.n_passes for run in runs)


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
