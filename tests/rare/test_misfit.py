"""The check of a law of activations where the sample can still count."""

import math

import numpy as np
import pytest

from likely.rare.misfit import EXCEEDANCES, misfit_warnings, observable


def test_the_level_has_a_hundred_margins_beyond_it_or_is_the_events_own():
    margins = np.random.default_rng(0).permutation(np.arange(1000.0))
    rare = observable(margins, 5000.0)
    assert rare.margin == 899.0
    assert math.exp(rare.log_share) == pytest.approx(EXCEEDANCES / 1000)
    common = observable(margins, 499.0)
    assert common.margin == 499.0
    assert math.exp(common.log_share) == pytest.approx(0.5)
    assert observable(margins[:200], 5000.0) is None
    assert observable(np.zeros(1000), 0.0) is None  # nothing is beyond


def test_a_disagreement_is_said_with_its_side():
    level = observable(np.arange(1000.0), 5000.0)
    assert misfit_warnings(0.4, level) == ()
    (over,) = misfit_warnings(math.log(3.0), level)
    (under,) = misfit_warnings(-math.log(4.0), level)
    assert "is 3 times the sample's" in over
    assert "is 1/4 of the sample's" in under
    assert "is 1/1.01e+304 of the sample's" in misfit_warnings(-math.inf, level)[0]
