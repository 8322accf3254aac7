"""The nearest winning point: against a general solver, and by its conditions of optimality."""

import numpy as np
import pytest
from scipy.optimize import linprog, minimize, nnls

from likely.rare.qld import direction
from likely.rare.qld.direction import FIRST


def nearest_point(slopes, needs):
    """Return the nearest point for leads that grow by rows of slopes, the winner standing at 0."""
    tokens = np.vstack([np.zeros(slopes.shape[1]), -slopes])
    return direction.nearest_point(tokens, 0, np.concatenate([[-np.inf], needs]))


def feasible(slopes, needs):
    """Return whether some point fulfils all needs, by linear programming."""
    n = slopes.shape[1]
    return linprog(np.zeros(n), A_ub=-slopes, b_ub=-needs, bounds=[(None, None)] * n).status == 0


def test_small_problems_agree_with_a_general_solver_and_with_linear_programming():
    rng = np.random.default_rng(0)
    answers = []
    for _ in range(40):
        slopes, needs = rng.standard_normal((9, 4)), rng.standard_normal(9)
        found = nearest_point(slopes, needs)
        answers.append(found is not None)
        assert answers[-1] == feasible(slopes, needs)
        if found is not None:
            rule = {"type": "ineq", "fun": lambda u, g=slopes, h=needs: g @ u - h}
            other = minimize(lambda u: u @ u, found.point + 0.1, method="SLSQP", constraints=[rule])
            assert (slopes @ found.point - needs).min() > -1e-9
            assert found.distance == pytest.approx(np.linalg.norm(other.x), rel=1e-4)
    assert 5 < sum(answers) < 35


def test_the_point_is_optimal_among_more_rivals_than_the_first_round_takes():
    rng = np.random.default_rng(1)
    tokens, offsets = rng.standard_normal((900, 24)), 2.0 * rng.standard_normal(900)
    winner = int(np.argsort(offsets)[300])
    rivals = np.delete(np.arange(900), winner)
    assert len(rivals) > 2 * FIRST
    slopes = tokens[winner] - tokens[rivals]
    needs = offsets[rivals] - offsets[winner]
    found = nearest_point(slopes, needs)
    slack = slopes @ found.point - needs
    assert slack.min() > -1e-8  # feasible
    tight = slack < 1e-8  # what holds it back, and pushes away from the mean
    _, rest = nnls(slopes[tight].T, found.point)
    assert rest < 1e-8
    assert tight.sum() > 3


def test_rivals_that_the_first_round_left_out_are_found(monkeypatch):
    rng = np.random.default_rng(3)
    slopes, needs = rng.standard_normal((300, 8)) + 1.5, rng.standard_normal(300) + 1.0
    at_once = nearest_point(slopes, needs)
    monkeypatch.setattr(direction, "FIRST", 4)
    monkeypatch.setattr(direction, "MORE", 2)
    in_rounds = nearest_point(slopes, needs)
    np.testing.assert_allclose(in_rounds.point, at_once.point, atol=1e-9)
    assert (slopes @ at_once.point - needs < 1e-8).sum() >= 3


def test_no_way_round_a_rival_that_is_always_ahead():
    slopes = np.array([[0.0, 0.0], [1.0, 0.0]])
    assert nearest_point(slopes, np.array([0.1, 0.0])) is None
    inside = np.array([[1.0, 0.0], [-1.0, 0.0]])  # between two tokens: ahead of both nowhere
    assert nearest_point(inside, np.array([0.1, 0.1])) is None


def test_a_token_that_wins_at_the_mean_needs_no_way():
    slopes, needs = np.array([[1.0, 0.0], [0.0, 5.0]]), np.array([-2.0, -3.0])
    found = nearest_point(slopes, needs)
    assert found.distance == 0.0


def test_a_far_point_is_found_and_scales_with_the_need():
    rng = np.random.default_rng(2)
    slopes = rng.standard_normal((30, 6)) + np.array([2.0, 0, 0, 0, 0, 0])
    near, far = (nearest_point(slopes, np.full(30, need)) for need in (1.0, 1e4))
    assert far.distance == pytest.approx(1e4 * near.distance, rel=1e-9)
