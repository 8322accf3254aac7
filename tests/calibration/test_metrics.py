"""Metrics of items: golden values, policies with closed forms, and the laws that tie them."""

import math
from functools import cache
from itertools import combinations, pairwise, permutations

import numpy as np
import ot
import pytest
from hypothesis import given
from hypothesis import strategies as st
from policies import POLICIES, policy_masses

from likely.calibration import build
from likely.calibration.metrics import METRICS, measure, shares
from likely.calibration.tables import Masses, Targets, exact_masses, targets
from likely.errors import InputError, NumericalError

SCALES = {"1-10": (1, 10), "10-100": (10, 100), "100-999": (100, 999)}


def goal(*laws, values=None):
    """Targets of these ideal laws; values of their options, or names."""
    places = [[math.nan] * len(law) for law in laws] if values is None else values
    return Targets(
        offsets=np.concatenate([[0], np.cumsum([len(law) for law in laws])]),
        ideal=np.concatenate([np.array(law, dtype=float) for law in laws]),
        values=np.concatenate([np.array(place, dtype=float) for place in places]),
    )


def given_masses(*laws):
    offsets = np.concatenate([[0], np.cumsum([len(law) for law in laws])])
    with np.errstate(divide="ignore"):
        return exact_masses(offsets, np.log(np.concatenate([np.array(law) for law in laws])))


def one(ideal, mass, values=None, **options):
    """The metrics of one item as numbers."""
    places = None if values is None else [values]
    found = measure(goal(ideal, values=places), given_masses(mass), **options)
    return {name: float(numbers[0]) for name, numbers in found.items()}


@cache
def colors(design):
    return targets(build("colors", preset="smoke", design=design))


def complete_pairs(low, high):
    """Every pair of unequal numbers of a scale, the lower one first."""
    pairs = np.array(list(combinations(range(low, high + 1), 2)), dtype=float)
    ideal = (pairs / pairs.sum(axis=1, keepdims=True)).ravel()
    return Targets(
        offsets=np.arange(0, len(ideal) + 1, 2), ideal=ideal, values=np.full(len(ideal), np.nan)
    )


# ---------------------------------------------------------------- golden values, six digits

BLUE_RED = (98 / 197, 99 / 197)


def test_a_collapsed_model_of_98_to_99():
    found = one(BLUE_RED, (0.003, 0.997))
    golden = {
        "pm": 1.0, "wd01": 0.494462, "wd_paper": 0.699275, "entropy_ideal": 0.999981,
        "entropy_model": 0.029464, "entropy_gap": -0.970517, "kl": 3.171337,
        "brier_excess": 0.488985, "brier_single": 0.488985 / 2,
    }  # fmt: skip
    for name, value in golden.items():
        assert found[name] == pytest.approx(value, abs=5e-7), name
    in_nats = one(BLUE_RED, (0.003, 0.997), base=math.e)
    assert in_nats["entropy_gap"] == pytest.approx(-0.672711, abs=5e-7)


def test_lack_of_mass_and_wrong_shares_are_told_apart():
    found = one(BLUE_RED, (0.2, 0.6))
    golden = {
        "pm": 0.8, "other": 0.2, "is_gated": 1.0, "wd01": 0.247462, "entropy_gap": -0.188703,
        "kl": 0.203515, "kl_raw": 0.525443, "kl_mass": 0.321928,
    }  # fmt: skip
    for name, value in golden.items():
        assert found[name] == pytest.approx(value, abs=5e-7), name


def test_three_integers():
    found = one((1 / 3,) * 3, (0.2, 0.5, 0.1), values=(2, 3, 4))
    golden = {
        "pm": 0.8, "wd_line": 0.291667, "wd_line_norm": 0.145833, "wd01": 0.291667,
        "wd_n": 0.291667 / 3, "entropy_gap": -0.286168, "kl": 0.307728, "rps_excess": 0.050347,
    }  # fmt: skip
    for name, value in golden.items():
        assert found[name] == pytest.approx(value, abs=5e-7), name
    assert math.sqrt(found["brier_excess"]) == pytest.approx(0.367990, abs=5e-7)


def test_two_dice():
    dice = np.array([1, 2, 3, 4, 5, 6, 5, 4, 3, 2, 1]) / 36
    found = one(dice, np.full(11, 1 / 11), values=range(2, 13))
    golden = {
        "entropy_ideal": 3.274402, "entropy_gap": 0.185030, "wd01": 0.212121, "wd_line": 0.782828,
        "wd_line_norm": 0.078283,
    }  # fmt: skip
    for name, value in golden.items():
        assert found[name] == pytest.approx(value, abs=5e-7), name
    seven = np.eye(11)[5]
    found = one(dice, seven, values=range(2, 13))
    assert found["wd_line"] == pytest.approx(1.944444, abs=5e-7)
    assert found["entropy_gap"] == pytest.approx(-3.274402, abs=5e-7)
    assert found["kl"] == math.inf


def test_four_flips_of_a_bent_coin():
    ideal = [math.comb(4, k) * 0.3**k * 0.7 ** (4 - k) for k in range(5)]
    assert np.round(ideal, 10).tolist() == [0.2401, 0.4116, 0.2646, 0.0756, 0.0081]
    assert one(ideal, ideal)["entropy_ideal"] == pytest.approx(1.866783, abs=5e-7)


@pytest.mark.parametrize(
    ("n", "share"),
    [(2, 0.25), (3, 1 / 3), (4, 0.375), (5, 0.4), (6, 5 / 12), (8, 0.4375), (10, 0.45),
     (16, 0.46875)],
)  # fmt: skip
def test_the_first_of_n_equally_likely_integers(n, share):
    found = one(np.full(n, 1 / n), np.eye(n)[0], values=range(30, 30 + n))
    assert found["wd_n"] == pytest.approx(share, abs=1e-12)
    assert found["wd_line_norm"] == pytest.approx(0.5, abs=1e-12)
    assert found["wd01"] == pytest.approx(1 - 1 / n, abs=1e-12)
    assert found["entropy_gap"] == pytest.approx(-math.log2(n), abs=1e-12)


# ---------------------------------------------------------------- policies with closed forms


BENT = -(0.7 * math.log2(0.7) + 0.3 * math.log2(0.3))


def closed_forms(ideal):
    """wd01, entropy_gap and pm of each policy on pairs (N, 2), from the ideal alone."""
    top = ideal.max(axis=1)
    spread = -np.sum(ideal * np.log2(ideal), axis=1)
    zero, full = np.zeros(len(ideal)), np.ones(len(ideal))
    return {
        "calibrated": (zero, zero, full),
        "pick_higher": (1 - top, -spread, full),
        "pick_lower": (top, -spread, full),
        "pick_first": (ideal[:, 1], -spread, full),
        "pick_second": (ideal[:, 0], -spread, full),
        "uniform": (top - 0.5, 1 - spread, full),
        "higher_0.7": (np.abs(top - 0.7), BENT - spread, full),
        "leaky_0.3": (zero, zero, 0.7 * full),
        "spread_variants": (zero, zero, full),
    }


@pytest.mark.parametrize("policy", sorted(set(POLICIES) - {"null"}))
@pytest.mark.parametrize("design", ["balanced", "grid"])
def test_family_means_of_policies_equal_their_closed_forms(policy, design):
    made = colors(design)
    found = measure(made, policy_masses(made, policy))
    distance, gap, mass = closed_forms(made.ideal.reshape(-1, 2))[policy]
    if policy in ("pick_higher", "pick_lower", "higher_0.7"):
        keep = made.ideal[::2] != made.ideal[1::2]  # the higher of two equals is not defined
        found = {name: values[keep] for name, values in found.items()}
        distance, gap, mass = distance[keep], gap[keep], mass[keep]
    assert found["wd01"].mean() == pytest.approx(distance.mean(), abs=1e-12)
    assert found["entropy_gap"].mean() == pytest.approx(gap.mean(), abs=1e-12)
    assert found["pm"].mean() == pytest.approx(mass.mean(), abs=1e-12)
    np.testing.assert_allclose(found["wd01"], distance, rtol=0, atol=1e-12)


def test_a_leak_is_seen_in_raw_masses_alone():
    made = colors("balanced")
    found = measure(made, policy_masses(made, "leaky_0.3"))
    np.testing.assert_allclose(found["wd_raw"], 0.3, rtol=0, atol=1e-12)
    np.testing.assert_allclose(found["kl_raw"], -math.log2(0.7), rtol=0, atol=1e-12)
    np.testing.assert_allclose(found["kl"], 0.0, rtol=0, atol=1e-12)
    assert not found["is_gated"].any()


def test_without_mass_shares_are_not_defined_and_nothing_stands_in_for_them():
    made = targets(build("colors", preset="smoke")[:4])
    found = measure(made, policy_masses(made, "null"))
    assert found["pm"].tolist() == found["is_gated"].tolist() == [0.0] * 4
    assert found["other"].tolist() == found["wd_raw"].tolist() == [1.0] * 4
    for name in ("kl_mass", "kl_raw", "log_score"):  # of masses: to expect the impossible
        assert np.isposinf(found[name]).all()
    known = {"pm", "is_gated", "other", "wd_raw", "kl_mass", "kl_raw", "log_score", "entropy_ideal"}
    for name in set(METRICS) - known:
        assert np.isnan(found[name]).all(), name
    assert np.isnan(shares(policy_masses(made, "null"))).all()


TABLE = {  # exact expectations over all pairs of a scale: p_high, H(P), then wd01
    "1-10": (0.6844, 0.8541, 0.3156, 0.6844, 0.5, 0.1844, 0.0986, 0.446, 0.968, 0.707, 0.139),
    "10-100": (0.6516, 0.8948, 0.3484, 0.6516, 0.5, 0.1516, 0.1015, 0.493, 0.922, 0.707, 0.144),
    "100-999": (0.6483, 0.8986, 0.3517, 0.6483, 0.5, 0.1483, 0.1021, 0.497, 0.917, 0.707, 0.144),
}


@pytest.mark.parametrize("scale", TABLE)
def test_the_table_of_baselines_over_all_pairs_of_a_scale(scale):
    made = complete_pairs(*SCALES[scale])
    top, spread, *distances = TABLE[scale]
    assert made.ideal.reshape(-1, 2).max(axis=1).mean() == pytest.approx(top, abs=5e-5)
    policies = ("pick_higher", "pick_lower", "pick_first", "uniform", "higher_0.7")
    found = {name: measure(made, policy_masses(made, name)) for name in policies}
    # Of a pair in the other order, the first is the second of this one.
    second = measure(made, policy_masses(made, "pick_second"))
    for name in ("wd01", "wd_paper"):
        found["pick_first"][name] = (found["pick_first"][name] + second[name]) / 2
    assert found["uniform"]["entropy_ideal"].mean() == pytest.approx(spread, abs=5e-5)
    for name, expected in zip(policies, distances[:5], strict=True):
        assert found[name]["wd01"].mean() == pytest.approx(expected, abs=5e-5), name
    in_paper_units = ("pick_higher", "pick_lower", "pick_first", "higher_0.7")
    for name, expected in zip(in_paper_units, distances[5:], strict=True):
        assert found[name]["wd_paper"].mean() == pytest.approx(expected, abs=5e-4), name


# ---------------------------------------------------------------- laws


@st.composite
def items(draw, *, is_numeric=None):
    """Targets and exact masses of a few items with different numbers of options."""
    lengths = draw(st.lists(st.integers(2, 5), min_size=1, max_size=4))
    weight = st.one_of(st.just(0.0), st.floats(0.01, 1.0))
    laws, masses, places = [], [], []
    for n in lengths:
        for kept in (laws, masses):
            weights = np.array(draw(st.lists(weight, min_size=n, max_size=n)))
            kept.append(weights / weights.sum() if weights.sum() > 0 else np.full(n, 1 / n))
        masses[-1] = masses[-1] * draw(st.floats(0.05, 1.0))
        spots = draw(st.lists(st.integers(-20, 20), min_size=n, max_size=n, unique=True))
        has_values = draw(st.booleans()) if is_numeric is None else is_numeric
        places.append(spots if has_values else [math.nan] * n)
    return goal(*laws, values=places), given_masses(*masses)


@given(items())
def test_metrics_keep_their_ranges_and_their_ties(made):
    wanted, masses = made
    found = measure(wanted, masses)
    assert set(found) == set(METRICS)
    log_n = np.log2(wanted.n_options)
    apart, gap = found["wd01"], found["entropy_gap"]
    assert (apart <= 1 + 1e-12).all()
    np.testing.assert_allclose(found["wd_paper"], math.sqrt(2) * apart)
    assert (gap >= -found["entropy_ideal"] - 1e-9).all()
    assert (gap <= log_n - found["entropy_ideal"] + 1e-9).all()
    nats = np.maximum(found["kl"] * math.log(2), 0.0)
    assert (apart <= np.sqrt(nats / 2) + 1e-9).all()  # Pinsker
    np.testing.assert_allclose(found["kl_raw"], found["kl"] - np.log2(found["pm"]), atol=1e-9)
    assert (found["kl_floor"] <= found["kl"] + 1e-9).all()
    assert np.isfinite(found["kl_floor"]).all()
    np.testing.assert_allclose(found["log_score"], found["entropy_ideal"] + found["kl_raw"])
    assert (found["wd_raw"] >= (1 - found["pm"]) - 1e-12).all()
    undefined = wanted.n_options != 2
    assert np.isnan(found["brier_single"][undefined]).all()
    two = ~undefined
    np.testing.assert_allclose(
        2 * found["brier_single"][two], found["brier_excess"][two], atol=1e-15
    )
    np.testing.assert_allclose(
        found["wd_line_norm"][two & ~np.isnan(found["wd_line"])],
        apart[two & ~np.isnan(found["wd_line"])],
        atol=1e-12,
    )


@given(items(), st.randoms(use_true_random=False))
def test_the_order_of_options_is_irrelevant(made, random):
    wanted, masses = made
    ends = wanted.offsets.tolist()
    parts = [random.sample(range(i, j), j - i) for i, j in pairwise(ends)]
    order = np.concatenate(parts).astype(int)
    shuffled = Targets(
        offsets=wanted.offsets, ideal=wanted.ideal[order], values=wanted.values[order]
    )
    found = measure(wanted, masses)
    again = measure(shuffled, exact_masses(masses.offsets, masses.log_mass[order]))
    for name in METRICS:
        np.testing.assert_allclose(found[name], again[name], rtol=0, atol=1e-12, err_msg=name)


@pytest.mark.parametrize("weights", [(1, 3, 4), (1, 1, 6, 5), (6, 3, 5, 7, 4)])
def test_a_mass_that_is_the_gate_reaches_it_in_any_order(weights):
    law = np.array(weights) / sum(weights)
    for order in permutations(range(len(law))):
        asked = law[list(order)]
        found = measure(goal(asked), given_masses(0.75 * asked))
        assert found["is_gated"].tolist() == [1.0]
    below = measure(goal(law), given_masses((0.75 - 1e-9) * law))
    assert below["is_gated"].tolist() == [0.0]


@given(items())
def test_distances_are_the_same_with_ideal_and_model_the_other_way_round(made):
    wanted, masses = made
    pi = shares(masses)
    turned = Targets(offsets=wanted.offsets, ideal=pi, values=wanted.values)
    with np.errstate(divide="ignore"):
        back = measure(turned, exact_masses(wanted.offsets, np.log(wanted.ideal)))
    found = measure(wanted, masses)
    for name in ("wd01", "wd_line", "wd_line_norm", "wd_n", "js", "hellinger", "brier_excess"):
        np.testing.assert_allclose(found[name], back[name], rtol=0, atol=1e-9, err_msg=name)


@given(items(is_numeric=True))
def test_moves_on_the_line_cost_what_the_linear_program_says(made):
    wanted, masses = made
    found, pi = measure(wanted, masses)["wd_line"], shares(masses)
    for item, (i, j) in enumerate(zip(wanted.offsets[:-1], wanted.offsets[1:], strict=True)):
        places = wanted.values[i:j]
        cost = np.abs(places[:, None] - places)
        assert found[item] == pytest.approx(ot.emd2(wanted.ideal[i:j], pi[i:j], cost), abs=1e-10)


@given(items(), st.floats(-800, -100))
def test_shares_do_not_depend_on_how_small_the_masses_are(made, shift):
    wanted, masses = made
    found = measure(wanted, masses)
    tiny = measure(wanted, exact_masses(masses.offsets, masses.log_mass + shift))
    of_masses = {"pm", "is_gated", "other", "wd_raw", "kl_raw", "kl_mass", "log_score"}
    for name in set(METRICS) - of_masses:
        np.testing.assert_allclose(found[name], tiny[name], rtol=0, atol=1e-9, err_msg=name)
    surprise = -np.log2(found["pm"]) - shift / math.log(2)
    np.testing.assert_allclose(tiny["kl_mass"], surprise, rtol=1e-12)


def test_shares_follow_sums_and_not_means_of_log_probabilities():
    # O-44 (d): A is one token, B four of which three are sure: a mean of tokens would prefer B.
    one_token, four_tokens = [-2.0], [-3.0, -0.01, -0.01, -0.01]
    assert np.mean(four_tokens) > np.mean(one_token)
    masses = exact_masses(np.array([0, 2]), np.array([sum(one_token), sum(four_tokens)]))
    assert shares(masses)[0] == pytest.approx(1 / (1 + math.exp(-1.03)))


# ---------------------------------------------------------------- what is not defined


def test_each_metric_is_defined_where_it_has_a_meaning_and_only_there():
    wanted = goal(
        (0.4, 0.6), (0.5, 0.5), (1.0, 0.0), (0.2, 0.3, 0.5), (0.2, 0.3, 0.5), (0.5, 0.5),
        values=[[math.nan] * 2, [1, 2], [math.nan] * 2, [1, 2, 4], [0.1, 0.2, 0.3], [3, math.nan]],
    )  # fmt: skip
    found = measure(
        wanted,
        given_masses((0.4, 0.4), (0.3, 0.7), (0.5, 0.5), (0.2, 0.3, 0.5), (0.2, 0.3, 0.5), (1, 0)),
    )
    where = {
        "wd_line": [1, 3, 4], "wd_n": [1, 4], "rps_excess": [1, 3, 4],
        "brier_single": [0, 1, 2, 5], "is_direction_right": [0, 2],
        "entropy_kept": [0, 1, 3, 4, 5],
    }  # fmt: skip
    for name, expected in where.items():
        assert np.flatnonzero(~np.isnan(found[name])).tolist() == expected, name
    assert found["is_direction_right"][[0, 2]].tolist() == [0.5, 0.5]


def test_the_direction_is_told_below_the_smallest_float():
    wanted = goal((0.4, 0.6), (0.4, 0.6), (0.6, 0.4))
    masses = exact_masses(wanted.offsets, np.array([-900.0, -899, -1e9, -np.inf, 0, -np.inf]))
    assert measure(wanted, masses)["is_direction_right"].tolist() == [1.0, 0.0, 1.0]


def test_even_spacing_is_seen_through_the_rounding_of_fractions():
    tenths = [k / 10 for k in range(3, 9)]
    found = one(np.full(6, 1 / 6), np.eye(6)[0], values=tenths)
    assert found["wd_n"] == pytest.approx(5 / 12, abs=1e-9)
    far = [1e9 + k / 3 for k in range(3)]
    assert one(np.full(3, 1 / 3), np.eye(3)[0], values=far)["wd_n"] == pytest.approx(1 / 3)
    assert math.isnan(one(np.full(3, 1 / 3), np.eye(3)[0], values=(1, 2, 3.001))["wd_n"])
    assert math.isnan(one((0.5, 0.5), (1.0, 0.0), values=(2, 2))["wd_line_norm"])


def test_masses_known_in_bounds_alone_give_no_metric():
    wanted = goal((0.4, 0.6), (0.4, 0.6))
    high = np.log(np.array([0.4, 0.6, 0.9, 0.9]))
    low = np.log(np.array([0.4, 0.6, 0.1, 0.9]))
    masses = Masses(offsets=wanted.offsets, log_mass=high, log_mass_low=low)
    found = measure(wanted, masses)
    for name in set(METRICS) - {"entropy_ideal"}:
        assert math.isnan(found[name][1]), name
    assert found["wd01"][0] == pytest.approx(0.0, abs=1e-12)
    assert np.isnan(shares(masses)).tolist() == [False, False, True, True]


# ---------------------------------------------------------------- what is refused


def test_options_that_overlap_are_an_error_and_rounding_is_not():
    wanted = goal((0.4, 0.6), (0.5, 0.5))
    ok = measure(wanted, given_masses((0.4, 0.6), (0.5, 0.5 + 9e-7)))
    assert ok["pm"][1] > 1
    with pytest.raises(NumericalError, match=r"item 1: .*mass of at most 1 \+ 1e-06, got 1\.00000"):
        measure(wanted, given_masses((0.4, 0.6), (0.5, 0.5 + 2e-6)))


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_what_is_no_log_probability_is_named(bad):
    wanted = goal((0.4, 0.6), (0.5, 0.5))
    masses = exact_masses(wanted.offsets, np.array([-1.0, -1.0, -2.0, bad]))
    with pytest.raises(NumericalError, match=f"item 1: option 1 has the log-probability {bad}"):
        measure(wanted, masses)


def test_masses_of_other_items_are_refused():
    with pytest.raises(InputError, match="same items, got 1 and 2"):
        measure(goal((0.4, 0.6)), given_masses((0.4, 0.6), (0.4, 0.6)))
    with pytest.raises(InputError, match=r"epsilon lies in \(0, 1\), got 0\.0"):
        one((0.4, 0.6), (0.4, 0.6), epsilon=0.0)
