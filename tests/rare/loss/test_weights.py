"""Weights: the scale that they take out, the premium on rarity, and the shift."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from likely.errors import InputError
from likely.rare.loss.pointwise import EPSILON, spb
from likely.rare.loss.shape import relative
from likely.rare.loss.weights import log_shifted_weight, shifted_weight, weight

TRUTHS = np.array([1e-9, 1e-7, 1e-5])


@pytest.mark.parametrize("alpha", [0.5, 1.0, 1.5, 2.0, 3.0])
def test_the_plain_weight_takes_out_the_scale_without_a_shift(alpha):
    weighted = weight(TRUTHS, alpha=alpha) * spb(TRUTHS, 5.0 * TRUTHS, alpha=alpha, epsilon=0.0)
    assert weighted == pytest.approx(relative(math.log(5.0), alpha=alpha), rel=1e-12, abs=0.0)


@given(st.floats(0.0, 1.0), st.floats(0.0, 1.0), st.floats(0.0, 3.0), st.floats(1e-12, 1e-3))
def test_the_shifted_weight_takes_it_out_with_one(q, p, alpha, epsilon):
    weighted = shifted_weight(q, alpha=alpha, epsilon=epsilon)
    weighted *= spb(q, p, alpha=alpha, epsilon=epsilon)
    share = (p - q) / (q + epsilon)
    far = math.log(p + epsilon) - math.log(q + epsilon)
    delta = math.log1p(share) if abs(share) < 0.5 else far
    assert weighted == pytest.approx(relative(delta, alpha=alpha), rel=1e-9, abs=1e-200)


def test_the_premium_is_one_at_the_reference_and_grows_by_decades():
    premium = weight(TRUTHS, alpha=2.0, gamma=0.25)
    assert premium == pytest.approx([10.0, 10.0**0.5, 1.0], rel=1e-12, abs=0.0)
    assert weight(1e-5, alpha=1.0, gamma=0.25) == pytest.approx(1e5, rel=1e-12, abs=0.0)
    moved = weight(1e-7, alpha=2.0, gamma=1.0, reference=1e-6)
    assert moved == pytest.approx(10.0, rel=1e-12, abs=0.0)


def test_the_shift_is_added_to_the_truth_of_both_factors():
    shifted = shifted_weight(1e-9, alpha=1.5, epsilon=EPSILON, gamma=0.5)
    assert shifted == pytest.approx(
        weight(1e-9 + EPSILON, alpha=1.5, gamma=0.5), rel=1e-14, abs=0.0
    )


def test_a_truth_of_zero_has_the_limit_as_its_weight():
    assert weight(0.0, alpha=1.5) == math.inf
    assert weight(0.0, alpha=2.0) == 1.0
    assert weight(0.0, alpha=3.0) == 0.0
    assert shifted_weight(0.0, alpha=1.0, epsilon=0.25) == 4.0


def test_logs_of_weights_reach_below_any_float():
    logs = log_shifted_weight(np.array([-2000.0, -100.0]), alpha=1.0, epsilon=0.0, gamma=0.5)
    assert logs == pytest.approx(
        1.5 * np.array([2000.0, 100.0]) + 0.5 * math.log(1e-5), rel=1e-14, abs=0.0
    )


@pytest.mark.parametrize("name", ["alpha", "epsilon", "gamma", "reference"])
@pytest.mark.parametrize("bad", [-1.0, math.nan, math.inf])
def test_settings_out_of_their_range_are_refused(name, bad):
    settings = {"alpha": 1.5, "epsilon": EPSILON, name: bad}
    with pytest.raises(InputError, match=f"{name} needs a finite number of at least 0"):
        shifted_weight(1e-7, **settings)


def test_a_reference_of_zero_is_refused():
    with pytest.raises(InputError, match="reference needs a probability above 0"):
        weight(1e-7, alpha=1.5, reference=0.0)
