"""The calibration line: exact lines, statsmodels' covariance, and outliers."""

import math

import numpy as np
import pytest
import statsmodels.api as sm
from policies import POLICIES, exact_shares
from scipy.special import expit, logit
from statsmodels.robust.robust_linear_model import RLM

from likely.calibration import build
from likely.calibration.regression import calibration_regression
from likely.calibration.tables import targets
from likely.core.jsonio import dumps
from likely.core.streams import generator
from likely.errors import InputError, ShapeError


def made(alpha, beta, spread, *, n=400, seed=0):
    """Shares on a line with normal errors, an ideal for each, and 20 clusters with their own."""
    rng = generator(seed, "line")
    p1 = rng.uniform(0.05, 0.95, n)
    groups = np.arange(n) % 20
    errors = spread * (rng.normal(size=n) + rng.normal(size=20)[groups]) / math.sqrt(2)
    return p1, np.asarray(expit(alpha + beta * logit(p1) + errors)), groups


def test_a_line_without_errors_is_found_exactly():
    p1, pi1, groups = made(0.7, 1.8, 0.0)
    for fit in (calibration_regression(p1, pi1), calibration_regression(p1, pi1, groups=groups)):
        for line in (fit.line, fit.robust):
            assert line.alpha.value == pytest.approx(0.7, abs=1e-9)
            assert line.beta.value == pytest.approx(1.8, abs=1e-9)
            assert line.sigma == pytest.approx(0.0, abs=1e-9)
            assert line.has_converged
        assert (fit.n, fit.n_clipped, fit.n_left_out) == (400, 0, 0)
        assert dumps(fit.to_dict())


def test_planted_parameters_lie_in_their_intervals():
    p1, pi1, groups = made(-0.4, 1.3, 0.6)
    fit = calibration_regression(p1, pi1, groups=groups, level=0.9999)
    for line in (fit.line, fit.robust):
        assert line.alpha.low <= -0.4 <= line.alpha.high
        assert line.beta.low <= 1.3 <= line.beta.high
        assert line.sigma == pytest.approx(0.6, rel=0.25)
        assert line.alpha.diagnostics["n_clusters"] == 20


def test_intervals_of_least_squares_are_statsmodels():
    p1, pi1, groups = made(-0.4, 1.3, 0.6)
    x, y = sm.add_constant(logit(p1)), logit(pi1)
    cases = [(groups, {"cov_type": "cluster", "cov_kwds": {"groups": groups}})]
    cases.append((None, {"cov_type": "cluster", "cov_kwds": {"groups": np.arange(len(y))}}))
    for given_groups, options in cases:
        theirs = sm.OLS(y, x).fit(use_t=True, **options)
        line = calibration_regression(p1, pi1, groups=given_groups).line
        ours = [[e.low, e.high] for e in (line.alpha, line.beta)]
        np.testing.assert_allclose([line.alpha.value, line.beta.value], theirs.params, rtol=1e-9)
        np.testing.assert_allclose(ours, theirs.conf_int(), rtol=1e-9)
        assert line.sigma == pytest.approx(math.sqrt(theirs.mse_resid))


def test_the_robust_line_is_statsmodels_and_its_intervals_are_near_theirs_without_clusters():
    p1, pi1, _ = made(0.2, 1.0, 0.5, n=4000)
    theirs = RLM(logit(pi1), sm.add_constant(logit(p1))).fit()
    line = calibration_regression(p1, pi1).robust
    np.testing.assert_allclose([line.alpha.value, line.beta.value], theirs.params, rtol=1e-6)
    widths = [(e.high - e.low) / (2 * 1.96) for e in (line.alpha, line.beta)]
    np.testing.assert_allclose(widths, theirs.bse, rtol=0.1)


def test_outliers_move_the_robust_line_less():
    p1, pi1, _ = made(0.0, 1.0, 0.1)
    pi1[np.argsort(p1)[:20]] = 1.0 - 1e-9  # some low ideals, all answered with the first option
    fit = calibration_regression(p1, pi1)
    assert abs(fit.robust.beta.value - 1.0) < 0.1
    assert abs(fit.line.beta.value - 1.0) > 0.5


def test_dependent_items_widen_the_interval():
    p1, pi1, groups = made(0.0, 1.0, 1.0)
    alone, clustered = (calibration_regression(p1, pi1, groups=g) for g in (None, groups))
    for kind in ("line", "robust"):
        widths = [
            getattr(fit, kind).alpha.high - getattr(fit, kind).alpha.low
            for fit in (alone, clustered)
        ]
        assert widths[1] > 1.5 * widths[0], kind
    few = calibration_regression(p1, pi1, groups=np.asarray(groups) % 8)
    notes = [fit.line.alpha.diagnostics.get("note") for fit in (alone, few)]
    assert notes == [None, "8 clusters, fewer than 20: read the interval loosely"]
    words = calibration_regression(p1, pi1, groups=[f"t{g}" for g in groups])
    assert words.line.alpha == clustered.line.alpha


def test_policies_have_the_lines_that_name_them():
    goal = targets(build("colors", preset="smoke"))
    fits = {
        name: calibration_regression(*exact_shares(goal, name)[:2])
        for name in POLICIES
        if name != "null"
    }
    for name in ("calibrated", "leaky_0.3", "spread_variants"):
        assert fits[name].line.alpha.value == pytest.approx(0.0, abs=1e-9)
        assert fits[name].line.beta.value == pytest.approx(1.0, abs=1e-9)
    assert fits["pick_higher"].line.beta.value > 10
    assert fits["pick_lower"].line.beta.value < -10
    clip = math.log((1 - 1e-9) / 1e-9)
    for name, side in (("pick_first", 1), ("pick_second", -1), ("uniform", 0)):
        for line in (fits[name].line, fits[name].robust):
            assert line.alpha.value == pytest.approx(side * clip, abs=1e-6)
            assert line.beta.value == pytest.approx(0.0, abs=1e-6)
    assert fits["pick_first"].n_clipped == fits["pick_first"].n == goal.n_items
    assert fits["uniform"].n_clipped == 0


def test_what_has_no_log_odds_is_left_out_and_counted():
    p1, pi1, groups = made(0.1, 1.2, 0.3)
    fit = calibration_regression(p1, pi1, groups=groups)
    more = calibration_regression(
        np.concatenate([p1, [0.0, 1.0, 0.5]]),
        np.concatenate([pi1, [0.1, 0.9, math.nan]]),
        groups=np.concatenate([groups, [77, 77, 77]]),
    )
    assert (more.n, more.n_left_out) == (400, 3)
    assert more.line == fit.line


def test_what_determines_no_line_is_refused():
    half = np.full(4, 0.5)
    with pytest.raises(InputError, match="2 different ideals and 2 clusters, got 4 items of 1"):
        calibration_regression(half, half)
    p1 = np.array([0.2, 0.4, 0.6])
    with pytest.raises(InputError, match="in 1 clusters"):
        calibration_regression(p1, p1, groups=["a", "a", "a"])
    with pytest.raises(ShapeError, match="lengths 3, 4 and 3"):
        calibration_regression(p1, half)
    with pytest.raises(InputError, match=r"pi1 lies in \[0, 1\], got 1\.5"):
        calibration_regression(p1, np.array([0.1, 1.5, 0.2]))
    with pytest.raises(InputError, match=r"the clip lies in \(0, 1/2\), got 0\.5"):
        calibration_regression(p1, p1, clip=0.5)
    with pytest.raises(InputError, match=r"the level lies in \(0, 1\), got 1\.0"):
        calibration_regression(p1, p1, level=1.0)
