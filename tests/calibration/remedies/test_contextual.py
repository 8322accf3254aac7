"""Dividing by the prior, and the prior alone."""

import numpy as np
import pytest
from known import answered, colors, ideal_of, log_odds, repaired1, sigmoid, with_prior

from likely.calibration.remedies.contextual import CONTEXTUAL
from likely.calibration.remedies.prior_only import PRIOR_ONLY
from likely.errors import InputError

RNG = np.random.default_rng(0)


def priors(items):
    """A prior of the first option for each wording and pair of options."""
    names = {(item.template_id, item.option_pair_id): None for item in items}
    drawn = dict(zip(names, np.random.default_rng(3).uniform(0.05, 0.95, len(names)), strict=True))
    return np.array([drawn[item.template_id, item.option_pair_id] for item in items])


def test_a_prior_times_a_calibrated_law_is_repaired_exactly():
    items = colors()
    prior = priors(items)
    shares = sigmoid(log_odds(ideal_of(items)) + log_odds(prior))
    evidence = with_prior(answered(items, shares, pm=0.5), prior, n_contexts=36)
    assert repaired1(CONTEXTUAL, evidence) == pytest.approx(ideal_of(items), abs=1e-12)
    assert CONTEXTUAL.passes(evidence) == 1 + 36 / 240
    assert repaired1(PRIOR_ONLY, evidence) == pytest.approx(prior, abs=1e-12)
    assert PRIOR_ONLY.passes(evidence) == 36 / 240


def test_an_even_prior_changes_nothing():
    items = colors()
    shares = np.random.default_rng(0).uniform(size=len(items))
    evidence = with_prior(answered(items, shares), np.full(len(items), 0.5))
    assert repaired1(CONTEXTUAL, evidence) == pytest.approx(shares, abs=1e-12)


def test_a_prior_of_zero_or_none_leaves_an_item_undefined():
    items = colors()
    prior = np.full(len(items), 0.5)
    prior[0], prior[1] = 0.0, np.nan
    evidence = with_prior(answered(items, ideal_of(items)), prior)
    found = CONTEXTUAL.fit(evidence, RNG).apply(evidence)
    assert np.isnan(found[:4]).all()
    assert not np.isnan(found[4:]).any()


def test_without_a_prior_nothing_is_guessed():
    evidence = answered(colors(), ideal_of(colors()))
    with pytest.raises(InputError, match="blanks"):
        CONTEXTUAL.fit(evidence, RNG).apply(evidence)
