"""Choosing: ties are shared and bounds leave it open."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from likely.core.choice import choose
from likely.core.results import Score
from likely.errors import InputError


def bound(log_prob):
    return Score(
        log_prob=log_prob, tokens=(0,), pieces=("x",), token_log_probs=(log_prob,),
        censored=(True,), context_tokens=(1,), flags=frozenset({"censored"}),
    )  # fmt: skip


@given(st.lists(st.integers(-5, 0).map(float), min_size=1, max_size=8))
def test_the_best_are_all_that_equal_the_highest_and_share_one_credit(scores):
    choice = choose(scores)
    assert [scores[i] for i in choice.best] == [max(scores)] * scores.count(max(scores))
    assert choice.is_decided
    assert sum(choice.credit(i) for i in range(len(scores))) == pytest.approx(1.0)


def test_a_tolerance_joins_near_scores():
    assert choose([-1.0, -1.05, -1.2], tolerance=0.1).best == (0, 1)


def test_a_bound_below_the_best_decides_nothing_away():
    assert choose([-1.0, bound(-2.0)]).is_decided
    assert choose([-1.0, bound(-1.0)]).undecided == (1,)


def test_bounds_alone_decide_nothing():
    choice = choose([bound(-1.0), bound(-2.0)])
    assert choice.best == ()
    assert choice.undecided == (0, 1)
    assert choice.credit(0) is None


def test_impossible_options_tie():
    assert choose([-math.inf, -math.inf]).best == (0, 1)


def test_nothing_to_choose_from_is_refused():
    with pytest.raises(InputError, match="no options"):
        choose([])
