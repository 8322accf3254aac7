"""Expected scores against sums over outcomes, against scoringrules, and the law of propriety."""

import math

import numpy as np
import pytest
import scoringrules
from hypothesis import given
from law_pairs import logs, pairs

from likely.errors import InputError, ShapeError
from likely.stats.proper_scores import (
    excess_brier,
    excess_rps,
    expected_brier,
    expected_log_score,
)


@given(pairs())
def test_expected_scores_are_means_over_the_true_law(laws):
    p, q = laws
    log_p, log_q = logs(p, q)
    n = len(p)
    brier = sum(p[j] * float(np.sum((q - np.eye(n)[j]) ** 2)) for j in range(n))
    assert expected_brier(p, q)[0] == pytest.approx(brier, abs=1e-12)
    possible = p > 0.0
    surprisal = -float(np.sum(p[possible] * log_q[possible])) if np.all(q[possible] > 0) else np.inf
    assert expected_log_score(log_p, log_q)[0] == pytest.approx(surprisal, rel=1e-12, abs=1e-12)


@given(pairs())
def test_excess_scores_are_what_the_forecast_loses_to_the_truth(laws):
    p, q = laws
    n = len(p)
    brier = expected_brier(p, q)[0] - expected_brier(p, p)[0]
    assert excess_brier(p, q)[0] == pytest.approx(brier, abs=1e-12)
    assert excess_brier(p, q)[0] >= 0.0

    def expected_rps(forecast):
        return sum(p[j] * scoringrules.rps_score(j + 1, forecast) for j in range(n))

    rps = float(expected_rps(q) - expected_rps(p))
    assert excess_rps(p, q)[0] == pytest.approx(rps, abs=1e-9)


def test_one_event_alone_has_half_the_brier_score():
    p, q = np.array([0.3, 0.7]), np.array([0.8, 0.2])
    assert excess_brier(p, q)[0] == pytest.approx(2 * 0.5**2)
    mean = 0.3 * scoringrules.brier_score(1, 0.8) + 0.7 * scoringrules.brier_score(0, 0.8)
    assert expected_brier(p, q)[0] == pytest.approx(2 * float(mean))
    assert excess_rps(p, q)[0] == pytest.approx(0.5**2)


def test_laws_end_to_end_have_scores_of_their_own():
    p, q = np.array([0.3, 0.7, 0.2, 0.3, 0.5]), np.array([0.8, 0.2, 0.1, 0.1, 0.8])
    offsets = np.array([0, 2, 5])
    for score in (expected_brier, excess_brier, excess_rps):
        apart = [score(p[i:j], q[i:j])[0] for i, j in ((0, 2), (2, 5))]
        np.testing.assert_allclose(score(p, q, offsets=offsets), apart, rtol=0, atol=1e-15)
    log_p, log_q = logs(p, q)
    both = expected_log_score(log_p, log_q, offsets=offsets, base=2)
    one = expected_log_score(log_p[2:], log_q[2:])[0]
    assert both[1] == pytest.approx(one / math.log(2))


def test_what_is_no_law_is_refused():
    with pytest.raises(ShapeError, match="same outcomes, got 2 and 3"):
        excess_brier(np.array([0.5, 0.5]), np.array([0.5, 0.5, 0.0]))
    with pytest.raises(InputError, match="q: law 0 must sum to 1"):
        excess_rps(np.array([0.5, 0.5]), np.array([0.5, 0.6]))
