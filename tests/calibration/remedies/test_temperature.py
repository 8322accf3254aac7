"""The temperature of the whole vocabulary is found where the error is mere sharpness."""

import numpy as np
import pytest
from known import (
    answered,
    colors,
    ideal_of,
    log_odds,
    repaired1,
    sigmoid,
    with_odds,
    with_tempered,
)

from likely.calibration.remedies.temperature import (
    CURVE,
    TEMPERATURE,
    fit_temperature,
    temperature_curve,
)
from likely.calibration.remedies.tempering import GRID
from likely.errors import InputError

RNG = np.random.default_rng(0)


@pytest.mark.parametrize("at", [0, 8, 20, 32, 48])
def test_a_sharpened_calibrated_law_is_repaired_at_its_own_temperature(at):
    temperature = float(GRID.temperatures[at])
    items = colors()
    evidence = with_tempered(with_odds(items, temperature * log_odds(ideal_of(items))))
    found = fit_temperature(evidence, RNG)
    assert found.parameters["temperature"] == temperature
    assert found.parameters["is_at_edge"] == float(at in (0, 48))
    assert repaired1(TEMPERATURE, evidence) == pytest.approx(ideal_of(items), abs=1e-12)


def test_temperature_cannot_move_equal_shares():
    items = colors()
    evidence = with_tempered(answered(items, np.full(len(items), 0.5)))
    assert repaired1(TEMPERATURE, evidence) == pytest.approx(np.full(len(items), 0.5))


def test_items_without_mass_on_what_is_possible_are_left_out_and_counted():
    items = colors()
    shares = sigmoid(2.0 * log_odds(ideal_of(items)))
    shares[:5] = 1.0
    evidence = with_tempered(answered(items, shares))
    found = fit_temperature(evidence, RNG)
    assert found.parameters["n_left_out"] == 5
    assert found.parameters["temperature"] == 2.0
    hopeless = with_tempered(answered(items, np.ones(len(items))))
    assert "no item" in fit_temperature(hopeless, RNG).status


def test_the_curve_has_its_least_divergence_at_the_temperature_found():
    items = colors()
    evidence = with_tempered(with_odds(items, 4.0 * log_odds(ideal_of(items))))
    curve = temperature_curve(evidence)
    assert list(curve.columns) == ["temperature", *CURVE, "n"]
    assert curve["temperature"][curve["kl"].idxmin()] == 4.0
    assert curve["wd01"].min() == pytest.approx(0.0, abs=1e-12)
    assert (curve["n"] == len(items)).all()
    assert curve["wd_line_norm"].isna().all()
    assert (np.diff(curve["entropy_gap"]) < 0).all()


def test_without_masses_at_other_temperatures_there_is_nothing_to_fit():
    with pytest.raises(InputError, match="gather them"):
        fit_temperature(answered(colors(), ideal_of(colors())), RNG)
