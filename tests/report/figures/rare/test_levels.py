"""R4: the lines of a run are its rows, on one axis of levels."""

import math

import numpy as np
import rare_cases as make

from likely.core.jsonio import dumps
from likely.report.figures import Missing
from likely.report.figures.rare import run_of_levels
from likely.report.figures.rare.levels import levels_of_rows


def lines(axes):
    return {line.get_label(): (line.get_xdata(), line.get_ydata()) for line in axes.lines}


def test_lines_are_the_rows():
    found = make.split()
    drawn = run_of_levels(found, make.truth().prob(3))
    top, middle, bottom = drawn.figure.axes
    levels = [row["level"] for row in found.levels]
    np.testing.assert_array_equal(lines(top)["this run"][0], levels)
    np.testing.assert_allclose(
        lines(top)["this run"][1], [row["log_prob"] / math.log(10.0) for row in found.levels]
    )
    np.testing.assert_allclose(lines(top)["truth"][1], math.log10(3.1e-9), rtol=1e-9)
    shares = [row["share"] for row in found.levels]
    np.testing.assert_array_equal(lines(middle)["particles that reached the level"][1], shares)
    moved = [row["gaussian_wall_acceptance"] for row in found.levels[:-1]]
    np.testing.assert_array_equal(lines(bottom)["gaussian: wall"][1], moved)
    assert set(lines(bottom)) == {
        "gaussian: prior", "gaussian: wall", "mixing: prior", "mixing: wall", "never moved",
    }  # fmt: skip
    assert len(drawn.data) == len(found.levels)
    assert math.isnan(drawn.data["never_moved"].iloc[-1])


def test_the_probability_of_all_runs_is_named():
    (title,) = [axes.get_title(loc="left") for axes in run_of_levels(make.split()).figure.axes[:1]]
    assert title.endswith("all runs together: 2.10 × 10⁻⁹")


def test_the_levels_of_rows_are_those_of_the_rarest_target_of_a_fitted_law():
    found = make.split()
    rows = make.rows(("itgis", "ga-amls"), ("tiny-1l",), laws=("hex",), seeds=1, arms=("calls",))
    kept = dumps({"runs": 8, "levels": list(found.levels)})
    other = dumps({"runs": 1, "levels": [{"level": -1.0, "share": 0.5, "log_prob": -1.0}]})
    own = [row for row in rows if row["method"] == "ga-amls"]
    rows[0]["levels"] = other  # rarer, but not of a fitted law
    own[1]["levels"], own[2]["levels"] = kept, other
    drawn = levels_of_rows(rows)
    (top, *_) = drawn.figure.axes
    np.testing.assert_allclose(
        lines(top)["this run"][1], [row["log_prob"] / math.log(10.0) for row in found.levels]
    )
    np.testing.assert_allclose(lines(top)["truth"][1], math.log10(own[1]["truth"]), rtol=1e-9)
    assert isinstance(levels_of_rows(own[:1]), Missing)


def test_an_estimate_without_levels_is_missing():
    found = run_of_levels(make.estimate())
    assert isinstance(found, Missing)
    assert "naive has no levels" in found.reason
