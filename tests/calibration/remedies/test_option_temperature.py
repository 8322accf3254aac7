"""Shares tempered among themselves: exact where they are a power of the ideal."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from known import answered, colors, ideal_of, log_odds, repaired1, sigmoid, with_odds

from likely.calibration.remedies.option_temperature import (
    OPTION_TEMPERATURE,
    RANGE,
    fit_option_temperature,
)

RNG = np.random.default_rng(0)


@given(st.floats(0.05, 20.0))
def test_a_sharpened_calibrated_law_is_repaired_by_its_own_power(power):
    items = colors()
    evidence = with_odds(items, power * log_odds(ideal_of(items)), pm=0.2)
    found = fit_option_temperature(evidence, RNG)
    assert found.parameters["temperature"] == pytest.approx(power, rel=1e-6)
    assert repaired1(OPTION_TEMPERATURE, evidence) == pytest.approx(ideal_of(items), abs=1e-6)


def test_a_law_that_always_points_the_wrong_way_is_best_as_hot_as_can_be():
    items = colors()
    evidence = answered(items, 1.0 - ideal_of(items))
    found = fit_option_temperature(evidence, RNG)
    assert found.parameters["temperature"] == pytest.approx(RANGE[1])
    assert found.parameters["is_at_edge"] == 1.0


def test_shares_too_even_by_far_are_best_as_cold_as_can_be():
    items = colors()
    evidence = with_odds(items, 1e-3 * log_odds(ideal_of(items)))
    assert fit_option_temperature(evidence, RNG).parameters["temperature"] == RANGE[0]


def test_items_without_mass_on_what_is_possible_are_left_out_of_the_fit_and_stay_as_they_are():
    items = colors()
    shares = sigmoid(3.0 * log_odds(ideal_of(items)))
    shares[:4] = 0.0
    evidence = answered(items, shares)
    found = fit_option_temperature(evidence, RNG)
    assert found.parameters["n_left_out"] == 4
    assert found.parameters["temperature"] == pytest.approx(3.0, rel=1e-6)
    assert (repaired1(OPTION_TEMPERATURE, evidence)[:4] == 0.0).all()
    assert "no item" in fit_option_temperature(evidence.take(np.arange(4)), RNG).status
