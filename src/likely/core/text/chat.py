"""Chats: the template's text around messages, with an open reply kept to the letter."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from likely.core.model import Capability, LanguageModel, require
from likely.core.text.encode import Context
from likely.core.text.spans import Span
from likely.errors import InputError

_ROLES = ("system", "user", "assistant", "tool")
_MARK = "\u2063likely-reply-begins\u2063"  # no template knows it and no trimming touches it
_ANY_MARK = re.compile(f"{_MARK}(\\d+){_MARK}")


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatPrompt:
    """A rendered conversation that ends where the assistant's next words are scored.

    Attributes:
        text: The whole prompt, exactly as it is encoded.
        flags: ``template_trims`` if the template, left alone, would have changed the open reply.
        removed: The characters that it would have removed; they are kept in ``text``.
        contents: For each message where its content stands in ``text``, as (start, stop), without
            white space that the template trims; None where that cannot be told, because the
            template drops or rewrites it.
    """

    text: str
    flags: frozenset[str]
    removed: str
    contents: tuple[Span | None, ...]


def chat(model: LanguageModel, messages: Sequence[Mapping[str, str]]) -> ChatPrompt:
    """Return the prompt for the assistant's next words; pass it to `score` as the context.

    If the last message is the assistant's, its content opens the reply and is kept exactly as
    given, white space at its end included, whatever the template does to finished messages.

    Args:
        model: A model with a chat template.
        messages: Mappings with ``role`` and ``content``.

    Raises:
        CapabilityError: The model has no chat template.
        InputError: No messages, an unknown role, or a template that drops the open reply.
    """
    require(model, Capability.CHAT)
    _check_messages(messages)
    render = model.tokenizer.render_chat
    if messages[-1]["role"] != "assistant":
        text = render(messages, open_reply=True)
        pieces = _pieces(render(_marked(messages), open_reply=True), len(messages))
        contents = _contents(text, messages, pieces)
        return ChatPrompt(text=text, flags=frozenset(), removed="", contents=contents)
    reply = messages[-1]["content"]
    marked = render([*messages[:-1], {"role": "assistant", "content": _MARK}], open_reply=False)
    head, mark, _ = marked.partition(_MARK)
    if not mark:
        raise InputError("the chat template drops the last assistant message; open it as text")
    removed = _removed(render(messages, open_reply=False), head, reply)
    flags = frozenset({"template_trims"}) if removed else frozenset()
    text = head + reply
    pieces = _pieces(render(_marked(messages), open_reply=False), len(messages))
    contents = _contents(head, messages[:-1], pieces[:-1])
    return ChatPrompt(
        text=text, flags=flags, removed=removed, contents=(*contents, (len(head), len(text)))
    )


def _marked(messages: Sequence[Mapping[str, str]]) -> list[dict[str, str]]:
    """Return the messages with a mark of its own in place of each content."""
    return [{**message, "content": _mark(i)} for i, message in enumerate(messages)]


def _mark(place: int) -> str:
    return f"{_MARK}{place}{_MARK}"


def _pieces(marked: str, n: int) -> list[tuple[int, str]]:
    """Return for each mark, as they come, its message and the template's text before it.

    Empty if a mark is missing or comes twice.
    """
    found = [(int(mark[1]), *mark.span()) for mark in _ANY_MARK.finditer(marked)]
    if sorted(place for place, _, _ in found) != list(range(n)):
        return []
    before = [0, *(stop for _, _, stop in found)]
    return [(place, marked[at:start]) for (place, start, _), at in zip(found, before, strict=False)]


def _contents(
    text: str, messages: Sequence[Mapping[str, str]], pieces: Sequence[tuple[int, str]]
) -> tuple[Span | None, ...]:
    """Return where each message's content stands, walking through the template's own text."""
    spans: list[Span | None] = [None] * len(messages)
    at = 0
    for i, (place, before) in enumerate(pieces):
        at += len(before)
        after = pieces[i + 1][1] if i + 1 < len(pieces) else ""
        given = messages[place]["content"]
        forms = (given, given.rstrip(), given.lstrip(), given.strip())
        fits = [form for form in forms if text.startswith(form + after, at)]
        if not text.startswith(before, at - len(before)) or not fits:
            break  # the template rewrote this one, so where the next one begins is not known
        spans[place] = (at, at + len(fits[0]))
        at += len(fits[0])
    return tuple(spans)


def _removed(rendered: str, head: str, reply: str) -> str:
    """Return the characters at the reply's end that the template itself would have dropped."""
    body = rendered[len(head) :] if rendered.startswith(head) else ""
    if body.startswith(reply):
        return ""
    kept = reply.rstrip()
    return reply[len(kept) :] if body.startswith(kept) else reply


def chat_flags(context: Context) -> frozenset[str]:
    """Return what happened when a context was rendered: nothing for plain text or ids."""
    return context.flags if isinstance(context, ChatPrompt) else frozenset()


def _check_messages(messages: Sequence[Mapping[str, str]]) -> None:
    if not messages:
        raise InputError("a chat needs at least one message, got none")
    for message in messages:
        if set(message) < {"role", "content"} or message["role"] not in _ROLES:
            raise InputError(
                f"a message needs 'content' and a 'role' of {list(_ROLES)}, got {dict(message)!r}"
            )
