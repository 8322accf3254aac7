"""Lints on tokenizers made to go wrong in one way each, and on the embedded model."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

import likely
from likely.calibration.data_sets.family import PAPER, build
from likely.calibration.data_sets.items import Option, make_item
from likely.calibration.data_sets.linting import lint
from likely.core.jsonio import dumps
from likely.core.model import Encoding
from likely.core.text.surfaces import encode_surface
from likely.errors import InputError
from likely.models import embedded
from likely.models.hf_tokenizer import HfTokenizer

LETTERS = tuple(chr(code) for code in range(32, 127))


def table(*tokens):
    """Return a model that cuts a text into these tokens where it can, and else into letters."""
    return likely.TableModel([*tokens, *LETTERS], lambda context: {" ": 1.0}, name="letters")


def item(*words, context="The bead is", lead=" "):
    options = [Option(label=word.strip(), words=(word,)) for word in words]
    return make_item(
        family="jars", version=1, template_id="J1", template="", context=context, options=options,
        ideal=[Fraction(1, len(words))] * len(words), lead=lead,
    )  # fmt: skip


def told(found):
    return {(finding.kind, finding.is_error): finding.cases for finding in found.findings}


def test_options_that_a_tokenizer_tells_apart_pass():
    found = lint(table(" red", " blue"), [item("red", "blue"), item("blue", "red")])
    assert found.findings == ()
    found.check()
    (options,) = found.sets
    assert (options.n_items, options.n_tokens, options.is_single_token) == (2, (1, 1), True)
    assert {(word.word, word.pieces) for word in found.words} == {
        ("red", (" red",)),
        ("blue", (" blue",)),
    }


def test_a_name_that_begins_another_is_an_error():
    found = lint(table(" gold", "en"), [item("gold", "golden")])
    assert told(found)["prefix_related", True] == ("gold/golden",)
    with pytest.raises(InputError, match="prefix related: 'gold/golden'; choose options of which"):
        found.check()


def test_a_number_that_begins_another_is_a_note_for_word_ends_part_them():
    found = lint(table(), [item("1", "12")])
    assert told(found)["prefix_related", False] == ("1/12",)
    found.check()


def test_a_common_first_token_is_a_note():
    found = lint(table(" b"), [item("blue", "black"), item("red", "blue")])
    assert told(found) == {("shared_first", False): ("blue/black",)}
    assert [options.shares_first for options in found.sets] == [True, False]


def test_a_token_over_the_join_is_an_error_where_the_wording_asks_for_that_spelling():
    found = lint(table("is red", " red", " blue"), [item("red", "blue")])
    assert told(found) == {("boundary_merge", True): ("J1: is red",)}
    with pytest.raises(InputError, match="boundary merge: 'J1: is red'; end the wording"):
        found.check()


def test_a_token_over_the_join_of_another_spelling_is_a_note():
    found = lint(table("isred", " red", " blue"), [item("red", "blue")])
    assert told(found) == {("boundary_merge", False): ("J1: isred",)}
    found.check()


def test_options_with_a_spelling_in_common_are_an_error():
    found = lint(table(" red", " Red"), [item("red", "Red")])
    cases = told(found)["same_tokens", True]
    assert cases == ("' Red' of red/Red", "'Red' of red/Red")


def test_a_text_that_has_no_tokens_is_unknown():
    found = lint(table(" red"), [item("red", "grün")])
    assert "J1: is grün" in told(found)["unknown", True]
    assert [word.word for word in found.words] == ["red"]
    assert found.sets == ()
    with pytest.raises(InputError, match=r"'letters', the worst: error: jars: unknown: .*grün"):
        found.check()


class Lowering:
    """The letters of a text in lower case, as some old tokenizers had it."""

    def __init__(self):
        self.inner = table().tokenizer

    def encode(self, text: str) -> Encoding:
        return self.inner.encode(text.lower())

    def decode(self, tokens) -> str:
        return self.inner.decode(tokens)

    def token_bytes(self, token: int) -> bytes:
        return self.inner.token_bytes(token)

    def render_chat(self, messages, *, open_reply: bool) -> str:
        raise NotImplementedError


def test_a_tokenizer_alone_is_enough_and_must_give_the_text_back():
    found = lint(Lowering(), [item("red", "blue")])
    assert found.model == "Lowering"
    assert set(told(found)["unknown", True]) == {
        "J1: isRed", "J1: is Red", "J1: isBlue", "J1: is Blue",
    }  # fmt: skip


def test_white_space_around_a_word_is_an_error_and_inside_a_note():
    found = lint(table(), [item(" red", "light blue")])
    assert told(found)["white_space", True] == (" red",)
    assert told(found)["white_space", False] == ("light blue",)
    with pytest.raises(InputError, match="white space: ' red'; strip it"):
        found.check()


def test_errors_come_first_the_worst_before_the_others():
    items = [item("gold", "golden", "grün"), item("1", "12")]
    kinds = [(finding.is_error, finding.kind) for finding in lint(table(), items).findings]
    assert kinds == [
        (True, "unknown"), (False, "prefix_related"), (False, "shared_first"),
    ]  # fmt: skip


def test_an_answer_without_a_lead_is_looked_at_bare():
    found = lint(table("red", "blue"), [item("red", "blue", context="Colour: -", lead="")])
    assert {word.tokens for word in found.words} == {(0,), (1,)}


def test_the_exact_level_looks_at_the_spelling_asked_for_alone():
    found = lint(table("isred", " red", " blue"), [item("red", "blue")], level="exact")
    assert found.findings == ()


@given(data=st.data())
def test_tokens_and_merges_are_those_of_scoring(data):
    each = item("red", "blue")
    texts = [f"{each.context} {option.label}" for option in each.options]
    spans = st.tuples(st.sampled_from(texts), st.integers(0, 12), st.integers(2, 8))
    pieces = {text[start : start + n] for text, start, n in data.draw(st.lists(spans, max_size=8))}
    model = table(*sorted(piece for piece in pieces if len(piece) > 1))
    found = lint(model, [each], level="exact")
    tokens = {word.word: word.tokens for word in found.words}
    merged = set()
    for option in each.options:
        pair = encode_surface(model, each.context, f" {option.label}")
        assert tokens[option.label] == pair.target
        if "boundary_merge" in pair.flags:
            merged.add(f"J1: is {option.label}")
    assert set(told(found).get(("boundary_merge", True), ())) == merged


def test_a_lint_writes_itself():
    found = lint(table(" b"), [item("blue", "black"), item("1", "12")])
    assert dumps(found.to_dict())
    frame = found.to_frame()
    assert dict(zip(frame["word"], frame["n_tokens"], strict=True)) == {
        "blue": 4, "black": 5, "1": 2, "12": 3,
    }  # fmt: skip
    sets = found.sets_to_frame()
    assert list(sets["options"]) == ["blue/black", "1/12"]
    assert list(sets["max_tokens"]) == [5, 3]
    assert found.summary().splitlines() == [
        "letters: 2 items, 4 words by number of tokens: 1 of 2, 1 of 3, 1 of 4, 1 of 5",
        "2 sets of options: 0 of single tokens, 2 with options that begin with one token",
        "note: jars: prefix related: '1/12'",
        "note: jars: shared first: 'blue/black', '1/12'",
    ]


def test_a_long_finding_is_cut_in_print_and_whole_in_the_record():
    found = lint(table(), build("distributions", preset="smoke"))
    (shared,) = [finding for finding in found.findings if finding.kind == "shared_first"]
    assert len(shared.cases) == 20
    assert str(shared).endswith(" and 17 more")


def test_nothing_to_lint_is_refused():
    with pytest.raises(InputError, match="nothing to lint"):
        lint(table(), [])


@pytest.fixture(scope="module")
def smollm2():
    return HfTokenizer.load(str(embedded.folder("smollm2")))


@pytest.mark.real
@pytest.mark.parametrize("name", PAPER)
def test_the_data_sets_pass_on_the_embedded_model(smollm2, name):
    found = lint(smollm2, build(name, preset="smoke" if name == "colors" else "lite"))
    found.check()
    if name == "colors":
        assert all(options.is_single_token for options in found.sets)


@pytest.mark.real
def test_every_word_of_every_scene_passes_on_the_embedded_model(smollm2):
    found = lint(smollm2, build("wordproblems", preset="full")[::50])
    found.check()
    assert len(found.words) == 112
    assert len(found.sets) == 56
    assert not any(options.shares_first for options in found.sets)
