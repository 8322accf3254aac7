"""The multivariate t law: recovery, the fixed point of ECME, and its record."""

import math

import numpy as np
import pytest
from scipy.special import digamma
from scipy.stats import gamma, multivariate_t

from likely.core.streams import generator
from likely.errors import NumericalError
from likely.rare.prior.options import FitOptions
from likely.rare.prior.student import (
    TAIL_BOUNDS,
    draw_log_scales,
    fit_student,
    fit_tail,
    log_scale_ratio,
    student_log_density,
)


def drawn(n: int, tail: float, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    centre = np.array([1.0, -2.0, 0.5])
    scale = np.array([[2.0, 0.6, 0.0], [0.6, 1.0, -0.3], [0.0, -0.3, 0.5]])
    law = multivariate_t(loc=centre, shape=scale, df=tail)
    return law.rvs(size=n, random_state=generator(seed, "t", str(tail))), centre, scale


@pytest.mark.parametrize("tail", [3.0, 8.0])
def test_the_fit_recovers_the_law(tail):
    states, centre, scale = drawn(40_000, tail)
    found = fit_student(states, FitOptions())
    # standard errors: about tail * sqrt(2 tail / n) or less for the tail, 1/200 for the rest
    assert found.tail == pytest.approx(tail, rel=0.1)
    np.testing.assert_allclose(found.whitening.centre, centre, atol=0.04)
    matrix = found.whitening.factor @ found.whitening.factor.T
    np.testing.assert_allclose(matrix, scale, atol=0.08)
    assert found.record.converged
    assert found.record.n_iterations < 10  # a part of the rows had already brought it near


def test_no_small_change_of_the_fit_is_likelier():
    states, _, _ = drawn(2000, 4.0)
    found = fit_student(states, FitOptions(ridge=0.0, tolerance=1e-12))
    matrix = found.whitening.factor @ found.whitening.factor.T

    def likelihood(centre: np.ndarray, scale: np.ndarray, tail: float) -> float:
        return float(multivariate_t(loc=centre, shape=scale, df=tail).logpdf(states).mean())

    best = likelihood(found.whitening.centre, matrix, found.tail)
    assert best == pytest.approx(found.record.mean_log_likelihood, abs=1e-9)
    rng = generator(0, "changes")
    for size in (1e-2, 1e-3):
        for _ in range(10):
            change = rng.standard_normal((3, 3))
            other = likelihood(
                found.whitening.centre + size * rng.standard_normal(3),
                matrix + size * (change + change.T),
                found.tail + size * rng.standard_normal(),
            )
            assert other < best


def test_at_the_fit_the_weights_have_mean_one():
    # so that dividing the scale matrix by their sum, or by the number of rows, is the same
    states, _, _ = drawn(2000, 4.0)
    found = fit_student(states, FitOptions(ridge=0.0, tolerance=1e-12))
    squared = np.square(found.to_whitened(states)).sum(axis=1)
    weights = (found.tail + 3) / (found.tail + squared)
    assert weights.mean() == pytest.approx(1.0, abs=1e-5)


def test_gaussian_states_get_a_tail_as_good_as_gaussian():
    states = generator(0, "normal").standard_normal((4000, 3))
    assert fit_student(states, FitOptions()).tail > 50.0


def test_the_tail_stays_between_its_bounds():
    rng = generator(0, "extremes")
    cauchy = rng.standard_normal((500, 2)) / np.abs(rng.standard_normal((500, 1)))
    assert fit_student(cauchy, FitOptions()).tail == pytest.approx(TAIL_BOUNDS[0])
    light = rng.uniform(-1.0, 1.0, size=(500, 2))
    assert fit_student(light, FitOptions()).tail == pytest.approx(TAIL_BOUNDS[1])


def test_a_fitted_tail_solves_its_likelihood_equation():
    rng = generator(0, "lengths")
    squared = rng.chisquare(3, size=500) / (rng.chisquare(4.0, size=500) / 4.0)
    weights = generator(0, "weights").random(500)
    tail = fit_tail(squared, 3, weights=weights)
    # slope of the weighted log-likelihood in the tail, in closed form
    terms = digamma((tail + 3) / 2) - digamma(tail / 2) - 3 / tail - np.log1p(squared / tail)
    terms += (tail + 3) / tail * squared / (tail + squared)
    assert float(weights @ terms) / float(weights.sum()) == pytest.approx(0.0, abs=1e-5)


def test_an_iteration_that_may_not_end_says_so():
    states, _, _ = drawn(500, 3.0)
    found = fit_student(states, FitOptions(max_iterations=2))
    assert not found.record.converged
    assert found.record.n_iterations == 2


def test_a_singular_matrix_without_a_ridge_is_an_error():
    states = np.repeat(drawn(200, 4.0)[0][:, :1], 2, axis=1)
    with pytest.raises(NumericalError, match="larger ridge"):
        fit_student(states, FitOptions(ridge=0.0))


@pytest.mark.parametrize(("dim", "tail"), [(1, 2.1), (3, 4.0), (128, 200.0)])
def test_the_density_is_that_of_scipy(dim, tail):
    u = generator(0, "u", dim).standard_normal((7, dim))
    oracle = multivariate_t(shape=np.eye(dim), df=tail).logpdf(u)
    ours = student_log_density(np.square(u).sum(axis=1), dim, tail)
    np.testing.assert_allclose(ours, oracle, rtol=1e-11)


def test_the_ratio_of_scales_is_that_of_their_densities():
    rng = generator(0, "scales")
    old, new, tail = rng.standard_normal(9), rng.standard_normal(9), 5.0
    law = gamma(tail / 2, scale=2 / tail)
    logs = [law.logpdf(np.exp(one)) + one for one in (old, new)]  # density of the log
    np.testing.assert_allclose(log_scale_ratio(old, new, tail), logs[1] - logs[0], atol=1e-12)


def test_scales_have_mean_one():
    drawn_scales = np.exp(draw_log_scales(20_000, 1, 4.0, rng=generator(0, "mean")))
    error = math.sqrt(2.0 / 4.0 / 20_000)
    assert abs(float(drawn_scales.mean()) - 1.0) < 4.0 * error
