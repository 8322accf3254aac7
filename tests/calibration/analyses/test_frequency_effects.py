"""Effects of frequency: the built-in null exactly, and planted effects found beyond it."""

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from planted import answered, items, line, log_odds, policy

from likely.calibration.analyses.digits import FEATURES, number_features, varying
from likely.calibration.analyses.frequencies import NumberCounts, frequency_gaps, zipf_counts
from likely.calibration.analyses.frequency_effects import (
    covariate_effects,
    frequency_effect,
    policy_distances,
)
from likely.core.streams import generator
from likely.errors import InputError
from likely.stats.correlations import rank_correlation
from likely.stats.splines import natural_spline

ZIPF = zipf_counts(range(1, 1000))
QUICK = {"n_resamples": 200, "n_permutations": 400}


def counted(seed=0, *, spread=0.4):
    """Counts that fall like 1/n, each off by a factor of its own."""
    rng = generator(seed, "counts")
    off = np.exp(spread * rng.normal(size=1000))
    return NumberCounts(
        source="made up", kind="exact", counts={n: 1e6 / n * float(off[n]) for n in range(1, 1000)}
    )


@pytest.mark.parametrize(
    ("low", "high", "expected"), [(1, 10, -0.1133), (10, 100, -0.5402), (100, 999, -0.5789)]
)
def test_on_all_pairs_of_a_scale_policies_have_known_rank_correlations(low, high, expected):
    pairs = np.array(list(combinations(range(low, high + 1), 2)), dtype=float)
    gap = np.abs(np.log10(pairs[:, 0]) - np.log10(pairs[:, 1])).round(12)
    distances = policy_distances(pairs.max(axis=1) / pairs.sum(axis=1), share=0.7)
    found = {name: rank_correlation(gap, d) for name, d in distances.items()}
    assert found["higher"] == pytest.approx(-1.0, abs=1e-12)
    assert found["uniform"] == pytest.approx(1.0, abs=1e-12)
    assert found["higher_0.7"] == pytest.approx(expected, abs=5e-5)
    assert found["higher_q"] == found["higher_0.7"]


@pytest.mark.parametrize(("name", "expected"), [("higher", -1.0), ("uniform", 1.0)])
@pytest.mark.parametrize("scale", ["1-10", "10-100", "100-999"])
def test_policies_without_any_frequency_at_work_correlate_with_it_perfectly(name, expected, scale):
    frame = policy(items(scales=(scale,), n_pairs=20, templates=("C1",)), name)
    found = frequency_effect(frame, ZIPF, **QUICK).by_scale[scale]
    assert found.spearman.value == pytest.approx(expected, abs=1e-12)
    assert found.nulls[name] == pytest.approx(expected, abs=1e-12)
    # the gap is a function of the ideal law: nothing is left once that is held fixed
    assert (found.partial_pearson, found.partial_spearman, found.matched) == (None, None, None)
    assert found.permuted_p is None


def test_the_policy_with_the_model_s_own_share_is_among_the_nulls():
    frame = policy(items(n_pairs=20), "higher_q", share=0.8)
    found = frequency_effect(frame, ZIPF, **QUICK).by_scale["10-100"]
    assert found.share_on_higher == pytest.approx(0.8)
    assert found.spearman.value == pytest.approx(found.nulls["higher_q"])


def test_a_model_of_levels_and_a_slope_is_its_own_null_and_one_that_hears_frequency_is_not():
    base = items(n_pairs=20)
    blind = line(base, slope=0.3, position=0.5, strengths={"blue": 1.0, "red": -0.4})
    found = frequency_effect(blind, ZIPF, **QUICK).by_scale["10-100"]
    assert found.nulls["itself"] == pytest.approx(found.spearman.value, abs=1e-3)
    assert abs(found.spearman.value) < 0.5  # names and order blur what is 1 for equal shares
    counts = counted(3)
    own = [np.log10(counts.counts[int(n)]) for n in base["n1"]]
    other = [np.log10(counts.counts[int(n)]) for n in base["n2"]]
    y = log_odds(blind["pi1"].to_numpy()) + 2.0 * (np.array(own) - np.array(other))
    hears = answered(base, 1.0 / (1.0 + np.exp(-y)))
    found = frequency_effect(hears, counts, **QUICK).by_scale["10-100"]
    assert abs(found.spearman.value - found.nulls["itself"]) > 0.1


def test_a_collapsed_model_blind_to_frequency_has_a_raw_correlation_but_no_partial_one():
    frame = line(items(n_pairs=50, scales=("100-999",)), slope=400.0, noise=0.3)
    found = frequency_effect(frame, counted(spread=0.1), **QUICK).by_scale["100-999"]
    assert found.spearman.high < -0.5
    assert found.nulls["higher"] < -0.8
    assert found.partial_spearman.low < 0.0 < found.partial_spearman.high
    assert found.permuted_p > 0.02


def test_a_planted_effect_of_frequency_survives_all_three_remedies():
    base = items(n_pairs=50)
    # equal ratios with other numbers, for matched sets
    counts = counted(1)
    gap = np.abs(
        np.log10([counts.counts[int(n)] for n in base["n1"]])
        - np.log10([counts.counts[int(n)] for n in base["n2"]])
    )
    rng = generator(2, "planted frequency")
    shift = 0.15 * gap + 0.02 * rng.normal(size=len(base))
    frame = answered(base, np.clip(base["p1"] + np.where(base["p1"] > 0.5, -1, 1) * shift, 0, 1))
    found = frequency_effect(frame, counts, **QUICK).by_scale["10-100"]
    assert found.partial_pearson.low > 0.3
    assert found.partial_spearman.low > 0.3
    assert found.permuted_p < 0.01


def test_matched_sets_hold_the_ratio_and_vary_the_numbers():
    base = items(n_pairs=6, templates=("C1",), options=("blue", "red"))
    rows = []
    for low, ratio in ((10, 2), (13, 2), (17, 2), (11, 3), (20, 3), (30, 3)):
        for n1, n2 in ((low, low * ratio), (low * ratio, low)):
            rows.append({"n1": float(n1), "n2": float(n2), "number_pair": f"{low}:{low * ratio}"})
    frame = pd.concat(
        [
            base.iloc[: len(rows)].drop(columns=["n1", "n2", "number_pair"]).reset_index(drop=True),
            pd.DataFrame(rows),
        ],
        axis=1,
    )
    frame["p1"] = frame["n1"] / (frame["n1"] + frame["n2"])
    counts = counted(3)
    gap = np.abs(
        np.log10([counts.counts[int(n)] for n in frame["n1"]])
        - np.log10([counts.counts[int(n)] for n in frame["n2"]])
    )
    pull = np.where(frame["p1"] > 0.5, -1, 1) * 0.1 * gap
    found = frequency_effect(answered(frame, frame["p1"] + pull), counts, **QUICK)
    effect = found.by_scale["10-100"]
    assert effect.n_matched == (2, 6)
    assert effect.matched.value == pytest.approx(1.0)
    assert (
        frequency_effect(answered(frame, frame["p1"] + pull), ZIPF, **QUICK)
        .by_scale["10-100"]
        .matched
        is None
    )


def test_the_partial_correlation_is_that_of_the_residuals():
    frame = line(items(n_pairs=40), slope=2.0, noise=0.5)
    counts = counted(4)
    found = frequency_effect(frame, counts, **QUICK).by_scale["10-100"]
    p = np.maximum(frame["p1"], 1 - frame["p1"]).to_numpy()
    curve = np.column_stack([np.ones(len(p)), natural_spline(np.log(p / (1 - p)))])
    left = [
        side - curve @ np.linalg.lstsq(curve, side, rcond=None)[0]
        for side in (frequency_gaps(frame, counts)["gap"].to_numpy(), frame["wd01"].to_numpy())
    ]
    assert found.partial_pearson.value == pytest.approx(np.corrcoef(*left)[0, 1], abs=1e-6)
    assert found.partial_pearson.low <= found.partial_pearson.value <= found.partial_pearson.high


def test_permuted_p_values_of_a_model_blind_to_frequency_are_even():
    p_values = [
        frequency_effect(
            line(items(n_pairs=30, templates=("C1",)), slope=3.0, noise=0.5, seed=seed),
            counted(10 + seed), n_resamples=100, n_permutations=200,
        ).by_scale["10-100"].permuted_p
        for seed in range(20)
    ]  # fmt: skip
    assert 0.2 < np.mean(p_values) < 0.8
    assert np.mean(np.array(p_values) < 0.1) <= 0.35


def test_covariates_join_the_partial_correlation_and_have_effects_of_their_own():
    base = items(n_pairs=50)
    features = number_features(base)
    shift = 0.05 * features["n_round10"].to_numpy()
    frame = answered(base, base["p1"] + np.where(base["p1"] > 0.5, -1, 1) * shift)
    kept = varying(features[list(FEATURES)]).drop(columns=["n_round5"])
    fit = covariate_effects(frame, kept)
    few = frame["number_pair"].isin(frame["number_pair"].unique()[:8])
    with pytest.raises(InputError, match="8 pairs of numbers cannot tell 8 coefficients apart"):
        covariate_effects(frame[few], kept[few])
    assert fit.coefficient("n_round10").value == pytest.approx(0.05)
    noisy = answered(
        frame, np.clip(frame["pi1"] + 0.02 * generator(5, "x").normal(size=len(frame)), 0, 1)
    )
    without = frequency_effect(noisy, counted(), **QUICK).by_scale["10-100"]
    beside = frequency_effect(noisy, counted(), covariates=kept, **QUICK).by_scale["10-100"]
    assert beside.partial_pearson.value != without.partial_pearson.value
    assert beside.spearman == without.spearman


def test_undefined_items_are_counted_and_the_table_is_complete():
    frame = line(items(n_pairs=20), noise=0.5)
    frame.loc[frame.index[:5], ["pi1", "wd01"]] = np.nan
    some = NumberCounts(
        source="few", kind="approx", counts={**counted().counts, int(frame["n1"].iloc[50]): 0}
    )
    found = frequency_effect(frame, some, gap="signed_gap", **QUICK)
    effect = found.by_scale["10-100"]
    assert effect.n_items + effect.n_undefined == len(frame)
    assert effect.n_undefined >= 5
    table = found.table()
    assert set(table["statistic"]) >= {"spearman", "null higher", "permuted_p", "matched"}
    assert found.to_dict()["kind"] == "approx"
    with pytest.raises(InputError, match="no item has both"):
        frequency_effect(frame, NumberCounts(source="none", kind="exact", counts={}))
    with pytest.raises(InputError, match="2 number pairs"):
        frequency_effect(policy(items(n_pairs=2), "uniform"), ZIPF)
