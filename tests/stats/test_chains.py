"""What chains say of themselves, against chains whose laws are known."""

import math

import numpy as np
import pytest

from likely.errors import InputError
from likely.stats.chains import chains_sample_size, split_r_hat


def autoregressive(rho, n_steps, n_chains, *, seed=0):
    rng = np.random.default_rng(seed)
    draws = rng.normal(size=(n_steps, n_chains))
    for step in range(1, n_steps):
        draws[step] = rho * draws[step - 1] + math.sqrt(1 - rho**2) * draws[step]
    return draws


@pytest.mark.parametrize("rho", [-0.5, 0.0, 0.5, 0.9])
def test_the_sample_size_of_autoregressive_chains_is_the_known_one(rho):
    draws = autoregressive(rho, 4000, 8)
    expected = draws.size * (1 - rho) / (1 + rho)
    assert chains_sample_size(draws) == pytest.approx(expected, rel=0.15)
    assert split_r_hat(draws) < 1.02


def test_chains_that_stay_apart_or_drift_disagree():
    draws = autoregressive(0.0, 1000, 4)
    apart = draws + np.array([0.0, 0.0, 0.0, 1.0])
    # One of four shifted by 1: the variance between means is 1/4, over half chains 2/7.
    assert split_r_hat(apart) == pytest.approx(math.sqrt(1 + 1.5 / 7), rel=0.02)
    assert chains_sample_size(apart) < 40
    # A drift of 3 puts the means of halves 1.5 apart and adds 1.5^2 / 12 within them.
    drift, within = np.linspace(0.0, 3.0, 1000)[:, None], 1.0 + 1.5**2 / 12
    four, one = 8 * 0.75**2 / 7, 2 * 0.75**2
    assert split_r_hat(draws + drift) == pytest.approx(math.sqrt(1 + four / within), rel=0.04)
    alone = split_r_hat(draws[:, :1] + drift)
    assert alone == pytest.approx(math.sqrt(1 + one / within), rel=0.06)


def test_chains_that_stand_still_agree_only_on_one_number():
    assert split_r_hat(np.ones((10, 3))) == 1.0
    assert chains_sample_size(np.ones((10, 3))) == 30.0
    stuck = np.tile(np.array([0.0, 0.0, 1.0]), (10, 1))
    assert split_r_hat(stuck) == math.inf
    assert chains_sample_size(stuck) < 10


def test_rare_hits_are_counted_like_any_number():
    """A chain of two states with known autocorrelation: leave 0 at rate a, leave 1 at rate b."""
    rng = np.random.default_rng(3)
    a, b = 0.02, 0.1
    draws = np.zeros((20000, 4))
    draws[0] = rng.random(4) < a / (a + b)
    for step, uniform in enumerate(rng.random((19999, 4)), start=1):
        leave = uniform < np.where(draws[step - 1] == 1, b, a)
        draws[step] = np.where(leave, 1 - draws[step - 1], draws[step - 1])
    rho = 1 - a - b
    expected = draws.size * (1 - rho) / (1 + rho)
    assert chains_sample_size(draws) == pytest.approx(expected, rel=0.2)


def test_too_few_steps_are_refused_in_one_line():
    with pytest.raises(InputError, match="got 3"):
        split_r_hat(np.zeros((3, 2)))
    with pytest.raises(InputError, match="got 3"):
        chains_sample_size(np.zeros((3, 2)))
