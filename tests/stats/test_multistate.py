"""Draws of several laws as one sample, against closed forms and Bennett's equation."""

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.special import expit

from likely.errors import InputError
from likely.stats.multistate import fit_log_z, log_weights


def tilted_normals(betas, counts, *, seed=0):
    """Return draws of normal laws of variance 1 and the tilts' log-densities: exp(beta x)."""
    rng = np.random.default_rng(seed)
    draws = np.concatenate(
        [rng.normal(size=n) + beta for beta, n in zip(betas, counts, strict=True)]
    )
    return draws, draws[:, None] * np.asarray(betas)


def test_constants_of_tilted_normals_are_their_closed_form():
    betas, counts = [0.0, 0.7, 1.4, 2.8, 4.0], np.array([4000, 500, 1000, 1000, 1000])
    draws, densities = tilted_normals(betas, counts)
    log_z = fit_log_z(densities, counts)
    assert log_z[0] == 0.0
    np.testing.assert_allclose(log_z, np.square(betas) / 2, atol=0.2)
    weights = np.exp(log_weights(densities, counts, log_z))
    assert weights.sum() == pytest.approx(1.0, abs=1e-9)
    # The mean under the first law of what it never drew: P(x > 4) = 3.17e-5.
    assert weights[draws > 4.0].sum() == pytest.approx(3.167e-5, rel=0.2)


def test_two_laws_give_the_acceptance_ratio_of_bennett():
    counts = np.array([300, 700])
    _, densities = tilted_normals([0.0, 1.5], counts, seed=1)
    tilts = densities[:, 1]

    def gap(log_z):
        ratio = tilts - log_z + np.log(counts[1] / counts[0])
        return expit(ratio[:300]).sum() - expit(-ratio[300:]).sum()

    assert fit_log_z(densities, counts)[1] == pytest.approx(brentq(gap, -20, 20), abs=1e-7)


def test_a_start_changes_nothing_and_order_of_draws_neither():
    counts = np.array([200, 200, 100])
    _, densities = tilted_normals([0.0, 1.0, 2.0], counts, seed=2)
    cold = fit_log_z(densities, counts)
    order = np.random.default_rng(0).permutation(len(densities))
    np.testing.assert_allclose(fit_log_z(densities[order], counts), cold, atol=1e-7)
    np.testing.assert_allclose(
        fit_log_z(densities, counts, start=np.array([0.0, 0.3, 3.0])), cold, atol=1e-7
    )


def test_constants_far_from_nought_are_found_in_logs():
    """Log-densities of thousands of nats, as cold tilts of large scores are."""
    counts = np.array([400, 400])
    draws, _ = tilted_normals([0.0, 0.5], counts, seed=3)
    densities = np.stack([np.zeros(800), 0.5 * draws + 5000.0], axis=1)
    assert fit_log_z(densities, counts)[1] == pytest.approx(5000.125, abs=0.3)


def test_counts_that_do_not_fit_are_refused():
    with pytest.raises(InputError, match="of the 4 draws"):
        fit_log_z(np.zeros((4, 2)), np.array([2, 1]))
    with pytest.raises(InputError, match="of the 4 draws"):
        fit_log_z(np.zeros((4, 2)), np.array([4, 0]))
