"""The affine fit: exact recovery, the constant that it never loses to, and a search as oracle."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from likely.core.jsonio import dumps
from likely.errors import InputError, ShapeError
from likely.rare.loss.data_set import mean_loss, mean_loss_log, optimal_constant
from likely.rare.loss.kinds import ITAKURA_SAITO
from likely.rare.recalibration import (
    AffineFit,
    fit_affine,
    fit_affine_log,
    leave_one_out,
    leave_one_out_log,
    recalibrate,
)

truths = st.lists(st.floats(-21.0, -11.0), min_size=1, max_size=12)


def noisy(seed, n=25):
    """Truths, and estimates of them: spread, with zeros, or with a floor, by the seed."""
    rng = np.random.default_rng(seed)
    log_q = rng.uniform(math.log(1e-9), math.log(1e-5), n)
    kinds = [
        log_q + rng.normal(0.0, 1.0, n),
        1.5 * log_q + 5.0 + rng.normal(0.0, 3.0, n),
        np.where(rng.random(n) < 0.3, -np.inf, log_q + rng.normal(0.0, 0.5, n)),
        np.maximum(log_q, -16.0) + rng.normal(0.0, 0.7, n),
    ]
    return log_q, kinds[seed % 4]


@pytest.mark.parametrize(
    ("a", "b", "c"), [(1.0, 0.0, 3e-9), (0.6, -4.0, 1e-8), (1.7, 9.0, 2e-9), (1.0, 2.3, 0.0)]
)
def test_a_truth_that_is_an_affine_image_is_recovered(a, b, c):
    p = np.geomspace(1e-9, 1e-5, 30)
    q = c + np.exp(b + a * np.log(p))
    fit = fit_affine(q, p)
    assert fit.loss < 1e-8
    assert (fit.a, fit.b) == pytest.approx((a, b), abs=2e-2)
    assert fit.c == pytest.approx(c, rel=2e-2, abs=1e-12)
    assert fit.apply(p) == pytest.approx(q, rel=1e-3, abs=0.0)


@settings(max_examples=30)
@given(truths, st.integers(0, 2**31))
def test_the_fit_never_costs_more_than_the_best_constant(log_q, seed):
    q = np.exp(np.array(log_q))
    rng = np.random.default_rng(seed)
    p = q * np.exp(rng.normal(0.0, 4.0, len(q))) * (rng.random(len(q)) < 0.8)
    fit = fit_affine(q, p)
    constant = mean_loss(q, np.full(len(q), optimal_constant(q, ITAKURA_SAITO)), ITAKURA_SAITO)
    assert fit.constant_loss == pytest.approx(constant.mean, rel=1e-9, abs=1e-12)
    assert fit.loss <= fit.constant_loss
    assert fit.a >= 0.0
    assert mean_loss(q, fit.apply(p), ITAKURA_SAITO).mean == pytest.approx(fit.loss, abs=1e-12)


@pytest.mark.parametrize("seed", range(4))
def test_a_search_from_many_places_finds_nothing_better(seed):
    log_q, log_p = noisy(seed)
    fit = fit_affine_log(log_q, log_p)
    rng = np.random.default_rng(seed + 100)
    above = np.isfinite(log_p)
    mean = log_p[above].mean()

    def cost(x):
        power = np.where(above, x[1] + abs(x[0]) * (np.where(above, log_p, 0.0) - mean), -np.inf)
        gap = log_q - np.logaddexp(x[2], power)
        return float(np.mean(np.expm1(gap) - gap))

    best = math.inf
    for _ in range(12):
        start = [rng.uniform(0.0, 3.0), rng.uniform(-21.0, -11.0), rng.uniform(-30.0, -12.0)]
        found = minimize(cost, start, method="Nelder-Mead", options={"maxiter": 600})
        best = min(best, found.fun)
    assert fit.loss <= best + 1e-9
    assert fit.loss == pytest.approx(best, abs=1e-4)  # else the search was too short to say much


def test_an_offset_that_only_costs_is_exactly_zero():
    log_p = np.linspace(-21.0, -11.0, 20)
    fit = fit_affine_log(log_p - 0.05 * (log_p + 11.0) ** 2, log_p)
    assert fit.log_c == -math.inf
    assert fit.c == fit.apply(0.0) == 0.0


def test_zeros_go_to_the_offset_and_lift_it():
    q, p = np.array([1e-8, 3e-8, 1e-6, 1e-5]), np.array([0.0, 0.0, 1e-6, 1e-5])
    fit = fit_affine(q, p)
    assert fit.apply(0.0) == pytest.approx(fit.c, rel=1e-12, abs=0.0)
    assert fit.c == pytest.approx(2e-8, rel=0.05, abs=0.0)
    assert math.isfinite(fit.loss)


@pytest.mark.parametrize("p", [np.zeros(3), np.full(3, 1e-7)])
def test_estimates_that_tell_nothing_become_the_best_constant(p):
    q = np.array([1e-9, 1e-7, 1e-5])
    fit = fit_affine(q, p)
    assert fit.a == 0.0
    assert fit.loss == pytest.approx(fit.constant_loss, rel=1e-12, abs=0.0)
    assert fit.apply(p) == pytest.approx(np.full(3, q.mean()), rel=1e-6, abs=0.0)


def test_estimates_in_reverse_become_the_best_constant():
    q = np.geomspace(1e-9, 1e-5, 9)
    fit = fit_affine(q, q[::-1])
    assert fit.loss == pytest.approx(fit.constant_loss, rel=1e-9, abs=0.0)
    assert fit.apply(q) == pytest.approx(np.full(9, q.mean()), rel=1e-3, abs=0.0)


@pytest.mark.parametrize("seed", range(3))
def test_the_unit_of_truths_and_of_estimates_does_not_matter(seed):
    log_q, log_p = noisy(seed)
    fit, low = fit_affine_log(log_q, log_p), fit_affine_log(log_q - 1500.0, log_p - 2000.0)
    assert low.loss == pytest.approx(fit.loss, rel=1e-8, abs=0.0)
    assert low.apply_log(log_p - 2000.0) + 1500.0 == pytest.approx(fit.apply_log(log_p), abs=1e-3)


def test_truths_that_lie_very_far_apart_are_fitted_too():
    log_q = np.array([-2000.0, -1000.0, -10.0, -5.0])
    fit = fit_affine_log(log_q, log_q + 1.0)
    assert fit.loss < 1e-6 < fit.constant_loss


def test_the_fit_is_the_same_at_every_call():
    log_q, log_p = noisy(1)
    assert fit_affine_log(log_q, log_p) == fit_affine_log(log_q, log_p)


def test_leaving_one_out_predicts_each_target_from_the_others():
    log_q, log_p = noisy(2, n=10)
    found = leave_one_out_log(log_q, log_p)
    for i in range(len(log_q)):
        others = np.arange(len(log_q)) != i
        assert found[i] == fit_affine_log(log_q[others], log_p[others]).apply_log(float(log_p[i]))
    assert leave_one_out(np.exp(log_q), np.exp(log_p)) == pytest.approx(
        np.exp(found), rel=1e-5, abs=0.0
    )
    within = fit_affine_log(log_q, log_p).loss
    assert mean_loss_log(log_q, found, ITAKURA_SAITO).mean > within


def test_a_target_s_own_truth_does_not_move_its_prediction():
    log_q, log_p = noisy(0, n=8)
    moved = log_q.copy()
    moved[3] += 4.0
    assert leave_one_out_log(moved, log_p)[3] == leave_one_out_log(log_q, log_p)[3]


def test_counts_of_one_hit_give_no_slope_to_a_count_of_two():
    """Seven equal logs have a mean an ulp away from them, which is no spread to fit a slope to."""
    rng = np.random.default_rng(0)
    hits = np.array([0] * 6 + [1] * 7 + [2])
    with np.errstate(divide="ignore"):
        log_p = np.log(hits) - math.log(512)
    for _ in range(6):
        log_q = rng.uniform(math.log(1e-6), math.log(1e-3), 14)
        left_out = leave_one_out_log(log_q, log_p)[-1]
        assert log_q[:-1].min() < left_out < log_q[:-1].max()


def test_a_fit_takes_floats_and_arrays_and_is_written_as_json():
    fit = AffineFit(a=0.0, b=-math.inf, log_c=math.log(0.25), loss=1.0, constant_loss=1.0)
    assert type(fit.apply(0.5)) is float
    assert fit.apply(np.array([[0.0, 0.5]])) == pytest.approx(np.full((1, 2), 0.25))
    assert '"b": "-inf"' in dumps(fit.to_dict())


def test_truths_of_zero_and_too_few_targets_are_refused():
    with pytest.raises(InputError, match="truths above 0"):
        fit_affine(np.array([0.0, 0.1]), np.array([0.1, 0.1]))
    with pytest.raises(InputError, match="at least two targets, got 1"):
        leave_one_out(np.array([0.1]), np.array([0.1]))
    with pytest.raises(ShapeError, match="every truth needs one estimate"):
        fit_affine(np.array([0.1, 0.2]), np.array([0.1]))
    with pytest.raises(InputError, match=r"p needs finite numbers of at least 0, got -0\.1"):
        fit_affine(np.array([0.1]), np.array([-0.1]))


def test_many_sets_together_are_fitted_as_each_alone():
    sets = [noisy(seed, n) for seed, n in enumerate((5, 7, 5, 2, 7, 12))]
    sets.append((sets[0][0], np.full(5, -np.inf)))
    for (log_q, log_p), found in zip(sets, recalibrate(sets), strict=True):
        assert found.fit == fit_affine_log(log_q, log_p)
        np.testing.assert_array_equal(found.left_out, leave_one_out_log(log_q, log_p))
    assert recalibrate([]) == []
    with pytest.raises(InputError, match="at least two targets, got 1"):
        recalibrate([noisy(0, 1)])
