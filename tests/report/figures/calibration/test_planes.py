"""F7, F11 and F12: models and cells in a plane."""

from dataclasses import replace

import numpy as np
import pytest

from likely.errors import InputError
from likely.report.figures import Missing
from likely.report.figures.calibration.planes import CORNERS, mass_distance, plane, tuning


def test_each_cell_is_a_dot_at_its_a_and_b(four):
    drawn = plane(four)
    columns = ["model", "family", "option_pair", "a", "b", "dominant", "n"]
    assert drawn.data.equals(four.cells[columns])
    for axes, (_, own) in zip(
        drawn.figure.axes, four.cells.groupby("model", sort=False), strict=True
    ):
        dots = np.concatenate([c.get_offsets() for c in axes.collections if len(c.get_offsets())])
        assert {tuple(place) for place in own[["a", "b"]].round(9).to_numpy()} <= {
            tuple(dot) for dot in dots
        }


def test_the_pure_behaviours_are_named_at_their_corners(one):
    [axes] = plane(one).figure.axes
    named = {text.get_text(): tuple(text.xy) for text in axes.texts}
    assert {name: named[name] for name in CORNERS} == CORNERS
    assert CORNERS["Pick Higher"] == (1.0, 0.0)


def test_cells_at_one_place_are_counted_and_those_without_a_place_too(one):
    cells = one.cells.assign(a=1.0, b=1.0)
    cells.loc[cells.index[:3], ["a", "b"]] = np.nan
    [axes] = plane(replace(one, cells=cells)).figure.axes
    texts = [text.get_text() for text in axes.texts]
    assert f"×{len(cells) - 3}" in texts
    assert f"3 of {len(cells)} pairs have too little mass to stand anywhere" in texts


def test_a_point_below_the_gate_is_hollow(four):
    drawn = mass_distance(four)
    data = drawn.data
    assert (data["is_gated"] == (data["pm"] >= 0.75)).all()
    assert not data.loc[(data["model"] == "flat") & (data["family"] == "colors"), "is_gated"].any()
    white = (1.0, 1.0, 1.0)
    for dots in drawn.figure.axes[0].collections:
        for (x, _), face in zip(dots.get_offsets(), dots.get_facecolors(), strict=False):
            assert (tuple(face[:3]) == white) == (x < 0.75)


def test_mass_and_distance_are_the_means_of_families_and_templates(four):
    data = mass_distance(four).data
    for row in data.to_dict("records"):
        own = four.frame[
            (four.frame["model"] == row["model"]) & (four.frame["family"] == row["family"])
        ]
        if row["template"] != "all":
            own = own[own["template"] == row["template"]]
        assert row["pm"] == pytest.approx(own["pm"].mean(), abs=1e-12)
        assert row["wd"] == pytest.approx(own[row["metric"]].mean(), abs=1e-12)


def test_an_arrow_goes_from_base_to_instruct(four):
    data = tuning(four).data
    assert set(data["family"]) == {"colors", "distributions"}
    [row] = data[data["family"] == "colors"].to_dict("records")
    for end, model in (("base", "flat"), ("instruct", "sharp")):
        own = four.frame[(four.frame["model"] == model) & (four.frame["family"] == "colors")]
        assert row[end] == model
        assert row[f"entropy_gap_{end}"] == pytest.approx(own["entropy_gap"].mean(), abs=1e-12)
        assert row[f"wd_{end}"] == pytest.approx(own["wd01"].mean(), abs=1e-12)


def test_one_model_alone_has_no_arrow(one):
    found = tuning(replace(one, pairs=(("flat", "sharp"),)))
    assert found == Missing(
        name="F12-tuning",
        reason="no base model and its instruct model are both in the frame; name them as a pair",
    )


def test_no_cells_make_no_plane(one):
    assert isinstance(plane(replace(one, cells=None)), Missing)


def test_several_models_need_their_names_in_every_table(four):
    with pytest.raises(InputError, match="every table names its model"):
        plane(replace(four, cells=four.cells.drop(columns="model")))
