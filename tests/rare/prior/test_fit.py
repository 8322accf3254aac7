"""Laws that every prior of the table keeps."""

import math

import numpy as np
import pytest
from scipy.stats import ks_2samp, multivariate_normal, multivariate_t

from likely.core.streams import generator
from likely.errors import InputError, UnknownNameError
from likely.rare.prior.fit import PRIORS, fit_prior
from likely.rare.prior.protocol import mean_log_likelihood

KINDS = tuple(PRIORS.names())


def heavy(n: int, dim: int, *, tail: float = 5.0, seed: int = 0) -> np.ndarray:
    """Draws of a t law with a centre and a scale matrix of its own."""
    rng = generator(seed, "heavy", n, dim)
    factor = np.tril(rng.standard_normal((dim, dim))) + 2.0 * np.eye(dim)
    z = rng.standard_normal((n, dim)) / np.sqrt(rng.chisquare(tail, size=(n, 1)) / tail)
    return np.asarray(3.0 + z @ factor.T)


@pytest.fixture(scope="module", params=KINDS)
def fitted(request):
    return request.param, fit_prior(heavy(1500, 3), kind=request.param, n_components=2)


def test_a_density_integrates_to_one(fitted):
    _, prior = fitted
    rng = generator(1, "box")
    scale = 4.0  # draws of a wide t cover every tail: the weights are bounded
    wide = multivariate_t(shape=scale * np.eye(3), df=1.5)
    u = wide.rvs(size=40_000, random_state=rng)
    weights = np.exp(prior.log_density(u) - wide.logpdf(u))
    z = (weights.mean() - 1.0) / (weights.std() / math.sqrt(len(weights)))
    assert abs(z) < 4.0
    assert weights.std() / math.sqrt(len(weights)) < 0.02


def test_a_gradient_is_the_slope_of_the_density(fitted):
    _, prior = fitted
    u = prior.sample(20, rng=generator(2, "points"))
    step = 1e-5
    slopes = np.empty_like(u)
    for k in range(prior.dim):
        shift = step * np.eye(prior.dim)[k]
        slopes[:, k] = (prior.log_density(u + shift) - prior.log_density(u - shift)) / (2 * step)
    np.testing.assert_allclose(prior.gradient(u), slopes, rtol=1e-6, atol=1e-7)


def test_whitening_and_back_is_the_identity(fitted):
    _, prior = fitted
    u = prior.sample(50, rng=generator(3, "points"))
    np.testing.assert_allclose(prior.to_whitened(prior.to_states(u)), u, atol=1e-9)


def test_the_volume_of_whitening_is_that_of_its_jacobian(fitted):
    _, prior = fitted
    corner = prior.to_states(np.vstack([np.zeros(3), np.eye(3)]))
    assert prior.log_det == pytest.approx(np.linalg.slogdet(corner[1:] - corner[0])[1], abs=1e-9)


def test_draws_follow_the_density(fitted):
    # the mean of log density over draws is the negative entropy, by quadrature over other draws
    _, prior = fitted
    wide = multivariate_t(shape=4.0 * np.eye(3), df=1.5)
    u = wide.rvs(size=40_000, random_state=generator(4, "box"))
    logs = prior.log_density(u)
    for power in (0.5, 1.0, 2.0):  # moments of a bounded function of the draws
        inside = np.exp(-power * np.square(u).sum(axis=1))
        by_density = np.exp(logs - wide.logpdf(u)) * inside
        drawn = prior.sample(40_000, rng=generator(4, "draws"))
        by_draws = np.exp(-power * np.square(drawn).sum(axis=1))
        error = math.hypot(by_density.std(), by_draws.std()) / 200.0
        assert abs(by_density.mean() - by_draws.mean()) < 4.0 * error


def test_the_latent_form_has_the_law_of_the_prior(fitted):
    _, prior = fitted
    rng = generator(5, "latent")
    states = prior.assemble(prior.draw_gaussian(8000, rng=rng), prior.draw_mixing(8000, rng=rng))
    others = prior.to_states(prior.sample(8000, rng=rng))
    for direction in (np.array([1.0, 0, 0]), np.array([1.0, -2.0, 0.5])):
        assert ks_2samp(states @ direction, others @ direction).pvalue > 1e-4
    centre = others.mean(axis=0)
    radii = [np.linalg.norm(one - centre, axis=1) for one in (states, others)]
    assert ks_2samp(*radii).pvalue > 1e-4


def test_moves_of_the_mixing_numbers_keep_their_law(fitted):
    _, prior = fitted
    rng = generator(6, "mixing")
    start = prior.draw_mixing(8000, rng=rng)
    if not start.shape[1]:
        assert prior.move_mixing(start, step=1.0, rng=rng)[0].shape == (8000, 0)
        return
    now = start.copy()
    for _ in range(5):
        moved, ratio = prior.move_mixing(now, step=1.0, rng=rng)
        now = np.where((np.log(rng.random(8000)) < ratio)[:, None], moved, now)
    assert np.mean(np.any(now != start, axis=1)) > 0.1
    for column in range(start.shape[1]):
        assert ks_2samp(now[:, column], start[:, column]).pvalue > 1e-4


def test_the_record_has_the_likelihood_of_the_states(fitted):
    kind, prior = fitted
    states = heavy(1500, 3)
    assert prior.record.kind == kind
    assert prior.record.converged or prior.record.n_iterations == 100
    assert prior.record.mean_log_likelihood == pytest.approx(mean_log_likelihood(prior, states))


def test_heavier_tails_fit_heavy_tails_better():
    states = heavy(1500, 3)
    found = {kind: fit_prior(states, kind=kind, n_components=2) for kind in KINDS}
    likelihood = {kind: prior.record.mean_log_likelihood for kind, prior in found.items()}
    assert likelihood["student"] > likelihood["gaussian"] + 0.05
    assert likelihood["gaussian_mixture"] > likelihood["gaussian"]
    assert likelihood["student_mixture"] >= likelihood["student"] - 1e-6


@pytest.mark.parametrize("kind", ["gaussian", "student"])
def test_an_affine_map_of_the_states_maps_the_law(kind):
    states = heavy(2000, 4)
    rng = generator(7, "map")
    matrix, shift = rng.standard_normal((4, 4)), rng.standard_normal(4)
    first = fit_prior(states, kind=kind, ridge=0.0)
    second = fit_prior(states @ matrix.T + shift, kind=kind, ridge=0.0)
    volume = np.linalg.slogdet(matrix)[1]
    logs = first.log_density(first.to_whitened(states[:50])) - first.log_det
    mapped = second.to_whitened(states[:50] @ matrix.T + shift)
    np.testing.assert_allclose(
        second.log_density(mapped) - second.log_det + volume, logs, rtol=1e-8, atol=1e-8
    )


@pytest.mark.parametrize("kind", KINDS)
def test_a_shift_and_a_scale_map_the_law_with_a_ridge(kind):
    # the ridge is relative, so that small activations are not drowned in it
    states = heavy(600, 3)
    first = fit_prior(states, kind=kind, n_components=2)
    second = fit_prior(1e-4 * states - 2.0, kind=kind, n_components=2)
    gained = second.record.mean_log_likelihood - first.record.mean_log_likelihood
    assert gained == pytest.approx(-3.0 * math.log(1e-4), abs=1e-3)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("drop_null", [False, True])
def test_states_in_fewer_dimensions_than_numbers_can_be_fitted(kind, drop_null):
    flat = heavy(600, 3)
    basis = np.linalg.qr(generator(8, "basis").standard_normal((4, 3)))[0]
    states = 5.0 + flat @ basis.T
    prior = fit_prior(states, kind=kind, drop_null=drop_null, n_components=2)
    assert prior.dim == (3 if drop_null else 4)
    assert prior.record.n_dropped == (1 if drop_null else 0)
    drawn = prior.to_states(prior.sample(500, rng=generator(8, "draws")))
    normal = np.linalg.svd(basis)[0][:, 3]
    off = np.abs((drawn - 5.0) @ normal)
    assert np.median(off) < (1e-8 if drop_null else 0.1)
    assert np.median(off) > (-1.0 if drop_null else 1e-4)  # the ridge has some width
    np.testing.assert_allclose(prior.to_states(prior.to_whitened(states)), states, atol=1e-6)
    rng = generator(8, "latent")
    latent = prior.assemble(prior.draw_gaussian(9, rng=rng), prior.draw_mixing(9, rng=rng))
    assert latent.shape == (9, 4)


def test_a_state_density_is_that_of_scipy():
    states = heavy(2000, 3)
    found = fit_prior(states, kind="student")
    scale = found.whitening.factor @ found.whitening.factor.T
    oracle = multivariate_t(loc=found.whitening.centre, shape=scale, df=found.tail)
    ours = found.log_density(found.to_whitened(states[:99])) - found.log_det
    np.testing.assert_allclose(ours, oracle.logpdf(states[:99]), atol=1e-9)
    found = fit_prior(states, kind="gaussian")
    scale = found.whitening.factor @ found.whitening.factor.T
    oracle = multivariate_normal(mean=found.whitening.centre, cov=scale)
    ours = found.log_density(found.to_whitened(states[:99])) - found.log_det
    np.testing.assert_allclose(ours, oracle.logpdf(states[:99]), atol=1e-9)


def test_float32_states_are_fitted_in_float64():
    states = heavy(500, 3).astype(np.float32)
    prior = fit_prior(states, kind="student")
    assert prior.to_states(np.zeros((1, 3))).dtype == np.float64


@pytest.mark.parametrize(
    ("states", "message"),
    [
        (np.zeros((5, 2)), "states that vary"),
        (np.zeros((1, 2)), "two states or more"),
        (np.array([[1.0, math.nan], [0.0, 1.0]]), "finite states"),
    ],
)
def test_states_that_cannot_be_fitted_are_refused(states, message):
    with pytest.raises(InputError, match=message):
        fit_prior(states, kind="gaussian")


def test_unknown_names_and_numbers_out_of_range_are_refused():
    states = heavy(10, 2)
    with pytest.raises(UnknownNameError, match="did you mean \\['student'"):
        fit_prior(states, kind="studnet")
    with pytest.raises(InputError, match="1 to 8 components"):
        fit_prior(states, n_components=9)
    with pytest.raises(InputError, match="ridge >= 0"):
        fit_prior(states, ridge=-1.0)
