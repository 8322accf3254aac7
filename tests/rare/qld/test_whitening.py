"""Whitened activations: mean 0, variance 1, no direction that does not vary."""

import numpy as np
import pytest

from likely.errors import InputError
from likely.rare.qld.whitening import fit_whitening


def sample(n=400, d=6, seed=0):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, d)) @ rng.standard_normal((d, d)) + 5.0


def test_coordinates_have_mean_zero_and_unit_covariance_and_lead_back():
    activations = sample()
    found = fit_whitening(activations, ridge=0.0)
    u = found.to_whitened(activations)
    np.testing.assert_allclose(u.mean(axis=0), 0.0, atol=1e-12)
    np.testing.assert_allclose(u.T @ u / len(u), np.eye(6), atol=1e-12)
    np.testing.assert_allclose(found.centre + u @ found.factor.T, activations, atol=1e-11)


def test_the_ridge_is_a_share_of_the_variance_so_units_do_not_matter():
    activations = sample()
    for ridge in (1e-5, 0.3):
        u = fit_whitening(activations, ridge=ridge).to_whitened(activations)
        small = fit_whitening(1e-6 * activations, ridge=ridge).to_whitened(1e-6 * activations)
        np.testing.assert_allclose(np.abs(small), np.abs(u), atol=1e-8)
    mean = np.trace(np.cov(activations.T, bias=True)) / 6
    squares = fit_whitening(activations, ridge=0.3).factor
    np.testing.assert_allclose(
        squares @ squares.T, np.cov(activations.T, bias=True) + 0.3 * mean * np.eye(6), atol=1e-10
    )


def test_directions_without_variance_drop_out():
    normed = sample(d=7)
    normed -= normed.mean(axis=1, keepdims=True)
    normed /= np.sqrt(np.square(normed).mean(axis=1, keepdims=True))
    found = fit_whitening(normed)
    assert found.factor.shape == (7, 6)
    np.testing.assert_allclose(np.ones(7) @ found.factor, 0.0, atol=1e-12)
    few = sample(n=4)
    assert fit_whitening(few).factor.shape == (6, 3)
    back = fit_whitening(few, ridge=0.1)
    np.testing.assert_allclose(back.centre + back.to_whitened(few) @ back.factor.T, few, atol=1e-10)


def test_rounding_in_float32_makes_no_direction():
    flat = np.hstack([sample(), np.full((400, 1), 0.1)]).astype(np.float32).astype(np.float64)
    flat[:, 6] += 1e-8 * np.random.default_rng(0).standard_normal(400)
    assert fit_whitening(flat).factor.shape == (7, 6)


@pytest.mark.parametrize("activations", [np.ones((1, 3)), np.ones((5, 3))])
def test_what_does_not_vary_cannot_be_whitened(activations):
    with pytest.raises(InputError, match=r"at least 2|the same"):
        fit_whitening(activations)
