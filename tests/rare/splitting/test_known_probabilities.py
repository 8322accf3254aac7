"""Splitting against probabilities that are known in closed form."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy.stats import beta

from likely.core.streams import generator
from likely.rare.event import Event
from likely.rare.margin_scores import MarginScores
from likely.rare.network import Readout
from likely.rare.prior.fit import fit_prior
from likely.rare.splitting import levels
from likely.rare.splitting.config import SplittingConfig
from likely.rare.splitting.drive import split
from likely.rare.splitting.variance import ideal_variance

CONFIG = SplittingConfig(n_particles=1000, n_steps=6, n_replicates=6)


@pytest.mark.parametrize("kernel", ["aug", "mala_radial"])
def test_a_gaussian_tail_of_one_in_a_billion(spherical, linear, streams, close_to, kernel):
    config = replace(CONFIG, kernel=kernel)
    found = split(linear(1e-9), spherical(16), config, streams=streams(1))[0]
    ideal = math.sqrt(ideal_variance([0.5] * 29 + [0.93], n_particles=1000))
    assert close_to([run.log_prob for run in found.runs], 1e-9, least=ideal)
    assert found.excess < 2.5
    assert found.combined.low < math.log(1e-9) < found.combined.high


def test_levels_just_above_the_best_that_dies_leave_no_bias(
    spherical, linear, streams, monkeypatch
):
    # at the score of the worst of k survivors, fresh particles overestimate by k / (k - 1) a level
    config = replace(CONFIG, n_particles=12, n_steps=8, n_replicates=500)

    def ratios(mode="adaptive"):
        asked = replace(config, mode=mode)
        found = split(linear(0.03), spherical(2), asked, streams=streams(2))[0]
        shares = np.exp(np.array([run.log_prob for run in found.runs]) - math.log(0.03))
        return shares, shares.std(ddof=1) / math.sqrt(len(shares)), found.runs

    found, error, _ = ratios()
    assert error < 0.06
    assert abs(found.mean() - 1.0) < 4.0 * error
    found, error, _ = ratios("two_stage")  # frozen ones leave none either
    assert abs(found.mean() - 1.0) < 4.0 * error
    monkeypatch.setattr(levels, "level_above", levels.quantile_level)
    found, error, runs = ratios()
    n_levels = np.mean([len(run.levels) - 1 for run in runs])
    assert abs(found.mean() - (6 / 5) ** n_levels) < 5.0 * error
    assert found.mean() > 1.0 + 6.0 * error


@pytest.mark.parametrize("kernel", ["aug", "aug_separate", "mala_radial"])
def test_a_student_tail_needs_moves_of_the_length(spherical, linear, streams, close_to, kernel):
    config = replace(CONFIG, kernel=kernel)
    found = split(linear(1e-7, tail=4.0), spherical(16, 4.0), config, streams=streams(3))[0]
    ideal = math.sqrt(ideal_variance([0.5] * 23 + [0.8], n_particles=1000))
    assert close_to([run.log_prob for run in found.runs], 1e-7, least=ideal)


def test_the_plain_langevin_kernel_fails_under_a_student_prior(spherical, linear, streams):
    # most proposals are accepted and nothing moves far: the estimate is low by orders of magnitude
    config = replace(CONFIG, kernel="mala", n_particles=500, n_replicates=4)
    found = split(linear(1e-9, tail=4.0), spherical(16, 4.0), config, streams=streams(3))[0]
    assert found.log_prob < math.log(0.1 * 1e-9)
    levels = [one for run in found.runs for one in run.levels if one.moves]
    assert np.mean([one.moves[0].acceptance for one in levels]) > 0.5
    assert found.warnings


def three_token_margin(correlation: float):
    """Margins of token 0 over two others, jointly normal with unit variance."""
    second = math.sqrt(1.0 - correlation**2)

    def score(states: np.ndarray, run: np.ndarray, floor: np.ndarray) -> np.ndarray:
        first = states[:, 0]
        return np.minimum(first, correlation * first + second * states[:, 1])

    return score


@pytest.mark.parametrize("correlation", [-0.99, 0.3])
def test_the_argmax_of_three_tokens_has_the_probability_of_an_orthant(
    spherical, streams, close_to, correlation
):
    config = replace(CONFIG, n_particles=1000, n_steps=5, survival=0.4)
    found = split(three_token_margin(correlation), spherical(2), config, streams=streams(4))[0]
    truth = 0.25 + math.asin(correlation) / (2.0 * math.pi)
    ideal = math.sqrt(ideal_variance([truth], n_particles=1000))
    assert close_to([run.log_prob for run in found.runs], truth, least=ideal)
    assert found.combined.relative_error < 0.1


@pytest.mark.parametrize("tail", [math.inf, 3.0])
def test_one_of_n_alike_tokens_wins_once_in_n(spherical, streams, close_to, tail):
    n = 32

    def score(states: np.ndarray, run: np.ndarray, floor: np.ndarray) -> np.ndarray:
        return states[:, 0] - states[:, 1:].max(axis=1)

    config = replace(CONFIG, n_steps=5)
    found = split(score, spherical(n, tail), config, streams=streams(5))[0]
    ideal = math.sqrt(ideal_variance([0.5] * 5, n_particles=1000))
    assert close_to([run.log_prob for run in found.runs], 1.0 / n, least=ideal)
    assert found.combined.relative_error < 0.1


@pytest.mark.parametrize("tail", [math.inf, 3.0])
def test_a_score_of_the_direction_alone_does_not_see_the_tail(spherical, streams, close_to, tail):
    # f14: a normalised state forgets its length, so every centred elliptical prior gives the same
    dim, cut = 8, 0.95

    def score(states: np.ndarray, run: np.ndarray, floor: np.ndarray) -> np.ndarray:
        return states[:, 0] / np.linalg.norm(states, axis=1) - cut

    truth = 0.5 * beta.sf(cut * cut, 0.5, (dim - 1) / 2.0)
    found = split(score, spherical(dim, tail), CONFIG, streams=streams(6))[0]
    ideal = math.sqrt(ideal_variance([0.5] * 13 + [0.7], n_particles=1000))
    assert close_to([run.log_prob for run in found.runs], float(truth), least=ideal)
    assert found.combined.relative_error < 0.15


def test_an_affine_map_of_the_states_leaves_the_estimate(streams):
    # f13, with the same noise: the factor of a lower triangular map is the map times the factor
    rng = generator(7, "states")
    states = rng.standard_t(5.0, size=(800, 3)) @ rng.standard_normal((3, 3))
    matrix = np.tril(rng.standard_normal((3, 3)))
    np.fill_diagonal(matrix, [0.5, 2.0, 1.5])
    shift = rng.standard_normal(3)
    weights = np.array([1.0, -0.5, 0.3])
    pulled = np.linalg.solve(matrix.T, weights)
    first, second = (
        split(score, fit_prior(rows, ridge=0.0), config, streams=streams(7))[0]
        for score, rows in (
            (lambda a, run, floor: a @ weights - 25.0, states),
            (lambda a, run, floor: (a - shift) @ pulled - 25.0, states @ matrix.T + shift),
        )
        for config in (replace(CONFIG, n_particles=100, n_steps=4, n_replicates=2),)
    )
    assert first.log_prob == pytest.approx(second.log_prob, abs=1e-12)
    assert first.log_prob < math.log(1e-3)
    levels = [[one.level for one in found.runs[0].levels] for found in (first, second)]
    np.testing.assert_allclose(levels[0], levels[1], atol=1e-4)


def test_the_order_of_the_vocabulary_does_not_matter(spherical, streams):
    # f13, with the same noise: the same rows of the output layer, in another order
    draw = torch.Generator().manual_seed(4)
    weight, bias = torch.randn(60, 8, generator=draw), torch.randn(60, generator=draw)
    order = torch.randperm(60, generator=draw)
    target = 5
    bias[target] -= 1.0
    found = []
    for rows, winner in ((torch.arange(60), target), (order, order.tolist().index(target))):
        readout = Readout(weight=weight[rows], bias=bias[rows], is_centred=False, epsilon=1e-5)
        scores = MarginScores(readout, [Event(name="one", steps=((winner,),))], np.zeros(1, int))
        config = replace(CONFIG, n_particles=100, n_steps=4, n_replicates=2, runner_up=True)
        found.append(split(scores, spherical(8), config, streams=streams(9))[0])
    first, second = found
    assert first.log_prob == pytest.approx(second.log_prob, abs=1e-9)
    assert math.log(1e-9) < first.log_prob < math.log(1e-2)
    levels = [[one.level for one in splitting.runs[0].levels] for splitting in found]
    np.testing.assert_allclose(levels[0], levels[1], atol=1e-4)
