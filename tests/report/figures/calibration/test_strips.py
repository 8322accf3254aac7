"""F8 and F13: rows with intervals."""

from dataclasses import replace

import numpy as np
import pytest

from likely.report.figures import Missing
from likely.report.figures.calibration.strips import bounds, strengths


def test_strengths_are_ordered_from_the_strongest_down(one):
    data = strengths(one).data
    assert (np.diff(data["strength"]) <= 0).all()
    merged = data.merge(one.strengths, on=["model", "option"], suffixes=("", "_given"))
    assert len(merged) == len(one.strengths)
    for name in ("strength", "low", "high"):
        np.testing.assert_array_equal(merged[name], merged[f"{name}_given"])


def test_one_model_need_not_be_named_in_the_table(one):
    plain = one.strengths.drop(columns="model")
    assert (strengths(replace(one, strengths=plain)).data["model"] == "sharp").all()


def test_bounds_are_those_of_the_frame_in_order_of_the_ideal(four):
    drawn = bounds(four, n_items=10)
    by_id = four.frame.set_index(["model", "id"])
    for model, own in drawn.data.groupby("model"):
        assert len(own) == 10
        assert (np.diff(own["p1"]) >= 0).all()
        rows = by_id.loc[[(model, i) for i in own["id"]]]
        for name in ("pi1_low", "pi1_high", "p1"):
            np.testing.assert_array_equal(own[name], rows[name].to_numpy(dtype=float))


def test_the_first_and_the_last_item_are_always_among_the_shown(four):
    named = four.frame[(four.frame["model"] == "sharp") & four.frame["p1"].notna()]
    own = bounds(four, n_items=3).data.query("model == 'sharp'")
    assert (own["p1"].min(), own["p1"].max()) == (named["p1"].min(), named["p1"].max())


def test_fewer_items_than_asked_for_are_all_shown(four):
    few = replace(four, frame=four.frame[four.frame["p1"].notna()].groupby("model").head(4))
    assert (bounds(few, n_items=10).data.groupby("model").size() == 4).all()


@pytest.mark.parametrize("exact", ["no columns", "no width"])
def test_exact_probabilities_have_no_bounds(one, exact):
    frame = one.frame
    if exact == "no width":
        frame = frame.assign(pi1_low=frame["pi1"], pi1_high=frame["pi1"])
    found = bounds(replace(one, frame=frame))
    assert isinstance(found, Missing)
    assert "every probability is exact" in found.reason


def test_no_strengths_draw_nothing(one):
    assert isinstance(strengths(replace(one, strengths=None)), Missing)
