"""Summaries against values that are worked out by hand."""

import math
import time

import bench_cases as make
import numpy as np
import pytest

from likely.rare.bench.summary import (
    LEAST_FITTED,
    POOLED,
    constant_left_out,
    constant_losses,
    fit_sets,
    losses,
    runs_of,
    summarise,
    summarise_decades,
    targets_of,
    truth_noise,
)
from likely.rare.recalibration import fit_affine, leave_one_out

LN_10 = math.log(10.0)


def one(rows):
    (found,) = summarise(rows)
    return found


def test_bias_is_of_the_mean_probability_and_not_of_its_log():
    rows = [make.row(seed=0, p=19e-6), make.row(seed=1, p=1e-6)]
    assert one(rows).bias == pytest.approx(1.0)  # the mean is 1e-5; of the logs it would be 0.64


def test_a_zero_is_part_of_the_mean_and_no_part_of_the_spread():
    rows = [make.row(seed=0, p=0.0), make.row(seed=1, p=1e-6), make.row(seed=2, p=1e-4)]
    found = one(rows)
    assert found.bias == pytest.approx(math.log10(101.0 / 3.0))
    assert found.spread == pytest.approx(math.sqrt(2.0))  # of -6 and -4
    assert found.zero_rate == pytest.approx(1 / 3)


def test_bias_and_spread_are_medians_over_targets():
    ps = {1: 1e-6, 2: 1e-5, 3: 0.0}
    rows = [make.row(token=token, p=p) for token, p in ps.items()]
    found = one(rows)
    assert found.bias == pytest.approx(0.0)
    assert found.spread is None  # one estimate each
    assert (found.n_targets, found.n_estimates) == (3, 3)
    assert one(rows[2:]).bias == -math.inf


def test_coverage_counts_intervals_that_hold_the_truth_and_those_that_meet_its_interval():
    rows = [
        make.row(seed=0, p_low=1e-7, p_high=1e-6),  # ends at the truth: holds
        make.row(seed=1, p_low=1.5e-6, p_high=3e-6),  # misses, but meets 5e-7 to 2e-6
        make.row(seed=2, p_low=3e-6, p_high=4e-6),
        make.row(seed=3, p=0.0, p_low=0.0, p_high=1e-7),
    ]
    found = one(rows)
    assert (found.coverage, found.coverage_overlap) == (0.25, 0.5)


def test_every_loss_is_the_mean_of_its_formula():
    shift = 2.0**-32
    rows = [make.row(seed=0, p=3e-6), make.row(seed=1, p=2e-7)]
    found = one(rows).losses
    ratio = np.array([3.0, 0.2])
    assert found["IS"].mean == pytest.approx(np.mean(1 / ratio + np.log(ratio) - 1))
    assert found["logMSE"].mean == pytest.approx(np.mean(np.log(ratio) ** 2))
    delta = np.log((np.array([3e-6, 2e-7]) + shift) / (1e-6 + shift))
    by_hand = {
        1.0: np.exp(delta) - 1 - delta,
        1.5: 4 * (np.cosh(delta / 2) - 1),
        2.0: np.exp(-delta) + delta - 1,
        2.5: _shape(2.5, delta),
    }
    premium = (1e-5 / (1e-6 + shift)) ** 0.25
    for alpha, values in by_hand.items():
        assert found[f"SPB {alpha:g}"].mean == pytest.approx(np.mean(values))
        name = f"SPB {alpha:g} premium 0.25"
        assert found[name].mean == pytest.approx(premium * np.mean(values))
    assert set(found) == set(losses())


def _shape(alpha, delta):
    """Return the integral of |t - 1| t^-alpha between 1 and e^delta, summed by hand."""
    return np.array([_area(alpha, math.exp(x)) for x in delta])


def _area(alpha, end):
    t = np.linspace(1.0, end, 200_001)
    y = np.abs(t - 1.0) * t**-alpha
    return abs(float(np.sum((y[1:] + y[:-1]) * np.diff(t)) / 2.0))


def test_a_zero_makes_the_logs_infinite_and_is_left_out_beside_them():
    rows = [make.row(seed=0, p=0.0), make.row(seed=1, p=1e-6 * math.e)]
    found = one(rows)
    assert found.losses["logMSE"].mean == found.losses["IS"].mean == math.inf
    assert found.losses["logMSE"].mean_without_zeros == pytest.approx(1.0)
    assert math.isfinite(found.losses["SPB 2"].mean)
    assert found.log_error is None


def test_the_standard_error_is_that_of_the_targets_means():
    ratios = {1: (1.0, 3.0), 2: (2.0, 2.0), 3: (0.0, 0.0)}  # errors in nats, two seeds each
    rows = [
        make.row(token=token, seed=seed, p=1e-6 * math.exp(error))
        for token, errors in ratios.items()
        for seed, error in enumerate(errors)
    ]
    found = one(rows)
    assert found.losses["logMSE"].mean == pytest.approx(3.0)
    assert found.log_error == pytest.approx(np.std([5.0, 4.0, 0.0], ddof=1) / math.sqrt(3))


def fit_rows():
    """Return runs with enough targets for a fit of their own, and one without."""
    rng = np.random.default_rng(0)
    rows = []
    for law, n in (("a", LEAST_FITTED), ("b", LEAST_FITTED + 2), ("c", LEAST_FITTED - 1)):
        for token in range(n):
            q = 10.0 ** rng.uniform(-8, -5)
            p = q * 10.0 ** rng.normal(0.3, 0.4)
            rows.append(make.row(distribution=law, token=token, truth=q, p=p))
    return rows


def test_the_fit_is_made_of_each_run_that_has_the_targets_for_it():
    rows = fit_rows()
    inside, outside = [], []
    for law in "ab":
        own = [row for row in rows if row["distribution"] == law]
        q = np.array([row["truth"] for row in own])
        p = np.exp([row["log_prob"] for row in own])
        fit = fit_affine(q, p)
        inside += [fit.loss] * len(own)
        ratio = q / leave_one_out(q, p)
        outside += (ratio - np.log(ratio) - 1).tolist()
    found = one(rows)
    assert found.fitted_is == pytest.approx(np.mean(inside), rel=1e-6)
    assert found.left_out_is == pytest.approx(np.mean(outside), rel=1e-6)
    few = [row for row in rows if row["distribution"] == "c"]
    assert one(few).fitted_is is one(few).left_out_is is None


def test_laws_of_few_targets_are_fitted_together_for_each_model_and_seed():
    small = [
        {**make.row(distribution=law, token=token, truth=q, p=p, model=model), "seed": seed}
        for model in "xy" for seed in range(2)
        for law, token, q, p in (("c", 1, 1e-8, 3e-8), ("c", 2, 2e-7, 1e-7), ("c", 3, 5e-6, 8e-6),
                                 ("d", 1, 4e-8, 1e-8), ("d", 4, 6e-7, 9e-6 * (1 + seed)))
    ]  # fmt: skip
    sets = fit_sets(small)
    assert {(model, law, seed) for _, model, law, _, seed in sets} == {
        (model, POOLED, seed) for model in "xy" for seed in range(2)
    }
    assert {len(part) for part in sets.values()} == {5}
    own = fit_rows()
    both = fit_sets([*own, make.row(distribution="d", truth=1e-6, p=1e-6)])
    assert sorted(law for _, _, law, _, _ in both) == [POOLED, "a", "b"]
    assert sum(map(len, both.values())) == len(own) + 1  # every target has a fit
    losses = []
    for seed in range(2):
        part = [row for row in small if (row["model"], row["seed"]) == ("x", seed)]
        q, p = np.array([r["truth"] for r in part]), np.exp([r["log_prob"] for r in part])
        losses.append(fit_affine(q, p).loss)
    whole = one([row for row in small if row["model"] == "x"])
    assert whole.fitted_is == pytest.approx(np.mean(losses), rel=1e-6)


def test_costs_are_told_of_a_target_and_of_a_run():
    rows = [
        make.row(token=token, seed=seed, forwards=100, gradients=20, seconds=0.5)
        for token in range(4)
        for seed in range(3)
    ]
    found = one(rows)
    assert (found.calls, found.run_calls) == (120.0, 480.0)
    assert (found.seconds, found.run_seconds) == (0.5, 2.0)


def test_there_is_a_summary_for_all_models_and_for_each():
    rows = [
        make.row(arm=arm, method=method, model=model)
        for arm in ("calls", "seconds") for method in ("naive", "qld") for model in ("x", "y")
    ]  # fmt: skip
    found = summarise(rows)
    assert [(s.arm, s.models, s.method) for s in found[:4]] == [
        ("calls", ("x", "y"), "naive"), ("calls", ("x", "y"), "qld"),
        ("calls", ("x",), "naive"), ("calls", ("x",), "qld"),
    ]  # fmt: skip
    assert len(found) == 2 * 2 * 3
    assert [one.models for one in summarise([make.row()])] == [("m",)]


def test_decades_have_the_targets_that_lie_in_them():
    rows = [
        make.row(token=1, truth=1e-8, p=0.0), make.row(token=2, truth=9.9e-8, p=9.9e-8),
        make.row(token=3, truth=1e-7, p=1e-6), make.row(token=4, truth=1e-5),
    ]  # fmt: skip
    found = {d.low: d for d in summarise_decades(rows, (1e-9, 1e-8, 1e-7, 1e-6))}
    assert {low: d.n_targets for low, d in found.items()} == {1e-8: 2, 1e-7: 1}
    assert found[1e-8].zero_rate == 0.5
    assert found[1e-7].bias == pytest.approx(1.0)
    assert found[1e-7].coverage == 1.0


def test_truths_that_are_counts_have_a_noise_and_exact_ones_none():
    z = 1.959963984540054
    half = math.exp(0.1 * z)
    rows = [make.row(token=1, low=1e-6 / half, high=1e-6 * half, seed=k) for k in range(3)]
    assert truth_noise(rows) == pytest.approx(0.01)
    exact = make.row(token=2, low=1e-6, high=1e-6)
    assert truth_noise([*rows, exact]) == pytest.approx(0.005)
    assert truth_noise([make.row(low=0.0)]) == math.inf


def test_the_best_constant_is_that_of_the_targets_each_counted_once():
    qs = (1e-8, 1e-6)
    rows = [make.row(token=k, truth=q, seed=s) for k, q in enumerate(qs) for s in range(k + 1)]
    found = constant_losses(rows)
    ratio = np.array(qs) / np.mean(qs)
    assert found["IS"] == pytest.approx(np.mean(ratio - np.log(ratio) - 1))
    assert found["logMSE"] == pytest.approx(math.log(10.0) ** 2)  # the geometric mean is 1e-7


def test_constants_that_leave_each_target_out_are_fits_of_estimates_that_tell_nothing():
    rows = [{**row, "seed": seed} for row in fit_rows() for seed in range(2)]
    for row in rows:  # laws that lie far apart: one constant of both would be of no use to either
        row["truth"] *= 1e-3 if row["distribution"] == "b" else 1.0
    expected = []
    for law in "ab":
        q = np.array([r["truth"] for r in rows if (r["distribution"], r["seed"]) == (law, 0)])
        ratio = q / leave_one_out(q, np.full(len(q), 1e-7))
        expected += (ratio - np.log(ratio) - 1).tolist()
    assert constant_left_out(rows) == pytest.approx(np.mean(expected), rel=1e-9)
    assert constant_left_out(rows) < constant_losses(rows)["IS"]
    silent = [{**row, "log_prob": math.log(1e-7)} for row in rows]
    assert one(silent).left_out_is == pytest.approx(constant_left_out(rows), rel=1e-9)
    few = [row for row in rows if row["distribution"] == "c"]
    assert constant_left_out(few) is None


def test_runs_and_targets_keep_the_rows_apart():
    rows = [make.row(seed=s, token=t, model=m) for s in range(2) for t in range(3) for m in "xy"]
    assert [len(part) for part in runs_of(rows).values()] == [3] * 4
    assert [len(part) for part in targets_of(rows).values()] == [2] * 6


def test_a_full_table_takes_seconds():
    rng = np.random.default_rng(1)
    rows = [
        make.row(model=model, distribution=law, seed=seed, method=method, token=token, truth=q,
                 p=q * math.exp(rng.normal()) * (rng.random() < 0.9))
        for model in "xyz" for law in "ab" for method in ("naive", "qld") for seed in range(5)
        for token, q in enumerate(np.geomspace(1e-9, 1e-5, 8).tolist())
    ]  # fmt: skip
    began = time.process_time()
    summarise(rows)  # 1/32 of 3 models, 8 laws, 8 methods, 5 seeds and 2 arms
    assert time.process_time() - began < 60 / 32 * 2
