"""Importance weights from their logs: against SciPy, and where exponentials underflow."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import softmax

from likely.errors import InputError, NumericalError
from likely.stats.importance import effective_sample_size, largest_share, normalised_weights

LOGS = st.lists(st.floats(-5000.0, 5000.0), min_size=1, max_size=20).map(np.array)


def test_weights_that_underflow_keep_their_shares():
    # O-44 (b) of the scoring cases: exp of each is 0 in a float.
    logs = np.array([-800.0, -801.0, -805.0])
    assert normalised_weights(logs) == pytest.approx([0.7275, 0.2676, 0.0049], abs=5e-5)
    assert effective_sample_size(logs) == pytest.approx(1.664, abs=5e-4)
    assert largest_share(logs) == pytest.approx(0.7275, abs=5e-5)


@given(LOGS, st.floats(-5000.0, 5000.0))
def test_all_three_equal_their_definitions_at_any_scale(logs, shift):
    shares = softmax(logs)
    moved = logs + shift
    assert normalised_weights(moved) == pytest.approx(shares, rel=1e-9, abs=1e-300)
    assert effective_sample_size(moved) == pytest.approx(
        1.0 / np.square(shares).sum(), rel=1e-9, abs=0.0
    )
    assert largest_share(moved) == pytest.approx(shares.max(), rel=1e-9, abs=0.0)


@given(LOGS)
def test_they_keep_their_bounds(logs):
    n = len(logs)
    assert 1.0 - 1e-9 <= effective_sample_size(logs) <= n * (1.0 + 1e-9)
    assert (1.0 - 1e-9) / n <= largest_share(logs) <= 1.0 + 1e-9


@pytest.mark.parametrize("n", [1, 7, 1000])
def test_equal_weights_are_worth_their_number(n):
    logs = np.full(n, -3000.0)
    assert effective_sample_size(logs) == pytest.approx(n, rel=1e-12, abs=0.0)
    assert largest_share(logs) == pytest.approx(1.0 / n, rel=1e-12, abs=0.0)


def test_a_weight_of_zero_counts_for_nothing():
    logs = np.array([-10.0, -math.inf, -10.0])
    assert normalised_weights(logs) == pytest.approx([0.5, 0.0, 0.5], abs=1e-15)
    assert effective_sample_size(logs) == pytest.approx(2.0, rel=1e-15, abs=0.0)


@pytest.mark.parametrize("logs", [np.array([]), np.full(3, -math.inf)])
def test_no_weight_at_all_is_worth_nothing_and_has_no_shares(logs):
    assert effective_sample_size(logs) == largest_share(logs) == 0.0
    with pytest.raises(InputError, match="a weight above 0, got"):
        normalised_weights(logs)


@pytest.mark.parametrize("bad", [math.nan, math.inf])
@pytest.mark.parametrize("law", [normalised_weights, effective_sample_size, largest_share])
def test_what_is_no_weight_is_refused(law, bad):
    with pytest.raises(NumericalError, match="finite or -inf"):
        law(np.array([0.0, bad]))
