"""A law by group: exact probabilities with groups drawn otherwise, and a fit that finds them."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import chisquare, kstest
from scipy.stats import t as student

from likely.core.streams import generator
from likely.errors import CapabilityError, InputError
from likely.rare.prior.grouped import GroupedPrior
from likely.rare.prior.grouped_fit import fit_grouped, flattened
from likely.rare.prior.options import FitOptions
from likely.rare.splitting.config import SplittingConfig
from likely.rare.splitting.drive import split

TAILS = np.array([12.0, 30.0])
CUT = 6.0


@pytest.fixture(scope="module")
def prior():
    """Four groups in four coordinates; the last, one in two thousand, is nearest to the cut."""
    weights = np.array([0.6, 0.3, 0.0995, 5e-4])
    rng = np.random.default_rng(0)
    centres = rng.standard_normal((4, 4))
    centres[:, 0] = [-1.0, -2.0, 0.0, 3.0]
    factors = np.stack([np.tril(rng.standard_normal((4, 4))) for _ in range(2)])
    factors[:, 0, :] = 0.0
    factors[:, 0, 0] = [0.9, 1.0]
    return GroupedPrior(
        centres=centres, log_weights=np.log(weights), log_drawn=flattened(np.log(weights)),
        shapes=np.array([0, 1, 0, 1]), factors=factors, tails=TAILS,
    )  # fmt: skip


def exact(prior):
    """Return the probability that the first coordinate exceeds the cut."""
    scale, tail = prior.factors[prior.shapes, 0, 0], prior.tails[prior.shapes]
    parts = student.sf((CUT - prior.centres[:, 0]) / scale, tail)
    return float(np.exp(prior.log_weights) @ parts)


def score(states, run, floor):
    return states[:, 0].astype(np.float64) - CUT


@pytest.fixture(scope="module")
def found(prior):
    config = SplittingConfig(n_particles=250, n_steps=4, n_replicates=12)
    streams = lambda target, part: generator(1, "grouped", target, part)  # noqa: E731
    return split(score, prior, config, streams=streams)[0]


def test_what_is_drawn_otherwise_is_weighted_back(prior, found):
    truth = exact(prior)
    ratios = np.exp(np.array([run.log_prob for run in found.runs]) - math.log(truth))
    assert truth < 1e-5
    assert abs(ratios.mean() - 1.0) < 4.0 * ratios.std(ddof=1) / math.sqrt(len(ratios))
    assert found.combined.low < math.log(truth) < found.combined.high
    assert found.combined.relative_error < 0.25


def test_one_run_tells_the_spread_of_weighted_runs(found):
    shares = np.exp(np.array([run.log_prob for run in found.runs]) - found.log_prob)
    told = np.mean(
        [share**2 * run.relative_variance for share, run in zip(shares, found.runs, strict=True)]
    )
    assert 0.25 < told / shares.var(ddof=1) < 5.0  # a variance of 11 degrees of freedom


def test_each_level_has_its_own_probability(prior, found):
    scale, tail = prior.factors[prior.shapes, 0, 0], prior.tails[prior.shapes]
    for k in (0, 3):
        level = found.runs[0].levels[k].level
        parts = student.sf((CUT + level - prior.centres[:, 0]) / scale, tail)
        truth = float(np.exp(prior.log_weights) @ parts)
        ratios = [math.exp(run.levels[k].log_prob) / truth for run in found.runs]
        assert abs(np.mean(ratios) - 1.0) < 4.0 * np.std(ratios, ddof=1) / math.sqrt(12)


def test_runs_that_move_clones_weigh_too(prior):
    config = SplittingConfig(n_particles=100, n_steps=6, n_replicates=8, mode="clones")
    streams = lambda target, part: generator(2, "grouped", target, part)  # noqa: E731
    easy = lambda states, run, floor: states[:, 0].astype(np.float64) - 2.0  # noqa: E731
    found = split(easy, prior, config, streams=streams)[0]
    scale, tail = prior.factors[prior.shapes, 0, 0], prior.tails[prior.shapes]
    parts = student.sf((2.0 - prior.centres[:, 0]) / scale, tail)
    truth = float(np.exp(prior.log_weights) @ parts)
    ratios = np.exp(np.array([run.log_prob for run in found.runs]) - math.log(truth))
    error = max(float(ratios.std(ddof=1)), 0.15) / math.sqrt(8)
    assert abs(float(ratios.mean()) - 1.0) < 4.0 * error
    assert found.poisson_exact is None  # deaths are counted under the law that was drawn from


def test_runs_that_are_given_up_say_what_the_weighted_level_was(prior):
    config = SplittingConfig(
        n_particles=1000, n_steps=4, n_replicates=6, mode="clones", max_levels=1
    )
    streams = lambda target, part: generator(3, "grouped", target, part)  # noqa: E731
    found = split(score, prior, config, streams=streams)[0]
    assert all(run.stop == "max_levels" for run in found.runs)
    scale, tail = prior.factors[prior.shapes, 0, 0], prior.tails[prior.shapes]
    # two passes that each kill a half leave the particles above a level of a quarter as drawn
    cuts = np.linspace(-10.0, 10.0, 4001)
    beyond = student.sf((cuts[:, None] - prior.centres[:, 0]) / scale, tail)
    drawn = beyond @ np.exp(prior.log_drawn)
    share = float(np.exp(found.runs[0].log_reached))
    near = np.abs(drawn - 0.25).argmin()
    truth = float(beyond[near] @ np.exp(prior.log_weights))
    assert share == pytest.approx(truth, rel=0.2)
    assert abs(truth / 0.25 - 1.0) > 0.3  # the weights matter here


@pytest.mark.parametrize("power", [0.0, 0.5, 1.0])
def test_moves_of_the_mixing_numbers_keep_their_law(prior, power):
    rng = np.random.default_rng(3)
    kept = prior.log_drawn + power * (prior.log_weights - prior.log_drawn)
    start = replace(prior, log_drawn=kept - np.log(np.exp(kept).sum()))
    mixing = start.draw_mixing(6000, rng=rng)
    for _ in range(4):
        moved, ratio = prior.tempered(power).move_mixing(mixing, step=1.0, rng=rng)
        mixing = np.where((np.log(rng.random(6000)) < ratio)[:, None], moved, mixing)
    group = mixing[:, 0].astype(int)
    drawn = np.exp(kept)
    assert chisquare(np.bincount(group, minlength=4), 6000 * drawn / drawn.sum()).pvalue > 1e-4
    for k, tail in enumerate(TAILS):
        scales = tail * np.exp(mixing[prior.shapes[group] == k, 1])
        assert kstest(scales, "chi2", args=(tail,)).pvalue > 1e-4


def test_weights_have_mean_one_over_what_is_drawn(prior):
    mean = float(np.exp(prior.log_drawn + (prior.log_weights - prior.log_drawn)).sum())
    assert mean == pytest.approx(1.0, abs=1e-12)
    tilt = prior.log_tilt(np.array([[3.0, 0.0], [0.0, 0.0]]))
    assert tilt[0] == pytest.approx(math.log(5e-4 / (0.5 * 5e-4 + 0.125)))
    assert np.exp(tilt).max() <= 2.0


def test_only_the_latent_kernel_serves(prior):
    with pytest.raises(CapabilityError, match="use the kernel 'aug'"):
        split(score, prior, SplittingConfig(kernel="mala_radial"), streams=lambda k, part: None)


def some_states(n_each=150, dim=3, seed=0):
    """Return states of twelve groups of two shapes, six groups each."""
    rng = np.random.default_rng(seed)
    groups = np.repeat(np.arange(12), n_each)
    wide = np.diag([3.0, 0.3, 1.0])
    z = (
        rng.standard_normal((len(groups), dim))
        / np.sqrt(rng.chisquare(6.0, len(groups)) / 6.0)[:, None]
    )
    left = np.where((groups % 2 == 0)[:, None], z @ wide, z)
    return left + 10.0 * rng.standard_normal((12, dim))[groups], groups


def test_groups_are_told_apart_by_their_shapes():
    states, groups = some_states()
    weights = np.log(np.full(12, 1.0 / 12.0))
    fitted = fit_grouped(states, groups, weights, FitOptions(n_components=2))
    means = np.stack([states[groups == g].mean(axis=0) for g in range(12)])
    np.testing.assert_allclose(fitted.centres, means, atol=1e-12)
    assert len(set(fitted.shapes[::2])) == len(set(fitted.shapes[1::2])) == 1
    assert fitted.shapes[0] != fitted.shapes[1]
    scales = fitted.factors @ fitted.factors.transpose(0, 2, 1)
    np.testing.assert_allclose(scales[fitted.shapes[0]].diagonal(), [9.0, 0.09, 1.0], rtol=0.2)
    np.testing.assert_allclose(scales[fitted.shapes[1]].diagonal(), np.ones(3), rtol=0.2)
    assert np.all((fitted.tails > 4.0) & (fitted.tails < 10.0))
    assert fitted.record is not None
    assert fitted.record.converged


def test_few_states_a_group_leave_the_spread_as_wide_as_it_is():
    rng = np.random.default_rng(1)
    groups = np.repeat(np.arange(1500), 3)
    states = rng.standard_normal((4500, 2)) + 50.0 * rng.standard_normal((1500, 2))[groups]
    weights = np.log(np.full(1500, 1.0 / 1500.0))
    fitted = fit_grouped(states, groups, weights, FitOptions(n_components=1))
    scale = fitted.factors[0] @ fitted.factors[0].T * fitted.tails[0] / (fitted.tails[0] - 2.0)
    np.testing.assert_allclose(scale, np.eye(2), atol=0.12)  # plain residuals: 2/3 of it


def test_a_group_with_a_single_state_is_refused():
    with pytest.raises(InputError, match="2 states of each of 2 groups, got 1"):
        fit_grouped(
            np.eye(3), np.array([0, 0, 1]), np.log(np.array([0.5, 0.5])), FitOptions()
        )  # fmt: skip
