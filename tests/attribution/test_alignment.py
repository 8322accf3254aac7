"""Stretches that two texts share: whole tokens on both sides, and nothing lost."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from likely.attribution.alignment import align

WORDS = st.lists(st.sampled_from([" a", " bc", "\nd", " é", "x", " 日本"]), max_size=8)


@st.composite
def cut_texts(draw):
    """Return a text and spans of tokens that cover it, some of them sharing a character."""
    text = "".join(draw(WORDS))
    inner = sorted(draw(st.sets(st.integers(1, max(1, len(text) - 1)), max_size=len(text))))
    ends = [0, *(i for i in inner if i < len(text)), len(text)]
    spans = [(a, b) for a, b in pairwise(ends) if b > a]
    if spans and draw(st.booleans()):
        spans.append(spans[-1])  # two tokens of one character
    return text, spans


@given(first=cut_texts(), second=cut_texts(), by=st.sampled_from(["words", "spans"]))
def test_stretches_cover_both_texts_in_order_and_cut_no_token(first, second, by):
    found = align(first[0], second[0], first[1], second[1], by=by)
    for side, (text, spans) in (("first", first), ("second", second)):
        parts = [getattr(one, side) for one in found if getattr(one, side) is not None]
        assert [part[0] for part in parts] == [0, *(part[1] for part in parts)][: len(parts)]
        assert "".join(text[slice(*part)] for part in parts) == text
        edges = {end for part in parts for end in part}
        assert not any(a < edge < b for a, b in spans for edge in edges)
    for one in found:
        if one.first is not None and one.second is not None:
            assert first[0][slice(*one.first)] == second[0][slice(*one.second)]


@given(text=cut_texts(), other=st.data())
def test_of_one_text_all_is_shared(text, other):
    n = len(text[0])
    spans = [(i, i + 1) for i in range(n)]
    found = align(text[0], text[0], text[1], spans, by="spans")
    assert all(one.first == one.second for one in found)
    assert {one.first for one in found} == set(text[1])


def test_spans_are_the_shortest_and_words_end_with_words():
    text = "unhappy dogs"
    ours, theirs = [(0, 2), (2, 7), (7, 12)], [(0, 2), (2, 4), (4, 7), (7, 9), (9, 12)]
    spans = align(text, text, ours, theirs, by="spans")
    assert [one.first for one in spans] == [(0, 2), (2, 7), (7, 12)]
    words = align(text, text, ours, theirs, by="words")
    assert [one.first for one in words] == [(0, 7), (7, 12)]


def test_a_token_over_two_words_joins_them_on_both_sides():
    found = align("a b c", "a b c", [(0, 3), (3, 5)], [(0, 1), (1, 3), (3, 5)], by="words")
    assert [one.first for one in found] == [(0, 3), (3, 5)]


def test_what_one_text_adds_stands_alone_in_its_place():
    letters = [(i, i + 1) for i in range(20)]
    found = align("who saw it", "who never saw it", letters[:10], letters[:16], by="words")
    assert [(one.first, one.second) for one in found] == [
        ((0, 3), (0, 3)), (None, (3, 9)), ((3, 7), (9, 13)), ((7, 10), (13, 16)),
    ]  # fmt: skip


@pytest.mark.parametrize(("first", "second"), [("", ""), ("", "a b"), ("a b", "")])
def test_an_empty_text_shares_nothing(first, second):
    spans = [[(i, i + 1) for i in range(len(text))] for text in (first, second)]
    found = align(first, second, *spans, by="words")
    assert all(one.first is None or one.second is None for one in found)
    assert sum(one.first is not None for one in found) == len(first.split())
