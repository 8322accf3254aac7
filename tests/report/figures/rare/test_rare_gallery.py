"""All figures of a comparison by name, the same bytes each time."""

import rare_cases as make

from likely.report.figures import Drawing, Missing, save_all
from likely.report.figures.rare import draw_all
from likely.report.figures.rare.against_truth import estimate_against_truth

ROWS = make.rows(("naive", "itgis"), ("tiny-1l",), laws=("hex",), per_decade=1, seeds=1)


def test_every_arm_has_its_figures_and_a_run_its_levels(tmp_path):
    drawn = draw_all(ROWS, run=make.split())
    names = [one.name for one in drawn]
    assert names == [
        "R1-against-truth-calls", "R2-loss-alpha-calls", "R3-bias-spread-calls",
        "R1-against-truth-seconds", "R2-loss-alpha-seconds", "R3-bias-spread-seconds", "R4-levels",
    ]  # fmt: skip
    assert all(isinstance(one, Drawing) for one in drawn)
    written = save_all((drawn[0], drawn[-1]), tmp_path / "one", formats=["svg"])
    again = save_all([estimate_against_truth(ROWS)], tmp_path / "other", formats=["svg"])
    assert written[0].read_bytes() == again[0].read_bytes()
    assert not any(b"NaN" in path.read_bytes() for path in written if path.suffix == ".svg")


def test_without_a_run_the_levels_are_missing():
    *_, last = draw_all([])
    assert isinstance(last, Missing)
    assert "no method of splitting" in last.reason
