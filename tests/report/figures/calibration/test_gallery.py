"""All figures by name: drawn for one model and for four, the same bytes each time."""

import subprocess
import sys

import pytest

from likely.errors import InputError, UnknownNameError
from likely.report.figures import Drawing, Missing, save
from likely.report.figures.calibration import FIGURES, Tables, draw, draw_all

NAMES = {
    "mass": "F01", "distance": "F02", "entropy": "F03", "behaviours": "F04", "reliability": "F05",
    "slope": "F06", "plane": "F07", "strengths": "F08", "frequency": "F09", "profile": "F10",
    "mass_distance": "F11", "tuning": "F12", "bounds": "F13",
}  # fmt: skip


def test_there_are_thirteen_figures_and_each_file_begins_with_its_number(four):
    assert FIGURES.names() == tuple(NAMES)
    drawn = draw_all(four)
    assert all(isinstance(figure, Drawing) for figure in drawn)
    assert [figure.name[:3] for figure in drawn] == list(NAMES.values())
    for figure, number in zip(drawn, range(1, 14), strict=True):
        assert figure.title.startswith(f"F{number}  ")


def test_one_exact_model_misses_only_what_it_cannot_have(one):
    missing = [figure for figure in draw_all(one) if isinstance(figure, Missing)]
    assert [figure.name for figure in missing] == ["F12-tuning", "F13-bounds"]
    assert all(figure.reason for figure in missing)


def test_a_frame_alone_draws_what_needs_nothing_else(one):
    drawn = {name: draw(name, Tables(frame=one.frame)) for name in NAMES}
    there = {name for name, figure in drawn.items() if isinstance(figure, Drawing)}
    assert there == {"mass", "distance", "entropy", "reliability", "slope", "mass_distance"}


@pytest.mark.parametrize("name", NAMES)
def test_two_runs_write_the_same_bytes(two, name, tmp_path):
    runs = [save(draw(name, two), tmp_path / run, formats=["svg"]) for run in ("one", "other")]
    one, other = ([path.read_bytes() for path in run] for run in runs)
    assert one == other
    assert b"<text" in one[0]
    assert b"NaN" not in one[0]


@pytest.mark.parametrize("name", ["reliability", "slope", "plane", "bounds"])
def test_of_three_models_the_second_and_the_third_have_the_axis_named_below_them(name, three):
    *panels, empty = draw(name, three).figure.axes
    assert not empty.axison
    above, *lowest = panels
    assert above.get_xlabel() == ""
    assert len({axes.get_xlabel() for axes in lowest} - {""}) == 1
    for axes in lowest:
        assert axes.get_xlabel()
        assert [label for label in axes.get_xticklabels() if label.get_visible()]


def test_an_unknown_figure_is_named(one):
    with pytest.raises(UnknownNameError, match="no figure named 'mas'"):
        draw("mas", one)


def test_a_frame_without_a_column_says_which(one):
    with pytest.raises(InputError, match=r"add \['pm'\]"):
        draw("mass", Tables(frame=one.frame.drop(columns="pm")))


def test_the_report_does_not_wake_matplotlib():
    code = (
        "import sys, likely.report, likely.report.figures, likely.report.figures.calibration; "
        "sys.exit('matplotlib' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
