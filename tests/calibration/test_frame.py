"""The tidy tables: a row an item and a row an option, with what is not defined left undefined."""

import math
from fractions import Fraction

import numpy as np
import pytest
from policies import policy_masses
from questions import question

from likely.calibration import build
from likely.calibration.frame import option_frame, tidy_frame
from likely.calibration.metrics import METRICS, measure
from likely.calibration.tables import Masses, exact_masses, targets

PAIRS = list(build("colors", preset="smoke"))[:40]
INTEGERS = list(build("distributions", preset="smoke"))[3:7]
ITEMS = [*PAIRS, *INTEGERS]


def tables(items, masses=None):
    goal = targets(items)
    masses = policy_masses(goal, "calibrated") if masses is None else masses
    frame = tidy_frame("m", items, goal, masses, measure(goal, masses))
    return frame, option_frame(frame, [o.label for i in items for o in i.options], goal, masses)


def test_each_item_is_a_row_with_its_design():
    frame, _ = tables(ITEMS)
    assert len(frame) == len(ITEMS)
    for row, item in zip(frame.to_dict("records"), ITEMS, strict=True):
        assert (row["model"], row["id"], row["family"]) == ("m", item.id, item.family)
        assert (row["template"], row["scale"], row["notation"], row["lang"]) == (
            item.template_id, item.scale, item.notation, item.lang
        )  # fmt: skip
        assert (row["order"], row["higher"]) == (item.order, item.higher)
        assert row["number_pair"] == item.number_pair_id
        assert (row["option_pair"], row["option_set"]) == (
            item.option_pair_id, item.option_set_id
        )  # fmt: skip
        assert (row["n_options"], row["weight"]) == (len(item.options), float(item.weight))


def test_both_orders_share_their_option_set_and_both_mirrors_their_numbers():
    frame, _ = tables(list(build("colors", preset="smoke")))
    assert (frame.groupby("option_set")["option_pair"].nunique() == 2).all()
    assert (frame.groupby("number_pair")["higher"].nunique() == 2).all()


def test_two_options_have_columns_of_their_own_and_others_none():
    frame, _ = tables(ITEMS)
    pairs, rest = frame[frame["n_options"] == 2], frame[frame["n_options"] != 2]
    assert 0 < len(rest) < len(INTEGERS)
    ideal = [float(item.ideal[0]) for item in ITEMS if len(item.options) == 2]
    np.testing.assert_allclose(pairs["p1"], ideal)
    np.testing.assert_allclose(pairs["pi1"], ideal, atol=1e-12)
    np.testing.assert_allclose(pairs["m1"] + pairs["m2"], pairs["pm"], atol=1e-12)
    colours = frame[frame["family"] == "colors"]
    assert colours["n1"].tolist() == [float(item.numbers[0]) for item in PAIRS]
    assert colours["label2"].tolist() == [item.options[1].label for item in PAIRS]
    for name in ("p1", "m1", "m2", "pi1", "n1", "n2"):
        assert rest[name].isna().all()
    assert rest["label1"].isna().all()


def test_every_metric_is_a_column_in_the_order_of_the_items():
    goal = targets(ITEMS)
    found = measure(goal, policy_masses(goal, "uniform"))
    frame, _ = tables(ITEMS, policy_masses(goal, "uniform"))
    for name in METRICS:
        np.testing.assert_array_equal(frame[name].to_numpy(), found[name])


def test_links_and_variants_are_texts_and_empty_without():
    distractors = list(build("distractor", preset="smoke"))[:3]
    frame, _ = tables([*PAIRS[:2], *distractors])
    assert frame["link"].tolist()[:2] == ["", ""]
    assert frame["link"].tolist()[2:] == [str(item.meta["link"]) for item in distractors]
    assert frame["variant"].tolist()[2:] == [str(item.meta["variant"]) for item in distractors]


def test_each_option_is_a_row_and_positions_start_anew():
    frame, options = tables(ITEMS)
    sizes = [len(item.options) for item in ITEMS]
    assert options["position"].tolist() == [k for n in sizes for k in range(n)]
    assert options["label"].tolist() == [o.label for item in ITEMS for o in item.options]
    assert options["id"].tolist() == [item.id for item in ITEMS for _ in item.options]
    by_item = options.groupby("id", sort=False)
    np.testing.assert_allclose(by_item["mass"].sum(), frame["pm"], atol=1e-12)
    np.testing.assert_allclose(by_item["ideal"].sum(), 1.0)
    named = options["family"] == "colors"
    assert options.loc[named, "value"].isna().all()
    assert options.loc[~named, "value"].tolist() == [
        float(o.value) for item in INTEGERS for o in item.options
    ]


def test_an_impossible_option_has_mass_0_and_no_mass_at_all_no_shares():
    items = [
        question("Q", ["a", "b"], ideal=(Fraction(1, 4), Fraction(3, 4))),
        question("R", ["a", "b"], ideal=(Fraction(1, 4), Fraction(3, 4))),
    ]
    masses = exact_masses(np.array([0, 2, 4]), np.array([-np.inf, 0.0, -np.inf, -np.inf]))
    frame, options = tables(items, masses)
    assert frame["m1"].tolist() == [0.0, 0.0]
    assert frame["pi1"].tolist()[0] == 0.0
    assert math.isnan(frame["pi1"].tolist()[1])
    assert options["mass"].tolist() == [0.0, 1.0, 0.0, 0.0]
    assert options["pi"].isna().tolist() == [False, False, True, True]


def test_a_bound_is_a_mass_and_never_a_share():
    items = PAIRS[:2]
    low, high = np.log([0.2, 0.3, 0.5, 0.5]), np.log([0.2, 0.7, 0.5, 0.5])
    masses = Masses(offsets=np.array([0, 2, 4]), log_mass=high, log_mass_low=low)
    frame, _ = tables(items, masses)
    assert frame["m2"].tolist() == pytest.approx([0.7, 0.5])
    assert math.isnan(frame["pi1"].iloc[0])
    assert frame["pi1"].iloc[1] == pytest.approx(0.5)
