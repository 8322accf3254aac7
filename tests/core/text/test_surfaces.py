"""Spellings encoded together have exactly the ids that each has alone."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

import likely
from likely.core.text.encode import encode_texts
from likely.core.text.surfaces import encode_surface, encode_surfaces, surfaces
from likely.errors import InputError
from likely.models.hf_tokenizer import HfTokenizer

CONTEXTS = ["The answer is", "The answer is ", "Answer:", "We wor", "An", "", "12", "café:", "x\n"]
WORDS = ["red", "world", "swer", "Cyan", "12", "été", "a b", "-"]


def check(model, context, forms, boundary="joint", bos="auto"):
    together = encode_surfaces(model, context, forms, boundary=boundary, bos=bos)
    alone = [encode_surface(model, context, form, boundary=boundary, bos=bos) for form in forms]
    assert together == tuple(alone)


@pytest.mark.parametrize("boundary", ["joint", "separate"])
@pytest.mark.parametrize("context", CONTEXTS)
def test_spellings_encoded_together_have_the_ids_of_each_alone(toy_bytes, context, boundary):
    for word in WORDS:
        check(toy_bytes, context, surfaces(word, level="wide"), boundary)


@pytest.mark.parametrize("bos", ["auto", "always", "never"])
@given(text=st.text("Answer world: C", max_size=12), word=st.text("ldworAn", min_size=1))
def test_spellings_of_a_merging_tokenizer_have_the_ids_of_each_alone(toy_bpe, bos, text, word):
    check(toy_bpe, text, surfaces(word, level="paper"), bos=bos)


@pytest.mark.real
def test_spellings_on_the_real_tokenizer_have_the_ids_of_each_alone():
    model = likely.load("smollm2")
    assert isinstance(model.tokenizer, HfTokenizer)
    for context in CONTEXTS:
        for word in WORDS:
            check(model, context, surfaces(word, level="wide"))


def test_ids_and_chats_go_the_same_way(toy_bpe):
    chat = likely.chat(toy_bpe, [{"role": "user", "content": "Which?"}])
    check(toy_bpe, chat, surfaces("world"))
    check(toy_bpe, [1, 2, 3], surfaces("world"))


def test_many_texts_at_once_have_the_ids_of_each_and_are_checked(toy_bpe):
    texts = ["Answer", "", "world", "Answer"]
    known = encode_texts(toy_bpe, texts)
    assert known == {text: toy_bpe.tokenizer.encode(text).tokens for text in texts if text}
    assert encode_texts(toy_bpe, [""]) == {}
    with pytest.raises(InputError, match="half a surrogate pair"):
        encode_texts(toy_bpe, ["Answer", "\ud800"])
