"""Which loss: every kind keeps the interface, and settings that contradict each other fail."""

import math

import numpy as np
import pytest

from likely.errors import InputError
from likely.rare.loss.kinds import ITAKURA_SAITO, LOG_SQUARED, LogSquared, Loss, Spb
from likely.rare.loss.pointwise import itakura_saito, log_squared_error, spb
from likely.rare.loss.weights import shifted_weight, weight

Q, P = np.array([1e-9, 1e-7, 1e-5]), np.array([3e-9, 0.0, 1e-5])
LOG_Q = np.log(Q)
LOG_P = np.array([math.log(3e-9), -math.inf, math.log(1e-5)])


def test_each_kind_is_a_loss_with_a_name_of_its_own():
    kinds = [Spb(), Spb(alpha=2.0), Spb(gamma=0.25), Spb(weighting="shifted"), Spb(epsilon=1e-9)]
    names = {kind.name for kind in [*kinds, LogSquared()]}
    assert len(names) == 6
    assert all(isinstance(kind, Loss) for kind in [*kinds, LOG_SQUARED])


def test_the_losses_are_those_of_the_functions_times_their_weights():
    power = Spb(alpha=1.0, epsilon=1e-9, gamma=0.25)
    plain = spb(Q, P, alpha=1.0, epsilon=1e-9)
    expected = weight(Q, alpha=1.0, gamma=0.25) * plain
    assert np.exp(power.log_losses(LOG_Q, LOG_P)) == pytest.approx(expected, rel=1e-12, abs=0.0)
    shifted = Spb(alpha=1.0, epsilon=1e-9, weighting="shifted")
    expected = shifted_weight(Q, alpha=1.0, epsilon=1e-9) * plain
    assert np.exp(shifted.log_losses(LOG_Q, LOG_P)) == pytest.approx(expected, rel=1e-12, abs=0.0)
    none = Spb(alpha=1.0, epsilon=1e-9, weighting="none")
    assert np.exp(none.log_losses(LOG_Q, LOG_P)) == pytest.approx(plain, rel=1e-12, abs=0.0)
    assert np.exp(ITAKURA_SAITO.log_losses(LOG_Q, LOG_P)) == pytest.approx(itakura_saito(Q, P))
    found = np.exp(LOG_SQUARED.log_losses(LOG_Q, LOG_P))
    assert found == pytest.approx(log_squared_error(Q, P))


def test_a_truth_of_zero_needs_a_weight():
    zero, half = np.array([-math.inf]), np.array([math.log(0.5)])
    for alpha in (1.5, 3.0):
        with pytest.raises(InputError, match="finite weight above 0, got a truth of 0 under SPB"):
            Spb(alpha=alpha).log_losses(zero, half)
    assert math.isfinite(Spb(weighting="shifted").log_losses(zero, half)[0])
    with pytest.raises(InputError, match="no constant has a finite log-squared error"):
        LOG_SQUARED.log_constant(zero)


def test_settings_that_make_no_loss_are_refused():
    with pytest.raises(InputError, match="alpha needs a finite number"):
        Spb(alpha=-0.5)
    unknown = Spb()
    object.__setattr__(unknown, "weighting", "equal")  # what a caller without types may pass
    with pytest.raises(InputError, match="weighting is 'power', 'shifted' or 'none', got 'equal'"):
        unknown.__post_init__()
    with pytest.raises(InputError, match="premium on rarity is part of a weight"):
        Spb(gamma=0.5, weighting="none")
