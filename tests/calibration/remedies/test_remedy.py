"""What holds for every remedy of the table."""

from dataclasses import replace

import numpy as np
import pytest
from known import answered, colors, everything, ideal_of, repaired1

from likely.calibration.remedies.remedy import REMEDIES
from likely.errors import UnknownNameError

RNG = np.random.default_rng(0)


@pytest.fixture(params=REMEDIES.names())
def remedy(request):
    return REMEDIES.load(request.param)


def test_the_table_has_each_remedy_under_its_name(remedy):
    assert REMEDIES.load(remedy.name) is remedy
    assert remedy.what


def test_every_remedy_leaves_a_calibrated_model_as_it_is(remedy):
    if remedy.name == "prior_only":
        return  # which never sees the numbers
    items = colors()
    evidence = everything(answered(items, ideal_of(items), pm=0.6))
    assert repaired1(remedy, evidence) == pytest.approx(ideal_of(items), abs=1e-8)


def test_what_comes_out_are_shares_or_masses_or_nothing(remedy):
    items = colors()
    shares = np.random.default_rng(1).uniform(size=len(items))
    evidence = everything(answered(items, shares, pm=0.5))
    total = np.exp(remedy.fit(evidence, RNG).apply(evidence)).reshape(-1, 2).sum(1)
    if not remedy.gives_masses:
        assert total == pytest.approx(np.ones(len(items)))
    assert (total <= 1 + 1e-12).all()


@pytest.mark.parametrize("name", sorted(set(REMEDIES.names()) - {"temperature", "prior_only"}))
def test_an_item_without_mass_gets_no_shares(name):
    items = colors()
    pm = np.where(np.arange(len(items)) < 3, 0.0, 0.5)
    asked = everything(answered(items, ideal_of(items)))
    evidence = replace(asked, masses=answered(items, ideal_of(items), pm=pm).masses)
    found = REMEDIES.load(name).fit(evidence, RNG).apply(evidence)
    assert np.isnan(found[:6]).all()


def test_a_remedy_that_is_not_there_has_a_name_close_by():
    with pytest.raises(UnknownNameError, match="isotonic"):
        REMEDIES.load("isotonik")
