"""Affine maps into whitened coordinates, and directions without variance."""

import numpy as np
import pytest

from likely.core.streams import generator
from likely.errors import InputError
from likely.rare.prior.whitening import (
    cholesky_whitening,
    covariance,
    varying_subspace,
    with_ridge,
)


def test_whitened_states_have_the_identity_as_covariance():
    states = generator(0, "states").standard_normal((500, 4)) @ np.arange(1.0, 17.0).reshape(4, 4)
    states += generator(0, "noise").standard_normal((500, 4))
    whitening = cholesky_whitening(states.mean(axis=0), covariance(states), ridge=0.0)
    u = whitening.to_whitened(states)
    np.testing.assert_allclose(covariance(u), np.eye(4), atol=1e-8)
    np.testing.assert_allclose(np.triu(whitening.factor, 1), 0.0)


def test_a_ridge_is_a_share_of_the_mean_variance():
    np.testing.assert_allclose(with_ridge(np.diag([1.0, 3.0]), 1e-2), np.diag([1.02, 3.02]))


def test_directions_without_variance_are_left_out_and_the_others_kept():
    states = generator(0, "plane").standard_normal((100, 2)) @ np.array([[1.0, 2, 0], [0, 1, 1]])
    frame = varying_subspace(states + 7.0)
    assert frame.basis.shape == (3, 2)
    back = frame.origin + frame.project(states + 7.0) @ frame.basis.T
    np.testing.assert_allclose(back, states + 7.0, atol=1e-12)


def test_a_small_variance_is_not_none():
    states = generator(0, "thin").standard_normal((100, 2)) * np.array([1.0, 1e-3])
    assert varying_subspace(states).basis.shape == (2, 2)


def test_a_negative_ridge_is_refused():
    with pytest.raises(InputError, match="at least 0"):
        with_ridge(np.eye(2), -0.1)
