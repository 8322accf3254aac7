"""What the screen shows: aligned, cut only where told, never 0 for what is not 0."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from likely.cli import screen
from likely.cli.screen import Column, bar, show_log_prob, show_prob, table, width
from likely.core.estimate import Cost

TEXT = Column(title="text", gives_way=True)
NUMBER = Column(title="n", is_number=True)


@pytest.fixture
def narrow(monkeypatch):
    monkeypatch.setattr(screen, "screen_width", lambda: 20)


def test_numbers_stand_right_and_text_left():
    assert table([NUMBER, TEXT], [["1", "a"], ["10", "bb"]]) == [" n  text", " 1  a", "10  bb"]


def test_a_column_without_any_text_is_left_out():
    assert table([TEXT, NUMBER], [["a", ""], ["b", ""]]) == ["text", "a", "b"]


def test_wide_characters_keep_the_columns_straight():
    lines = table([TEXT, NUMBER], [["日本", "1"], ["abcd", "2"]])
    assert {width(line) for line in lines} == {7}


def test_on_a_narrow_terminal_only_columns_that_give_way_are_cut(narrow):
    lines = table([NUMBER, TEXT], [["123456", "a long text that does not fit"]])
    assert lines[1] == "123456  a long text…"
    assert all(width(line) <= 20 for line in lines)


def test_a_cut_can_keep_the_end(narrow):
    column = Column(title="text", gives_way=True, keeps_end=True)
    assert table([column], [["a long text that does not fit"]])[1] == "…t that does not fit"


def test_in_a_pipe_nothing_is_cut(monkeypatch):
    monkeypatch.setattr(screen, "screen_width", lambda: None)
    assert table([TEXT], [["x" * 500]])[1] == "x" * 500


@given(st.floats(max_value=0.0, allow_nan=False))
def test_only_an_impossible_or_certain_event_looks_like_one(log_prob):
    shown = show_prob(log_prob)
    assert (shown == "0") == (log_prob == -math.inf)
    assert (float(show_log_prob(log_prob)) == 0.0) == (log_prob == 0.0)
    if not shown.startswith("10^"):
        assert float(shown) == pytest.approx(math.exp(log_prob), rel=0.06)
    elif log_prob > -1e9:
        assert float(shown[3:]) == pytest.approx(log_prob / math.log(10), abs=0.06)


def test_a_bound_is_marked():
    assert show_log_prob(-2.5, is_bound=True) == "<= -2.5000"
    assert show_prob(math.log(0.25), is_bound=True) == "<= 0.2500"


@given(st.floats(0.0, 1.0))
def test_a_bar_is_as_long_as_its_share(share):
    drawn = bar(share, cells=10)
    assert abs(len(drawn) - 10 * share) < 1.01


def test_the_cost_names_the_cache_only_if_it_helped():
    assert "cache" not in screen.show_cost(Cost(token_evaluations=1, model_calls=1))
    assert "3 from the cache" in screen.show_cost(Cost(cached=3))
