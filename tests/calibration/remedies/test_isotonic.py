"""The rising map: never worse on the items it was fitted on, and the peer's own."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from known import answered, colors, ideal_of, repaired1
from sklearn.isotonic import IsotonicRegression

from likely.calibration.remedies.isotonic import ISOTONIC, fit_isotonic, rising_map

RNG = np.random.default_rng(0)


@given(st.integers(0, 2**32 - 1), st.integers(1, 12))
def test_the_map_never_makes_the_brier_score_of_its_own_items_worse(seed, n_shares):
    items = colors()
    p1 = ideal_of(items)
    shares = np.random.default_rng(seed).integers(0, n_shares + 1, size=len(items)) / n_shares
    after = repaired1(ISOTONIC, answered(items, shares))
    assert np.mean((after - p1) ** 2) <= np.mean((shares - p1) ** 2) + 1e-15


def test_a_law_bent_by_a_rising_map_is_straightened():
    items = colors()
    p1 = ideal_of(items)
    assert repaired1(ISOTONIC, answered(items, p1**3)) == pytest.approx(p1, abs=1e-12)


@given(st.integers(0, 2**32 - 1))
def test_the_map_is_that_of_scikit_learn(seed):
    rng = np.random.default_rng(seed)
    shares, p1 = rng.integers(0, 20, size=50) / 20, rng.uniform(size=50)
    at, level = rising_map(shares, p1)
    peer = IsotonicRegression(out_of_bounds="clip").fit(shares, p1)
    asked = rng.uniform(-0.1, 1.1, size=30)
    assert np.interp(asked, at, level) == pytest.approx(peer.predict(asked), abs=1e-9)


def test_without_items_of_two_options_there_is_no_map():
    items = colors()
    nothing = answered(items, np.full(len(items), 0.5), pm=0.0)
    found = fit_isotonic(nothing, RNG)
    assert "two options" in found.status
    assert np.isnan(found.apply(nothing)).all()
