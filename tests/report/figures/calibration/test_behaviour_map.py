"""F4: the map of behaviours."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from likely.errors import InputError
from likely.report.figures import Missing
from likely.report.figures.calibration.behaviour_map import behaviour_of, behaviours, seriate


def test_every_cell_is_drawn_once_in_its_place(four):
    drawn = behaviours(four)
    assert len(drawn.data) == len(four.cells)
    for axes, model in zip(drawn.figure.axes, four.frame["model"].unique(), strict=True):
        names = [label.get_text() for label in axes.get_xticklabels()]
        assert names == [label.get_text() for label in axes.get_yticklabels()]
        own = four.cells[four.cells["model"] == model].set_index("option_pair")
        texts = {text.get_position(): text.get_text() for text in axes.texts}
        assert len(texts) == len(own)
        for (x, y), text in texts.items():
            cell = own.loc[f"{names[int(x)]}/{names[int(y)]}"]
            rate, distance = text.split("\n")
            assert rate[0] == cell["dominant"][0].upper()
            assert float(rate[2:]) == pytest.approx(cell["dominant_rate"], abs=0.0051)
            assert float(distance) == pytest.approx(cell["avg_wd"], abs=0.0051)


def test_the_second_line_can_be_left_out(one):
    drawn = behaviours(one, with_distance=False)
    assert not [t for t in drawn.figure.axes[0].texts if "\n" in t.get_text()]


def cells(rows):
    table = pd.DataFrame(rows, columns=["first", "second", "behaviour", "dominant_rate"])
    return table.assign(model="m")


def test_options_whose_cells_are_alike_stand_side_by_side():
    kind = {"a": "first", "b": "higher", "c": "first", "d": "higher"}
    rows = [(x, y, kind[x], 0.9) for x in kind for y in kind if x != y]
    order = seriate(cells(rows))
    assert sorted(order) == list("abcd")
    assert abs(order.index("a") - order.index("c")) == 1
    assert abs(order.index("b") - order.index("d")) == 1


def test_the_order_does_not_depend_on_the_order_of_the_rows(one):
    shuffled = one.cells.sample(frac=1.0, random_state=3, ignore_index=True)
    drawn = behaviours(replace(one, cells=shuffled)).data
    pd.testing.assert_frame_equal(drawn, behaviours(one).data)


def test_options_with_one_partner_each_make_no_map(one):
    own = one.cells[one.cells["option_pair"].isin(["black/blue", "blue/black"])]
    found = behaviours(replace(one, cells=own))
    assert isinstance(found, Missing)
    assert "no option has more than one partner" in found.reason


def test_a_cell_that_comes_twice_is_refused(one):
    twice = pd.concat([one.cells, one.cells.iloc[:1]], ignore_index=True)
    with pytest.raises(InputError, match="pool the templates first"):
        behaviours(replace(one, cells=twice))


def test_behaviours_are_known_however_they_are_spelt():
    assert {behaviour_of(x) for x in ("Pick Higher", "pick_higher", "pref_higher", "higher")} == {
        "higher"
    }
    with pytest.raises(InputError, match="got 'sideways'"):
        behaviour_of("sideways")


def test_a_distance_that_is_not_defined_is_left_out(one):
    own = one.cells.assign(avg_wd=np.nan)
    assert not [t for t in behaviours(replace(one, cells=own)).figure.axes[0].texts
                if "\n" in t.get_text()]  # fmt: skip
