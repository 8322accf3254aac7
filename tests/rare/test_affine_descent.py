"""The descent of many fits: slopes and bends are derivatives, and a valley's bottom is flat."""

import numpy as np
import pytest

from likely.rare.affine_descent import Sets, _place


def sets(seed=0, n=6, count=5):
    rng = np.random.default_rng(seed)
    log_q = rng.uniform(-20.0, -12.0, (count, n))
    log_p = log_q + rng.normal(0.0, 1.5, (count, n))
    log_p[0, 0] = -np.inf
    log_p[1] = -np.inf
    log_p[2] = -15.0
    return Sets.of(log_q, log_p)


def test_estimates_are_standardised_over_those_above_zero():
    found = sets()
    above = found.log_p[0, 1:]
    assert found.mean[0] == pytest.approx(above.mean())
    assert found.spread[0] == pytest.approx(above.std())
    assert found.u[0, 0] == 0.0
    assert found.is_flat.tolist() == [False, True, True, False, False]


def test_equal_estimates_are_flat_where_their_mean_misses_them_by_an_ulp():
    log_p = np.array([[-np.inf] * 6 + [-np.log(512.0)] * 7])
    assert log_p[0, 6:].sum() / 7 != log_p[0, 6]  # else the case is none
    found = Sets.of(np.full((1, 13), -8.0), log_p)
    assert found.is_flat.tolist() == [True]
    assert not found.u.any()
    apart = Sets.of(np.full((1, 3), -8.0), np.array([[-8.0, -8.0, -8.0 + 1e-9]]))
    assert apart.is_flat.tolist() == [False]


def test_slopes_and_bends_are_the_derivatives_of_the_loss():
    found = sets()
    rows = np.arange(5)
    theta = np.array([[1.1, -16.0, -18.0]] * 5)
    at = _place(found, rows, theta)
    h = 1e-5
    for k in range(3):
        step = np.zeros(3)
        step[k] = h
        above, below = _place(found, rows, theta + step), _place(found, rows, theta - step)
        np.testing.assert_allclose(
            at.slope[:, k], (above.value - below.value) / (2 * h), rtol=1e-5, atol=1e-7
        )
        bend = (above.slope - below.slope) / (2 * h)
        order = [[0, 1, 2], [1, 3, 4], [2, 4, 5]][k]
        np.testing.assert_allclose(at.bend[:, order], bend, rtol=1e-5, atol=1e-6)


def test_a_bottom_is_no_higher_than_its_start_and_no_direction_leads_down():
    found = sets(3)
    starts, bottoms = found.starts(), found.bottoms()
    losses = found.losses(bottoms)
    inside = starts[..., 1] > found.log_q.min(axis=1)[:, None] - 30.0
    assert inside.mean() > 0.8
    assert (losses <= found.losses(starts) + 1e-12)[inside].all()
    rng = np.random.default_rng(1)
    for _ in range(20):
        near = bottoms + rng.normal(0.0, 1e-3, bottoms.shape) * [1.0, 1.0, 1.0]
        near[..., 0] = np.where(found.is_flat[:, None], 0.0, np.maximum(near[..., 0], 0.0))
        assert (found.losses(near) >= losses - 1e-8).all()


def test_a_loss_beyond_the_range_of_floats_is_infinite_and_no_error():
    found = sets()
    far = np.tile([0.0, -2000.0, -2000.0], (5, 1, 1))
    assert np.isposinf(found.losses(far)).all()
    assert np.isposinf(_place(found, np.arange(5), far[:, 0]).value).all()
