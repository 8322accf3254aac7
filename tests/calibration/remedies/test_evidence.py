"""Evidence of some items is what those items alone would give; shares in log space."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from known import answered, colors, everything, ideal_of, log_odds

from likely.calibration.metrics import log_shares, shares
from likely.calibration.remedies.evidence import (
    evidence_of,
    first_log_odds,
    normalised,
    two_option_law,
)
from likely.calibration.tables import Masses, exact_masses
from likely.errors import InputError
from likely.stats.ragged import has_nan


@given(st.lists(st.integers(0, 239), min_size=1, max_size=30, unique=True))
def test_evidence_of_some_items_is_what_they_alone_give(places):
    items = colors()
    pi1 = np.linspace(0.1, 0.9, len(items))
    taken = everything(answered(items, pi1)).take(np.array(places))
    alone = everything(answered([items[i] for i in places], pi1[places]))
    for field in ("offsets", "ideal", "values"):
        np.testing.assert_array_equal(getattr(taken.targets, field), getattr(alone.targets, field))
    assert taken.masses.log_mass == pytest.approx(alone.masses.log_mass)
    assert taken.units.equals(alone.units)
    assert taken.twin.tolist() == alone.twin.tolist()
    assert taken.tempered.log_mass == pytest.approx(alone.tempered.log_mass)
    assert taken.prior.log_mass == pytest.approx(alone.prior.log_mass)
    assert taken.stem.log_mass == pytest.approx(alone.stem.log_mass)


def test_log_shares_are_those_of_the_metrics_and_nan_where_they_are_not_defined():
    offsets = np.array([0, 2, 4, 7, 9])
    log_mass = np.array([-800.0, -801.0, -np.inf, -np.inf, -1.0, -2.0, -np.inf, -1.0, -2.0])
    low = log_mass.copy()
    low[8] = -3.0
    masses = Masses(offsets=offsets, log_mass=log_mass, log_mass_low=low)
    found = log_shares(masses)
    np.testing.assert_allclose(np.exp(found), shares(masses))
    np.testing.assert_allclose(found[:7], normalised(log_mass[:7], offsets[:4]))
    assert has_nan(found, offsets).tolist() == [False, True, False, True]


def test_shares_of_weights_sum_to_one_or_are_nan_together():
    log_weights = np.array([3.0, 4.0, np.nan, 0.0, -np.inf, -np.inf, -np.inf, 5.0])
    found = normalised(log_weights, np.array([0, 2, 4, 6, 8]))
    assert np.exp(found[:2]).sum() == pytest.approx(1.0)
    assert np.isnan(found[2:6]).all()
    assert found[6:].tolist() == [-np.inf, 0.0]


def test_log_odds_of_the_first_option_and_the_law_they_give_are_inverse():
    items = colors()
    evidence = answered(items, np.linspace(0.0, 1.0, len(items)), pm=0.3)
    odds = first_log_odds(evidence)
    assert odds[0] == -np.inf
    assert odds[-1] == np.inf
    found = two_option_law(odds, evidence.targets.offsets)
    np.testing.assert_allclose(np.exp(found), shares(evidence.masses), atol=1e-15)
    calibrated = first_log_odds(answered(items, ideal_of(items)))
    assert calibrated == pytest.approx(log_odds(ideal_of(items)))


def test_masses_of_other_items_are_refused():
    with pytest.raises(InputError, match="go together, got 240 items"):
        evidence_of(colors(), exact_masses(np.array([0, 2]), np.log([0.5, 0.5])))
