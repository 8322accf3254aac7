"""The heat map of a terminal: all of the text, and nothing that a terminal would obey."""

import re

import pytest
from attributions import exact
from hypothesis import given
from hypothesis import strategies as st
from test_style import contrast, luminance

from likely.attribution.cells import Cell, cells
from likely.cli import heat_map as module
from likely.cli.heat_map import STYLES, Wording, has_colour, heat_map, legend, number_cell
from likely.cli.screen import width
from likely.report.display import flowing

CODES = re.compile(r"\x1b\[[0-9;]*m")
TEXT = st.text(st.sampled_from([*"ab  \n\t", "日", "é", "\x1b", "\x07", "\u202e", "🙂"]))


def cell(text, shade=0, *, is_converged=True):
    score = None if shade is None else float(shade)
    return Cell(text=text, positions=(0,), score=score, shade=shade, is_converged=is_converged)


def colour(n):
    """Return one of the 216 colours of the cube as hexadecimal."""
    steps = (0, 95, 135, 175, 215, 255)
    n -= 16
    return f"#{steps[n // 36]:02x}{steps[n // 6 % 6]:02x}{steps[n % 6]:02x}"


@given(
    parts=st.lists(st.tuples(TEXT, st.one_of(st.none(), st.integers(-4, 4))), max_size=6),
    is_coloured=st.booleans(),
    room=st.integers(12, 40),
)
def test_the_text_is_all_there_fits_the_screen_and_holds_no_control_codes(parts, is_coloured, room):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "screen_width", lambda: room)
        lines = heat_map([cell(*part) for part in parts], is_coloured=is_coloured)
    plain = [CODES.sub("", line) for line in lines]
    assert all(width(line) <= room for line in plain)
    assert not any(re.search(r"[\x00-\x1f\x7f\u202e]", line) for line in plain)
    if is_coloured:
        wanted = "".join(flowing(text) for text, _ in parts)
        bare = re.sub(r"\s", "", "".join(plain))
        assert bare == re.sub(r"\s", "", wanted)
    else:
        assert not any("\x1b" in line for line in lines)


def test_a_cell_is_painted_but_for_the_space_before_it():
    (line,) = heat_map([cell("A"), cell(" B", 4), cell(" C", -1), cell("D")], is_coloured=True)
    assert line == "  A \x1b[1;38;5;16;48;5;202mB\x1b[0m \x1b[38;5;16;48;5;67mC\x1b[0mD"


def test_a_token_of_spaces_alone_is_painted():
    (line,) = heat_map([cell("A"), cell("  ", 2), cell("B")], is_coloured=True)
    assert "m  \x1b[0m" in line


def test_without_colours_bars_stand_above_for_likelier_and_below_for_less_likely():
    lines = heat_map([cell("A"), cell(" Be", 3), cell(" C", -1)], is_coloured=False)
    assert lines == ["    ▓▓", "  A Be C", "       ░"]
    assert heat_map([cell("A"), cell(" B")], is_coloured=False) == ["  A B"]


def test_rows_without_colours_are_apart():
    lines = heat_map([cell("A\n", -2), cell("B", 2)], is_coloured=False)
    assert lines == ["  A⏎", "  ▒▒", "", "  ▒", "  B"]


def test_what_was_not_attributed_is_dim_and_what_is_open_underlined():
    (line,) = heat_map([cell("A", None), cell("B", 0, is_converged=False)], is_coloured=True)
    assert line == "  \x1b[2mA\x1b[0m\x1b[4mB\x1b[0m"
    shown = " ".join(legend([cell("A", None), cell("B", 0, is_converged=False)], is_coloured=True))
    assert "not attributed" in shown
    assert "not known to the tolerance" in shown
    assert len(legend([cell("A")], is_coloured=True)) == 1


def test_text_on_every_colour_is_readable_and_the_colour_shows_on_light_and_dark():
    for depth, (ground, ink, _) in STYLES.items():
        text = "#ffffff" if ink == 231 else "#000000"
        assert contrast(colour(ground), text) >= 4.5, depth
        assert contrast(colour(ground), "#ffffff") >= 1.9, depth
        assert contrast(colour(ground), "#000000") >= 3.0, depth


def test_signs_differ_in_blue_against_yellow_which_all_eyes_tell_apart():
    for depth, (ground, _, _) in STYLES.items():
        red, _, blue = (int(colour(ground)[i : i + 2], 16) for i in (1, 3, 5))
        assert (blue > red) == (depth < 0)
    assert luminance(colour(STYLES[-4][0])) > 0.1


def test_a_matrix_cell_is_painted_by_its_value():
    assert number_cell(0.02, room=6, is_coloured=True) == " +0.02"
    assert CODES.sub("", number_cell(-1.5, room=6, is_coloured=True)) == " -1.50"
    assert "48;5;33" in number_cell(-1.5, room=6, is_coloured=True)
    assert number_cell(-1.5, room=6, is_coloured=False) == " -1.50"


@pytest.mark.parametrize(
    ("environment", "is_terminal", "wanted"),
    [
        ({}, True, True),
        ({}, False, False),
        ({"NO_COLOR": "1"}, True, False),
        ({"NO_COLOR": ""}, True, True),
        ({"TERM": "dumb"}, True, False),
    ],
)
def test_colours_come_where_the_terminal_takes_them(monkeypatch, environment, is_terminal, wanted):
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr("sys.stdout.isatty", lambda: is_terminal, raising=False)
    assert has_colour("auto") == wanted
    assert has_colour("always")
    assert not has_colour("never")


def test_a_real_result_is_shown_whole():
    lines = heat_map(cells(exact()), is_coloured=False)
    assert lines == ["    ▒", "  aab"]


def test_the_legend_of_other_numbers_says_what_their_signs_mean():
    words = Wording(number="difference", above="for this", below="for that")
    painted = [CODES.sub("", line) for line in legend([cell("A")], is_coloured=True, wording=words)]
    assert painted[0].startswith("difference in nats:  -3 ")
    assert painted[1] == "+ for this, - for that"
    (plain,) = legend([cell("A")], is_coloured=False, wording=words)
    assert plain.startswith("difference in nats, from: ")
    assert plain.endswith("above the text for this, below it for that")
