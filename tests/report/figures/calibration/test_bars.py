"""F1 to F3: what the bars say is what the tables say."""

from dataclasses import replace

import numpy as np
import pytest

from likely.errors import InputError
from likely.report.figures import Missing
from likely.report.figures.calibration.bars import distance, entropy, mass


def own_row(data, model, family):
    [row] = data[(data["model"] == model) & (data["family"] == family)].to_dict("records")
    return row


def test_mass_is_the_mean_of_each_model_and_family_with_its_interval(four):
    drawn = mass(four)
    assert drawn.name == "F01-mass"
    for (model, family), own in four.frame.groupby(["model", "family"]):
        row = own_row(drawn.data, model, family)
        assert row["value"] == pytest.approx(own["pm"].mean(), abs=1e-12)
        assert row["low"] <= row["value"] <= row["high"]
        assert row["share_gated"] == pytest.approx((own["pm"] >= 0.75).mean(), abs=1e-12)
        assert row["n"] == len(own)
    [axes] = drawn.figure.axes
    widths = [bar.get_width() for bar in axes.patches]
    np.testing.assert_array_equal(widths, drawn.data["value"])


def test_means_without_given_estimates_have_no_interval(one):
    data = mass(replace(one, estimates=None)).data
    assert data["low"].isna().all()
    assert data["value"].notna().all()


def test_distance_names_its_units_and_keeps_names_and_numbers_apart(four):
    drawn = distance(four)
    assert [axes.get_xlabel() for axes in drawn.figure.axes] == [
        "wd01, |π − p| (0 to 1)",
        "wd_line_norm, share of the range (0 to 1)",
    ]
    models = drawn.data[drawn.data["kind"] == "model"]
    for (model, family), own in four.frame.groupby(["model", "family"]):
        metric = {"colors": "wd01", "distributions": "wd_line_norm"}[family]
        row = own_row(models, model, family)
        assert row["metric"] == metric
        assert row["value"] == pytest.approx(own[metric].mean(), abs=1e-12)


def test_distance_in_the_units_of_the_paper_is_longer_by_the_root_of_two(four):
    plain, paper = (distance(four, unit=unit) for unit in ("wd01", "wd_paper"))
    assert paper.figure.axes[0].get_xlabel() == "wd_paper, √2 units (0 to √2)"
    for kind in ("model", "baseline"):
        ours, theirs = (
            d.data[(d.data["kind"] == kind) & (d.data["family"] == "colors")]["value"]
            for d in (plain, paper)
        )
        np.testing.assert_allclose(theirs, np.sqrt(2.0) * ours, rtol=1e-12)


def test_baselines_stand_where_their_table_says(one):
    data = distance(one).data
    lines = data[data["kind"] == "baseline"]
    wanted = one.baselines[one.baselines["metric"].isin(["wd01", "wd_line_norm"])]
    given = {(r["baseline"], r["family"]): r["value"] for r in wanted.to_dict("records")}
    assert {(r["model"], r["family"]): r["value"] for r in lines.to_dict("records")} == given


def test_an_unknown_unit_is_refused(one):
    with pytest.raises(InputError, match="'wd01' or 'wd_paper', got 'wd'"):
        distance(one, unit="wd")


def test_entropy_lies_between_its_floor_and_its_ceiling(four):
    data = entropy(four).data
    for (model, family), own in four.frame.groupby(["model", "family"]):
        row = own_row(data, model, family)
        assert row["floor"] == pytest.approx(-own["entropy_ideal"].mean(), abs=1e-12)
        top = np.log2(own["n_options"].astype(float)) - own["entropy_ideal"]
        assert row["ceiling"] == pytest.approx(top.mean(), abs=1e-12)
        assert row["floor"] <= row["value"] <= row["ceiling"] + 1e-12


def test_items_without_a_metric_are_left_out_and_counted(one):
    frame = one.frame.copy()
    frame.loc[frame["family"] == "colors", "entropy_gap"] = np.where(
        np.arange((frame["family"] == "colors").sum()) % 2, np.nan, -0.25
    )
    row = own_row(entropy(replace(one, frame=frame, estimates=None)).data, "sharp", "colors")
    assert row["value"] == -0.25
    assert row["n"] == (one.frame["family"] == "colors").sum() // 2


@pytest.mark.parametrize("figure", [mass, distance, entropy])
def test_a_frame_without_items_draws_nothing(one, figure):
    found = figure(replace(one, frame=one.frame.iloc[:0]))
    assert isinstance(found, Missing)
    assert "score some items" in found.reason
