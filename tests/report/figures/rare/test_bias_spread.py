"""R3: medians are those of the summary, and targets that are never found stand on the rail."""

import math

import numpy as np
import rare_cases as make

from likely.rare.bench.summary import summarise
from likely.report.display import fixed, signed
from likely.report.figures.rare.bias_spread import bias_and_spread

ROWS = make.rows(("naive", "itgis", "qld"), ("tiny-1l",), laws=("hex",), seeds=3, arms=("calls",))


def test_the_medians_written_are_those_of_the_summary():
    drawn = bias_and_spread(ROWS)
    left, right = drawn.figure.axes
    for one in summarise(ROWS):
        assert signed(one.bias) in [text.get_text() for text in left.texts]
        assert fixed(one.spread) in [text.get_text() for text in right.texts]
        own = drawn.data[drawn.data["method"] == one.method]
        assert len(own) == one.n_targets


def test_targets_that_no_estimate_finds_stand_on_the_rail():
    drawn = bias_and_spread(ROWS)
    left = drawn.figure.axes[0]
    lost = np.isneginf(drawn.data["bias"]).sum()
    assert lost > 0
    marks = np.concatenate([np.asarray(one.get_offsets()) for one in left.collections])
    low = drawn.data["bias"][drawn.data["bias"] > -math.inf].min()
    on_rail = marks[marks[:, 0] < low - 0.01, 0]
    assert len(on_rail) == lost + 1  # and their median
    assert len(set(on_rail)) == 1
    assert left.get_xlim()[0] < on_rail[0] < low
    assert "all 0" in [text.get_text() for text in left.texts]
    assert min(left.get_xticks()) >= low - 1.0


def test_without_lost_targets_there_is_no_rail():
    rows = [row for row in ROWS if row["method"] != "naive"]
    left = bias_and_spread(rows).figure.axes[0]
    assert "all 0" not in [text.get_text() for text in left.texts]
    bias = bias_and_spread(rows).data["bias"]
    low, high = left.get_xlim()
    assert low <= bias.min() <= bias.max() <= high
