"""F5 and F6: model against ideal probability."""

from dataclasses import replace

import number_frames as make
import numpy as np
import pandas as pd
import pytest

from likely.report.figures import Missing
from likely.report.figures.calibration import Tables, curves
from likely.report.figures.calibration.curves import reliability, slope


def named(tables):
    return tables.frame[tables.frame["p1"].notna()]


def test_reliability_shows_each_item_where_it_is(four):
    data = reliability(four).data
    for model, own in named(four).groupby("model"):
        shown = data[data["model"] == model]
        assert (shown["n"] == 1).all()
        np.testing.assert_array_equal(
            shown[["p1", "pi1"]].to_numpy(dtype=float), own[["p1", "pi1"]].to_numpy(dtype=float)
        )


def test_many_items_are_counted_in_squares_that_lose_none(one, monkeypatch):
    monkeypatch.setattr(curves, "MOST_POINTS", 10)
    data, own = reliability(one).data, named(one)
    assert data["n"].sum() == len(own)
    assert len(data) < len(own)
    assert np.average(data["p1"], weights=data["n"]) == pytest.approx(own["p1"].mean(), abs=0.01)
    assert data["pi1"].between(0.0, 1.0).all()


def test_the_panel_says_how_many_items_are_right_and_near(four):
    drawn = reliability(four)
    texts = [axes.texts[0].get_text() for axes in drawn.figure.axes]
    for (_, own), text in zip(named(four).groupby("model", sort=False), texts, strict=True):
        right, near = own["is_direction_right"].mean(), (own["wd01"] <= 0.10).mean()
        assert f"{right:.0%}" in text
        assert f"within ±0.10: {near:.0%}" in text


def test_items_whose_numbers_are_equal_have_no_right_option(one):
    items = make.two_option_items(make.COLOURS[:3], n_pairs=2)
    ties = make.with_policy(items.assign(n2=items["n1"], p1=0.5), "first", model="sharp")
    near = f"within ±0.10: {(ties['wd01'] <= 0.10).mean():.0%}"
    [axes] = reliability(Tables(frame=ties)).figure.axes
    assert axes.texts[0].get_text().split("\n")[0] == near
    decided = named(one)
    both = Tables(frame=pd.concat([decided, ties], ignore_index=True))
    [axes] = reliability(both).figure.axes
    assert f"right option preferred: {decided['is_direction_right'].mean():.0%};" in (
        axes.texts[0].get_text()
    )


def test_a_bin_of_the_slope_is_a_mean_over_its_items(four):
    data = slope(four, n_bins=5).data
    assert data["n"].sum() == len(named(four))
    frame = named(four).assign(k=lambda f: np.minimum((f["p1"] * 5).astype(int), 4))
    keys = ["model", "order", "k"]
    wanted = frame.groupby(keys, sort=True)[["p1", "pi1"]].mean().reset_index()
    shown = data.sort_values(["model", "order", "p1"], ignore_index=True)
    np.testing.assert_allclose(shown["p1"], wanted["p1"], rtol=1e-12)
    np.testing.assert_allclose(shown["value"], wanted["pi1"], rtol=1e-12)
    assert (shown["low"] <= shown["value"]).all()
    assert (shown["value"] <= shown["high"]).all()


def test_a_calibrated_model_lies_on_the_diagonal(four):
    data = slope(four).data
    own = data[data["model"] == "right"]
    np.testing.assert_allclose(own["value"], own["p1"], atol=1e-12)


def test_a_pull_to_a_name_parts_the_curves_of_the_two_orders(four):
    data = slope(four, n_bins=1).data
    value = data[data["model"] == "firsty"].set_index("order")["value"]
    assert value["reversed"] > value["forward"] + 0.02


@pytest.mark.parametrize("figure", [reliability, slope])
def test_items_of_many_options_alone_draw_nothing(one, figure):
    integers = one.frame[one.frame["family"] == "distributions"]
    found = figure(replace(one, frame=integers))
    assert isinstance(found, Missing)
    assert "two options" in found.reason


def test_two_numbers_as_options_are_left_out(one):
    frame = one.frame.copy()
    is_pair = (frame["family"] == "distributions") & (frame["n_options"] == 2)
    assert is_pair.any()
    frame.loc[is_pair, ["p1", "pi1"]] = 0.5
    assert reliability(replace(one, frame=frame)).data.equals(reliability(one).data)
