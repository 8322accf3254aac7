"""Every split of a text: found by brute force, and summed."""

import itertools
import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

import likely
from likely.core.text.segmentations import marginal_log_prob, segmentations
from likely.errors import InputError

PIECES = ["a", "b", "ab", "ba", "aba", "é"]


def table(pieces=PIECES):
    law = {piece: (i + 1) for i, piece in enumerate(pieces)}
    total = sum(law.values())
    return likely.TableModel(pieces, lambda context: {p: w / total for p, w in law.items()})


@given(st.text("abé", min_size=1, max_size=7))
def test_every_split_is_found_once_and_spells_the_text(text):
    model = table()
    found = segmentations(model, text, limit=10_000)
    brute = (
        {
            ids
            for n in range(1, len(text) + 1)
            for ids in itertools.product(range(len(PIECES)), repeat=n)
            if sum(len(PIECES[i]) for i in ids) == len(text)
            and "".join(PIECES[i] for i in ids) == text
        }
        if len(text) <= 5
        else None
    )
    if brute is not None:
        assert set(found.sequences) == brute
    assert len(set(found.sequences)) == len(found.sequences) == found.n_total
    assert all(model.tokenizer.decode(ids) == text for ids in found.sequences)
    assert found.sequences[0] == model.tokenizer.encode(text).tokens
    lengths = [len(ids) for ids in found.sequences[1:]]
    assert lengths == sorted(lengths)


def test_the_limit_keeps_the_tokenizers_own_and_the_count():
    model = table()
    whole = segmentations(model, "ababab", limit=1000)
    some = segmentations(model, "ababab", limit=3)
    assert some.sequences == whole.sequences[:3]
    assert some.n_total == whole.n_total > 3
    assert whole.is_complete
    assert not some.is_complete
    assert segmentations(model, "ababab", limit=1).sequences == whole.sequences[:1]


def test_a_long_text_with_astronomically_many_splits_is_counted_exactly():
    model = table(["a", "aa"])
    found = segmentations(model, "a" * 300)
    assert len(found.sequences) == 64
    fibonacci = [1, 1]
    while len(fibonacci) < 301:
        fibonacci.append(fibonacci[-1] + fibonacci[-2])
    assert found.n_total == fibonacci[300]


def test_bos_and_eos_spell_nothing():
    model = likely.TableModel(["a", "b"], lambda context: {"a": 0.5, "b": 0.5}, bos="ab", eos="ba")
    found = segmentations(model, "aba")
    assert found.sequences == ((model.info.bos_id, 0), (0, 1, 0))  # the tokenizer's own stays
    assert found.n_total == 2
    assert found.is_complete
    assert segmentations(model, "aa").sequences == ((0, 0),)


def test_the_marginal_is_the_sum_over_all_splits():
    model = likely.TableModel(["a", "b", "ab"], lambda context: {"a": 0.5, "b": 0.3, "ab": 0.2})
    marginal = marginal_log_prob(model, "b", "ab")
    assert math.exp(marginal.canonical_log_prob) == pytest.approx(0.2, abs=1e-12)
    assert math.exp(marginal.log_prob) == pytest.approx(0.2 + 0.15, abs=1e-12)
    assert marginal.gap == pytest.approx(math.log(0.35 / 0.2), abs=1e-12)
    assert (marginal.n_scored, marginal.n_total) == (2, 2)
    assert "0.5596 above" in marginal.summary()


@given(st.text("ab", min_size=1, max_size=9), st.integers(1, 20))
def test_the_gap_is_never_negative_and_grows_with_the_limit(text, limit):
    model = table()
    less = marginal_log_prob(model, "é", text, limit=limit)
    more = marginal_log_prob(model, "é", text, limit=limit + 5)
    assert 0.0 <= less.gap <= more.gap + 1e-12
    assert less.n_scored == min(limit, less.n_total)


def test_an_impossible_text_has_no_gap_and_an_impossible_split_an_infinite_one():
    law = {"a": 0.5, "b": 0.5}
    model = likely.TableModel(["a", "b", "ab", "c"], lambda context: law)
    assert marginal_log_prob(model, "a", "c").gap == 0.0
    marginal = marginal_log_prob(model, "b", "ab")
    assert marginal.gap == math.inf
    assert (
        json.loads(marginal.to_json(), parse_constant=pytest.fail)["canonical_log_prob"] == "-inf"
    )


def test_empty_texts_and_limits_are_refused():
    with pytest.raises(InputError, match="empty"):
        segmentations(table(), "")
    with pytest.raises(InputError, match="from 1"):
        segmentations(table(), "a", limit=0)
    with pytest.raises(InputError, match="empty"):
        marginal_log_prob(table(), "a", "")
