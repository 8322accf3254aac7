"""Probabilities as the caller gives them, and log-odds as circuits take them."""

import math
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from likely.errors import InputError, NumericalError
from likely.logic.odds import batches, ground, log_probability, read_odds
from likely.logic.parser import parse


@given(st.floats(1e-300, 1.0, exclude_max=True))
def test_log_odds_and_probability_are_inverse(prob):
    value = read_odds([parse("a")], probs={"a": prob}, log_odds=None)["a"]
    low, high = (1 / (1 + math.exp(-value)), 1 / (1 + math.exp(min(value, 700.0))))
    assert low == pytest.approx(prob, rel=1e-12) or high == pytest.approx(1 - prob, rel=1e-12)


def test_events_come_in_order_of_appearance_and_others_are_left_out():
    formulas = [parse("c & a"), parse("b | a")]
    odds = read_odds(formulas, probs=None, log_odds={"a": 1, "b": 2.0, "c": 3.0, "z": 4.0})
    assert odds == {"c": 3.0, "a": 1.0, "b": 2.0}
    assert list(odds) == ["c", "a", "b"]


def test_many_missing_events_are_counted():
    with pytest.raises(InputError, match="'x0', 'x1', 'x2', 'x3', 'x4' and 3 more"):
        read_odds([parse("|".join(f"x{i}" for i in range(8)))], probs={}, log_odds=None)


def test_rounding_above_certainty_is_put_back_and_more_is_an_error():
    assert log_probability(1e-16, what="it") == 0.0
    assert log_probability(-math.inf, what="it") == -math.inf
    for bad in (1e-6, math.nan):
        with pytest.raises(NumericalError, match="it"):
            log_probability(bad, what="it")


@given(st.integers(0, 10**5), st.integers(0, 10**6))
def test_batches_cover_all_rows_once(n_rows, width):
    slices = batches(n_rows, width=width)
    assert sum(part.stop - part.start for part in slices) == n_rows
    assert all(one.stop == other.start for one, other in pairwise(slices))


def test_only_ground_formulas_are_asked():
    assert ground("a & b") == parse("a & b")
    with pytest.raises(InputError, match="ranges over rows"):
        ground("exists r in rows: a(r)")
