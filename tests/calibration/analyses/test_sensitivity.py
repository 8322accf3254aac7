"""Sensitivity to wording: orders of models by template, and means with a template left out."""

import numpy as np
import pandas as pd
import pytest
from planted import items
from scipy.stats import t as student

from likely.calibration.analyses.sensitivity import template_sensitivity
from likely.errors import InputError

TEMPLATES = ("C1", "C2", "C3", "C4")
GRID = {
    # a row a model, a value a template
    "a": [0.1, 0.2, 0.1, 0.3],
    "b": [0.2, 0.3, 0.4, 0.2],
    "c": [0.4, 0.5, 0.3, 0.6],
}


def graded(grid=GRID):
    base = items(templates=TEMPLATES)
    at = [TEMPLATES.index(name) for name in base["template"]]
    parts = [base.assign(model=m, wd01=np.array(values)[at]) for m, values in grid.items()]
    return pd.concat(parts, ignore_index=True)


def test_ranks_of_templates_correlate_as_they_do_by_hand():
    found = template_sensitivity(graded())
    # orders: abc, abc, acb, bac
    assert found.by_pair["C1", "C2"] == pytest.approx(1.0)
    assert found.by_pair["C1", "C3"] == pytest.approx(0.5)
    assert found.by_pair["C3", "C4"] == pytest.approx(-0.5)
    assert found.rank_correlation.value == pytest.approx((1 + 4 * 0.5 - 0.5) / 6)
    assert -1.0 <= found.rank_correlation.low <= found.rank_correlation.high <= 1.0
    assert list(found.without.values()) == pytest.approx([1.0] * 4)


def test_the_jackknife_of_a_mean_is_student_s_interval_of_the_template_means():
    found = template_sensitivity(graded()).models["a"]
    values = np.array(GRID["a"])
    half = float(student.ppf(0.975, 3)) * values.std(ddof=1) / 2
    assert found.mean.value == pytest.approx(values.mean())
    assert found.mean.high - found.mean.value == pytest.approx(half)
    assert found.without["C4"] == pytest.approx(values[:3].mean())


def test_two_models_have_no_rank_correlation():
    found = template_sensitivity(graded({name: GRID[name] for name in "ab"}))
    assert found.rank_correlation is None
    assert found.to_dict()["by_pair"][0]["value"] is None
    assert found.table()["model"].tolist() == ["a", "b"]
    assert (found.table()["least"] <= found.table()["most"]).all()


def test_undefined_items_are_counted_and_empty_cells_refused():
    frame = graded()
    frame.loc[frame.index[:2], "wd01"] = np.nan
    assert template_sensitivity(frame).n_undefined == 2
    frame.loc[(frame["model"] == "a") & (frame["template"] == "C1"), "wd01"] = np.nan
    with pytest.raises(InputError, match="1 empty cells"):
        template_sensitivity(frame)
    with pytest.raises(InputError, match="one family"):
        template_sensitivity(pd.concat([graded(), graded().assign(family="other")]))
    with pytest.raises(InputError, match=r"lacks \['nothing'\]"):
        template_sensitivity(graded(), metric="nothing")
