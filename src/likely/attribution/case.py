"""What is attributed: a prompt, its response, and which tokens of the prompt are asked about."""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias, cast

from likely.core.generation import greedy
from likely.core.model import LanguageModel
from likely.core.text.chat import chat, chat_flags
from likely.core.text.encode import Boundary, Context, HasText, encode_context, encode_pair
from likely.core.text.spans import Span, char_spans
from likely.errors import InputError, LikelyWarning

Ids: TypeAlias = tuple[int, ...]
Messages: TypeAlias = Sequence[Mapping[str, str]]
Prompt: TypeAlias = Context | Messages

TEMPLATE = "template"
TEXT = "text"


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A prompt and a response as the ids that are scored.

    Attributes:
        context: Ids before the prompt that are always conditioned on: the BOS, or what stands in
            its place. Never empty.
        prompt: Ids of the prompt, m of them.
        response: Ids of the response, R of them; may be none.
        prompt_text: The prompt as text.
        spans: Character span of each prompt token in ``prompt_text``.
        response_text: The response as text.
        response_spans: Character span of each response token in ``response_text``.
        roles: For each prompt token what it belongs to: ``text``, or in a chat the role of its
            message, or ``template``.
        positions: Places in the prompt that are attributed, in order.
        flags: What happened on the way, such as ``boundary_merge`` or ``response_cut_at_end``.
    """

    context: Ids
    prompt: Ids
    response: Ids
    prompt_text: str
    spans: tuple[Span, ...]
    response_text: str
    response_spans: tuple[Span, ...]
    roles: tuple[str, ...]
    positions: tuple[int, ...]
    flags: frozenset[str]

    @property
    def stem(self) -> Ids:
        """Context and prompt."""
        return self.context + self.prompt

    def suffix(self, position: int) -> Ids:
        """Return the ids after a prompt position: the rest of the prompt, and the response."""
        return self.prompt[position + 1 :] + self.response


def frame_case(
    model: LanguageModel,
    prompt: Prompt,
    response: Context | None = None,
    *,
    generate: int | None = None,
    positions: Sequence[int] | None = None,
    roles: Sequence[str] = ("user", TEXT),
    context: Context | None = None,
    boundary: Boundary = "joint",
    stop_at_end: bool = True,
) -> Case:
    """Return the ids of a prompt and its response, and the positions that are attributed.

    Args:
        model: For its tokenizer, its BOS, and to generate.
        prompt: Text, ids, a rendered chat, or the messages of a chat.
        response: Text or ids, ids kept as they are; or None, and it is generated.
        generate: How many tokens of the likeliest response to take where none is given.
        positions: Places in the prompt that are attributed; by default every token of ``roles``.
        roles: Whose words are attributed in a chat given as messages. Tokens of the template are
            attributed only where ``positions`` names them.
        context: What stands before the prompt and is always conditioned on, to be given whole; by
            default the BOS alone or, in a model without one, the end-of-sequence token.
        boundary: Of prompt and response, as in `likely.score`; a token that spans both counts to
            the response.
        stop_at_end: Whether a response is cut after its first end-of-sequence token.

    Raises:
        InputError: An empty prompt, neither or both of ``response`` and ``generate``, a position
            outside the prompt, a model that has nothing to stand before the prompt.
    """
    if (response is None) == (generate is None):
        raise InputError("give a response, or generate=N tokens of one, and not both")
    shown, messages = _rendered(model, prompt)
    before = _context(model, context)
    own = _without(before, encode_context(model, shown, bos="never")[0])
    flags = chat_flags(shown)
    if response is None:
        if generate is None or generate < 1:
            raise InputError(f"generate is a number of tokens, at least 1, got {generate!r}")
        answer = greedy(model, [before + own], max_tokens=generate)[0].tokens
        flags |= {"generated"}
    elif _is_empty(response):
        answer = ()
    else:
        pair = encode_pair(model, shown, response, bos="never", boundary=boundary)
        own, answer = _without(before, pair.context), pair.target
        flags |= pair.flags
    if not own:
        raise InputError("the prompt has no tokens, so there is nothing to attribute")
    end = model.info.eos_id
    if stop_at_end and end in answer[:-1]:
        answer = answer[: answer.index(end) + 1]
        flags |= {"response_cut_at_end"}
        warnings.warn(
            "the response goes on after its end-of-sequence token; what comes after is left out",
            LikelyWarning,
            stacklevel=2,
        )
    text, spans = _laid_out(model, own)
    response_text, response_spans = _laid_out(model, answer)
    found = _roles(text, spans, messages)
    return Case(
        context=before, prompt=own, response=answer, prompt_text=text, spans=spans,
        response_text=response_text, response_spans=response_spans, roles=found,
        positions=_positions(found, roles, positions), flags=flags,
    )  # fmt: skip


def with_response(model: LanguageModel, case: Case, response: Ids) -> Case:
    """Return the same prompt with another response, given as ids."""
    text, spans = _laid_out(model, response)
    return replace(case, response=response, response_text=text, response_spans=spans)


def _rendered(model: LanguageModel, prompt: Prompt) -> tuple[Context, Messages]:
    """Return the prompt as a context and, where it was given as a chat, its messages."""
    if not isinstance(prompt, str) and isinstance(prompt, Sequence):
        messages = [message for message in prompt if isinstance(message, Mapping)]
        if messages and len(messages) == len(prompt):
            return chat(model, messages), messages
    return cast(Context, prompt), ()


def _is_empty(response: Context) -> bool:
    return not len(response.text if isinstance(response, HasText) else response)


def _context(model: LanguageModel, context: Context | None) -> Ids:
    info = model.info
    if context is None:
        stand_in = info.bos_id if info.bos_id is not None else info.eos_id
        if stand_in is None:
            raise InputError(
                f"{info.name!r} has no BOS and no end token, so nothing stands before the first "
                "token of the prompt: give context=..."
            )
        return (stand_in,)
    ids, _ = encode_context(model, context, bos="auto")
    if not ids:
        raise InputError("the context before the prompt needs at least one token, got none")
    return ids


def _without(before: Ids, ids: Ids) -> Ids:
    """Return ids without what already stands before them: a chat template writes a BOS too."""
    return ids[len(before) :] if ids[: len(before)] == before else ids


def _laid_out(model: LanguageModel, ids: Ids) -> tuple[str, tuple[Span, ...]]:
    """Return the text of ids and the characters of each; one of part of a character shows it."""
    raw = [model.tokenizer.token_bytes(token) for token in ids]
    text = b"".join(raw).decode("utf-8", errors="replace")
    spans = []
    at = 0
    for piece in raw:
        spans.append((at, at + len(piece)))
        at += len(piece)
    return text, _char_spans(text, b"".join(raw), spans)


def _char_spans(text: str, raw: bytes, byte_spans: Sequence[Span]) -> tuple[Span, ...]:
    if text.encode() == raw:
        return char_spans(text, byte_spans)
    # Bytes that are no UTF-8 became replacement characters: count each piece's own start.
    ends = [len(raw[:stop].decode("utf-8", errors="replace")) for _, stop in byte_spans]
    starts = [len(raw[:start].decode("utf-8", errors="ignore")) for start, _ in byte_spans]
    return tuple(zip(starts, ends, strict=True))


def _roles(text: str, spans: Sequence[Span], messages: Messages) -> tuple[str, ...]:
    if not messages:
        return (TEXT,) * len(spans)
    owners = [TEMPLATE] * len(text)
    at = 0
    for message in messages:
        content = message["content"]
        start = text.find(content, at)
        if start < 0:  # a template may trim what it is given
            content = content.strip()
            start = text.find(content, at)
        if start < 0:
            raise InputError(
                f"the chat template changed the words of {message['role']!r}, so their tokens "
                "cannot be told from its own: render the chat and give positions=..."
            )
        at = start + len(content)
        owners[start:at] = [message["role"]] * len(content)
    return tuple(
        owners[start] if len(set(owners[start:stop])) == 1 else TEMPLATE for start, stop in spans
    )


def _positions(
    found: Sequence[str], roles: Sequence[str], positions: Sequence[int] | None
) -> tuple[int, ...]:
    if positions is None:
        return tuple(i for i, role in enumerate(found) if role in roles)
    bad = [i for i in positions if not 0 <= i < len(found)]
    if bad:
        raise InputError(f"the prompt has positions 0 to {len(found) - 1}, got {bad[0]!r}")
    return tuple(sorted(set(positions)))
