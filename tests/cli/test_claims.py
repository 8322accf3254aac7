"""Tables of claims: signed, with intervals, and side by side only where there is room."""

import pytest

from likely.cli import claims, screen
from likely.cli.claims import ClaimRow, claim_table, hung, rescaling_table
from likely.cli.screen import width
from likely.core.estimate import Estimate


def estimate(value, half=0.1):
    return Estimate(
        value=value, low=value - half, high=value + half, level=0.95, unit="none", method="x"
    )


@pytest.fixture
def terminal(monkeypatch):
    """Return a function that sets the width of the terminal."""

    def wide(columns):
        for module in (claims, screen):
            monkeypatch.setattr(module, "screen_width", lambda: columns)

    return wide


def test_columns_without_a_value_are_left_out():
    row = ClaimRow(name="Tp", n_items=2, n_rows=1, prob=0.5, score=-0.25, earned=0.0, kept=1.0)
    lines = claim_table([row, ClaimRow(name="  r1", prob=0.25)])
    assert lines[0].split() == ["claim", "items", "rows", "P", "S", "bits", "kept"]
    assert lines[1].split() == ["Tp", "2", "1", "0.50", "-0.25", "0", "1.00"]
    assert lines[2].split() == ["r1", "0.25"]


def test_an_impossible_item_has_infinitely_few_bits():
    row = ClaimRow(name="Tp", n_items=2, score=-1.0, earned=0.5, kept=0.0, n_impossible=1)
    assert "-inf" in claim_table([row])[1]


def test_rescalings_stand_side_by_side_if_there_is_room_and_below_one_another_if_not(terminal):
    rows = [("negation", {"duel": estimate(0.25), "minp": estimate(-0.5)})]
    terminal(60)
    assert rescaling_table(rows, ["duel", "minp"], title="S of") == [
        "S of                    duel                minp",
        "negation  +0.25 +0.15..+0.35  -0.50 -0.60..-0.40",
    ]
    terminal(40)
    assert rescaling_table(rows, ["duel", "minp"], title="S of") == [
        "S of      under                   S",
        "negation  duel   +0.25 +0.15..+0.35",
        "          minp   -0.50 -0.60..-0.40",
    ]


def test_in_a_pipe_a_table_keeps_to_a_page_and_prose_is_not_folded(monkeypatch):
    labels = [f"rescaling_{i}" for i in range(6)]
    rows = [("negation", {label: estimate(0.0) for label in labels})]
    assert max(map(width, rescaling_table(rows, labels, title="S of"))) <= claims.PAGE
    long = "  " + "word " * 60
    assert hung([long]) == [long]


def test_on_a_terminal_folds_stand_under_their_line(terminal):
    terminal(40)
    lines = hung(["  a  " + "word " * 12])
    assert all(width(line) <= 40 for line in lines)
    assert lines[0].startswith("  a  word")
    assert all(line.startswith("      word") for line in lines[1:])
