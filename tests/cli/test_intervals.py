"""Tables of numbers with intervals: beside where there is room, else below, and nothing cut."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from likely.cli import intervals, screen
from likely.cli.intervals import Cell, interval_table, show, spanned, wrapped_table
from likely.cli.screen import Column, width
from likely.core.estimate import Estimate

NAME = Column(title="name", gives_way=True)
NUMBER = Column(title="wd", is_number=True)


@pytest.fixture
def room(monkeypatch):
    def of(columns):
        for module in (intervals, screen):
            monkeypatch.setattr(module, "screen_width", lambda: columns)

    return of


def test_intervals_stand_beside_their_numbers_where_there_is_room():
    lines = interval_table([NAME, NUMBER], [["a", Cell(text=".1", interval="0-.2")], ["bb", ""]])
    assert lines == ["name  wd", "a     .1  0-.2", "bb"]


def test_intervals_stand_below_where_there_is_none(room):
    room(20)
    long = Cell(text="-.500", interval="-1.234..+1.234")
    lines = interval_table([NAME, NUMBER], [["a name", long], ["b", Cell(text=".1")]])
    assert lines == [
        "name                wd", "a name           -.500", "        -1.234..+1.234",
        "b                   .1",
    ]  # fmt: skip


def test_a_page_of_100_columns_is_the_room_of_a_pipe():
    columns = [Column(title=f"n{i}", is_number=True) for i in range(6)]
    row = [Cell(text="1.000", interval="-1.000..+1.000")] * 6
    lines = interval_table(columns, [row])
    assert len(lines) == 3
    assert max(map(width, lines)) <= 100


def test_columns_without_any_text_are_left_out_with_their_titles():
    columns = [NAME, Column(title="best\nrule", is_number=True), Column(title="no\none")]
    assert interval_table(columns, [["a", "1", ""]]) == ["      best", "name  rule", "a        1"]


def test_the_last_column_is_wrapped_under_itself(room):
    room(40)
    rows = [["family", "one two three four five six seven"], ["x", "one"]]
    lines = wrapped_table([NAME, Column(title="labels")], rows)
    assert lines == [
        "name    labels", "family  one two three four five six", "        seven", "x       one",
    ]  # fmt: skip


@given(st.floats(allow_nan=False, allow_infinity=False, min_value=-1e6, max_value=1e6))
def test_a_number_shown_is_within_half_of_its_last_digit(value):
    for sign in (False, True):
        shown = show(value, sign=sign)
        assert float(shown) == pytest.approx(value, abs=0.0005000001)
        assert (shown == "0") == (value == 0.0)
    assert show(value, sign=True)[0] in "+-0"


def test_a_number_that_is_rounded_to_1_is_shown_as_1():
    assert (show(0.9999), show(-0.9999), show(1.5)) == ("1.000", "-1.000", "1.500")


def test_a_zero_with_a_sign_is_a_zero():
    assert (show(-0.0), show(-0.0, sign=True)) == ("0", "0")


def test_what_has_no_estimate_is_blank():
    one = Estimate(value=0.5, low=0.25, high=1.0, level=0.95, unit="prob", method="x")
    assert spanned(one) == Cell(text=".500", interval=".250-1.000")
    assert spanned(None) == Cell(text="")
