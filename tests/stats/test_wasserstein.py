"""Transport on the line and between outcomes alike: against linear programs and SciPy."""

import math

import numpy as np
import ot
import pytest
from hypothesis import given
from hypothesis import strategies as st
from law_pairs import logs, pairs
from scipy.stats import wasserstein_distance

from likely.errors import InputError, ShapeError
from likely.stats.divergences import total_variation
from likely.stats.wasserstein import wasserstein_discrete, wasserstein_line


@given(pairs(), st.data())
def test_transport_on_the_line_equals_scipy_and_the_linear_program(laws, data):
    p, q = laws
    places = st.lists(st.floats(-50, 50), min_size=len(p), max_size=len(p))
    values = np.array(data.draw(places))
    found = wasserstein_line(values, p, q)[0]
    assert found == pytest.approx(wasserstein_distance(values, values, p, q), abs=1e-10)
    cost = np.abs(values[:, None] - values)
    assert found == pytest.approx(ot.emd2(p, q, cost), abs=1e-10)


@given(pairs())
def test_transport_between_outcomes_alike_is_total_variation(laws):
    p, q = laws
    cost = 1.0 - np.eye(len(p))
    found = wasserstein_discrete(p, q)[0]
    assert found == pytest.approx(total_variation(*logs(p, q))[0], abs=1e-12)
    assert found == pytest.approx(ot.emd2(p, q, cost), abs=1e-10)
    assert wasserstein_discrete(p, q, distance=math.sqrt(2.0))[0] == pytest.approx(
        ot.emd2(p, q, math.sqrt(2.0) * cost), abs=1e-10
    )


def test_a_plan_of_vanishing_regularisation_never_has_cost_0():
    # O-44 (a): cost |i - j|, regularisation .001, where kernels exp(-cost / .001) underflow.
    p, q = np.array([0.5, 0.5, 0.0]), np.array([0.2, 0.3, 0.5])
    places = np.arange(3.0)
    assert wasserstein_line(places, p, q)[0] == pytest.approx(0.8, abs=1e-15)
    cost = np.abs(places[:, None] - places)
    assert ot.emd2(p, q, cost) == pytest.approx(0.8, abs=1e-12)
    held = p > 0  # the logarithm of 0 is a warning of POT
    in_logs = ot.sinkhorn2(p[held], q, cost[held], 1e-3, method="sinkhorn_log", numItermax=20_000)
    assert float(in_logs) == pytest.approx(0.8, abs=1e-3)


def test_two_laws_are_no_positions():
    # The silent error of taking laws for samples: equal sets of numbers would be at distance 0.
    p, q = np.array([0.25, 0.75]), np.array([0.75, 0.25])
    assert wasserstein_distance(p, q) == 0.0
    assert wasserstein_line(np.array([0.0, 1.0]), p, q)[0] == 0.5


def test_laws_end_to_end_in_any_order_of_their_outcomes():
    values = np.array([4.0, 2.0, 3.0, 1.0, 0.0])
    p, q = np.array([0.1, 0.6, 0.3, 0.5, 0.5]), np.array([0.3, 0.3, 0.4, 1.0, 0.0])
    offsets = np.array([0, 3, 5])
    expected = [
        wasserstein_distance(values[i:j], values[i:j], p[i:j], q[i:j]) for i, j in ((0, 3), (3, 5))
    ]
    np.testing.assert_allclose(wasserstein_line(values, p, q, offsets=offsets), expected)


def test_lengths_sums_and_places_are_checked():
    half, places = np.array([0.5, 0.5]), np.array([0.0, 1.0])
    with pytest.raises(ShapeError, match="lengths 2, 2 and 3"):
        wasserstein_line(places, half, np.array([0.5, 0.5, 0.0]))
    with pytest.raises(InputError, match="q: law 0 must sum to 1"):
        wasserstein_line(places, half, np.array([0.5, 0.4]))
    with pytest.raises(InputError, match="places on the line, got nan"):
        wasserstein_line(np.array([0.0, np.nan]), half, half)
    with pytest.raises(InputError, match=r"distance is positive and finite, got 0\.0"):
        wasserstein_discrete(half, half, distance=0.0)
