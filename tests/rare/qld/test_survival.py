"""The law of the part along the direction: counted, and continued by a tail."""

import numpy as np
import pytest
from scipy.stats import norm

from likely.rare.qld.survival import TAIL_LEAST, Counted, Extended, tail_size


def test_counted_masses_are_shares_of_values_strictly_inside():
    law = Counted(values=np.array([0.0, 1.0, 1.0, 2.0]))
    low = np.array([-1.0, 0.0, 1.0, 1.5, 3.0, 0.5, 2.0])
    high = np.array([9.0, 2.0, 2.0, 2.5, 4.0, 0.25, np.inf])
    shares = np.exp(law.log_mass(low, high))
    np.testing.assert_allclose(shares, [1.0, 0.5, 0.0, 0.25, 0.0, 0.0, 0.0])


@pytest.mark.parametrize("kind", ["gaussian", "gpd"])
def test_a_tail_begins_where_counting_ends_and_falls_from_there(kind):
    values = np.sort(np.random.default_rng(0).standard_normal(20_000))
    law = Extended.fit(values, kind)
    assert (values > law.start).sum() == TAIL_LEAST == tail_size(20_000)
    at = np.array([-1.0, 0.5, law.start - 1e-9])
    np.testing.assert_array_equal(
        law.log_survival(at), Counted(values=values).log_mass(at, np.full(3, np.inf))
    )
    assert law.log_survival(np.array([law.start]))[0] == pytest.approx(np.log(TAIL_LEAST / 20_000))
    far = law.log_survival(np.linspace(law.start, law.start + 5.0, 50))
    assert (np.diff(far[np.isfinite(far)]) < 0.0).all()


@pytest.mark.parametrize("kind", ["gaussian", "gpd"])
def test_values_that_are_mostly_equal_have_no_tail(kind):
    few = np.sort(np.random.default_rng(0).integers(9, size=400).astype(float))
    assert Extended.fit(few, kind) is None
    rounded = np.sort(np.random.default_rng(0).standard_normal(400).round(2))
    last = rounded[-TAIL_LEAST - 1 :]
    assert len(last) / 2 < len(np.unique(last)) < len(last)
    assert Extended.fit(rounded, kind).refit(few) is None


def test_a_normal_tail_is_that_of_the_normal_law():
    values = np.sort(norm.ppf((np.arange(100_000) + 0.5) / 100_000))
    law = Extended.fit(values, "gaussian")
    at = np.array([4.0, 6.0, 40.0])
    np.testing.assert_allclose(law.log_survival(at), norm.logsf(at), rtol=2e-3)


def test_a_pareto_tail_finds_an_exponential_one():
    values = np.sort(-np.log((np.arange(100_000) + 0.5) / 100_000))
    law = Extended.fit(values, "gpd")
    assert law.log_survival(np.array([18.0]))[0] == pytest.approx(-18.0, abs=2.0)


def test_masses_of_intervals_in_a_tail_neither_cancel_nor_go_below_zero():
    law = Extended.fit(np.sort(np.random.default_rng(0).standard_normal(5000)), "gaussian")
    low = np.array([8.0, 8.0, 30.0, 5.0, 9.0])
    high = np.array([8.0 + 1e-9, np.inf, 31.0, 4.0, 9.0])
    masses = law.log_mass(low, high)
    slope = norm.logpdf(8.0) - norm.logsf(8.0)
    assert masses[0] == pytest.approx(masses[1] + slope + np.log(1e-9), abs=0.05)
    assert masses[2] == pytest.approx(law.log_survival(low[2:3])[0], rel=1e-12)
    assert np.isneginf(masses[3:]).all()
    parts = law.log_mass(np.array([1.0, 3.5]), np.array([3.5, np.inf]))
    assert np.logaddexp(*parts) == pytest.approx(law.log_survival(np.array([1.0]))[0], rel=1e-12)
