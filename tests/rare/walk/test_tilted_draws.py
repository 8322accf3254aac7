"""The ways back to the law, against draws whose tilts are known in closed form."""

import math

import numpy as np
import pytest
from scipy.stats import norm

from likely.rare.walk.tilted_draws import TiltedDraws

ABOVE = 3.5  # the event: a normal score above it, 2.3e-4


def normal_draws(ladder, n_groups, each, *, seed=0):
    """Return independent draws of normal scores: a tilt of beta moves their mean by beta."""
    rng = np.random.default_rng(seed)
    scores = np.concatenate([rng.normal(size=(n_groups, each)) + beta for beta in ladder], axis=1)
    return TiltedDraws(
        ladder=np.array(ladder), counts=np.full(len(ladder), each), scores=scores,
        hits=scores > ABOVE,
    )  # fmt: skip


def test_a_ladder_gives_the_probability_and_its_constant():
    truth = norm.logsf(ABOVE)
    found = normal_draws([0.0, 1.0, 2.0, 3.5], 8, 500).mixture()
    assert found.log_prob == pytest.approx(truth, abs=4 * found.error)
    assert 0.01 < found.error < 0.15
    assert found.log_z == pytest.approx(3.5**2 / 2, abs=0.4)
    assert found.n_groups == 8
    assert not found.is_certain


def test_draws_of_the_law_make_a_bridge():
    rng = np.random.default_rng(1)
    plain = rng.normal(size=(8, 500))
    tilted = normal_draws([2.0], 8, 500)
    bridged = tilted.with_plain(plain, plain > ABOVE)
    assert bridged.ladder.tolist() == [0.0, 2.0]
    assert bridged.counts.tolist() == [500, 500]
    found = bridged.mixture()
    assert found.log_prob == pytest.approx(norm.logsf(ABOVE), abs=4 * found.error)
    assert found.log_z == pytest.approx(2.0, abs=0.3)


def test_self_normalised_weights_are_right_while_tilts_are_mild():
    found = normal_draws([1.0], 16, 4000).self_normalised()
    assert found.log_prob == pytest.approx(norm.logsf(ABOVE), abs=4 * found.error)
    assert found.log_z == pytest.approx(0.5, abs=0.05)


def test_self_normalised_weights_err_high_under_a_steep_tilt_and_show_it():
    """Under a tilt of 6 no draw is where the law has its bulk: the normaliser comes out small."""
    steep = normal_draws([6.0], 16, 500)
    found = steep.self_normalised()
    assert found.log_prob > norm.logsf(ABOVE) + 2.0
    assert found.effective_draws < 50
    plain = np.random.default_rng(2).normal(size=(16, 500))
    ladder = normal_draws([0.0, 3.0, 6.0], 16, 500).mixture()
    assert ladder.log_prob == pytest.approx(norm.logsf(ABOVE), abs=4 * ladder.error)
    bridged = steep.with_plain(plain, plain > ABOVE).mixture()
    assert bridged.log_z == pytest.approx(18.0, abs=2.0)


@pytest.mark.parametrize("way", ["self", "bridge"])
def test_intervals_over_groups_cover(way):
    """Of 80 replicates 95 % intervals cover in 66 or more, but for 1e-4 of seeds."""
    truth, covered = norm.logsf(2.0), 0
    for seed in range(80):
        ladder = [1.5] if way == "self" else [0.0, 1.5]
        draws = normal_draws(ladder, 8, 60, seed=seed)
        draws = TiltedDraws(
            ladder=draws.ladder, counts=draws.counts, scores=draws.scores,
            hits=draws.scores > 2.0,
        )  # fmt: skip
        found = draws.self_normalised() if way == "self" else draws.mixture()
        low, high = found.interval(level=0.95)
        covered += low <= truth <= high
    assert covered >= 66


def test_leaving_out_a_group_is_what_the_error_says():
    draws = normal_draws([0.0, 2.0], 4, 50)
    found = draws.mixture()
    left_out = []
    for group in range(4):
        rows = np.delete(np.arange(4), group)
        part = TiltedDraws(
            ladder=draws.ladder, counts=draws.counts, scores=draws.scores[rows],
            hits=draws.hits[rows],
        )  # fmt: skip
        left_out.append(part.mixture().log_prob)
    error = math.sqrt(3 / 4 * np.sum(np.square(left_out - np.mean(left_out))))
    assert found.error == pytest.approx(error, rel=1e-5)


def test_hits_of_one_group_alone_give_no_interval():
    draws = normal_draws([0.0, 1.0], 4, 50)
    hits = np.zeros_like(draws.hits)
    hits[2, 60] = True
    alone = TiltedDraws(ladder=draws.ladder, counts=draws.counts, scores=draws.scores, hits=hits)
    for found in (alone.mixture(), alone.self_normalised()):
        assert math.isfinite(found.log_prob)
        assert found.error == math.inf
        assert found.interval(level=0.95) == (-math.inf, 0.0)


def test_huge_scores_stay_in_logs():
    """Scores about 1e6 at a temperature of 0.3: weights of exp(3e6) and its inverse."""
    draws = normal_draws([0.0, 1.0], 4, 200)
    moved = TiltedDraws(
        ladder=np.array([0.0, 1.0 / 0.3]), counts=draws.counts,
        scores=1e6 + 0.3 * draws.scores, hits=draws.hits,
    )  # fmt: skip
    plain, far = draws.mixture(), moved.mixture()
    assert far.log_prob == pytest.approx(plain.log_prob, abs=1e-6)
    assert far.log_z == pytest.approx(plain.log_z + 1e6 / 0.3, rel=1e-9)
