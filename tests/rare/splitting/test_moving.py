"""What a walk records of its moves."""

import math

import numpy as np
import pytest

from likely.core.streams import generator
from likely.rare.splitting.kernels import make_kernel
from likely.rare.splitting.lockstep import run_together
from likely.rare.splitting.moving import Walk, tuned, walk
from likely.rare.splitting.records import MoveRecord


def walked(kernel, *, floor, steps, n_steps, n=2000):
    rng = generator(0, "walk")
    particles = kernel.start(n, rng=rng)
    scores = kernel.states(particles)[:, 0]
    job = walk(kernel, particles, scores, floor=floor, steps=steps, n_steps=n_steps, rng=rng)
    score = lambda states, run, floor: states[:, 0]  # noqa: E731
    found = run_together([(0, job)], score, n_together=1)[0]
    return particles, found


def test_without_a_wall_a_fresh_draw_is_always_accepted(spherical):
    particles, found = walked(
        make_kernel("aug", spherical(3)), floor=-np.inf, steps=(1.0,), n_steps=3
    )
    move = found.moves[0]
    assert (move.prior_acceptance, move.wall_acceptance, move.acceptance) == (1.0, 1.0, 1.0)
    assert move.jump == pytest.approx(2.0, abs=0.15)  # two independent normal numbers
    assert found.moved.all()
    assert abs(found.lag1) < 4.0 / math.sqrt(6000)
    assert found.n_scored == 6000
    np.testing.assert_array_equal(found.scores, particles.position[:, 0])


def test_scores_of_small_steps_are_correlated_as_the_step_says(spherical):
    _, found = walked(make_kernel("aug", spherical(3)), floor=-np.inf, steps=(0.6,), n_steps=4)
    assert found.lag1 == pytest.approx(0.8, abs=0.03)
    assert found.kept == pytest.approx(0.8**4, abs=0.08)


def test_acceptance_is_split_into_its_two_parts(spherical):
    kernel = make_kernel("mala_radial", spherical(3, 4.0))
    particles, found = walked(kernel, floor=-1e9, steps=(0.5, 0.5), n_steps=5)
    for move in found.moves:
        assert move.wall_acceptance == 1.0
        assert move.acceptance == move.prior_acceptance < 1.0
    assert found.n_scored == sum(round(move.prior_acceptance * 10_000) for move in found.moves)
    assert len(particles) == 2000


@pytest.mark.filterwarnings("error")
def test_infinite_scores_have_no_correlation():
    found = Walk(
        moves=(), trace=np.array([[0.0, np.inf, 1.0], [0.5, np.inf, 2.0]]),
        moved=np.ones(3, dtype=np.bool_), n_scored=3,
    )  # fmt: skip
    assert found.lag1 is found.kept is None


def test_a_wall_out_of_reach_moves_nobody(spherical):
    kernel = make_kernel("aug", spherical(3, 4.0))
    particles, found = walked(kernel, floor=1e9, steps=(0.5, 1.0), n_steps=2)
    assert not found.moved.any()
    assert [move.wall_acceptance for move in found.moves] == [0.0, 0.0]
    assert found.kept == pytest.approx(1.0)
    np.testing.assert_array_equal(found.trace[0], found.trace[-1])
    assert found.moves[0].jump == 0.0
    assert len(particles) == 2000


def test_no_steps_leave_a_record_of_nothing(spherical):
    _, found = walked(make_kernel("aug", spherical(3)), floor=0.0, steps=(0.5,), n_steps=0, n=5)
    assert found.kept is None
    assert found.lag1 is None
    assert found.moves[0].acceptance == 0.0
    assert found.moves[0].wall_acceptance is None


def test_steps_follow_acceptance_and_stay_in_their_bounds(spherical):
    kernel = make_kernel("aug", spherical(3, 4.0))

    def record(acceptance: float) -> MoveRecord:
        return MoveRecord(
            name="", step=0.0, prior_acceptance=1.0, wall_acceptance=None,
            acceptance=acceptance, jump=0.0,
        )  # fmt: skip

    new = tuned((0.5, 2.0), [record(0.4), record(0.0)], kernel, target=0.4)
    assert new == pytest.approx((0.5, 2.0 * math.exp(-0.2)))
    new = tuned((0.99, 4.9), [record(0.9), record(0.9)], kernel, target=0.4)
    assert new == (1.0, 5.0)
    assert tuned((1e-5, 1.0), [record(0.0), record(0.4)], kernel, target=0.4)[0] == 1e-5
