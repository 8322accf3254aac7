"""Kernels: their ratios against densities of scipy, the laws they keep, and balance in detail."""

import math

import numpy as np
import pytest
from scipy.stats import ks_2samp, kstest, multivariate_normal, multivariate_t
from scipy.stats import t as student

from likely.core.streams import generator
from likely.errors import CapabilityError, UnknownNameError
from likely.rare.prior.fit import fit_prior
from likely.rare.splitting.kernels import (
    KERNELS,
    GaussianMove,
    JointMove,
    LatentKernel,
    MalaMove,
    MixingMove,
    RadialMove,
    WhitenedKernel,
    make_kernel,
    mala_log_ratio,
    radial_log_ratio,
)
from likely.rare.splitting.lockstep import run_together
from likely.rare.splitting.moving import walk
from likely.rare.splitting.particles import Particles

TAIL, CUT = 4.0, 2.5
"""A wall at 2.5 under a t law of 4 degrees: probability 0.033."""


def above_the_wall(n: int, dim: int, *, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Exact draws, as Gaussian part and log lambda, given a first coordinate above CUT."""
    rng = generator(seed, "wall", n, dim)
    first = student.isf(rng.random(n) * student.sf(CUT, TAIL), TAIL)
    # lambda given one coordinate of a t vector is a gamma number, and the others given both normal
    lam = rng.standard_gamma(0.5 * (TAIL + 1.0), n) / (0.5 * (TAIL + first**2))
    z = rng.standard_normal((n, dim))
    z[:, 0] = first * np.sqrt(lam)
    return z, np.log(lam)[:, None]


def kernel_of(name: str, prior, moves=None):
    kernel = make_kernel(name, prior)
    if moves is None:
        return kernel
    kind = LatentKernel if isinstance(kernel, LatentKernel) else WhitenedKernel
    return kind(name=name, prior=prior, moves=moves)


def walked(kernel, particles, *, steps, n_steps, rng, cut=CUT):
    """Move particles above the wall in place, and return what the walk says."""
    scores = kernel.states(particles)[:, 0]
    job = walk(kernel, particles, scores, floor=cut, steps=steps, n_steps=n_steps, rng=rng)
    score = lambda states, run, floor: states[:, 0]  # noqa: E731
    return run_together([(0, job)], score, n_together=1)[0]


def start(kernel, n: int, dim: int, *, seed: int = 0) -> Particles:
    z, log_lam = above_the_wall(n, dim, seed=seed)
    if isinstance(kernel, LatentKernel):
        return Particles(position=z, mixing=log_lam)
    return Particles(position=z * np.exp(-0.5 * log_lam), mixing=np.empty((n, 0)))


@pytest.mark.parametrize("tail", [math.inf, 4.0])
@pytest.mark.parametrize("step", [0.05, 0.7])
def test_the_langevin_ratio_is_that_of_the_densities(spherical, tail, step):
    prior = spherical(3, tail)
    law = multivariate_normal(np.zeros(3)) if math.isinf(tail) else multivariate_t(df=tail)
    if not math.isinf(tail):
        law = multivariate_t(shape=np.eye(3), df=tail)
    rng = generator(0, "pairs")
    old, new = 2.0 * rng.standard_normal((9, 3)), 2.0 * rng.standard_normal((9, 3))

    def log_proposal(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        slopes = np.empty_like(a)
        for k in range(3):
            shift = 1e-5 * np.eye(3)[k]
            slopes[:, k] = (law.logpdf(a + shift) - law.logpdf(a - shift)) / 2e-5
        return np.array(
            [
                multivariate_normal(one + step * slope, 2.0 * step * np.eye(3)).logpdf(other)
                for one, slope, other in zip(a, slopes, b, strict=True)
            ]
        )

    expected = law.logpdf(new) + log_proposal(new, old)
    expected -= law.logpdf(old) + log_proposal(old, new)
    ratio = mala_log_ratio(prior, old, new, step=step)
    np.testing.assert_allclose(ratio, expected, atol=1e-7)
    back = mala_log_ratio(prior, new, old, step=step)
    np.testing.assert_allclose(ratio + back, 0.0, atol=1e-10)


def test_the_radial_ratio_is_that_of_the_densities_along_a_ray(spherical):
    prior, rng = spherical(5, 4.0), generator(0, "rays")
    old, logs = rng.standard_normal((9, 5)), 0.5 * rng.standard_normal(9)
    new = old * np.exp(logs)[:, None]
    law = multivariate_t(shape=np.eye(5), df=4.0)
    # along a ray the law has density law(r) r^4; log-normal steps from r to r' have one over r'
    radii = [np.log(np.linalg.norm(one, axis=1)) for one in (old, new)]
    expected = law.logpdf(new) + 4 * radii[1] - radii[0] - law.logpdf(old) - 4 * radii[0] + radii[1]
    ratio = radial_log_ratio(prior, old, logs)
    np.testing.assert_allclose(ratio, expected, atol=1e-10)
    np.testing.assert_allclose(ratio + radial_log_ratio(prior, new, -logs), 0.0, atol=1e-10)


@pytest.mark.parametrize("step", [0.1, 1.0])
def test_the_gaussian_move_is_symmetric_about_its_law(spherical, step):
    # old and new are jointly normal with covariance sqrt(1 - step^2): the pair can be swapped
    prior, rng = spherical(2), generator(0, "symmetric")
    old = rng.standard_normal((50_000, 2))
    new = GaussianMove(prior=prior).propose(
        Particles(position=old, mixing=np.empty((50_000, 0))), step=step, rng=rng
    ).position  # fmt: skip
    assert new is not None
    kept = math.sqrt(1.0 - step * step)
    error = 1.0 / math.sqrt(50_000)
    assert np.abs((old * new).mean(axis=0) - kept).max() < 5.0 * error
    assert np.abs(np.square(new).mean(axis=0) - 1.0).max() < 6.0 * error
    assert ks_2samp(new[:, 0] - kept * old[:, 0], step * old[:, 1]).pvalue > 1e-4


MOVES = {
    "mala": ("mala_radial", MalaMove, 0.4),
    "radial": ("mala_radial", RadialMove, 0.5),
    "gaussian": ("aug", GaussianMove, 0.6),
    "joint": ("aug", JointMove, 0.5),
    "mixing": ("aug", MixingMove, 1.0),
}


@pytest.mark.parametrize("name", MOVES)
def test_each_move_is_in_detailed_balance_above_a_wall(spherical, name):
    # as many particles go from any cell to any other as come back
    kernel_name, kind, step = MOVES[name]
    prior = spherical(3, TAIL)
    kernel = kernel_of(kernel_name, prior, (kind(prior=prior),))
    particles = start(kernel, 40_000, 3, seed=1)
    before = cells(kernel, particles)
    walked(kernel, particles, steps=(step,), n_steps=1, rng=generator(1, "balance", name))
    after = cells(kernel, particles)
    flows = np.zeros((9, 9))
    np.add.at(flows, (before, after), 1.0)
    there, back = flows[np.triu_indices(9, 1)], flows.T[np.triu_indices(9, 1)]
    counted = there + back > 50
    assert counted.sum() > 8
    z = (there - back)[counted] / np.sqrt((there + back)[counted])
    assert np.abs(z).max() < 4.5  # 36 pairs: false alarm below 3e-4 over all moves
    assert np.mean(before == after) < 0.9


def cells(kernel, particles: Particles) -> np.ndarray:
    """Nine cells: terciles of the score by terciles of the rest's length."""
    states = kernel.states(particles)
    lengths = np.linalg.norm(states[:, 1:], axis=1)
    return 3 * np.digitize(states[:, 0], [2.9, 3.7]) + np.digitize(lengths, [1.8, 3.2])


@pytest.mark.parametrize("name", KERNELS)
def test_exact_draws_above_a_wall_stay_exact(spherical, name):
    prior = spherical(4, TAIL)
    kernel = make_kernel(name, prior)
    particles = start(kernel, 6000, 4, seed=2)
    other = kernel.states(start(kernel, 6000, 4, seed=3))
    steps = tuple(move.first_step for move in kernel.moves)
    found = walked(kernel, particles, steps=steps, n_steps=8, rng=generator(2, "stay", name))
    states = kernel.states(particles)
    assert found.moved.mean() > 0.8
    np.testing.assert_allclose(found.scores, states[:, 0])
    tail = lambda x: 1.0 - student.sf(x, TAIL) / student.sf(CUT, TAIL)  # noqa: E731
    assert kstest(states[:, 0], tail).pvalue > 1e-4
    for read in (
        lambda a: np.linalg.norm(a, axis=1),
        lambda a: a[:, 1],
        lambda a: a[:, 2] / a[:, 0],
    ):
        assert ks_2samp(read(states), read(other)).pvalue > 1e-4


@pytest.mark.parametrize("prior_kind", ["student_mixture", "gaussian_mixture", "marginals"])
@pytest.mark.parametrize("name", ["aug", "mala_radial"])
def test_every_prior_is_kept_by_every_kernel(prior_kind, name):
    rng = generator(3, "states")
    states = rng.standard_t(4.0, size=(600, 2)) @ np.array([[1.0, 0.5], [0.0, 2.0]])
    states[:200] += 6.0
    prior = fit_prior(states, kind=prior_kind, n_components=2)
    kernel = make_kernel(name, prior)
    particles = kernel.start(6000, rng=rng)
    first, cut = kernel.states(particles).copy(), 1.0
    rows = np.flatnonzero(first[:, 0] >= cut)
    particles = particles.take(rows)
    steps = tuple(move.first_step for move in kernel.moves)
    found = walked(kernel, particles, steps=steps, n_steps=8, rng=rng, cut=cut)
    last = kernel.states(particles)
    assert found.moved.mean() > 0.8
    assert last[:, 0].min() >= cut
    again = kernel.states(kernel.start(6000, rng=rng))
    again = again[again[:, 0] >= cut]
    for read in (lambda a: a[:, 0], lambda a: a[:, 1], lambda a: a[:, 0] - a[:, 1]):
        assert ks_2samp(read(last), read(again)).pvalue > 1e-4


def test_a_gaussian_prior_has_no_mixing_to_move(spherical):
    assert [move.name for move in make_kernel("aug", spherical(3)).moves] == ["gaussian"]
    names = [move.name for move in make_kernel("aug", spherical(3, 4.0)).moves]
    assert names == ["joint", "mixing"]


def test_a_component_that_stays_is_not_scored_again():
    # of two Gaussians, three quarters of the proposals keep the component: nothing changes there
    rng = generator(4, "states")
    states = np.concatenate([rng.standard_normal((300, 2)), 6.0 + rng.standard_normal((300, 2))])
    prior = fit_prior(states, kind="gaussian_mixture", n_components=2)
    particles = make_kernel("aug", prior).start(2000, rng=rng)
    proposal = MixingMove(prior=prior).propose(particles, step=1.0, rng=rng)
    assert abs(len(proposal.where) / 2000 - 0.125) < 4.0 * math.sqrt(0.125 * 0.875 / 2000)
    assert (proposal.mixing[:, 0] != particles.mixing[proposal.where, 0]).all()


class WhitenedOnly:
    """A prior that has no latent form."""

    def __init__(self, inner) -> None:
        self.dim, self.log_det = inner.dim, inner.log_det
        self.log_density, self.gradient, self.sample = (
            inner.log_density, inner.gradient, inner.sample,
        )  # fmt: skip
        self.to_states, self.to_whitened = inner.to_states, inner.to_whitened


def test_kernels_ask_for_what_they_need(spherical):
    with pytest.raises(UnknownNameError, match="no kernel named 'agu'"):
        make_kernel("agu", spherical(2))
    prior = WhitenedOnly(spherical(2, 4.0))
    assert make_kernel("mala_radial", prior).name == "mala_radial"
    with pytest.raises(CapabilityError, match="latent form, got 'WhitenedOnly'"):
        make_kernel("aug", prior)
