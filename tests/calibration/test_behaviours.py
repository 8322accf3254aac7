"""Behaviours of cells: policies get their names, and the plane its identity."""

import math
from functools import cache

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from policies import POLICIES, exact_shares, policy_masses

from likely.calibration import build
from likely.calibration.assigners import BEHAVIOURS, RATES, Rules
from likely.calibration.behaviours import classify, classify_cells, plane
from likely.calibration.metrics import measure
from likely.calibration.tables import targets
from likely.core.jsonio import dumps
from likely.errors import InputError, ShapeError

ASSIGNERS = ("rates", "nearest", "likelihood")


@cache
def everything():
    return build("colors", preset="full")


@cache
def cell(scale):
    """One cell of 100 items: targets, and which option is higher."""
    start = {"1-10": 0, "10-100": 11_000, "100-999": 22_000}[scale]
    items = list(everything()[start : start + 100])
    assert {item.scale for item in items} == {scale}
    assert len({item.option_pair_id for item in items}) == 1
    return targets(items), [item.higher for item in items]


def label(scale, policy, assigner, **options):
    goal, higher = cell(scale)
    return classify(*exact_shares(goal, policy), higher, assigner=assigner, **options)


SCALES = ("1-10", "10-100", "100-999")
NAMED = {
    "calibrated": "calibrated", "pick_higher": "pick_higher", "pick_lower": "pick_lower",
    "pick_first": "pick_first", "pick_second": "pick_second", "null": "null",
    "spread_variants": "calibrated",
}  # fmt: skip


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("assigner", ASSIGNERS)
@pytest.mark.parametrize("policy", NAMED)
def test_every_assigner_names_a_policy(policy, assigner, scale):
    found = label(scale, policy, assigner)
    assert found.dominant == NAMED[policy]
    assert found.n == 100
    assert found.n_null == (100 if policy == "null" else 0)
    assert dumps(found.to_dict())


@pytest.mark.parametrize("scale", SCALES)
def test_a_model_blind_to_numbers_is_uniform_and_other_in_the_paper_s_terms(scale):
    for assigner in ("nearest", "likelihood"):
        assert label(scale, "uniform", assigner).dominant == "uniform"
        as_published = Rules(uniform_as="other")
        assert label(scale, "uniform", assigner, rules=as_published).dominant == "other"
    # `rates` knows no such behaviour: all its picks tie, and close numbers look calibrated.
    rates = label(scale, "uniform", "rates").rates
    assert {rates[name] for name in RATES[2:]} == {0.5}


@pytest.mark.parametrize("scale", SCALES)
def test_a_leak_of_three_tenths_leaves_too_small_a_margin_for_the_nearest(scale):
    # Calibrated stands .3 away, for that mass is elsewhere. From uniform the leak takes as much,
    # and of the shares only what (7/10) p_high exceeds 1/2: a margin below the .05 of the rule.
    goal, _ = cell(scale)
    found = label(scale, "leaky_0.3", "nearest")
    assert found.support["calibrated"] == pytest.approx(0.7, abs=1e-12)
    top = goal.ideal.reshape(-1, 2).max(axis=1)
    margin = np.maximum(0.0, 0.7 * top - 0.5).mean()
    assert found.margin == pytest.approx(margin, abs=1e-12)
    assert margin < 0.05
    assert found.dominant == "mixed"
    narrow = Rules(min_margin=0.005)
    assert label(scale, "leaky_0.3", "nearest", rules=narrow).dominant == "calibrated"
    for assigner in ("rates", "likelihood"):
        assert label(scale, "leaky_0.3", assigner).dominant == "calibrated"


def test_a_quarter_of_the_mass_is_nearest_to_null():
    goal, higher = cell("10-100")
    p1, pi1, pm = exact_shares(goal, "calibrated")
    for assigner in ("nearest", "likelihood"):
        assert classify(p1, pi1, pm / 4, higher, assigner=assigner).dominant == "null"
    found = classify(p1, pi1, pm / 4, higher, assigner="nearest")
    assert found.support["null"] == pytest.approx(0.75)
    assert found.support["calibrated"] == pytest.approx(0.25)


def test_calibration_takes_precedence_of_picking_the_higher_which_can_be_turned_off():
    assert label("10-100", "calibrated", "rates").rates["pick_higher"] == 1.0
    pure = Rules(calibrated_from=None)
    found = label("10-100", "calibrated", "rates", rules=pure)
    assert found.dominant == "mixed"  # both rates are 1
    assert label("10-100", "higher_0.7", "rates", rules=pure).dominant == "pick_higher"
    strict = Rules(calibrated_from=1.0)
    assert label("10-100", "higher_0.7", "rates", rules=strict).dominant == "pick_higher"


def test_calibration_takes_no_precedence_of_null():
    # 12 of 20 items are null; of the other 8, as many are calibrated as `hits`.
    higher = ["first", "second"] * 10
    p1 = np.array([0.7, 0.3] * 10)
    pm = np.array([0.1] * 12 + [1.0] * 8)
    for hits, expected in ((4, "pick_higher"), (6, "calibrated")):
        far = np.array([0.9, 0.1, 0.1, 0.9] * 5)
        pi1 = np.where(np.arange(20) < 12 + hits, p1, far)
        found = classify(p1, pi1, pm, higher, rules=Rules(null_from=None))
        assert found.rates["null"] == 0.6
        assert found.n_null == 12
        assert found.rates["calibrated"] == hits / 8
        assert found.dominant == expected
        assert classify(p1, pi1, pm, higher).dominant == "null"  # most of its items are


def test_a_cell_whose_few_items_with_mass_all_pick_one_option_is_null():
    higher = ["first", "second"] * 5
    p1 = np.array([0.7, 0.3] * 5)
    pm = np.array([0.1] * 8 + [1.0] * 2)
    found = classify(p1, np.ones(10), pm, higher)
    assert found.rates["pick_first"] == 1.0
    assert (found.dominant, found.dominant_rate) == ("null", 0.8)
    published = classify(p1, np.ones(10), pm, higher, rules=Rules(null_from=None))
    assert published.dominant == "pick_first"


@pytest.mark.parametrize(("ideal", "counts"), [(0.909, True), (0.875, False)])
def test_the_tolerance_is_a_tenth_as_the_published_rates_have_it(ideal, counts):
    # A pure Pick Higher cell had 6 % calibrated: 3 of 50 pairs, .909 among them, .875 not.
    p1 = np.array([ideal, 1 - ideal])
    found = classify(p1, np.array([1.0, 0.0]), np.ones(2), ["first", "second"])
    assert found.rates["calibrated"] == float(counts)


def test_rounding_does_not_push_a_tenth_over_the_tolerance():
    p1 = np.array([0.3, 0.7])
    assert abs(0.4 - 0.3) > 0.1  # in floats
    found = classify(p1, np.array([0.4, 0.6]), np.ones(2), ["second", "first"])
    assert found.rates["calibrated"] == 1.0


def test_a_null_cell_has_no_other_rate():
    found = label("10-100", "null", "rates")
    assert found.rates["null"] == 1.0
    assert {found.rates[name] for name in RATES[1:]} == {None}
    assert (found.dominant_rate, found.margin) == (1.0, 1.0)


def test_a_posterior_sums_to_1_and_sharpens_with_the_items_it_counts_for():
    by_pairs = label("10-100", "calibrated", "likelihood")
    assert sum(by_pairs.posterior.values()) == pytest.approx(1.0)
    by_items = label("10-100", "calibrated", "likelihood", n_effective=100)
    assert by_items.dominant_rate > by_pairs.dominant_rate
    # The half of 100 items is the number of pairs, and odds are exponential in it.
    odds = [
        math.log(x.posterior["calibrated"] / x.posterior["uniform"]) for x in (by_pairs, by_items)
    ]
    assert odds[1] == pytest.approx(2 * odds[0])
    assert label("10-100", "calibrated", "rates").posterior is None


def test_distances_are_mean_total_variations():
    p1, pi1, pm = np.array([0.8, 0.2]), np.array([0.6, 0.5]), np.array([0.9, 0.8])
    found = classify(p1, pi1, pm, ["first", "second"], assigner="nearest")
    masses = np.array([[0.54, 0.36, 0.1], [0.4, 0.4, 0.2]])
    prototypes = {
        "null": [(0, 0, 1)] * 2, "calibrated": [(0.8, 0.2, 0), (0.2, 0.8, 0)],
        "pick_higher": [(1, 0, 0), (0, 1, 0)], "pick_lower": [(0, 1, 0), (1, 0, 0)],
        "pick_first": [(1, 0, 0)] * 2, "pick_second": [(0, 1, 0)] * 2,
        "uniform": [(0.5, 0.5, 0)] * 2,
    }  # fmt: skip
    assert list(prototypes) == list(BEHAVIOURS)
    for name, law in prototypes.items():
        expected = 0.5 * np.abs(masses - np.array(law)).sum(axis=1).mean()
        assert found.support[name] == pytest.approx(1 - expected, abs=1e-12), name


def test_ties_tell_nothing_of_higher_and_lower():
    p1 = np.array([0.8, 0.2, 0.5, 0.5])
    pi1 = np.array([1.0, 0.0, 1.0, 0.5])
    higher = ["first", "second", "tie", "tie"]
    found = classify(p1, pi1, np.ones(4), higher)
    assert found.rates["pick_higher"] == 1.0
    assert found.rates["pick_first"] == pytest.approx((1 + 0 + 1 + 0.5) / 4)
    nearest = classify(p1, pi1, np.ones(4), higher, assigner="nearest")
    assert nearest.support["pick_higher"] == 1.0
    only = classify(p1[2:], pi1[2:], np.ones(2), higher[2:], assigner="nearest")
    assert only.support["pick_higher"] is None
    assert only.support["calibrated"] == only.support["uniform"]


# ---------------------------------------------------------------- the plane

SHARES = st.lists(st.one_of(st.floats(0, 1), st.just(0.5)), min_size=1, max_size=20)


@given(SHARES, st.data())
def test_the_plane_says_what_both_pairs_of_rates_say(first_half, data):
    n = len(first_half)
    second_half = data.draw(st.lists(st.floats(0, 1), min_size=n, max_size=n))
    pi1 = np.array(first_half + second_half)
    higher = ["first"] * n + ["second"] * n
    p1 = np.array([0.7] * n + [0.3] * n)
    rates = classify(p1, pi1, np.ones(2 * n), higher).rates
    assert rates["pick_first"] + rates["pick_second"] == pytest.approx(1.0)
    assert rates["pick_higher"] + rates["pick_lower"] == pytest.approx(1.0)
    found = plane(pi1, np.ones(2 * n), higher)
    assert found.a == pytest.approx(rates["pick_first"] + rates["pick_higher"] - 0.5)
    assert found.b == pytest.approx(rates["pick_first"] - rates["pick_higher"] + 0.5)
    assert found.identity_gap == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize(
    ("policy", "corner"),
    [("pick_higher", (1, 0)), ("pick_first", (1, 1)), ("pick_second", (0, 0)),
     ("pick_lower", (0, 1)), ("uniform", (0.5, 0.5))],
)  # fmt: skip
def test_behaviours_stand_at_the_corners_of_the_plane(policy, corner):
    goal, higher = cell("10-100")
    _, pi1, pm = exact_shares(goal, policy)
    found = plane(pi1, pm, higher)
    assert (found.a, found.b) == corner


def test_published_rates_give_the_plane():
    # First .82 and higher .68 give a = 1.00 and b = .64: of 50 and 50 items, 50 and 32 first.
    pi1 = np.array([1.0] * 50 + [1.0] * 32 + [0.0] * 18)
    found = plane(pi1, np.ones(100), ["first"] * 50 + ["second"] * 50)
    assert (found.a, found.b) == (1.0, 0.64)


def test_null_items_are_left_out_of_the_plane_and_may_cost_it_the_identity():
    pi1 = np.array([1.0, 1.0, 0.0, math.nan])
    pm = np.array([1.0, 1.0, 1.0, 0.0])
    found = plane(pi1, pm, ["first", "first", "second", "second"])
    assert (found.a, found.b) == (1.0, 0.0)
    # first + higher - 1/2 = 2/3 + 1 - 1/2, which is no rate.
    assert found.identity_gap == pytest.approx(1 / 6)
    with pytest.raises(InputError, match=r"items with either option likelier.*2 null items of 2"):
        plane(np.full(2, math.nan), np.zeros(2), ["first", "second"])


# ---------------------------------------------------------------- many cells


@cache
def frame(policy="pick_first"):
    """A tidy frame of two models on the items of some cells."""
    items = list(build("colors", preset="smoke"))
    goal = targets(items)
    rows = []
    for model, law in (("one", policy), ("two", "pick_higher")):
        found = measure(goal, policy_masses(goal, law))
        p1, pi1, _ = exact_shares(goal, law)
        rows.append(
            pd.DataFrame(
                {
                    "model": model,
                    "family": "colors",
                    "template": [item.template_id for item in items],
                    "scale": [item.scale for item in items],
                    "option_pair": [item.option_pair_id for item in items],
                    "number_pair": [item.number_pair_id for item in items],
                    "higher": [item.higher for item in items],
                    "n_options": 2,
                    "p1": p1,
                    "pi1": pi1,
                    "pm": found["pm"],
                    "wd_paper": found["wd_paper"],
                }
            )
        )
    return pd.concat(rows, ignore_index=True)


@pytest.mark.parametrize("assigner", ASSIGNERS)
@pytest.mark.parametrize("policy", ["pick_first", "null", "uniform", "leaky_0.3"])
def test_cells_of_a_frame_are_classified_as_one_by_one(policy, assigner):
    made = frame(policy)
    table = classify_cells(made, assigner=assigner)
    assert len(table) == 2 * 6
    for _, row in table.iterrows():
        part = made[(made["model"] == row["model"]) & (made["option_pair"] == row["option_pair"])]
        columns = [part[name].to_numpy() for name in ("p1", "pi1", "pm")]
        alone = classify(
            *columns, list(part["higher"]), assigner=assigner,
            n_effective=part["number_pair"].nunique(),
        )  # fmt: skip
        assert (row["dominant"], row["n"], row["n_null"]) == (
            alone.dominant, alone.n, alone.n_null,
        )  # fmt: skip
        assert row["dominant_rate"] == pytest.approx(alone.dominant_rate)
        assert row["margin"] == pytest.approx(alone.margin, abs=1e-12)
        for name in RATES:
            ours = row[name.replace("pick_", "pref_")]
            assert alone.rates[name] == (None if math.isnan(ours) else pytest.approx(ours))
        assert row["avg_wd"] == pytest.approx(part["wd_paper"].mean(), nan_ok=True)


def test_the_published_columns_of_a_pure_cell():
    row = classify_cells(frame()).iloc[0]
    published = ["null", "pref_higher", "pref_lower", "pref_first", "pref_second", "dominant"]
    assert row[published].tolist() == [0.0, 0.5, 0.5, 1.0, 0.0, "pick_first"]
    assert (row["dominant_rate"], row["n"], row["a"], row["b"]) == (1.0, 20, 1.0, 1.0)
    assert row["avg_wd"] == pytest.approx(math.sqrt(0.5))


def test_cells_pool_what_no_column_parts():
    pooled = classify_cells(frame().assign(template="C2"), by=())
    assert list(pooled.columns[:3]) == ["model", "family", "option_pair"]
    assert len(classify_cells(frame(), by=("template", "scale"))) == 12
    two = pd.concat([frame(), frame().assign(template="C2")])
    assert classify_cells(two, by=())["n"].tolist() == [40] * 12
    assert len(classify_cells(two)) == 24


def test_items_of_more_options_are_left_out():
    many = frame().head(1).assign(n_options=3, higher="none", p1=math.nan)
    both = pd.concat([frame(), many])
    pd.testing.assert_frame_equal(classify_cells(both), classify_cells(frame()))
    with pytest.raises(InputError, match="two options, got none"):
        classify_cells(many)


# ---------------------------------------------------------------- what is refused


def test_a_cell_without_balance_is_refused_by_name():
    with pytest.raises(InputError, match="the cell has 2 and 1"):
        classify(np.full(3, 0.6), np.full(3, 0.6), np.ones(3), ["first", "first", "second"])
    made = frame()
    fewer = made.drop(index=made.index[made["higher"] == "first"][0])
    with pytest.raises(InputError, match=r"one colors C1 .*/.* has 9 and 10"):
        classify_cells(fewer)


def test_what_cannot_be_classified_is_refused():
    two, ones = np.array([0.6, 0.4]), np.ones(2)
    with pytest.raises(ShapeError, match="lengths 2, 2, 2 and 1"):
        classify(two, two, ones, ["first"])
    with pytest.raises(InputError, match=r"two options, of which .* got 'none'"):
        classify(two, two, ones, ["none", "none"])
    with pytest.raises(InputError, match=r"item 1 has the mass 0\.5 and the share nan"):
        classify(two, np.array([0.5, math.nan]), np.array([1.0, 0.5]), ["first", "second"])
    with pytest.raises(InputError, match="item 0 has the mass nan"):
        classify(two, two, np.array([math.nan, 1.0]), ["first", "second"])
    with pytest.raises(InputError, match="n_effective is at least 1, got 0"):
        classify(two, two, ones, ["first", "second"], n_effective=0)
    with pytest.raises(InputError, match="the frame lacks the columns"):
        classify_cells(frame().drop(columns=["pm"]))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"tolerance": 1.5}, r"tolerance lies in \[0, 1\], got 1\.5"),
        ({"smoothing": 0.0}, r"smoothing lies in \(0, 1\), got 0\.0"),
        ({"calibrated_from": 0.0}, r"calibrated_from lies in \(0, 1\], got 0\.0"),
        ({"null_from": 1.5}, r"null_from lies in \(0, 1\], got 1\.5"),
    ],
)
def test_rules_out_of_range_are_refused(options, message):
    with pytest.raises(InputError, match=message):
        Rules(**options)


def test_every_policy_is_in_the_table_of_names():
    assert set(NAMED) | {"uniform", "higher_0.7", "leaky_0.3"} == set(POLICIES)
