"""Divergences: against SciPy, against each other's bounds, and far below what a float holds."""

import math

import numpy as np
import pytest
from hypothesis import given
from law_pairs import logs, pairs
from scipy.spatial.distance import jensenshannon
from scipy.stats import entropy as scipy_entropy

from likely.errors import InputError, ShapeError
from likely.stats.divergences import (
    entropy,
    hellinger,
    js_divergence,
    kl_divergence,
    total_variation,
)


@given(pairs())
def test_divergences_equal_scipy_s(laws):
    p, q = laws
    log_p, log_q = logs(p, q)
    assert entropy(log_p, base=2)[0] == pytest.approx(scipy_entropy(p, base=2), abs=1e-12)
    assert kl_divergence(log_p, log_q)[0] == pytest.approx(scipy_entropy(p, q), abs=1e-12)
    squared = jensenshannon(p, q, base=2) ** 2 if not np.array_equal(p, q) else 0.0
    if not math.isnan(squared):  # SciPy takes the root of a rounding error below 0
        assert js_divergence(log_p, log_q, base=2)[0] == pytest.approx(squared, abs=1e-9)


@given(pairs())
def test_divergences_keep_their_bounds(laws):
    log_p, log_q = logs(*laws)
    apart = total_variation(log_p, log_q)[0]
    between = hellinger(log_p, log_q)[0]
    nats = kl_divergence(log_p, log_q)[0]
    assert apart <= math.sqrt(max(0.0, nats) / 2.0) + 1e-9  # Pinsker
    assert between**2 - 1e-12 <= apart <= math.sqrt(2.0) * between + 1e-12
    assert -1e-12 <= js_divergence(log_p, log_q, base=2)[0] <= apart + 1e-12
    for distance in (total_variation, hellinger, js_divergence):
        assert distance(log_p, log_q)[0] == pytest.approx(distance(log_q, log_p)[0], abs=1e-12)


def test_disjoint_laws_are_as_far_apart_as_can_be():
    log_p, log_q = logs(np.array([1.0, 0.0]), np.array([0.0, 1.0]))
    assert total_variation(log_p, log_q)[0] == hellinger(log_p, log_q)[0] == 1.0
    assert js_divergence(log_p, log_q, base=2)[0] == pytest.approx(1.0)
    assert kl_divergence(log_p, log_q)[0] == math.inf
    assert entropy(log_p)[0] == 0.0


def test_an_outcome_below_the_smallest_float_keeps_its_surprisal():
    log_p, log_q = np.log([0.5, 0.5]), np.array([0.0, -800.0])
    assert kl_divergence(log_p, log_q)[0] == pytest.approx(400.0 - math.log(2.0))


def test_laws_of_different_lengths_are_measured_one_by_one():
    p, q = np.array([0.5, 0.5, 0.2, 0.3, 0.5]), np.array([0.25, 0.75, 0.5, 0.3, 0.2])
    offsets = np.array([0, 2, 5])
    log_p, log_q = logs(p, q)
    for measure in (total_variation, kl_divergence, js_divergence, hellinger):
        whole = measure(log_p, log_q, offsets=offsets)
        apart = [measure(log_p[i:j], log_q[i:j])[0] for i, j in ((0, 2), (2, 5))]
        np.testing.assert_allclose(whole, apart, rtol=0, atol=1e-15)


def test_what_is_no_law_is_refused():
    half = np.log([0.5, 0.5])
    with pytest.raises(ShapeError, match="same outcomes, got 2 and 3"):
        kl_divergence(half, np.log([0.5, 0.25, 0.25]))
    with pytest.raises(InputError, match=r"q: law 0 must sum to 1, got 0\.75"):
        total_variation(half, np.log([0.5, 0.25]))
    with pytest.raises(InputError, match=r"base above 1.*got 1\.0"):
        entropy(half, base=1.0)
