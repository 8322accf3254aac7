"""Reliability diagrams: bins and their error, against scikit-learn and closed forms."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.calibration import calibration_curve

from likely.core.streams import generator
from likely.errors import InputError, ShapeError
from likely.stats.reliability import calibration_error


def test_a_forecast_of_1_falls_in_the_last_bin():
    # O-43: a phantom bin for 1.0 would give .05 / 2 + 1 / 2.
    found = calibration_error(np.array([0.95, 1.0]), np.array([1.0, 0.0]), n_bins=10)
    assert found.ece == pytest.approx(0.475, abs=1e-15)
    assert found.counts.tolist() == [0] * 9 + [2]
    assert len(found.to_frame()) == 10


def test_a_forecast_on_an_edge_falls_in_the_upper_bin():
    forecast = np.arange(11) / 10
    found = calibration_error(forecast, forecast, n_bins=10)
    assert found.counts.tolist() == [1] * 9 + [2]
    assert found.ece == found.mce == 0.0


def test_bins_of_equal_width_are_scikit_learn_s():
    rng = generator(0, "reliability")
    forecast = rng.random(500)
    outcome = (rng.random(500) < forecast**2).astype(float)
    found = calibration_error(forecast, outcome, n_bins=7)
    happened, said = calibration_curve(outcome, forecast, n_bins=7)
    np.testing.assert_allclose(found.mean_outcome, happened)
    np.testing.assert_allclose(found.mean_forecast, said)
    assert found.ece == pytest.approx(np.abs(happened - said) @ found.counts / 500)
    assert found.mce == pytest.approx(np.abs(happened - said).max())


@given(st.lists(st.floats(0, 1), min_size=1, max_size=40), st.integers(1, 12))
def test_bins_of_equal_mass_part_no_equal_forecasts_and_lose_none(numbers, n_bins):
    forecast = np.array(numbers)
    found = calibration_error(forecast, np.zeros(len(numbers)), n_bins=n_bins, binning="mass")
    assert found.counts.sum() == len(numbers)
    assert found.edges[0] == 0.0
    assert found.edges[-1] == 1.0
    assert len(found.counts) <= n_bins
    # Nothing ever happens, so every bin is off by its mean forecast, and all bins by the mean.
    assert found.ece == pytest.approx(forecast.mean(), abs=1e-12)


def test_bins_of_equal_mass_hold_as_many_events():
    forecast = np.sort(generator(1, "mass").random(60)) ** 3
    found = calibration_error(forecast, forecast, n_bins=6, binning="mass")
    assert found.counts.tolist() == [10] * 6
    means = forecast.reshape(6, 10).mean(axis=1)
    np.testing.assert_allclose(found.mean_forecast, means)


def test_known_probabilities_need_no_draws():
    p = np.array([0.2, 0.2, 0.8, 0.8])
    pi = np.array([0.1, 0.1, 0.95, 0.95])
    found = calibration_error(pi, p)
    assert found.ece == pytest.approx((0.1 + 0.15) / 2)
    drawn = generator(2, "draws").random((20_000, 4)) < p
    means = [calibration_error(np.tile(pi, 20_000), drawn.ravel().astype(float)).ece]
    assert means[0] == pytest.approx(found.ece, abs=0.01)


def test_what_is_no_probability_is_refused():
    half = np.array([0.5])
    with pytest.raises(ShapeError, match="got 1 and 2"):
        calibration_error(half, np.array([0.5, 0.5]))
    with pytest.raises(InputError, match=r"each forecast lies in \[0, 1\], got 1\.5"):
        calibration_error(np.array([1.5]), half)
    with pytest.raises(InputError, match=r"each outcome lies in \[0, 1\], got nan"):
        calibration_error(half, np.array([np.nan]))
    with pytest.raises(InputError, match="at least 1 bin is needed, got 0"):
        calibration_error(half, half, n_bins=0)
