"""The eight named distributions on vocabularies and texts small enough to count by hand."""

import hashlib
import types
from string import ascii_uppercase

import numpy as np
import pytest
from byte_pairs import TokensOnly
from fixtures import toy_bytes_tokenizer

import likely
from likely import rare
from likely.errors import InputError, UnknownNameError
from likely.models.hf_tokenizer import HfTokenizer
from likely.rare import named, recipes

PAPER = ["hex", "camel", "indent", "ifelse", "caps", "english", "spanish", "icl"]
SHAPES = {
    "camel": (["x", "Foo"], "FooxFoo"),
    "indent": (["x", ":"], "xx:"),
    "ifelse": (["x", " if"], "xx"),
    "caps": (["He", "She", ' screamed: "', "AB"], "AB"),
    "english": (["x", " y"], "x y"),
    "spanish": (["x", "."], "x."),
}
"""Tokens and a text that are enough for each."""


def model(tokens, *, bos="<s>", max_tokens=None):
    return likely.TableModel(tokens, dict, bos=bos, max_tokens=max_tokens)


def probs(support, of):
    """Return text to probability."""
    return {
        of.tokenizer.decode([int(token)]): float(prob)
        for token, prob in zip(support.tokens, np.exp(support.log_probs), strict=True)
    }


def test_the_names_are_those_of_the_paper():
    assert rare.DISTRIBUTIONS.names() == tuple(PAPER)
    with pytest.raises(UnknownNameError, match="english"):
        rare.distribution("englsh", model(["x"]))


@pytest.mark.parametrize(
    ("name", "length", "varying"),
    [
        ("camel", 33, range(0)),
        ("indent", 34, range(1, 33)),
        ("ifelse", 34, range(2, 34)),
        ("caps", 19, range(1, 2)),
        ("english", 26, range(0)),
        ("spanish", 25, range(0)),
    ],
)
def test_inputs_have_the_lengths_of_the_paper_and_start_with_bos(name, length, varying):
    tokens, text = SHAPES[name]
    of = model(tokens)
    law = rare.distribution(name, of, texts=[text])
    assert (law.name, law.length) == (name, length)
    assert probs(law.supports[0], of) == {"<s>": 1.0}
    assert law.varying == tuple(varying)
    without = rare.distribution(name, model(tokens, bos=None), texts=[text])
    assert without.length == length - 1


def test_hex_places_have_the_shares_of_a_random_string():
    of = model([*"0123456789abcdef"])
    law = rare.distribution("hex", of)
    assert law.length == 33
    assert law.varying == tuple(range(1, 33))
    assert set(probs(law.supports[5], of)) == set("0123456789abcdef")
    np.testing.assert_allclose(np.exp(law.supports[5].log_probs), 1 / 16, rtol=1e-13)
    assert law.details["chain"] == "exact"
    assert law.details["support"] == 16


def test_hex_says_where_its_chain_is_an_approximation():
    law = rare.distribution("hex", model([*"0123456789abcdef", "abc"]))
    assert law.details["chain"] == "published approximation"
    assert law.details["growth"] > 1.00001


def test_camel_takes_capitalised_pieces_as_often_as_they_stand_in_code():
    of = model(["Foo", "Ba", "None", "X", " Foo", "foo", "fOO", "AB", "Éa", "_"])
    text = "FooBaFooNone_X_ Foofoo_fOOABÉaTrue".replace("True", "")
    law = rare.distribution("camel", of, texts=[text])
    assert probs(law.supports[1], of) == pytest.approx({"Foo": 0.5, "Ba": 0.25, "Éa": 0.25})
    assert law.details["support"] == 3
    assert law.details["mass"] == pytest.approx(
        4 / (of.tokenizer.encode(text).tokens.__len__() + 1)
    )


def test_indent_ends_with_a_colon_and_ifelse_begins_with_if():
    of = model(["a", "b", " if", ":"])
    texts = ["aab", "b:"]
    indent = rare.distribution("indent", of, texts=texts, length=2)
    expected = {"a": 2 / 7, "b": 2 / 7, ":": 1 / 7, "<s>": 2 / 7}
    assert [probs(one, of) for one in indent.supports[1:]] == [
        pytest.approx(expected), pytest.approx(expected), {":": 1.0},
    ]  # fmt: skip
    ifelse = rare.distribution("ifelse", of, texts=texts, length=2)
    assert [probs(one, of) for one in ifelse.supports[1:]] == [
        {" if": 1.0}, pytest.approx(expected), pytest.approx(expected),
    ]  # fmt: skip


def test_the_most_frequent_tokens_are_kept_and_of_equals_the_lower_id():
    """1,022 tokens twice, three once: two of the three are kept, and renormalised."""
    characters = [chr(0x4E00 + i) for i in range(1025)]
    of = model([*characters, ":"], bos=None)
    text = "".join(characters[:1022]) * 2 + "".join(reversed(characters[1022:]))
    law = rare.distribution("indent", of, texts=[text], length=1)
    kept = probs(law.supports[0], of)
    assert list(kept) == characters[:1024]
    assert kept[characters[0]] == pytest.approx(2 / 2046)
    assert kept[characters[1023]] == pytest.approx(1 / 2046)
    assert (law.details["passing"], law.details["most"]) == (1025, 1024)
    assert law.details["mass"] == pytest.approx(2046 / 2047)


def test_caps_has_he_or_she_and_then_capitals_and_stops():
    of = model(["He", "She", " scream", 'ed: "', "AB", "A", "...", "A.", "Ab", " AB", ".", "ÑÑ"])
    law = rare.distribution("caps", of, texts=["ABAB...A.AbA AB.ÑÑ"], length=1)
    _, who, scream, rest, capitals = law.supports
    assert probs(who, of) == pytest.approx({"He": 0.5, "She": 0.5})
    assert (probs(scream, of), probs(rest, of)) == ({" scream": 1.0}, {'ed: "': 1.0})
    assert probs(capitals, of) == pytest.approx({"AB": 0.4, "...": 0.2, "A.": 0.2, "ÑÑ": 0.2})


def test_english_starts_with_letters_and_goes_on_with_words_and_stops():
    of = model(["The", " cat", " sat.", ".", ":", " ", "1", " 1", "é", " d-"])
    text = "The cat sat." + "." + ":" + "é" + " " + "1" + " 1" + " d-" + " cat"
    law = rare.distribution("english", of, texts=[text], length=1)
    assert probs(law.supports[1], of) == pytest.approx({"The": 0.5, "é": 0.5})
    assert probs(law.supports[2], of) == pytest.approx({" cat": 0.5, " sat.": 0.25, ".": 0.25})
    assert (law.details["first support"], law.details["later support"]) == (2, 3)


def test_spanish_takes_letters_and_spaces():
    of = model(["el", " ñandú", " ", "\n", "a.", "1", "a"])
    law = rare.distribution("spanish", of, texts=["el ñandú\n a.1a"], length=1)
    assert probs(law.supports[1], of) == pytest.approx(
        {"el": 0.2, " ñandú": 0.2, " ": 0.2, "\n": 0.2, "a": 0.2}
    )


def icl_model(*, without=""):
    words = [f" {one.lower()}word" for one in "ARCTHEOY"]
    others = [" Awed", " a", " abc", " abcd", " ABCDE", " ab-cd"]
    letters = [f" {one}" for one in ascii_uppercase]
    tokens = ["A", " for", *letters, *words, *others]
    return model([one for one in tokens if one != without])


ICL_TEXT = " abc aword aword Awed abcd ABCDE rword cword tword hword eword oword yword ab-cd a"


def test_icl_has_a_letter_for_a_word_nine_times_and_then_any_letter():
    of = icl_model()
    law = rare.distribution("icl", of, texts=[ICL_TEXT])
    places = [probs(one, of) for one in law.supports]
    assert law.length == 30
    assert law.varying == (3, 28)
    assert places[1:3] == [{"A": 1.0}, {" for": 1.0}]
    assert places[3] == pytest.approx({" aword": 0.4, " Awed": 0.2, " abcd": 0.2, " ABCDE": 0.2})
    assert places[4:7] == [{" R": 1.0}, {" for": 1.0}, {" rword": 1.0}]
    assert [next(iter(one)) for one in places[1:28:3]] == ["A", *(f" {one}" for one in "RCTHEORY")]
    assert places[28] == pytest.approx({f" {one}": 1 / 26 for one in ascii_uppercase})
    assert places[29] == {" for": 1.0}


def test_icl_can_be_shorter_but_not_longer():
    of = icl_model()
    law = rare.distribution("icl", of, texts=[ICL_TEXT], length=2)
    assert law.length == 1 + 2 * 3 + 2
    with pytest.raises(InputError, match="at most 9, got 10"):
        rare.distribution("icl", of, texts=[ICL_TEXT], length=10)


@pytest.mark.parametrize(
    ("without", "part"), [(" yword", "begins with Y.*more tokens"), (" Z", "' Z'")]
)
def test_icl_needs_a_word_of_each_letter_and_each_letter_as_one_token(without, part):
    of = icl_model(without=without)
    with pytest.raises(InputError, match=part):
        rare.distribution("icl", of, texts=[ICL_TEXT.replace(without, "")])


def test_a_place_without_tokens_names_the_filter_the_texts_and_the_remedy():
    with pytest.raises(InputError, match=r"'camel'.*a capital.*'given texts'.*texts=") as caught:
        rare.distribution("camel", model(["x", "Y"]), texts=["xY"])
    assert "\n" not in str(caught.value)


def test_tokens_whose_bytes_are_no_text_pass_no_filter_but_may_be_any_token():
    of = TokensOnly(HfTokenizer(toy_bytes_tokenizer()))
    law = rare.distribution("spanish", of, texts=["ñ a"])
    assert {of.tokenizer.decode([int(one)]) for one in law.supports[-1].tokens} == {" ", "a"}
    anything = rare.distribution("indent", of, texts=["ñ a"], length=1)
    assert len(anything.supports[-2]) == 4


def test_details_name_the_texts_and_their_size(monkeypatch):
    own = types.SimpleNamespace(name="code", documents=("FooFoo", "x"), sha256="ab" * 32)
    asked = []
    monkeypatch.setattr(named, "read_texts", lambda name: asked.append(name) or own)
    law = rare.distribution("camel", model(["Foo", "x"]))
    assert asked == ["code"]
    assert law.details["texts"] == "code"
    assert law.details["sha256"] == own.sha256
    assert (law.details["documents"], law.details["tokens"]) == (2, 5)
    assert law.details["filter"] == recipes.CAMEL.name
    given = rare.distribution("camel", model(["Foo", "x"]), texts=["Foo"])
    digest = hashlib.sha256((3).to_bytes(8, "little") + b"Foo").hexdigest()
    assert (asked[-1], given.details["sha256"]) == (["Foo"], own.sha256)  # still the stand-in
    monkeypatch.undo()
    given = rare.distribution("camel", model(["Foo", "x"]), texts=["Foo"])
    assert given.details["sha256"] == digest


def test_each_recipe_counts_as_many_documents_as_the_paper():
    law = rare.distribution("camel", model(["Foo", "x"]), texts=["Foo"] * 1024 + ["xxx"])
    assert (law.details["documents"], law.details["mass"]) == (1024, 0.5)  # half of them are BOS
    counted = {name: rare.DISTRIBUTIONS.load(name) for name in PAPER}
    assert {name: one.texts for name, one in counted.items()} == {
        "hex": None, "camel": "code", "indent": "code", "ifelse": "code", "caps": "english",
        "english": "english", "spanish": "spanish", "icl": "english",
    }  # fmt: skip
    many = {name for name, one in counted.items() if one.n_documents == 2**14}
    assert many == {"english", "spanish", "icl"}
    assert {one.n_documents for one in counted.values()} == {2**10, 2**14}


@pytest.mark.parametrize(
    ("name", "options", "part"),
    [
        ("hex", {"texts": ["ab"]}, "takes no texts"),
        ("spanish", {"texts": ["x"], "length": 0}, "at least 1, got 0"),
        ("spanish", {"texts": ["x"], "length": 9}, "reads 9"),
    ],
)
def test_impossible_requests_get_one_line(name, options, part):
    with pytest.raises(InputError, match=part):
        rare.distribution(name, model(["x"], max_tokens=9), **options)


def test_the_function_is_not_hidden_by_a_module_of_its_name():
    from likely.rare import inputs  # noqa: F401  # as every method imports it

    assert callable(rare.distribution)
    assert callable(rare.prefixes)
