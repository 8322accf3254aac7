"""The line through log-odds, with soft targets."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from known import answered, colors, ideal_of, log_odds, repaired1, with_odds
from scipy.special import xlogy
from sklearn.linear_model import LogisticRegression

from likely.calibration.remedies.platt import LIMIT, PLATT, fit_line, fit_platt

RNG = np.random.default_rng(0)


@given(st.floats(-2.0, 2.0), st.floats(0.25, 4.0))
def test_the_line_that_a_law_was_bent_by_is_found(alpha, beta):
    items = colors()
    evidence = with_odds(items, (log_odds(ideal_of(items)) - alpha) / beta, pm=0.4)
    found = fit_platt(evidence, RNG)
    assert found.parameters["alpha"] == pytest.approx(alpha, abs=1e-5)
    assert found.parameters["beta"] == pytest.approx(beta, abs=1e-5)
    assert repaired1(PLATT, evidence) == pytest.approx(ideal_of(items), abs=1e-5)


def test_the_line_is_that_of_logistic_regression_on_weighted_labels():
    rng = np.random.default_rng(1)
    x, p1 = rng.normal(size=40) * 2, rng.uniform(size=40)
    peer = LogisticRegression(C=np.inf, tol=1e-10, max_iter=1000)
    peer.fit(np.tile(x, 2)[:, None], np.repeat([1, 0], 40), np.concatenate([p1, 1 - p1]))
    alpha, beta = fit_line(x, p1)
    assert alpha == pytest.approx(float(peer.intercept_[0]), abs=1e-5)
    assert beta == pytest.approx(float(peer.coef_[0, 0]), abs=1e-5)


def test_no_line_fits_the_pairs_of_the_fit_worse_than_the_shares_as_they_are():
    items = colors()
    p1 = ideal_of(items)
    shares = np.random.default_rng(2).uniform(0.01, 0.99, size=len(items))

    def loss(q):
        return float(-np.mean(xlogy(p1, q) + xlogy(1 - p1, 1 - q)))

    assert loss(repaired1(PLATT, answered(items, shares))) < loss(shares)


def test_certain_shares_count_as_nearly_certain_and_are_counted():
    items = colors()
    shares = ideal_of(items).copy()
    shares[:3] = 1.0
    found = fit_platt(answered(items, shares), RNG)
    assert found.parameters["n_clipped"] == 3
    assert pytest.approx(20.723, abs=1e-3) == LIMIT
    assert np.isfinite(list(found.parameters.values())).all()


def test_where_no_line_is_best_there_is_none():
    x = np.array([-2.0, -1.0, 1.0, 2.0])
    assert fit_line(x, np.array([0.0, 0.0, 1.0, 1.0])) is None
    items = colors()
    same = answered(items, np.full(len(items), 0.3))
    assert "2 different shares" in fit_platt(same, RNG).status
    assert np.isnan(fit_platt(same, RNG).apply(same)).all()
