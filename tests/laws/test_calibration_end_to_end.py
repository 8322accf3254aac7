"""Models of which everything is known, from their next-token rows to the table of an evaluation."""

import math
from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from policies import policy_model
from questions import answering

from likely.calibration import build, classify, classify_cells, evaluate, plane
from likely.calibration.data_sets.items import Option, make_item
from likely.core.text.surfaces import surfaces

FEW = 100
ASSIGNERS = ("rates", "nearest", "likelihood")
CLOSE = {"rtol": 0.0, "atol": 1e-12}

COLORS = [item for i, item in enumerate(build("colors", preset="smoke")) if i % 20 < 6]
"""Six pairs of colours, each with three pairs of numbers in both orders."""

INTERVALS = [item for item in build("distributions", preset="smoke") if len(item.options) < 7][:9]


@cache
def evaluated(policy, level="paper"):
    return evaluate(policy_model(COLORS, policy), COLORS, level=level, n_resamples=FEW)


@cache
def intervals(policy):
    return evaluate(policy_model(INTERVALS, policy), INTERVALS, n_resamples=FEW)


def high(items):
    return np.array([float(max(item.ideal)) for item in items])


def entropy_bits(laws):
    return np.array([-sum(float(p) * math.log2(p) for p in law if p) for law in laws])


H = entropy_bits([item.ideal for item in COLORS])
FIRST = np.array([float(item.ideal[0]) for item in COLORS])
TABLE = {
    # policy: mass, wd01, entropy gap, behaviour, (a, b)
    "calibrated": (1.0, 0.0 * H, 0.0 * H, "calibrated", (1.0, 0.0)),
    "pick_higher": (1.0, 1.0 - high(COLORS), -H, "pick_higher", (1.0, 0.0)),
    "pick_lower": (1.0, high(COLORS), -H, "pick_lower", (0.0, 1.0)),
    "pick_first": (1.0, 1.0 - FIRST, -H, "pick_first", (1.0, 1.0)),
    "pick_second": (1.0, FIRST, -H, "pick_second", (0.0, 0.0)),
    "null": (0.0, None, None, "null", None),
    "uniform": (1.0, high(COLORS) - 0.5, 1.0 - H, "uniform", (0.5, 0.5)),
    "leaky_0.3": (0.7, 0.0 * H, 0.0 * H, "calibrated", (1.0, 0.0)),  # nearest: see below
    "spread_variants": (1.0, 0.0 * H, 0.0 * H, "calibrated", (1.0, 0.0)),
}


@pytest.mark.parametrize("policy", TABLE)
def test_mass_distance_and_entropy_of_a_policy_are_its_closed_forms(policy):
    mass, distance, gap, _, _ = TABLE[policy]
    frame = evaluated(policy).frame
    np.testing.assert_allclose(frame["pm"], mass, **CLOSE)
    if distance is None:
        assert frame[["wd01", "entropy_gap", "pi1"]].isna().all(axis=None)
        return
    np.testing.assert_allclose(frame["wd01"], distance, **CLOSE)
    np.testing.assert_allclose(frame["wd_paper"], math.sqrt(2) * distance, **CLOSE)
    np.testing.assert_allclose(frame["entropy_gap"], gap, **CLOSE)


@pytest.mark.parametrize("policy", TABLE)
def test_means_of_a_family_are_those_of_the_closed_forms(policy):
    mass, distance, gap, _, _ = TABLE[policy]
    found = evaluated(policy)
    assert found.line("colors", "pm").estimate.value == pytest.approx(mass, abs=1e-12)
    for metric, expected in (("wd01", distance), ("entropy_gap", gap)):
        line = found.line("colors", metric)
        if expected is None:
            assert (line.estimate, line.n_undefined) == (None, len(COLORS))
        else:
            assert line.estimate.value == pytest.approx(expected.mean(), abs=1e-12)


@pytest.mark.parametrize("assigner", ASSIGNERS)
@pytest.mark.parametrize("policy", TABLE)
def test_every_cell_of_a_policy_has_its_behaviour(policy, assigner):
    label, ends = TABLE[policy][3:]
    cells = classify_cells(evaluated(policy).frame, assigner=assigner)
    assert len(cells) == 6
    if (policy, assigner) == ("uniform", "rates"):
        assert not set(cells["dominant"]) & {"pick_higher", "pick_lower", "null"}  # ties of rates
    elif (policy, assigner) != ("leaky_0.3", "nearest"):
        assert set(cells["dominant"]) == {label}
    if ends is None:
        assert cells[["a", "b"]].isna().all(axis=None)
    else:
        assert set(zip(cells["a"], cells["b"], strict=True)) == {ends}


def test_a_leak_of_three_tenths_is_nearest_to_calibrated_where_numbers_are_far_apart():
    """Up to a share of 5/7 it is as far from both options alike as from the ideal: 0.3."""
    cells = classify_cells(evaluated("leaky_0.3").frame, assigner="nearest")
    gaps = [max(0.0, 0.7 * float(max(item.ideal)) - 0.5) for item in COLORS]
    by_pair = {pair: [] for pair in cells["option_pair"]}
    for item, gap in zip(COLORS, gaps, strict=True):
        by_pair[item.option_pair_id].append(gap)
    expected = [np.mean(by_pair[pair]) for pair in cells["option_pair"]]
    np.testing.assert_allclose(cells["margin"], expected, **CLOSE)
    labels = ["calibrated" if gap >= 0.05 else "mixed" for gap in expected]
    assert cells["dominant"].tolist() == labels


@pytest.mark.parametrize("policy", [name for name in TABLE if name != "null"])
def test_rates_of_first_and_higher_are_the_two_numbers_of_the_plane(policy):
    cells = classify_cells(evaluated(policy).frame)
    first, higher = cells["pref_first"], cells["pref_higher"]
    np.testing.assert_allclose(first + cells["pref_second"], 1.0, **CLOSE)
    np.testing.assert_allclose(higher + cells["pref_lower"], 1.0, **CLOSE)
    np.testing.assert_allclose(cells["a"], first + higher - 0.5, **CLOSE)
    np.testing.assert_allclose(cells["b"], first - higher + 0.5, **CLOSE)
    frame = evaluated(policy).frame
    whole = plane(frame["pi1"].to_numpy(), frame["pm"].to_numpy(), frame["higher"].tolist())
    assert whole.identity_gap == pytest.approx(0.0, abs=1e-12)


def test_a_leak_shows_in_the_raw_distance_and_closes_the_gate():
    frame = evaluated("leaky_0.3").frame
    np.testing.assert_allclose(frame["wd_raw"], 0.3, **CLOSE)
    np.testing.assert_allclose(frame["kl_raw"], -math.log2(0.7), **CLOSE)
    assert not frame["is_gated"].any()
    assert evaluated("leaky_0.3").line("colors", "wd01_gated").estimate is None


def test_one_spelling_of_four_leaves_the_shares_and_a_quarter_of_the_mass():
    frame = evaluated("spread_variants", "exact").frame
    np.testing.assert_allclose(frame["pm"], 0.25, **CLOSE)
    np.testing.assert_allclose(frame["wd01"], 0.0, **CLOSE)
    np.testing.assert_allclose(frame["entropy_gap"], 0.0, **CLOSE)
    for assigner, label in (("rates", "calibrated"), ("nearest", "null")):
        cells = classify_cells(frame, assigner=assigner)
        assert set(cells["dominant"]) == {label}


@pytest.mark.parametrize(
    ("policy", "distance"),
    [("calibrated", lambda n: 0.0 * n), ("pick_first", lambda n: 1.0 - 1.0 / n),
     ("uniform", lambda n: 0.0 * n), ("leaky_0.3", lambda n: 0.0 * n)],
)  # fmt: skip
def test_uniform_integers_have_their_closed_forms(policy, distance):
    frame = intervals(policy).frame
    n = frame["n_options"].to_numpy(dtype=float)
    is_one_hot = policy == "pick_first"
    np.testing.assert_allclose(frame["pm"], 0.7 if policy == "leaky_0.3" else 1.0, atol=1e-9)
    np.testing.assert_allclose(frame["wd01"], distance(n), atol=1e-9)
    np.testing.assert_allclose(frame["entropy_gap"], is_one_hot * -np.log2(n), atol=1e-9)
    np.testing.assert_allclose(frame["wd_line_norm"], 0.5 * is_one_hot, atol=1e-9)
    np.testing.assert_allclose(frame["wd_n"], is_one_hot * (n - 1) / (2 * n), atol=1e-9)


def test_integers_without_any_mass_are_null():
    found = intervals("null")
    np.testing.assert_allclose(found.frame["pm"], 0.0, atol=1e-12)
    assert found.frame["wd_line_norm"].isna().all()
    assert found.line("distributions", "wd_line_norm").n_undefined == len(INTERVALS)


# ------------------------------------------------------- means over a whole scale, in fractions


def scale_items():
    """Two colours in every pair of unequal numbers from 1 to 10, in both orders."""
    pairs = [both for pair in combinations(range(1, 11), 2) for both in (pair, pair[::-1])]
    return [urn(n1, n2) for n1, n2 in pairs]


def urn(n1, n2, labels=("blue", "red")):
    return make_item(
        family="urns", version=1, template_id="U", template="U", scale="1-10",
        context=f"{n1} {labels[0]} and {n2} {labels[1]}:", numbers=(n1, n2),
        options=[Option(label=label, words=(label,)) for label in labels],
        ideal=[Fraction(n1, n1 + n2), Fraction(n2, n1 + n2)],
    )  # fmt: skip


def test_means_over_every_pair_of_a_scale_are_the_published_table_of_baselines():
    items = scale_items()
    p_high = sum((max(item.ideal) for item in items), Fraction(0)) / len(items)
    expected = {
        "pick_higher": 1 - p_high,
        "pick_lower": p_high,
        "pick_first": Fraction(1, 2),
        "uniform": p_high - Fraction(1, 2),
    }
    assert round(float(p_high), 4) == 0.6844
    found = evaluate(policy_model(items, "pick_higher"), items, n_resamples=FEW)
    value = found.line("urns", "wd01").estimate.value
    assert value == pytest.approx(float(expected["pick_higher"]), abs=1e-12)
    table = found.baselines.set_index("baseline")
    for policy, mean in expected.items():
        assert table.loc[policy, "wd01"] == pytest.approx(float(mean), abs=1e-12)


# ------------------------------------------------------------------------------- symmetries

WORDS = ("amber", "bronze", "coral", "denim")


def renamed(item, labels):
    return urn(*(int(x) for x in item.numbers), labels)


@settings(max_examples=10)
@given(
    numbers=st.lists(
        st.tuples(st.integers(1, 50), st.integers(1, 50)), min_size=2, max_size=4, unique=True
    ),
    labels=st.permutations(WORDS),
    policy=st.sampled_from(["calibrated", "pick_higher", "pick_first", "higher_0.7", "leaky_0.3"]),
)
def test_names_of_options_change_no_metric(numbers, labels, policy):
    items = [urn(n1, n2, WORDS[:2]) for n1, n2 in numbers]
    others = [renamed(item, labels[:2]) for item in items]
    one, two = (
        evaluate(policy_model(own, policy), own, n_resamples=FEW).frame for own in (items, others)
    )
    for metric in ("pm", "pi1", "wd01", "wd_raw", "entropy_gap", "brier_excess", "kl_floor"):
        np.testing.assert_allclose(one[metric], two[metric], atol=1e-12, equal_nan=True)


@settings(max_examples=10)
@given(order=st.permutations(range(8)), policy=st.sampled_from(sorted(set(TABLE) - {"null"})))
def test_the_order_of_items_changes_no_number(order, policy):
    few = COLORS[:8]
    model = policy_model(few, policy)
    straight = evaluate(model, few, n_resamples=FEW)
    mixed = evaluate(model, [few[i] for i in order], n_resamples=FEW)
    for metric in ("pm", "wd01", "pi1"):
        np.testing.assert_array_equal(
            straight.frame[metric].to_numpy()[list(order)], mixed.frame[metric].to_numpy()
        )
    for line, other in zip(straight.lines, mixed.lines, strict=True):
        if line.estimate is not None:
            assert other.estimate.value == pytest.approx(line.estimate.value, abs=1e-12)
            assert other.estimate.low == pytest.approx(line.estimate.low, abs=1e-9)


@settings(max_examples=10)
@given(
    weights=st.lists(st.integers(0, 20), min_size=2, max_size=5).filter(any),
    masses=st.lists(st.integers(1, 20), min_size=5, max_size=5),
    data=st.data(),
)
def test_the_order_of_options_in_a_record_changes_no_metric(weights, masses, data):
    n = len(weights)
    trees = ("ash", "birch", "cedar", "elm", "fir")[:n]
    item = make_item(
        family="trees", version=1, template_id="T", template="T", context="The tree is",
        options=[Option(label=tree, words=(tree,), value=Fraction(i)) for i, tree in
                 enumerate(trees)],
        ideal=[Fraction(w, sum(weights)) for w in weights], has_twin=False,
    )  # fmt: skip
    order = data.draw(st.permutations(range(n)))
    turned = replace(
        item,
        options=tuple(item.options[i] for i in order),
        ideal=tuple(item.ideal[i] for i in order),
    )
    whole = 2 * sum(masses[:n]) + 3  # half of the mass on the bare word, and some elsewhere
    law = {
        lead + tree: mass / whole
        for tree, mass in zip(trees, masses, strict=False)
        for lead in ("", " ")
    }
    capitals = {form: 0.0 for tree in trees for form in surfaces(tree) if form not in law}
    model = answering({item.context: law | capitals})
    one, two = (evaluate(model, [own], n_resamples=FEW).frame for own in (item, turned))
    symmetric = [
        "pm", "wd01", "wd_line", "wd_line_norm", "wd_n", "wd_raw", "entropy_gap", "kl_floor",
        "brier_excess", "rps_excess", "is_direction_right", "js", "hellinger",
    ]  # fmt: skip
    for metric in symmetric:
        np.testing.assert_allclose(one[metric], two[metric], atol=1e-12, equal_nan=True)


def test_the_three_assigners_agree_on_one_cell_too():
    frame = evaluated("pick_second").frame
    cell = frame[frame["option_pair"] == frame["option_pair"][0]]
    for assigner in ASSIGNERS:
        found = classify(
            cell["p1"].to_numpy(), cell["pi1"].to_numpy(), cell["pm"].to_numpy(),
            cell["higher"].tolist(), assigner=assigner,
        )  # fmt: skip
        assert found.dominant == "pick_second"
