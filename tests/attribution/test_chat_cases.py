"""Chats and segments: whose words each token of the prompt is."""

from dataclasses import replace

import pytest

import likely
from likely.attribution import attribute, frame_case
from likely.core.model import Capability
from likely.core.text.chat import chat
from likely.errors import InputError


def plain(messages, open_reply):
    """[role] and the words, one message a line."""
    text = "".join(f"[{m['role']}] {m['content']}\n" for m in messages)
    return text + ("[assistant] " if open_reply else "")


def trimming(messages, open_reply):
    return plain([{**m, "content": m["content"].strip()} for m in messages], open_reply)


def adding(messages, open_reply):
    """Puts a BOS and a system text of its own first."""
    own = [{"role": "system", "content": "be good user"}]
    has_system = messages[0]["role"] == "system"
    return "^" + plain(messages if has_system else own + list(messages), open_reply)


def moving(messages, open_reply):
    """Puts what the system says into the last message of the user."""
    system = [m["content"] for m in messages if m["role"] == "system"]
    rest = [dict(m) for m in messages if m["role"] != "system"]
    last = max(i for i, m in enumerate(rest) if m["role"] == "user")
    rest[last]["content"] = "; ".join([*system, rest[last]["content"]])
    return plain(rest, open_reply)


def rewriting(messages, open_reply):
    """Drops what stands in angle brackets."""
    return plain([{**m, "content": m["content"].replace("<x>", "")} for m in messages], open_reply)


class Speaking:
    """A table over characters, and two tokens that join some, with a chat template."""

    def __init__(self, template):
        chars = [chr(code) for code in range(32, 127) if chr(code) != "^"]
        tokens = ["\n", *chars, " h", ": "]
        share = 1.0 / len(tokens)
        table = likely.TableModel(tokens, lambda c: dict.fromkeys(tokens, share), bos="^")
        self.table, self.template, self.tokenizer = table, template, self
        capabilities = table.info.capabilities | {Capability.CHAT}
        self.info = replace(table.info, capabilities=capabilities, adds_bos=False)

    def render_chat(self, messages, *, open_reply):
        return self.template(messages, open_reply)

    def evaluate(self, work, sink):
        self.table.evaluate(work, sink)

    def encode(self, text):
        return self.table.tokenizer.encode(text)

    def decode(self, tokens):
        return self.table.tokenizer.decode(tokens)

    def token_bytes(self, token):
        return self.table.tokenizer.token_bytes(token)


def said(case, role):
    """The text of the tokens of one role, a bar between those that do not touch."""
    text, last = "", None
    for i, (span, owner) in enumerate(zip(case.spans, case.roles, strict=True)):
        if owner != role:
            continue
        text += "|" if last is not None and last != i - 1 else ""
        text, last = text + case.prompt_text[slice(*span)], i
    return text


TURNS = [
    {"role": "system", "content": "user"},
    {"role": "user", "content": " hi; user "},
    {"role": "assistant", "content": "user?"},
    {"role": "user", "content": "s"},
]
"""Words that stand in the template too, or are one letter of it."""


@pytest.mark.parametrize("template", [plain, trimming, adding])
def test_roles_are_those_of_the_messages_whatever_their_words(template):
    model = Speaking(template)
    case = frame_case(model, TURNS, "ok")
    given = [m["content"].strip() if template is trimming else m["content"] for m in TURNS]
    assert said(case, "system").strip() == given[0]
    assert said(case, "assistant").strip() == given[2]
    first, second = said(case, "user").split("|")
    assert (first.strip(), second) == (given[1].strip(), given[3])
    assert case.positions == tuple(i for i, role in enumerate(case.roles) if role == "user")
    assert case.context == (model.info.bos_id,)
    assert model.info.bos_id not in case.prompt


def test_white_space_before_a_word_counts_as_the_word_s():
    # " h" holds the template's space and the first letter of what the user says.
    case = frame_case(Speaking(trimming), [{"role": "user", "content": " hi"}], "ok")
    assert said(case, "user") == " hi"


def test_a_token_of_two_owners_is_the_template_s():
    def joined(messages, open_reply):
        return "".join(f"{m['role']}{m['content']}\n" for m in messages)

    case = frame_case(Speaking(joined), [{"role": "user", "content": ": a"}], "ok")
    assert said(case, "user") == ": a"

    def colon(messages, open_reply):
        return "".join(f"{m['role']}:{m['content']}\n" for m in messages)

    case = frame_case(Speaking(colon), [{"role": "user", "content": " a"}], "ok")
    assert said(case, "user") == "a"  # ": " is half the template's


def test_a_system_text_of_the_template_s_own_is_the_template_s():
    case = frame_case(Speaking(adding), [{"role": "user", "content": "user"}], "ok")
    assert said(case, "user") == "user"
    assert said(case, "system") == ""
    assert "be good user" in case.prompt_text


def test_a_system_text_that_is_moved_is_still_the_system_s():
    case = frame_case(Speaking(moving), TURNS, "ok")
    assert said(case, "system") == "user"
    assert said(case, "user").split("|")[-1] == "s"


def test_an_open_reply_is_the_assistant_s():
    turns = [*TURNS, {"role": "assistant", "content": "the user "}]
    case = frame_case(Speaking(trimming), turns, "ok", roles=["assistant"])
    assert said(case, "assistant").split("|")[-1] == "the user"  # its space goes to the response
    assert case.prompt_text.endswith("[assistant] the user")
    assert case.flags >= {"whitespace_moved", "template_trims"}


def test_words_that_the_template_rewrites_are_refused():
    turns = [{"role": "user", "content": "a<x>b"}]
    with pytest.raises(InputError, match="changed the words of 'user'"):
        frame_case(Speaking(rewriting), turns, "ok")
    text = chat(Speaking(rewriting), turns)
    assert text.contents == (None,)
    assert frame_case(Speaking(rewriting), text, "ok").roles[0] == "text"


def test_chosen_roles_are_attributed():
    found = attribute(Speaking(plain), TURNS, "ok", roles=["system"], method="exact")
    assert "".join(place.text for place in found.places) == "user"


def test_segments_are_roles_of_the_caller_s():
    model = Speaking(plain)
    text = "Document: sky is blue. Question: why? why not"
    case = frame_case(
        model, text, "ok", segments={"document": "sky is blue.", "end": (len(text) - 3, len(text))}
    )
    assert said(case, "document") == "sky is blue."
    assert said(case, "end") == "not"
    assert {case.roles[i] for i in case.positions} == {"document", "end"}
    case = frame_case(model, text, "ok", segments={"document": "sky"}, roles=["text"])
    assert "document" not in {case.roles[i] for i in case.positions}
    assert len(case.positions) == len(case.prompt) - 3


@pytest.mark.parametrize(
    ("segments", "message"),
    [
        ({"q": "why"}, "2 times"),
        ({"q": "who"}, "0 times"),
        ({"q": ""}, "0 times"),
        ({"q": (3, 99)}, "got \\(3, 99\\)"),
        ({"q": "why? w", "p": (0, 3)}, "overlaps"),
        ({"text": "why?"}, "name of its own"),
    ],
)
def test_segments_that_cannot_be_told_are_refused(segments, message):
    with pytest.raises(InputError, match=message):
        frame_case(Speaking(plain), "why? why not", "ok", segments=segments)


def test_a_prompt_may_begin_as_the_context_that_was_given():
    model = Speaking(plain)
    case = frame_case(model, "abc", "ok", context="a")
    assert case.prompt_text == "abc"
    assert case.context == model.encode("a").tokens
    bos = model.info.bos_id
    case = frame_case(model, [bos, 5], "ok", context=[bos, 7])
    assert case.prompt == (5,)
