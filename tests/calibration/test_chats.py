"""Chats: the stem is put to the letter, in the user's turn or in the assistant's own."""

import re
from dataclasses import replace

import pytest
from jaxtyping import TypeCheckError
from questions import question

import likely
from likely.calibration.chats import CHATS, DEFAULT_WRAPPER, WRAPPERS, prompt, wrapper_name
from likely.calibration.scoring import score_items
from likely.core.model import Capability
from likely.errors import CapabilityError, InputError, UnknownNameError

STEM = "A jar holds 3 red beads. The colour is"
CHARS = [*map(chr, range(32, 127)), "\n", "\u2063"]


class Spelled:
    """The tokenizer of a table, with a template that itself begins with the BOS."""

    def __init__(self, inner):
        self.encode, self.decode, self.token_bytes = inner.encode, inner.decode, inner.token_bytes

    def render_chat(self, messages, *, open_reply):
        turns = "".join(f"[{m['role']}]{m['content']}\n" for m in messages)
        return "<s>" + turns + ("[assistant]" if open_reply else "")


class ChatTable:
    """A uniform table over characters that knows chats, and keeps the ids that it was asked for."""

    def __init__(self):
        share = 1.0 / len(CHARS)
        self._table = likely.TableModel(
            [*CHARS, "<s>"], lambda context: dict.fromkeys(CHARS, share), fingerprint="chat"
        )
        self.info = replace(
            self._table.info, capabilities=self._table.info.capabilities | {Capability.CHAT}
        )
        self.tokenizer = Spelled(self._table.tokenizer)
        self.asked = []

    def evaluate(self, work, sink):
        self.asked += [work.trie.prefix(int(leaf)) for leaf in work.trie.leaves()]
        self._table.evaluate(work, sink)


def item(number=0):
    return question(STEM, ["red", "blue"], number=number)


def test_the_bare_text_is_the_stem_and_keeps_its_lead():
    assert prompt(ChatTable(), item()) == (STEM, " ")


@pytest.mark.parametrize("wrapper", WRAPPERS)
def test_a_question_holds_wrapper_and_stem_and_the_option_opens_the_turn(wrapper):
    context, lead = prompt(ChatTable(), item(), chat="answer", wrapper=wrapper)
    assert context.text == f"<s>[user]{WRAPPERS[wrapper]}\n\n{STEM}\n[assistant]"
    assert lead == ""


@pytest.mark.parametrize("wrapper", WRAPPERS)
def test_a_prefill_opens_the_reply_with_the_stem(wrapper):
    context, lead = prompt(ChatTable(), item(), chat="prefill", wrapper=wrapper)
    assert context.text == f"<s>[user]{WRAPPERS[wrapper]}\n[assistant]{STEM}"
    assert lead == " "


@pytest.mark.parametrize("wrapper", WRAPPERS)
def test_a_wrapper_brings_no_number_and_no_option(wrapper):
    assert not re.search(r"\d", WRAPPERS[wrapper])
    assert WRAPPERS[wrapper] == WRAPPERS[wrapper].strip()


def test_one_wrapper_says_that_the_option_is_to_be_drawn():
    assert [name for name, text in WRAPPERS.items() if "in proportion" in text] == ["in_proportion"]
    assert DEFAULT_WRAPPER != "in_proportion"


@pytest.mark.parametrize("chat", CHATS)
def test_bos_stands_first_and_once_whatever_the_template_writes(chat):
    model = ChatTable()
    score_items(model, [item(), item(1)], chat=chat)
    bos = model.info.bos_id
    assert model.asked
    assert {(ids[0], ids.count(bos)) for ids in model.asked} == {(bos, 1)}


def test_bos_can_be_left_out_of_the_bare_text_alone():
    model = ChatTable()
    score_items(model, [item()], bos="never")
    assert all(model.info.bos_id not in ids for ids in model.asked)


def test_mode_and_wrapper_are_recorded():
    scored = score_items(ChatTable(), [item()], chat="answer")
    assert (scored.policy.chat, scored.policy.wrapper) == ("answer", DEFAULT_WRAPPER)
    assert score_items(ChatTable(), [item()]).policy.wrapper is None


def test_what_is_no_chat_or_wrapper_is_refused():
    with pytest.raises(UnknownNameError, match="wrapper"):
        wrapper_name("answer", "finis")
    with pytest.raises(InputError, match="no wrapper"):
        wrapper_name("none", "finish")
    with pytest.raises((InputError, TypeCheckError), match="chat"):
        wrapper_name("talk", None)


def test_a_model_without_a_template_is_refused():
    model = likely.TableModel(["a"], lambda context: {"a": 1.0})
    with pytest.raises(CapabilityError, match="chat"):
        prompt(model, item(), chat="answer")
