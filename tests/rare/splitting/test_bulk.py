"""The prior held against fitted states, and the estimate that takes its bulk from them."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import norm
from scipy.stats import t as student

from likely.core.streams import generator
from likely.errors import InputError, NumericalError
from likely.rare.splitting.bulk import with_bulk
from likely.rare.splitting.config import SplittingConfig
from likely.rare.splitting.drive import split

CONFIG = SplittingConfig(n_particles=400, n_steps=5, n_replicates=6)
TRUTH = 1e-6
CUT = float(norm.isf(TRUTH))


@pytest.fixture
def found(spherical, linear, streams):
    return split(linear(TRUTH), spherical(2), CONFIG, streams=streams(0))[0]


def fitted(scale: float, n: int = 20_000) -> np.ndarray:
    """Scores of states that are really wider or narrower than the prior."""
    return scale * generator(0, "fitted").standard_normal(n) - CUT


def test_a_prior_that_fits_agrees_with_the_states(found):
    checked = with_bulk(found, fitted(1.0))
    assert not any(one.is_mismatch for one in checked.bulk)
    assert all(one.n_reaching >= 100 for one in checked.bulk)
    assert len(checked.bulk) in (7, 8)
    assert checked.warnings == found.warnings
    # below are about 100 states: a tenth; beyond, the spread of the replicates
    assert abs(checked.hybrid.log_prob - math.log(TRUTH)) < 4.0 * math.hypot(0.1, 0.15)
    assert checked.hybrid.low < math.log(TRUTH) < checked.hybrid.high


def test_a_prior_that_does_not_fit_is_told(found):
    checked = with_bulk(found, fitted(1.4))
    assert checked.bulk[-1].is_mismatch
    assert "times the share of the fitted states" in checked.warnings[-1]
    assert checked.bulk[-1].log_prob < checked.bulk[-1].log_empirical - 0.5


def test_the_hybrid_is_the_share_times_the_tail(found):
    checked = with_bulk(found, fitted(1.4))
    last = checked.bulk[-1]
    means = [
        np.exp([run.log_prob for run in found.runs]).mean(),
        np.exp([run.levels[len(checked.bulk) - 1].log_prob for run in found.runs]).mean(),
    ]
    assert checked.hybrid.log_tail == pytest.approx(math.log(means[0] / means[1]))
    assert checked.hybrid.log_prob == pytest.approx(
        math.log(last.n_reaching / 20_000) + checked.hybrid.log_tail
    )
    assert checked.hybrid.level == last.level
    # the error of a ratio of means, and that of a count, in quadrature
    shares = [np.exp([run.log_prob for run in found.runs]) / means[0]]
    shares.append(
        np.exp([run.levels[len(checked.bulk) - 1].log_prob for run in found.runs]) / means[1]
    )
    tail = student.isf(0.025, 5) * (shares[0] - shares[1]).std(ddof=1) / math.sqrt(6.0)
    count = norm.isf(0.025) * math.sqrt((1.0 - last.n_reaching / 20_000) / last.n_reaching)
    assert checked.hybrid.log_prob - checked.hybrid.low == pytest.approx(math.hypot(tail, count))
    logs = np.array([run.log_prob for run in found.runs])
    wide = math.sqrt(logs.var(ddof=1) / 6.0 + logs.var(ddof=1) ** 2 / 10.0)
    skewed = logs.mean() + 0.5 * logs.var(ddof=1) + student.isf(0.025, 5) * wide
    above = max(tail, skewed - math.log(means[0]))
    assert checked.hybrid.high - checked.hybrid.log_prob == pytest.approx(math.hypot(above, count))


def test_where_the_states_reach_the_event_the_hybrid_is_their_share(spherical, linear, streams):
    found = split(linear(0.1), spherical(2), CONFIG, streams=streams(1))[0]
    scores = generator(1, "fitted").standard_normal(2000) - float(norm.isf(0.1))
    checked = with_bulk(found, scores)
    assert checked.hybrid.log_tail == 0.0
    assert math.exp(checked.hybrid.log_prob) == pytest.approx(np.mean(scores >= 0.0))


def test_levels_that_replicates_do_not_share_have_no_hybrid(spherical, linear, streams):
    config = replace(CONFIG, mode="adaptive", n_replicates=2)
    found = split(linear(TRUTH), spherical(2), config, streams=streams(2))[0]
    checked = with_bulk(found, fitted(1.0))
    assert checked.bulk
    assert checked.hybrid is None


def test_extinct_runs_count_as_zero_in_the_hybrid(found):
    gone = replace(
        found.runs[0], stop="extinct", log_prob=-math.inf, levels=found.runs[0].levels[:12]
    )
    checked = with_bulk(replace(found, runs=(gone, *found.runs[1:])), fitted(1.0))
    ends = [0.0, *(math.exp(run.log_prob) for run in found.runs[1:])]
    starts = [math.exp(run.levels[len(checked.bulk) - 1].log_prob) for run in found.runs]
    assert checked.hybrid.log_tail == pytest.approx(math.log(sum(ends) / sum(starts)))


def test_a_level_that_one_heavy_state_decides_ends_the_check(found):
    levels = [one.level for one in found.runs[0].levels]
    # 850 states below level 3, one of a twentieth that reaches it alone, 1,000 far above
    scores = np.r_[np.full(850, levels[2]), levels[3], np.full(1000, levels[6])]
    weights = np.r_[np.full(850, 1e-3), 0.05, np.full(1000, 1e-4)]
    checked = with_bulk(found, scores, weights=weights)
    assert [one.n_reaching for one in checked.bulk] == [298] * 3
    assert checked.hybrid.level == levels[2]


@pytest.mark.parametrize("spread", [0.7, 1.2])
def test_the_tail_of_the_hybrid_is_covered_where_runs_are_skewed(found, spread):
    rng = generator(3, "tails")
    first, depth = found.runs[0], 3
    levels = [replace(one, log_prob=-2.0) for one in first.levels[: depth + 1]]
    covered = 0
    for _ in range(400):
        tails = spread * rng.standard_normal(4) - 0.5 * spread**2 - 9.0
        runs = tuple(replace(first, log_prob=float(one), levels=tuple(levels)) for one in tails)
        scores = np.r_[np.full(1000, levels[-1].level), np.full(1000, levels[0].level - 1.0)]
        hybrid = with_bulk(replace(found, runs=runs), scores).hybrid
        covered += hybrid.low <= math.log(0.5) - 7.0 <= hybrid.high
    assert covered / 400 > 0.9


def test_few_states_check_nothing_and_say_so(found):
    checked = with_bulk(found, fitted(1.0, n=50))
    assert checked.bulk == ()
    assert checked.hybrid is None
    assert "Too few fitted states" in checked.warnings[-1]


def test_scores_that_cannot_be_used_are_refused(found):
    with pytest.raises(InputError, match="needs scores"):
        with_bulk(found, np.empty(0))
    with pytest.raises(NumericalError, match="NaN"):
        with_bulk(found, np.array([math.nan]))
    bare = replace(found, runs=tuple(replace(run, levels=()) for run in found.runs))
    with pytest.raises(InputError, match="runs with levels"):
        with_bulk(bare, fitted(1.0))
