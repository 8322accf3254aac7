"""Independent t laws along principal axes."""

import numpy as np
import pytest
from scipy.stats import t as student

from likely.core.streams import generator
from likely.errors import NumericalError
from likely.rare.prior.fit import fit_prior


def one_heavy_axis(n: int) -> np.ndarray:
    """One coordinate of heavy tails among light ones, turned."""
    rng = generator(0, "axis", n)
    z = rng.standard_normal((n, 3)) * np.array([1.0, 2.0, 1.0])
    z[:, 0] = 5.0 * rng.standard_t(3.5, size=n)
    turn = np.linalg.qr(generator(0, "turn").standard_normal((3, 3)))[0]
    return np.asarray(1.0 + z @ turn.T)


def test_one_heavy_coordinate_is_told_from_the_light_ones():
    prior = fit_prior(one_heavy_axis(20_000), kind="marginals")
    axis = int(np.argmax(np.linalg.norm(prior.whitening.factor, axis=0)))
    assert prior.tails[axis] == pytest.approx(3.5, rel=0.15)
    assert np.delete(prior.tails, axis).min() > 20.0
    assert np.linalg.norm(prior.whitening.factor[:, axis]) == pytest.approx(5.0, rel=0.05)


def test_axes_are_fitted_as_scipy_fits_them():
    prior = fit_prior(one_heavy_axis(2000), kind="marginals", ridge=0.0)
    axis = int(np.argmax(np.linalg.norm(prior.whitening.factor, axis=0)))
    values = prior.to_whitened(one_heavy_axis(2000))[:, axis]
    tail, centre, scale = student.fit(values)
    best = student.logpdf(values, tail, centre, scale).mean()
    ours = student.logpdf(values, prior.tails[axis]).mean()
    assert ours == pytest.approx(best, abs=1e-6)


def test_the_density_is_the_product_of_its_axes():
    prior = fit_prior(one_heavy_axis(2000), kind="marginals")
    u = prior.sample(20, rng=generator(0, "u"))
    np.testing.assert_allclose(
        prior.log_density(u), student.logpdf(u, prior.tails).sum(axis=1), atol=1e-10
    )


def test_an_axis_without_variance_needs_a_ridge():
    states = np.column_stack([one_heavy_axis(50), np.zeros(50)])
    with pytest.raises(NumericalError, match="larger ridge"):
        fit_prior(states, kind="marginals", ridge=0.0)
