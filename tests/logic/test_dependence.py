"""Sharp bounds over all joint laws: closed forms against the linear program, and its duality."""

import math

import numpy as np
import pytest
from enumeration import NAMES, some_formulas, some_probs
from golden import GOLDEN, PROBS
from hypothesis import given
from hypothesis import strategies as st

from likely.errors import InputError
from likely.logic.circuits.truth import truth_of_rows
from likely.logic.dependence import FrechetBounds, _linear_program, frechet
from likely.logic.formula import count_of, var
from likely.logic.parser import parse
from likely.logic.queries import satisfaction

TOLERANCE = 1e-8
"""The solver promises 1e-7, and does better on programs this small."""

CLOSED = (
    "a", "!a", "a & b", "a & !b & c", "a | b", "!a | b | !c | d", "a -> b", "a -> !b", "a <-> b",
    "!a <-> b", "a ^ b", "!!a & b",
)  # fmt: skip


@given(st.sampled_from(CLOSED), some_probs(extremes=True))
def test_closed_forms_are_the_linear_program(text, probs):
    formula = parse(text)
    closed = frechet(formula, probs)
    forced = _linear_program(formula, {k: probs[k] for k in NAMES if k in text})
    assert (closed.low, closed.high) == pytest.approx(forced, abs=TOLERANCE)
    assert closed.method == "closed-form"


@given(some_formulas(), some_probs())
def test_the_independent_law_lies_between_the_bounds(formula, probs):
    bounds = frechet(formula, probs)
    prob = satisfaction(formula, probs)
    assert 0.0 <= bounds.low <= bounds.high <= 1.0
    assert bounds.low - TOLERANCE <= prob <= bounds.high + TOLERANCE


@given(some_formulas(), some_probs())
def test_the_bounds_of_a_negation_are_mirrored(formula, probs):
    bounds, mirrored = frechet(formula, probs), frechet(~formula, probs)
    assert (1 - mirrored.high, 1 - mirrored.low) == pytest.approx(
        (bounds.low, bounds.high), abs=TOLERANCE
    )


@given(some_formulas(), some_probs(), st.lists(st.booleans(), min_size=5, max_size=5))
def test_no_law_with_these_marginals_is_outside(formula, probs, mirrored):
    # an extreme dependence: all events follow one uniform draw, some of them mirrored
    draws = (np.arange(1000) + 0.5) / 1000
    chances = [probs[name] for name in NAMES]
    rows = np.where(mirrored, 1 - draws[:, None], draws[:, None]) < chances
    share = truth_of_rows(formula, rows, names=NAMES).mean()
    marginals = dict(zip(NAMES, rows.mean(0).tolist(), strict=True))
    bounds = frechet(formula, marginals)
    assert bounds.low - TOLERANCE <= share <= bounds.high + TOLERANCE


def test_agreement_of_two_undecided_events_may_be_anything():
    # pitfall P1: the product law says one half, which punishes uncertainty as inconsistency
    bounds = frechet("a <-> b", {"a": 0.5, "b": 0.5})
    assert (bounds.low, bounds.high, bounds.width) == (0.0, 1.0, 1.0)
    assert bounds.position(0.5) == 0.5
    assert bounds.to_dict() == {"low": 0.0, "high": 1.0, "method": "closed-form"}


@pytest.mark.parametrize("row", GOLDEN, ids=lambda row: row.formula)
def test_golden_theories_lie_between_their_bounds(row):
    bounds = frechet(row.formula, PROBS)
    assert bounds.low - 1e-4 <= row.prob <= bounds.high + 1e-4


def test_where_the_marginals_fix_the_probability_there_is_no_position():
    assert frechet("a", PROBS).position(0.9) is None
    assert frechet("a <-> b", {"a": 1.0, "b": 0.3}).position(0.3) is None
    assert frechet("a | !a", PROBS).position(1.0) is None
    with pytest.raises(InputError, match=r"got 0\.5"):
        frechet("a", PROBS).position(0.5)


def test_positions_at_the_bounds_are_exact():
    bounds = FrechetBounds(low=0.1, high=0.3, method="closed-form")
    assert bounds.position(0.1) == 0.0
    assert bounds.position(0.3 + 1e-12) == 1.0


def test_too_many_events_for_the_program_and_enough_for_a_closed_form():
    names = [f"e{i}" for i in range(13)]
    probs = dict.fromkeys(names, 0.1)
    with pytest.raises(InputError, match="at most 12 events, got 13"):
        frechet(count_of(*map(var, names), low=2), probs)
    bounds = frechet(" | ".join(names), probs)
    assert (bounds.low, bounds.high) == pytest.approx((0.1, 1.0))


@pytest.mark.parametrize("prob", [0.1, 0.2, 0.5])
def test_twelve_events_are_bounded_by_the_mean_of_their_count(prob):
    names = [f"e{i}" for i in range(12)]
    bounds = frechet(count_of(*map(var, names), low=3), dict.fromkeys(names, prob))
    # all that binds is the mean: at most 2 or at least 3, and never above 12
    mean = 12 * prob
    low, high = max(0.0, (mean - 2) / 10), min(1.0, mean / 3)
    assert (bounds.low, bounds.high) == pytest.approx((low, high), abs=1e-9)


def test_certain_events_meet_the_program_at_its_corners():
    bounds = frechet("exactly_one(a, b, c)", {"a": 1.0, "b": 0.0, "c": 0.25})
    assert (bounds.low, bounds.high) == pytest.approx((0.75, 0.75), abs=1e-9)
    assert math.isclose(bounds.width, 0.0, abs_tol=1e-9)
