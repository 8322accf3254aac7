"""The noise floor: against a sum in many digits, and against simulated truths."""

import math

import mpmath as mp
import numpy as np
import pytest

from likely.errors import InputError
from likely.rare.loss.data_set import mean_loss
from likely.rare.loss.floor import noise_floor
from likely.rare.loss.kinds import ITAKURA_SAITO, LOG_SQUARED, Spb


def exact_floor(expected, loss, *, minimum=5, last=900):
    """The mean of a loss of the ratio count / expected, in many digits."""
    total = weight = mp.mpf(0)
    with mp.workdps(40):
        for count in range(minimum, last):
            law = mp.mpf(expected) ** count / mp.factorial(count)
            weight += law
            total += law * loss(count / mp.mpf(expected))
        return float(total / weight)


def test_floors_are_the_conditional_means():
    for expected in (0.3, 4.3, 43.0, 429.0):
        is_floor = exact_floor(expected, lambda r: r - mp.log(r) - 1)
        log_floor = exact_floor(expected, lambda r: mp.log(r) ** 2)
        assert noise_floor(expected, ITAKURA_SAITO) == pytest.approx(is_floor, rel=1e-11, abs=0.0)
        assert noise_floor(expected, LOG_SQUARED) == pytest.approx(log_floor, rel=1e-11, abs=0.0)


@pytest.mark.parametrize(
    ("expected", "is_floor", "log_floor"),
    [(4.3, 0.1001, 0.1635), (43.0, 0.0119, 0.0243), (429.0, 0.00117, 0.00234)],
)
def test_floors_of_the_specification(expected, is_floor, log_floor):
    # The specification's 0.101 and 0.166 at 4.3 are simulated; the sums give 0.1001 and 0.1635.
    assert noise_floor(expected, ITAKURA_SAITO) == pytest.approx(is_floor, rel=5e-3, abs=0.0)
    assert noise_floor(expected, LOG_SQUARED) == pytest.approx(log_floor, rel=5e-3, abs=0.0)


def test_a_shifted_loss_has_the_floor_of_simulated_truths():
    loss, expected, n_samples = Spb(gamma=0.25), 8.0, 2**20
    counts = np.random.default_rng(11).poisson(expected, 200_000)
    q = counts[counts >= 5] / n_samples
    p = np.full(len(q), expected / n_samples)
    losses = np.exp(loss.log_losses(np.log(q), np.log(p)))
    floor = noise_floor(expected, loss, n_samples=n_samples)
    error = losses.std(ddof=1) / math.sqrt(len(losses))
    assert abs(losses.mean() - floor) <= 4.0 * error
    assert mean_loss(q, p, loss).mean == pytest.approx(losses.mean(), rel=1e-12, abs=0.0)


def test_only_a_shift_or_a_premium_depends_on_the_size_of_the_truth():
    for loss in (ITAKURA_SAITO, LOG_SQUARED, Spb(epsilon=0.0)):
        small, large = (noise_floor(9.0, loss, n_samples=n) for n in (2**10, 2**32))
        assert small == pytest.approx(large, rel=1e-12, abs=0.0)
    small, large = (noise_floor(9.0, Spb(), n_samples=n) for n in (2**20, 2**32))
    assert small != pytest.approx(large, rel=1e-2, abs=0.0)


def test_large_counts_cost_half_or_all_of_their_relative_variance():
    assert noise_floor(1e8, ITAKURA_SAITO) == pytest.approx(0.5e-8, rel=1e-3, abs=0.0)
    assert noise_floor(1e8, LOG_SQUARED) == pytest.approx(1e-8, rel=1e-3, abs=0.0)


def test_a_lower_minimum_counts_the_unlucky_too():
    floors = [noise_floor(4.3, ITAKURA_SAITO, minimum_count=k) for k in (1, 3, 5)]
    expected = [exact_floor(4.3, lambda r: r - mp.log(r) - 1, minimum=k) for k in (1, 3, 5)]
    assert floors == pytest.approx(expected, rel=1e-11, abs=0.0)
    assert noise_floor(4.3, ITAKURA_SAITO, minimum_count=0) == math.inf


@pytest.mark.parametrize("expected", [0.0, -1.0, math.inf, math.nan])
def test_what_is_no_expected_count_is_refused(expected):
    with pytest.raises(InputError, match="expected_count needs a finite number above 0"):
        noise_floor(expected, ITAKURA_SAITO)


def test_impossible_counts_are_refused():
    with pytest.raises(InputError, match="minimum_count >= 0 and n_samples >= 1, got -1"):
        noise_floor(4.3, ITAKURA_SAITO, minimum_count=-1)
