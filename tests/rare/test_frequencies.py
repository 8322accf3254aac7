"""Counting tokens: by hand, with a BOS where the tokenizer adds it, and once only."""

import numpy as np
import pytest

import likely
from likely.errors import InputError
from likely.rare import frequencies
from likely.rare.frequencies import LONGEST, count_tokens, encode_documents, read_texts


def model(*, bos="<s>"):
    return likely.TableModel(["a", "b", "ab", " "], dict, bos=bos)


def test_tokens_are_counted_as_the_tokenizer_cuts_them_with_a_bos_for_each_document():
    found = count_tokens(read_texts(["ab a", "bab", ""]), model())
    assert found.counts.tolist() == [1, 1, 2, 1, 3]  # a, b, ab, space, <s>
    assert found.n_tokens == 8
    assert (found.n_documents, found.texts) == (3, "given texts")


def test_a_tokenizer_without_bos_adds_none():
    assert count_tokens(read_texts(["ab a", "bab"]), model(bos=None)).counts.tolist() == [
        1,
        1,
        2,
        1,
    ]


@pytest.mark.parametrize(("bos", "n_a"), [("<s>", 1), (None, 2)])
def test_a_long_document_is_cut_after_2_to_the_14_tokens_its_bos_among_them(bos, n_a):
    text = "b" * (LONGEST - 1) + "a" + " " * 5
    counts = count_tokens(read_texts([text, "a"]), model(bos=bos)).counts
    assert LONGEST == 2**14
    assert counts[:2].tolist() == [n_a, LONGEST - 1]


def test_the_first_documents_are_counted_or_all_if_there_are_fewer():
    texts = read_texts(["a", "b", "b"])
    assert count_tokens(texts, model(), n_documents=2).counts[:2].tolist() == [1, 1]
    assert count_tokens(texts, model(), n_documents=9).n_documents == 3
    with pytest.raises(InputError, match="at least 1, got 0"):
        count_tokens(texts, model(), n_documents=0)


def test_documents_are_cut_into_tokens_once_for_each_tokenizer(monkeypatch):
    asked = []
    own = frequencies.encode_each
    monkeypatch.setattr(
        frequencies, "encode_each", lambda texts, to: asked.append(len(texts)) or own(texts, to)
    )
    one, other, texts = model(), model(), ["a", "b", "ab"]
    first = encode_documents(read_texts(texts), one)
    assert encode_documents(read_texts(tuple(texts)), one, n_documents=5) is first
    assert asked == [3]
    encode_documents(read_texts(texts), other)
    assert [ids.tolist() for ids in encode_documents(read_texts(["b", "b", "a"]), one)] == [
        [1], [1], [0],
    ]  # fmt: skip
    assert asked == [3, 3, 3]
    np.testing.assert_array_equal(first[2], [2])


def test_hashes_tell_where_a_document_ends():
    assert read_texts(["ab", "c"]).sha256 != read_texts(["a", "bc"]).sha256
    assert read_texts(["ab", "c"]).sha256 == read_texts(("ab", "c")).sha256


@pytest.mark.parametrize("texts", [[], ["", ""]])
def test_no_text_is_refused(texts):
    with pytest.raises(InputError, match="say something"):
        read_texts(texts)
