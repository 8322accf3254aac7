"""Dividing by the masses behind the last sentence."""

import numpy as np
import pytest
from known import answered, colors, ideal_of, log_odds, repaired1, sigmoid, with_stem

from likely.calibration.remedies.pmi import PMI
from likely.errors import InputError

RNG = np.random.default_rng(0)


def test_a_calibrated_law_times_what_the_stem_says_is_repaired_exactly():
    items = colors()
    stem = np.random.default_rng(4).uniform(0.1, 0.9, size=len(items))
    shares = sigmoid(log_odds(ideal_of(items)) + log_odds(stem))
    evidence = with_stem(answered(items, shares, pm=0.3), stem, n_contexts=3)
    assert repaired1(PMI, evidence) == pytest.approx(ideal_of(items), abs=1e-12)
    assert PMI.passes(evidence) == 1 + 3 / 240


def test_an_item_without_a_stem_is_undefined():
    items = colors()
    stem = np.where(np.arange(len(items)) < 7, np.nan, 0.5)
    evidence = with_stem(answered(items, ideal_of(items)), stem)
    found = PMI.fit(evidence, RNG).apply(evidence)
    assert np.isnan(found).sum() == 14


def test_without_masses_behind_stems_nothing_is_guessed():
    evidence = answered(colors(), ideal_of(colors()))
    with pytest.raises(InputError, match="last sentence"):
        PMI.fit(evidence, RNG).apply(evidence)
