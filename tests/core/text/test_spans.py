"""Spans and words: every token is somewhere, and nothing is counted twice."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from likely.core.text.spans import char_spans, group_words

texts = st.text(st.sampled_from("ab é🙂\n\t"), min_size=1, max_size=20)


@st.composite
def cut_texts(draw):
    """A text with byte spans that tile it, and a score or None for each."""
    text = draw(texts)
    n_bytes = len(text.encode())
    cuts = sorted(draw(st.sets(st.integers(1, n_bytes - 1), max_size=8))) if n_bytes > 1 else []
    spans = list(zip([0, *cuts], [*cuts, n_bytes], strict=True))
    scores = [draw(st.none() | st.floats(-9, 0)) for _ in spans]
    return text, spans, scores


@given(cut_texts())
def test_character_spans_hold_every_byte_of_their_token(case):
    text, spans, _ = case
    raw = text.encode()
    for (start, stop), (first, last) in zip(spans, char_spans(text, spans), strict=True):
        assert raw[start:stop] in text[first:last].encode()
        assert len(text[first:last].encode()) - (stop - start) <= 6  # at most a rim on each side


@given(cut_texts())
def test_words_lose_no_token_and_add_up_to_the_text(case):
    text, byte_spans, scores = case
    words = group_words(text, char_spans(text, byte_spans), scores)
    assert [i for word in words for i in word.tokens] == list(range(len(scores)))
    assert "".join(word.text for word in words) == text
    scored = [x for x in scores if x is not None]
    assert math.fsum(w.log_prob for w in words if w.log_prob is not None) == pytest.approx(
        math.fsum(scored), abs=1e-12
    )
    assert sum(word.n_scored for word in words) == len(scored)
    assert all((word.log_prob is None) == (word.n_scored == 0) for word in words)


def test_a_word_owns_the_space_before_it():
    words = group_words("a bc", [(0, 1), (1, 3), (3, 4)], [-1.0, -2.0, None])
    assert [(w.text, w.log_prob, w.n_scored) for w in words] == [("a", -1.0, 1), (" bc", -2.0, 1)]


def test_words_that_one_token_joins_become_one():
    words = group_words("a b c", [(0, 3), (3, 5)], [-1.0, -2.0])
    assert [w.text for w in words] == ["a b", " c"]


def test_a_token_without_bytes_has_an_empty_span():
    assert char_spans("é", [(0, 0), (0, 2), (2, 2)]) == ((0, 0), (0, 1), (1, 1))
