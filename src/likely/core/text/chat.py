"""Chats: the template's text around messages, with an open reply kept to the letter."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from likely.core.model import Capability, LanguageModel, require
from likely.core.text.encode import Context
from likely.errors import InputError

_ROLES = ("system", "user", "assistant", "tool")
_MARK = "\u2063likely-reply-begins\u2063"  # no template knows it and no trimming touches it


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatPrompt:
    """A rendered conversation that ends where the assistant's next words are scored.

    Attributes:
        text: The whole prompt, exactly as it is encoded.
        flags: ``template_trims`` if the template, left alone, would have changed the open reply.
        removed: The characters that it would have removed; they are kept in ``text``.
    """

    text: str
    flags: frozenset[str]
    removed: str


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
        return ChatPrompt(text=text, flags=frozenset(), removed="")
    reply = messages[-1]["content"]
    marked = render([*messages[:-1], {"role": "assistant", "content": _MARK}], open_reply=False)
    head, mark, _ = marked.partition(_MARK)
    if not mark:
        raise InputError("the chat template drops the last assistant message; open it as text")
    removed = _removed(render(messages, open_reply=False), head, reply)
    flags = frozenset({"template_trims"}) if removed else frozenset()
    return ChatPrompt(text=head + reply, flags=flags, removed=removed)


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
