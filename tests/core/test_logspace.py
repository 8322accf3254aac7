"""Log-space arithmetic against exact rational arithmetic and its own inverses."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from likely.core.logspace import check_log_probs, entropy, log1mexp, logsumexp
from likely.errors import NumericalError

nats = st.floats(-700, 0)
maybe_impossible = st.one_of(nats, st.just(-math.inf))


@given(st.lists(maybe_impossible, min_size=1, max_size=20), st.floats(-1e6, 1e6))
def test_logsumexp_moves_with_its_weights_and_bounds_them(weights, shift):
    array = np.array(weights)
    total = float(logsumexp(array))
    assert max(weights) <= total <= max(weights) + math.log(len(weights)) + 1e-12
    moved = float(logsumexp(array + shift))
    if total > -math.inf:
        assert moved - shift == pytest.approx(total, abs=1e-9 * (1 + abs(shift)))
    else:
        assert moved == -math.inf


@given(st.lists(st.integers(0, 10**6), min_size=1, max_size=20))
def test_logsumexp_is_the_log_of_the_sum(counts):
    with np.errstate(divide="ignore"):
        total = float(logsumexp(np.log(np.array(counts, dtype=float))))
    expected = math.log(sum(counts)) if sum(counts) else -math.inf
    assert total == pytest.approx(expected, abs=1e-12)


def test_logsumexp_of_nothing_is_impossible_and_keeps_the_other_axes():
    assert logsumexp(np.empty((3, 0))).tolist() == [-math.inf] * 3
    assert logsumexp(np.zeros((2, 3)), axis=0) == pytest.approx([math.log(2)] * 3)


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_logsumexp_refuses_what_is_no_log_weight(bad):
    with pytest.raises(NumericalError):
        logsumexp(np.array([0.0, bad]))


@given(st.floats(-30, -1e-12))
def test_log1mexp_is_its_own_inverse(log_prob):
    back = float(log1mexp(log1mexp(np.array(log_prob))))
    # One rounding of log(1 - p) moves the way back by about epsilon / p.
    assert back == pytest.approx(log_prob, rel=1e-9, abs=4e-16 / math.exp(log_prob))


@given(st.floats(-700, -1e-300))
def test_log1mexp_keeps_its_digits_at_both_ends(log_prob):
    value = float(log1mexp(np.array(log_prob)))
    expected = (
        math.log(-math.expm1(log_prob)) if log_prob > -0.7 else math.log1p(-math.exp(log_prob))
    )
    assert value == pytest.approx(expected, rel=1e-14)


def test_log1mexp_at_the_ends():
    assert log1mexp(np.array([0.0, -math.inf])).tolist() == [-math.inf, 0.0]
    for bad in (1e-12, math.nan):
        with pytest.raises(NumericalError):
            log1mexp(np.array([bad]))


@given(st.lists(st.integers(0, 100), min_size=1, max_size=10).filter(any))
def test_entropy_lies_between_zero_and_the_log_of_the_support(counts):
    probs = np.array(counts) / sum(counts)
    with np.errstate(divide="ignore"):
        value = float(entropy(np.log(probs)))
    support = sum(count > 0 for count in counts)
    assert -1e-15 <= value <= math.log(support) + 1e-12
    assert value == pytest.approx(-sum(p * math.log(p) for p in probs if p), abs=1e-12)


def test_check_log_probs_names_the_item_and_the_value():
    check_log_probs(np.array([-math.inf, 0.0, 1e-10]), what="ok")
    with pytest.raises(NumericalError, match=r"after 'x': the model gave 0\.5"):
        check_log_probs(np.array([-1.0, 0.5]), what="after 'x'")
    with pytest.raises(NumericalError, match="nan"):
        check_log_probs(np.array([math.nan]), what="here")
