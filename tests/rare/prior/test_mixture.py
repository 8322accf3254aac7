"""Mixtures: recovery of components, and what becomes of starved ones."""

import numpy as np
import pytest
from scipy.special import logsumexp
from scipy.stats import multivariate_normal

from likely.core.streams import generator
from likely.rare.prior.fit import fit_prior
from likely.rare.prior.mixture_fit import fit_gaussian_mixture
from likely.rare.prior.options import FitOptions

CENTRES = np.array([[4.0, 0.0], [-4.0, 1.0], [0.0, -5.0]])
WEIGHTS = np.array([0.5, 0.3, 0.2])


def three_groups(n: int, *, tail: float | None = None, seed: int = 0) -> np.ndarray:
    rng = generator(seed, "groups", n)
    which = rng.choice(3, size=n, p=WEIGHTS)
    z = rng.standard_normal((n, 2)) * np.array([1.0, 0.5])
    if tail is not None:
        z /= np.sqrt(rng.chisquare(tail, size=(n, 1)) / tail)
    return np.asarray(CENTRES[which] + z)


def test_gaussian_components_are_recovered():
    prior = fit_prior(three_groups(20_000), kind="gaussian_mixture", n_components=3)
    np.testing.assert_allclose(prior.record.weights, WEIGHTS, atol=0.02)
    centres = [prior.whitening.to_states(part.centre[None])[0] for part in prior.components]
    np.testing.assert_allclose(centres, CENTRES, atol=0.06)
    factor = prior.whitening.factor @ prior.components[0].factor
    np.testing.assert_allclose(factor @ factor.T, np.diag([1.0, 0.25]), atol=0.05)
    assert prior.record.converged
    assert prior.record.tails == ()


def test_tails_of_components_are_recovered():
    prior = fit_prior(three_groups(20_000, tail=4.0), kind="student_mixture", n_components=3)
    np.testing.assert_allclose(prior.record.tails, 4.0, rtol=0.25)
    np.testing.assert_allclose(prior.record.weights, WEIGHTS, atol=0.02)


def test_the_density_is_the_weighted_sum_of_the_components():
    prior = fit_prior(three_groups(2000), kind="gaussian_mixture", n_components=3)
    states = three_groups(50, seed=1)
    logs = []
    for log_weight, part in zip(prior.log_weights, prior.components, strict=True):
        factor = prior.whitening.factor @ part.factor
        law = multivariate_normal(prior.to_states(part.centre[None])[0], factor @ factor.T)
        logs.append(log_weight + law.logpdf(states))
    ours = prior.log_density(prior.to_whitened(states)) - prior.log_det
    np.testing.assert_allclose(ours, logsumexp(logs, axis=0), atol=1e-9)


def test_a_single_component_is_the_plain_law():
    states = three_groups(2000)
    one = fit_prior(states, kind="gaussian_mixture", n_components=1, ridge=0.0)
    plain = fit_prior(states, kind="gaussian", ridge=0.0)
    assert one.record.mean_log_likelihood == pytest.approx(plain.record.mean_log_likelihood)
    one = fit_prior(states, kind="student_mixture", n_components=1)
    plain = fit_prior(states, kind="student")
    assert one.record.mean_log_likelihood == pytest.approx(
        plain.record.mean_log_likelihood, abs=1e-4
    )


def test_the_start_is_the_same_each_time():
    states = three_groups(500)
    first, second = (fit_gaussian_mixture(states, FitOptions(n_components=3)) for _ in range(2))
    np.testing.assert_array_equal(first.log_weights, second.log_weights)


def test_a_component_without_enough_states_is_given_up_and_counted():
    states = np.vstack([generator(0, "few").standard_normal((300, 5)), np.full((2, 5), 40.0)])
    prior = fit_prior(states, kind="gaussian_mixture", n_components=2)
    assert prior.record.n_starved == 1
    assert prior.record.weights == (1.0,)


def test_more_components_than_different_states_are_not_made_up():
    states = np.repeat(three_groups(3), 40, axis=0)
    prior = fit_prior(states, kind="gaussian_mixture", n_components=8)
    assert len(prior.components) <= 3
