"""Least squares with errors over clusters: against statsmodels."""

import numpy as np
import pytest

from likely.core.streams import generator
from likely.errors import InputError, ShapeError
from likely.stats.cluster_regression import fit_cluster_ols


def data():
    rng = generator(0, "regression")
    clusters = rng.integers(0, 9, 90)
    x = rng.normal(size=90)
    y = 2.0 * x - 1.0 + rng.normal(size=9)[clusters] + rng.normal(size=90)
    return y, np.column_stack([np.ones(90), x, x**2]), clusters


def test_the_fit_is_that_of_statsmodels():
    import statsmodels.api as sm

    y, design, clusters = data()
    found = fit_cluster_ols(y, design, clusters, names=("constant", "x", "square"))
    theirs = sm.OLS(y, design).fit(cov_type="cluster", cov_kwds={"groups": clusters}, use_t=True)
    assert found.coefficients == pytest.approx(theirs.params)
    assert found.covariance == pytest.approx(theirs.cov_params())
    assert found.r_squared == pytest.approx(theirs.rsquared)
    assert found.residual_sd**2 == pytest.approx(theirs.scale)
    slope = found.coefficient("x", unit="nats")
    assert (slope.low, slope.high) == pytest.approx(tuple(theirs.conf_int()[1]))
    both = found.combination(np.array([0.0, 1.0, -2.0]))
    test = theirs.t_test(np.array([0.0, 1.0, -2.0]))
    assert (both.low, both.high) == pytest.approx(tuple(test.conf_int()[0]))


def test_an_exact_line_leaves_no_error():
    x = np.arange(12.0)
    found = fit_cluster_ols(
        3.0 * x + 1.0, np.column_stack([np.ones(12), x]), np.arange(12) % 4, names=("one", "x")
    )
    assert found.r_squared == pytest.approx(1.0)
    assert found.coefficient("x").high - found.coefficient("x").low < 1e-10


def test_what_is_not_defined_is_refused():
    y, design, clusters = data()
    with pytest.raises(InputError, match="follows from the others"):
        fit_cluster_ols(y, design[:, [0, 1, 1]], clusters, names=("a", "b", "c"))
    with pytest.raises(InputError, match="in 1 clusters"):
        fit_cluster_ols(y, design, np.zeros(90, dtype=int), names=("a", "b", "c"))
    with pytest.raises(ShapeError, match="90, 90 and 1"):
        fit_cluster_ols(y, design, clusters, names=("a",))
