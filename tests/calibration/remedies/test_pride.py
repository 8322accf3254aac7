"""A prior of places, estimated on a few items and divided out of others."""

import numpy as np
import pytest
from known import answered, colors, ideal_of, log_odds, repaired1, sigmoid

from likely.calibration.remedies.pride import FEW, PRIDE, fit_pride

RNG = np.random.default_rng(0)
PULL = {"C1": 2.0, "C2": -1.0, "C5": 0.3}


def pulled(items):
    pull = np.array([PULL[item.template_id] for item in items])
    return sigmoid(log_odds(ideal_of(items)) + pull)


def test_a_factor_on_the_odds_of_the_first_place_is_repaired_exactly_on_other_items():
    items = colors()
    evidence = answered(items, pulled(items), pm=0.1)
    pairs = sorted({item.number_pair_id for item in items})
    is_known = np.array([item.number_pair_id in pairs[:2] for item in items])
    known, rest = (evidence.take(np.flatnonzero(part)) for part in (is_known, ~is_known))
    wanted = ideal_of([item for item, known in zip(items, is_known, strict=True) if not known])
    assert repaired1(PRIDE, rest, fit_on=known) == pytest.approx(wanted, abs=1e-12)


def test_the_prior_of_each_wording_is_found():
    found = fit_pride(answered(colors(), pulled(colors())), RNG).parameters
    for name, pull in PULL.items():
        assert found[f"first:colors/{name}"] == pytest.approx(sigmoid(pull), abs=1e-12)


def test_only_a_few_items_are_asked_twice():
    found = fit_pride(answered(colors(), pulled(colors())), RNG)
    assert found.parameters["n_asked_twice"] == 3 * FEW < 240 / 2


def test_a_wording_that_the_fit_has_not_seen_is_undefined():
    items = colors()
    evidence = answered(items, pulled(items))
    seen = evidence.take(np.flatnonzero([item.template_id != "C5" for item in items]))
    after = fit_pride(seen, RNG).apply(evidence)
    is_new = np.repeat([item.template_id == "C5" for item in items], 2)
    assert (np.isnan(after) == is_new).all()


def test_no_item_in_both_orders_tells_no_prior():
    items = [item for item in colors() if item.order == "forward"]
    assert "both orders" in fit_pride(answered(items, pulled(items)), RNG).status


def test_certain_shares_tell_no_prior_of_places():
    items = colors()
    shares = pulled(items)
    shares[:60] = 1.0
    found = fit_pride(answered(items, shares), RNG).parameters
    assert found["first:colors/C2"] == pytest.approx(sigmoid(PULL["C2"]), abs=1e-12)
    everywhere = answered(items, np.ones(len(items)))
    assert "both orders" in fit_pride(everywhere, RNG).status
    of_names = answered(items, (ideal_of(items) > 0.5).astype(float))
    assert "both orders" in fit_pride(of_names, RNG).status
