"""R1: dots stand where rows have them; zeros and what lies below are counted, none is lost."""

import math

import numpy as np
import pytest
import rare_cases as make

from likely.errors import InputError
from likely.report.figures.rare.against_truth import BELOW, estimate_against_truth

ROWS = make.rows(("naive", "itgis"), ("tiny-1l",), laws=("hex",), seeds=2)


@pytest.fixture(scope="module")
def drawn():
    return estimate_against_truth(ROWS)


def points(axes, label):
    (found,) = [one for one in axes.collections if one.get_label() == label]
    return np.asarray(found.get_offsets())


def test_every_row_of_the_arm_is_a_row_of_the_data(drawn):
    own = [row for row in ROWS if row["arm"] == "calls"]
    assert len(drawn.data) == len(own)
    np.testing.assert_allclose(drawn.data["q"], [math.log10(row["truth"]) for row in own])
    np.testing.assert_allclose(
        drawn.data["p"], [row["log_prob"] / math.log(10.0) for row in own], rtol=1e-12
    )


def test_dots_are_the_estimates_above_zero(drawn):
    for axes, method in zip(drawn.figure.axes, ("naive", "itgis"), strict=True):
        own = drawn.data[(drawn.data["method"] == method) & (drawn.data["place"] == "panel")]
        np.testing.assert_allclose(points(axes, "tiny-1l"), own[["q", "p"]].to_numpy())


def test_zeros_stand_on_the_rail_below_all_others_and_are_counted(drawn):
    naive = drawn.data[drawn.data["method"] == "naive"]
    zero = naive[naive["place"] == "zero"]
    axes = drawn.figure.axes[0]
    texts = [text.get_text() for text in axes.texts]
    assert f"0: {len(zero)} of {len(naive)}\ninterval holds the truth: 100%" in texts
    ticks = dict(
        zip([t.get_text() for t in axes.get_yticklabels()], axes.get_yticks(), strict=True)
    )
    rail = [np.asarray(one.get_offsets()) for one in axes.collections if len(one.get_offsets())]
    on_rail = [one for one in rail if len(one) == len(zero) and (one[:, 1] == ticks["0"]).all()]
    assert len(on_rail) == 1
    np.testing.assert_allclose(on_rail[0][:, 0], zero["q"])
    assert ticks["0"] < axes.get_ylim()[0] + 1.0
    assert "none 0" in drawn.figure.axes[1].texts[0].get_text()


def test_an_estimate_below_the_panel_is_marked_and_counted():
    rows = [dict(row) for row in ROWS if row["arm"] == "calls" and row["method"] == "itgis"]
    rows[0] |= {"log_prob": -200.0, "log_low": -210.0, "log_high": -190.0}
    drawn = estimate_against_truth(rows)
    assert (drawn.data["place"] == "below").sum() == 1
    assert "below: 1" in drawn.figure.axes[0].texts[0].get_text()
    least = math.floor(drawn.data["q_low"].min())
    assert drawn.figure.axes[0].get_ylim()[0] == least - BELOW - 1


def test_a_method_under_a_fitted_law_has_a_star():
    rows = make.rows(("itgis", "qld"), ("tiny-1l",), laws=("hex",), seeds=1)
    titles = [axes.get_title(loc="left") for axes in estimate_against_truth(rows).figure.axes]
    assert titles == ["itgis", "qld *"]


def test_an_arm_without_rows_is_refused():
    rows = [row for row in ROWS if row["arm"] == "calls"]
    with pytest.raises(InputError, match="no estimate in the arm 'seconds'"):
        estimate_against_truth(rows, "seconds")
