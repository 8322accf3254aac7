"""Answers and marginals on a random network against sums over the library's own forward."""

import numpy as np
import pytest
from fixtures import plain_rows

import likely
from likely.core.text.segmentations import marginal_log_prob, segmentations
from likely.core.text.word_ends import word_ends

pytest.importorskip("torch")

CONTEXT = "The answer:"


def log_prob(model, context, tokens):
    rows = plain_rows(model, (*context, *tokens))
    at = len(context) - 1
    return sum(rows[at + i, token] for i, token in enumerate(tokens))


@pytest.mark.parametrize("word_end", ["never", "always"])
def test_an_answer_is_the_sum_over_its_spellings_with_their_ends(gpt2, word_end):
    encode = gpt2.tokenizer.encode
    context = encode(CONTEXT).tokens
    scores = likely.score_answers(gpt2, [CONTEXT], ["red", "Cyan"], word_end=word_end)
    is_end = word_ends(gpt2, "word").is_end
    for answer in scores[0]:
        total = []
        for form in likely.surfaces(answer.name):
            tokens = encode(form).tokens
            value = log_prob(gpt2, context, tokens)
            if word_end == "always":
                last = plain_rows(gpt2, (*context, *tokens))[-1]
                value += np.logaddexp.reduce(last[is_end])
            total.append(value)
        assert answer.log_prob == pytest.approx(np.logaddexp.reduce(total), abs=1e-5)
    flags = [sorted(answer.flags) for answer in scores[0]]
    assert flags == [[], ["boundary_merge"]]  # ": C" is one token of the toy BPE


def test_a_cache_gives_the_same_answers_at_no_cost(gpt2, tmp_path):
    with likely.ScoreCache(tmp_path / "scores.sqlite") as cache:
        first, again = (
            likely.score_answers(gpt2, [CONTEXT], ["1", "12"], cache=cache) for _ in range(2)
        )
    assert [a.log_prob for a in first[0]] == [a.log_prob for a in again[0]]
    assert again.cost.token_evaluations == 0
    assert again.has_word_ends


def test_word_ends_leave_out_rows_that_no_token_uses(gpt2):
    info = gpt2.info
    ends = word_ends(gpt2, "word").is_end
    assert not ends[info.n_tokens :].any()
    assert ends[info.eos_id]
    assert {
        chr(c) for c in range(32, 127) if not ends[gpt2.tokenizer.encode(chr(c)).tokens[0]]
    } == {*"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789'-"}


def test_the_marginal_is_the_sum_over_every_split(toy_bpe):
    context = toy_bpe.tokenizer.encode(CONTEXT).tokens
    found = segmentations(toy_bpe, " world")
    assert found.is_complete
    spelled = [toy_bpe.tokenizer.decode(ids) for ids in found.sequences]
    assert set(spelled) == {" world"}
    marginal = marginal_log_prob(toy_bpe, CONTEXT, " world")
    parts = [log_prob(toy_bpe, context, ids) for ids in found.sequences]
    assert marginal.log_prob == pytest.approx(np.logaddexp.reduce(parts), abs=1e-5)
    assert marginal.gap == pytest.approx(np.logaddexp.reduce(parts) - parts[0], abs=1e-5)
    assert marginal.gap > 0


def test_bytes_of_one_character_have_one_split(toy_bytes):
    assert segmentations(toy_bytes, "é🙂").n_total == 1
