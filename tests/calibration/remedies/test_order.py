"""Means over both orders of mention."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from known import answered, colors, ideal_of, log_odds, repaired1, sigmoid, with_odds

from likely.calibration.remedies.order import ORDER, ORDER_ARITHMETIC

RNG = np.random.default_rng(0)


@given(st.floats(-20.0, 20.0))
def test_a_factor_on_the_odds_of_the_first_place_is_repaired_exactly(pull):
    items = colors()
    evidence = with_odds(items, log_odds(ideal_of(items)) + pull, pm=0.1)
    assert repaired1(ORDER, evidence) == pytest.approx(ideal_of(items), abs=1e-12)


def test_shares_added_to_the_first_place_are_repaired_by_the_arithmetic_mean():
    items = colors()
    p1 = ideal_of(items)
    evidence = answered(items, 0.8 * p1 + 0.2, pm=0.25)
    found = ORDER_ARITHMETIC.fit(evidence, RNG).apply(evidence)
    assert np.exp(found[::2]) == pytest.approx(0.25 * (0.8 * p1 + 0.1), abs=1e-12)
    assert np.exp(found).reshape(-1, 2).sum(1) == pytest.approx(np.full(len(items), 0.25))


def test_a_model_that_picks_the_first_gives_even_shares_or_no_shares():
    items = colors()
    evidence = answered(items, np.ones(len(items)))
    assert repaired1(ORDER_ARITHMETIC, evidence) == pytest.approx(np.full(len(items), 0.5))
    assert np.isnan(ORDER.fit(evidence, RNG).apply(evidence)).all()


def test_an_item_whose_twin_is_not_there_is_undefined():
    items = [item for item in colors() if item.order == "forward"]
    evidence = answered(items, ideal_of(items))
    for remedy in (ORDER, ORDER_ARITHMETIC):
        assert np.isnan(remedy.fit(evidence, RNG).apply(evidence)).all()


def test_order_does_nothing_to_what_names_and_numbers_do():
    items = colors()
    strength = {"black": 0.7, "green": -0.2, "red": 0.1}
    pull = [strength[a.label] - strength[b.label] for a, b in (item.options for item in items)]
    shares = sigmoid(2.0 * log_odds(ideal_of(items)) + np.array(pull))
    for remedy in (ORDER, ORDER_ARITHMETIC):
        assert repaired1(remedy, answered(items, shares)) == pytest.approx(shares, abs=1e-12)
