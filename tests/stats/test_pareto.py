"""The generalised Pareto tail: against scipy, and on laws whose tail is known."""

import numpy as np
import pytest
from scipy.stats import genpareto

from likely.errors import InputError
from likely.stats.pareto import SHAPES, Pareto, fit_exponential, fit_pareto, survival_interval

KNOWN = [-0.3, 0.0, 0.4, 1.2]


@pytest.mark.parametrize("shape", KNOWN)
def test_survival_is_that_of_scipy(shape):
    at = np.array([0.0, 0.5, 3.0, 40.0])
    found = Pareto(shape=shape, scale=2.0).log_survival(at)
    np.testing.assert_allclose(found, genpareto.logsf(at, shape, scale=2.0), rtol=1e-12)


@pytest.mark.parametrize("shape", KNOWN)
def test_the_fit_is_as_likely_as_the_best_of_scipy(shape):
    excesses = genpareto.rvs(shape, scale=3.0, size=80, random_state=np.random.default_rng(2))
    ours = fit_pareto(excesses)
    theirs = genpareto.fit(excesses, floc=0)

    def log_likelihood(law_shape, scale):
        return genpareto.logpdf(excesses, law_shape, 0, scale).sum()

    assert log_likelihood(ours.shape, ours.scale) >= log_likelihood(theirs[0], theirs[2]) - 1e-6
    assert ours.shape == pytest.approx(theirs[0], abs=1e-3)


def test_units_do_not_matter_and_shapes_stay_regular():
    excesses = np.random.default_rng(2).exponential(size=60)
    one, other = fit_pareto(excesses), fit_pareto(1e-9 * excesses)
    assert other.shape == pytest.approx(one.shape, abs=1e-6)
    assert other.scale == pytest.approx(1e-9 * one.scale, rel=1e-6)
    ends = fit_pareto(np.linspace(0.01, 1.0, 60))  # uniform: shape -1
    assert ends.shape == pytest.approx(SHAPES[0], abs=1e-6)
    assert fit_exponential(np.array([1.0, 3.0])) == Pareto(shape=0.0, scale=2.0)


def test_the_interval_covers_the_truth_and_has_no_lower_end_past_the_end_of_a_tail():
    rng, at = np.random.default_rng(3), 12.0
    truth = float(genpareto.logsf(at, 0.1, scale=1.0))
    hits = 0
    for _ in range(60):
        excesses = genpareto.rvs(0.1, size=100, random_state=rng)
        low, high = survival_interval(excesses, at, level=0.95)
        hits += low <= truth <= high
    assert 46 <= hits <= 60  # coverage between .9 and .99 but for 1e-4
    low, high = survival_interval(rng.beta(1, 4, 200), 1.0, level=0.95)
    assert low == -np.inf
    assert high < np.log(0.05)


def test_the_interval_holds_the_fit_and_grows_with_the_level():
    excesses = np.random.default_rng(4).exponential(size=60)
    value = float(fit_pareto(excesses).log_survival(np.array([6.0]))[0])
    narrow, wide = (survival_interval(excesses, 6.0, level=level) for level in (0.5, 0.99))
    assert wide[0] < narrow[0] < value < narrow[1] < wide[1] < 0.0


@pytest.mark.parametrize("excesses", [[], [0.0, 0.0], [1.0, -1.0], [1.0, np.inf]])
def test_what_makes_no_tail_is_refused(excesses):
    with pytest.raises(InputError, match="excesses >= 0"):
        fit_pareto(np.array(excesses))
