"""Losses of many targets: division by their number, zeros in the open, and the best constant."""

import math

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from likely.core.jsonio import dumps
from likely.errors import InputError, ShapeError
from likely.rare.loss.data_set import (
    log_optimal_constant,
    mean_loss,
    mean_loss_log,
    optimal_constant,
    zero_penalty,
)
from likely.rare.loss.kinds import ITAKURA_SAITO, LOG_SQUARED, Spb

KINDS = [
    ITAKURA_SAITO,
    LOG_SQUARED,
    Spb(),
    Spb(alpha=1.0, gamma=0.25),
    Spb(alpha=2.5, weighting="shifted"),
    Spb(alpha=0.5, weighting="none"),
]


def log_uniform(n, low=1e-9, high=1e-5):
    """The middles of n equal shares of a log-uniform law."""
    return low * (high / low) ** ((np.arange(n) + 0.5) / n)


def test_the_mean_divides_by_the_number_of_targets_and_not_by_the_weights():
    q, p = np.array([1e-9, 1e-5]), np.array([2e-9, 1e-5])
    loss = Spb(alpha=1.0, epsilon=0.0, gamma=0.5)
    weighted = 10.0**2 * (2.0 - 1.0 - math.log(2.0))
    assert mean_loss(q, p, loss).mean == pytest.approx(weighted / 2.0, rel=1e-12, abs=0.0)


def test_zeros_are_counted_and_the_loss_is_shown_without_them():
    q, p = np.array([1e-7, 1e-7, 1e-6]), np.array([0.0, 1e-7, 2e-6])
    found = mean_loss(q, p, ITAKURA_SAITO)
    over = 0.5 + math.log(2.0) - 1.0
    assert (found.n, found.n_zeros, found.mean) == (3, 1, math.inf)
    assert found.median == pytest.approx(over, rel=1e-12, abs=0.0)
    assert found.mean_without_zeros == pytest.approx(over / 2.0, rel=1e-12, abs=0.0)
    shifted = mean_loss(q, p, Spb(alpha=2.0))
    penalty = zero_penalty(1e-7, Spb(alpha=2.0))
    assert shifted.mean == pytest.approx((penalty + 2.0 * shifted.mean_without_zeros) / 3.0)
    assert dumps(found.to_dict()).startswith('{"loss": "SPB(alpha=2')


def test_only_zeros_leave_no_mean_without_them():
    found = mean_loss(np.array([1e-7]), np.array([0.0]), LOG_SQUARED)
    assert (found.mean, found.median, found.mean_without_zeros) == (math.inf, math.inf, None)


def test_an_even_number_of_losses_has_the_middle_of_two_as_its_median():
    q = np.full(4, 1e-7)
    p = q * np.exp([0.0, 1.0, 2.0, 30.0])
    assert mean_loss(q, p, LOG_SQUARED).median == pytest.approx(
        (1.0 + 4.0) / 2.0, rel=1e-12, abs=0.0
    )


def test_logs_below_any_float_have_a_mean():
    log_q = np.array([-2000.0, -1500.0])
    for loss in (ITAKURA_SAITO, LOG_SQUARED, Spb(epsilon=0.0)):
        low = mean_loss_log(log_q, log_q + np.array([1.0, -2.0]), loss)
        high = mean_loss_log(log_q + 1490.0, log_q + 1490.0 + np.array([1.0, -2.0]), loss)
        assert low.mean == pytest.approx(high.mean, rel=1e-11, abs=0.0)


@pytest.mark.parametrize("loss", KINDS, ids=lambda kind: kind.name)
def test_no_constant_beats_the_optimal_one(loss):
    q = np.exp(np.random.default_rng(3).uniform(-20.0, -11.0, 40))
    best = optimal_constant(q, loss)

    def cost(log_constant):
        return mean_loss_log(np.log(q), np.full(len(q), log_constant), loss).mean

    found = minimize_scalar(cost, bounds=(-20.0, -11.0), method="bounded", options={"xatol": 1e-10})
    assert found.success
    assert math.log(best) == pytest.approx(found.x, abs=1e-5)
    assert cost(math.log(best)) <= found.fun * (1.0 + 1e-13)
    assert math.exp(log_optimal_constant(np.log(q), loss)) == pytest.approx(
        best, rel=1e-14, abs=0.0
    )


def test_optimal_constants_are_the_means_that_they_are_said_to_be():
    q = np.array([1e-9, 1e-6, 1e-5])
    assert optimal_constant(q, ITAKURA_SAITO) == pytest.approx(q.mean(), rel=1e-14, abs=0.0)
    assert optimal_constant(q, LOG_SQUARED) == pytest.approx(
        10.0 ** (-20.0 / 3.0), rel=1e-13, abs=0.0
    )
    w = q**-0.5
    for epsilon in (0.0, 1e-9, 1e-3):
        found = optimal_constant(q, Spb(alpha=1.5, epsilon=epsilon))
        assert found == pytest.approx((w * q).sum() / w.sum(), rel=1e-13, abs=0.0)


def test_the_optimal_constant_of_log_uniform_truths_costs_what_the_specification_says():
    q = log_uniform(20_001)
    for loss, anchor in [(ITAKURA_SAITO, 2.385), (LOG_SQUARED, 7.07)]:
        constant = np.full(len(q), optimal_constant(q, loss))
        assert mean_loss(q, constant, loss).mean == pytest.approx(anchor, abs=6e-3)
    exact = math.log(1e-5 - 1e-9) - math.log(math.log(1e4)) - math.log(1e-7)
    constant = np.full(len(q), optimal_constant(q, ITAKURA_SAITO))
    assert mean_loss(q, constant, ITAKURA_SAITO).mean == pytest.approx(exact, abs=1e-6)


@pytest.mark.parametrize(
    ("alpha", "penalties"),
    [
        (0.5, (1.32, 1.24, 0.52)),
        (1.0, (9.67, 5.07, 0.86)),
        (1.5, (411.0, 37.6, 1.47)),
        (2.0, (4.3e4, 423.0, 2.6)),
        (2.5, (5.9e6, 5915.0, 4.9)),
    ],
)
def test_a_zero_costs_what_the_specification_says(alpha, penalties):
    found = zero_penalty(np.array([1e-5, 1e-7, 1e-9]), Spb(alpha=alpha, weighting="shifted"))
    assert found == pytest.approx(penalties, rel=1.5e-2, abs=0.0)


def test_a_loss_without_a_shift_does_not_stand_a_zero():
    assert zero_penalty(1e-7, ITAKURA_SAITO) == zero_penalty(1e-7, LOG_SQUARED) == math.inf
    limit = 1.0 / (0.5 * 1.5)
    assert zero_penalty(1e-7, Spb(alpha=0.5, epsilon=0.0)) == pytest.approx(
        limit, rel=1e-12, abs=0.0
    )


def test_targets_without_estimates_and_no_targets_are_refused():
    with pytest.raises(ShapeError, match=r"got shapes \(2,\) and \(1,\)"):
        mean_loss(np.array([0.1, 0.2]), np.array([0.1]), LOG_SQUARED)
    with pytest.raises(InputError, match="at least one target"):
        mean_loss(np.array([]), np.array([]), LOG_SQUARED)
    with pytest.raises(InputError, match="p needs finite numbers"):
        mean_loss(np.array([0.1]), np.array([math.nan]), LOG_SQUARED)
