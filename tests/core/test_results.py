"""What the scoring functions return: sums, JSON, frames, and rows of probabilities."""

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import likely
from likely.core.results import perplexity
from likely.errors import InputError

TOKENS = ["a", "b", "ab", " a"]


def table(**options):
    law = {"a": 0.5, "b": 0.25, "ab": 0.125, " a": 0.125}
    return likely.TableModel(TOKENS, lambda context: law, **options)


texts = st.lists(st.sampled_from(TOKENS), min_size=1, max_size=8).map("".join)


@given(texts, st.sampled_from(["auto", "never", "always"]))
def test_a_text_score_is_the_sum_of_its_tokens_and_of_its_words(text, bos):
    read = likely.surprisal(table(), text, bos=bos)
    scored = [x for x in read.token_log_probs if x is not None]
    assert read.log_prob == pytest.approx(math.fsum(scored), abs=1e-12)
    assert read.n_scored == len(scored) == len(read.tokens) - (bos == "never")
    words = [word.log_prob for word in read.words() if word.log_prob is not None]
    assert math.fsum(words) == pytest.approx(read.log_prob, abs=1e-12)
    assert "".join(read.pieces) == text
    assert [text[a:b] for a, b in read.spans] == list(read.pieces)


@given(texts)
def test_results_read_back_from_strict_json(text):
    model = table()
    for result in (
        likely.surprisal(model, text, with_entropy=True),
        likely.score(model, [("a", text)]),
        likely.next_token(model, text),
    ):
        assert isinstance(json.loads(result.to_json(), parse_constant=pytest.fail), dict)
        assert result.summary()


def test_frames_hold_one_row_a_thing_and_null_where_nothing_is_scored():
    model = table()
    frame = likely.surprisal(model, "ab a", bos="never", with_entropy=True).to_frame()
    assert frame["log_prob"].isna().tolist() == [True, False]
    assert frame["entropy"][1] == pytest.approx(1.75 * math.log(2))
    scores = likely.score(model, [("a", "b"), ("b", "a")])
    assert scores.to_frame()["continuation"].tolist() == ["ab", "a"]
    assert len(likely.next_token(model, "a").to_frame(3)) == 3


def test_a_row_answers_by_text_and_by_id():
    row = likely.next_token(table(), "b")
    assert row.log_prob("a") == row.log_prob(0) == math.log(0.5)
    assert row.log_prob(" a") == math.log(0.125)
    assert [t.piece for t in row.top(4)] == ["a", "b", "ab", " a"]
    assert row.top(1)[0].prob == pytest.approx(0.5)
    assert row.entropy == pytest.approx(1.75 * math.log(2))
    assert row.effective_support == pytest.approx(2**1.75)
    assert row.unused_mass == 0.0
    for bad in ("ba", "", 99, -1):
        with pytest.raises(InputError):
            row.log_prob(bad)


def test_a_score_tells_its_mean_perplexity_and_bounds():
    score = likely.score(table(), [("b", "bb")])[0]
    assert score.log_prob == pytest.approx(2 * math.log(0.25))
    assert score.mean_log_prob == pytest.approx(math.log(0.25))
    assert score.perplexity == pytest.approx(4.0)
    assert score.bounds == (score.log_prob, score.log_prob)


def test_scores_are_a_sequence_with_one_cost():
    scores = likely.score(table(), [("b", "b"), ("b", "a")])
    assert len(scores) == len(list(scores)) == 2
    assert scores[1] is scores.items[1]
    assert scores.cost.token_evaluations == 2


def test_an_impossible_continuation_is_minus_infinity_and_can_be_averaged():
    model = likely.TableModel(["a", "b"], lambda context: {"a": 1.0})
    score = likely.score(model, [("a", "ab")])[0]
    assert score.log_prob == -math.inf
    assert score.token_log_probs == (0.0, -math.inf)
    assert score.perplexity == math.inf
    assert likely.surprisal(model, "ab").log_prob == -math.inf


@pytest.mark.parametrize(
    ("mean", "value"), [(0.0, 1.0), (-1.0, math.e), (-709.0, math.exp(709)), (-710.0, math.inf)]
)
def test_perplexity_ends_in_infinity(mean, value):
    assert perplexity(mean) == value


@given(st.lists(st.floats(-20, 0), min_size=2, max_size=8), st.integers(1, 7))
def test_masking_gives_what_is_left_its_share(weights, n_tokens):
    n_tokens = min(n_tokens, len(weights) - 1)
    log_probs = np.array(weights) - np.logaddexp.reduce(weights)
    row = likely.NextToken(
        log_probs=log_probs, context_tokens=(0,), n_tokens=n_tokens, flags=frozenset(),
        cost=likely.Cost(), tokenizer=table().tokenizer,
    )  # fmt: skip
    masked = row.masked()
    assert np.exp(masked.log_probs).sum() == pytest.approx(1.0, abs=1e-6)
    assert row.unused_mass == pytest.approx(np.exp(log_probs[n_tokens:]).sum(), abs=1e-12)
