"""Files of figures: the same bytes each time, text that stays text, the data beside the image."""

import csv
import re
import xml.etree.ElementTree as ET

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest

from likely.errors import InputError
from likely.report.figures import Drawing, save
from likely.report.figures.style import sheet, styled


@styled()
def line(title="A <line> & its data"):
    figure, [[axes]] = sheet(title, "How to read it.", height_in=2.0)
    axes.plot([0.0, 1.0], [0.0, 2.0], label="rise")
    axes.set_xlabel("time, seconds")
    data = pd.DataFrame({"x": [0.0, 1.0], "y": [0.1 + 0.2, np.nan]})
    return Drawing(name="F99-line", title=title, figure=figure, data=data)


def test_two_runs_give_the_same_bytes(tmp_path):
    one, other = (save(line(), tmp_path / name) for name in ("one", "other"))
    assert [p.name for p in one] == ["F99-line.svg", "F99-line.png", "F99-line.csv"]
    assert [p.read_bytes() for p in one] == [p.read_bytes() for p in other]


def test_a_machine_that_is_configured_otherwise_gives_the_same_bytes(tmp_path):
    plain = save(line(), tmp_path / "plain")
    with mpl.rc_context({"font.size": 20, "svg.fonttype": "path", "axes.facecolor": "red"}):
        odd = save(line(), tmp_path / "odd")
        assert mpl.rcParams["font.size"] == 20
    assert [p.read_bytes() for p in plain] == [p.read_bytes() for p in odd]


def test_text_of_an_svg_stays_text_and_tells_no_date_or_version(tmp_path):
    svg = save(line(), tmp_path, formats=["svg"])[0].read_text(encoding="utf-8")
    texts = [node.text for node in ET.fromstring(svg).iter("{http://www.w3.org/2000/svg}text")]
    assert "A <line> & its data" in texts
    assert "time, seconds" in texts
    assert "<dc:date>" not in svg
    assert not re.search(r"[Mm]atplotlib v?\d", svg)


def test_the_data_is_read_back_as_it_was(tmp_path):
    *_, path = save(line(), tmp_path, formats=[])
    head, *rows = csv.reader(path.read_text(encoding="utf-8").splitlines())
    assert head == ["x", "y"]
    assert [(float(x), float(y) if y else None) for x, y in rows] == [(0.0, 0.1 + 0.2), (1.0, None)]


def test_a_format_that_is_none_of_ours_is_refused_before_anything_is_written(tmp_path):
    with pytest.raises(InputError, match=r"one of \['svg', 'png'\], got \['gif'\]"):
        save(line(), tmp_path / "new", formats=["svg", "gif"])
    assert not (tmp_path / "new").exists()


def test_no_figure_is_left_with_pyplot():
    import matplotlib.pyplot as plt

    line()
    assert plt.get_fignums() == []
