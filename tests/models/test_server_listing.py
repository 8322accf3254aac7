"""Bounds from a list hold for every token that the list does not show, however it was cut."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from likely.models.server.listing import ROUNDING, make_listing, read_log_prob
from likely.models.server.transport import AnswerError

LOWEST = -3.4028234663852886e38


def listed(probs, *, k, greedy=False, sampled=None):
    """The list of the ``k`` likeliest of a law by id, and of a sampled token."""
    order = sorted(range(len(probs)), key=lambda t: -probs[t])
    shown = dict.fromkeys(order[:k] if sampled is None else [*order[:k], sampled])
    return make_listing([(t, f"t{t}", math.log(probs[t])) for t in shown], k=k, greedy=greedy)


def by_text(probs, pieces, *, k):
    """The list that keeps one entry a text, as a JSON object does: the last one, the least."""
    order = sorted(range(len(probs)), key=lambda t: -probs[t])[:k]
    shown = {pieces[t]: math.log(probs[t]) for t in order}
    return make_listing([(None, piece, v) for piece, v in shown.items()], k=k, greedy=True)


laws = st.lists(st.floats(0.01, 1.0), min_size=2, max_size=8).map(
    lambda weights: [w / sum(weights) for w in weights]
)


def test_the_bound_is_what_is_left_or_the_last_listed_o19():
    assert listed([0.6, 0.3, 0.1], k=2).log_prob_elsewhere == pytest.approx(-2.3026, abs=1e-4)
    flat = listed([0.25] * 4, k=2)
    assert flat.log_prob_elsewhere == pytest.approx(math.log(0.25), abs=1e-12)
    assert math.exp(flat.log_mass_elsewhere) == pytest.approx(0.5 + ROUNDING, abs=1e-12)


@given(laws, st.integers(1, 8), st.data())
def test_no_token_beyond_the_list_is_likelier_than_the_bound(probs, k, data):
    sampled = data.draw(st.sampled_from([None, *range(len(probs))]))
    listing = listed(probs, k=k, sampled=sampled)
    for asked in range(1, k + 1):
        top = listing.top(asked)
        hidden = [math.log(p) for t, p in enumerate(probs) if t not in top.tokens]
        assert all(value <= top.log_prob_elsewhere + 1e-12 for value in hidden)
        if hidden:
            assert math.fsum(map(math.exp, hidden)) <= math.exp(top.log_mass_elsewhere)


@given(laws, st.lists(st.sampled_from(["x", "", " ", "yes"]), min_size=8, max_size=8), st.data())
def test_a_list_by_text_never_gives_a_value_that_is_too_low(probs, pieces, data):
    k = data.draw(st.integers(2, 8))
    listing = by_text(probs, pieces, k=k)
    for token, prob in enumerate(probs):
        # Of several tokens with one text, one is canonical; only single bytes have such twins.
        n_twins = sum(piece == pieces[token] for piece in pieces[: len(probs)])
        if n_twins > 1 and len(pieces[token].strip()) > 1:
            continue
        piece = pieces[token] or None
        value, is_bound = listing.value_of_piece(piece, is_canonical=True)
        if is_bound:
            assert value >= math.log(prob) - 1e-12
        elif n_twins == 1:
            assert value == math.log(prob)


def test_a_sampled_token_beyond_the_list_is_not_taken_for_its_end():
    listing = listed([0.5, 0.3, 0.15, 0.05], k=2, sampled=3)
    assert [e.token for e in listing.entries] == [0, 1, 3]
    top = listing.top(2)
    assert top.tokens == (0, 1)
    assert top.log_prob_elsewhere == pytest.approx(math.log(0.2), abs=1e-4)
    assert listing.log_prob_elsewhere >= math.log(0.15)


def test_two_tokens_of_one_text_make_a_bound_of_it():
    twins = by_text([0.5, 0.3, 0.2], ["a", " ", " "], k=3)
    value, is_bound = twins.value_of_piece(" ", is_canonical=True)
    assert is_bound
    assert value == pytest.approx(math.log(0.5), abs=1e-4)
    assert twins.value_of_piece("a", is_canonical=True) == (math.log(0.5), False)


def test_a_token_without_a_text_of_its_own_is_bounded_by_all_it_may_be():
    listing = by_text([0.5, 0.3, 0.2], ["a", "b", "c"], k=2)
    value, is_bound = listing.value_of_piece(None, is_canonical=False)
    assert is_bound
    assert value == pytest.approx(math.log(0.7), abs=1e-4)


@pytest.mark.parametrize("placeholder", [None, -9999.0, -1e4, LOWEST, -math.inf])
def test_a_placeholder_is_no_value(placeholder):
    assert read_log_prob(placeholder) is None


@pytest.mark.parametrize("value", [math.nan, 1e-6, 0.5, math.inf])
def test_what_is_no_log_prob_is_refused(value):
    with pytest.raises(AnswerError, match="as a log-probability"):
        read_log_prob(value)


def test_a_list_of_more_than_everything_is_refused():
    with pytest.raises(AnswerError, match="must not pass 1"):
        make_listing([(0, "a", -0.1), (1, "b", -0.1)], k=2, greedy=True)


def test_placeholders_in_a_list_widen_its_bound():
    listing = make_listing([(0, "a", math.log(0.5)), (1, "b", -9999.0)], k=2, greedy=True)
    assert listing.log_prob_elsewhere == pytest.approx(math.log(0.5), abs=1e-4)
    assert len(listing.entries) == 1


def test_a_sum_that_rounding_carried_past_1_still_leaves_room():
    # Seen with llama-server: 49,152 float32 terms added one by one came to 1.0002.
    rounding = 49152 * 2.0**-24
    probs = [0.9 * 1.0002, 0.09999 * 1.0002]
    listing = make_listing(
        [(t, "t", math.log(p)) for t, p in enumerate(probs)], k=3, greedy=True, rounding=rounding
    )
    assert listing.log_prob_elsewhere >= math.log(0.00001)
