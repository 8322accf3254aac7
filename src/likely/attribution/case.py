"""What is attributed: a prompt, its response, and which tokens of the prompt are asked about."""

import warnings
from codecs import getincrementaldecoder
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias, cast

from likely.core.generation import greedy
from likely.core.model import LanguageModel
from likely.core.text.chat import ChatPrompt, chat, chat_flags
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
            message, or ``template``; or the segment of the caller's that it lies in.
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

    @property
    def response_pieces(self) -> tuple[str, ...]:
        """The text of each response token."""
        return tuple(self.response_text[slice(*span)] for span in self.response_spans)

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
    roles: Sequence[str] | None = None,
    segments: Mapping[str, str | Span] | None = None,
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
        roles: Whose words are attributed: of the user by default, in a chat given as messages, and
            all of a plain text; or of ``segments``, where there are any. Tokens of the template
            are attributed only where ``positions`` names them. White space before a word counts
            as the word's; a token that holds parts of two is the template's.
        segments: Parts of the prompt by names of the caller's own, which become the roles of their
            tokens: each a text that the prompt holds once, or (start, stop) in the characters of
            ``Case.prompt_text``.
        context: What stands before the prompt and is always conditioned on, to be given whole; by
            default the BOS alone or, in a model without one, the end-of-sequence token.
        boundary: Of prompt and response, as in `likely.score`; a token that spans both counts to
            the response.
        stop_at_end: Whether a response is cut after its first end-of-sequence token, and one that
            is generated ends there.

    Raises:
        InputError: An empty prompt, neither or both of ``response`` and ``generate``, both of
            ``positions`` and ``roles``, a position outside the prompt, a segment that the prompt
            does not hold once, a model that has nothing to stand before the prompt.
    """
    if (response is None) == (generate is None):
        raise InputError("give a response, or generate=N tokens of one, and not both")
    if positions is not None and roles is not None:
        raise InputError(
            f"positions {positions!r} and roles {roles!r} both say what is attributed: give one"
        )
    shown, messages = _rendered(model, prompt)
    before = conditioned_on(model, context)
    given = context is not None
    own = _without(model, before, encode_context(model, shown, bos="never")[0], given=given)
    flags = chat_flags(shown)
    if response is None:
        if generate is None or generate < 1:
            raise InputError(f"generate is a number of tokens, at least 1, got {generate!r}")
        answer = greedy(
            model, [before + own], max_tokens=generate, stop_at_end=stop_at_end
        )[0].tokens  # fmt: skip
        flags |= {"generated"}
    elif _is_empty(response):
        answer = ()
    else:
        pair = encode_pair(model, shown, response, bos="never", boundary=boundary)
        own, answer = _without(model, before, pair.context, given=given), pair.target
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
    chosen = tuple(roles) if roles is not None else tuple(segments or ("user", TEXT))
    owners = _in_segments(text, _owners(text, shown, messages), segments or {})
    found = tuple(_owner(text, owners, span) for span in spans)
    return Case(
        context=before, prompt=own, response=answer, prompt_text=text, spans=spans,
        response_text=response_text, response_spans=response_spans, roles=found,
        positions=_positions(found, chosen, positions), flags=flags,
    )  # fmt: skip


def _rendered(model: LanguageModel, prompt: Prompt) -> tuple[Context, Messages]:
    """Return the prompt as a context and, where it was given as a chat, its messages."""
    if not isinstance(prompt, str) and isinstance(prompt, Sequence):
        messages = [message for message in prompt if isinstance(message, Mapping)]
        if messages and len(messages) == len(prompt):
            return chat(model, messages), messages
    return cast(Context, prompt), ()


def _is_empty(response: Context) -> bool:
    return not len(response.text if isinstance(response, HasText) else response)


def conditioned_on(model: LanguageModel, context: Context | None = None) -> Ids:
    """Return the ids before a prompt: the given ones, or the BOS, or what stands in for it.

    Raises:
        InputError: None given, and the model has neither BOS nor end token.
    """
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


def _without(model: LanguageModel, before: Ids, ids: Ids, *, given: bool) -> Ids:
    """Return ids without what already stands before them: a chat template writes a BOS too.

    Of a context that the caller gave only the BOS is meant: a prompt may well begin as it does.
    """
    again = before[:1] if given else before
    is_start = not given or before[:1] == (model.info.bos_id,)
    return ids[len(again) :] if is_start and ids[: len(again)] == again else ids


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
    # Bytes that are no UTF-8 became replacement characters. A character that a token begins and
    # the next one ends belongs to both.
    decoder = getincrementaldecoder("utf-8")(errors="replace")
    spans, n_whole = [], 0
    for start, stop in byte_spans:
        first = n_whole
        n_whole += len(decoder.decode(raw[start:stop]))
        is_open = bool(decoder.getstate()[0])
        spans.append((first, min(len(text), n_whole + is_open)))
    return tuple(spans)


def _owners(text: str, shown: Context, messages: Messages) -> list[str]:
    """Return for each character of the prompt whose it is."""
    if not messages or not isinstance(shown, ChatPrompt):
        return [TEXT] * len(text)
    shift = shown.text.find(text)
    if shift < 0 and text[:1] == " " and text[1:] in shown.text:
        shift = shown.text.index(text[1:]) - 1  # a tokenizer may put one space before a text
    elif shift < 0:
        raise InputError(
            "the tokens of the chat do not spell its text, so whose they are cannot be told: "
            "render the chat and give positions=..."
        )
    owners = [TEMPLATE] * len(text)
    for message, span in zip(messages, shown.contents, strict=True):
        if span is None:
            raise InputError(
                f"the chat template changed the words of {message['role']!r}, or of another before "
                "it, so their tokens cannot be told from its own: render the chat and give "
                "positions=..."
            )
        start, stop = (min(len(text), max(0, at - shift)) for at in span)
        owners[start:stop] = [message["role"]] * (stop - start)
    return owners


def _in_segments(text: str, owners: Sequence[str], segments: Mapping[str, str | Span]) -> list[str]:
    """Return the owners with the segments' names over their characters."""
    named = list(owners)
    for name, part in segments.items():
        if name in owners or name == TEMPLATE:
            raise InputError(f"a segment needs a name of its own, {name!r} is one of the prompt's")
        if isinstance(part, str):
            n = text.count(part) if part else 0
            if n != 1:
                raise InputError(
                    f"the prompt holds the segment {name!r} {n} times, it must once: "
                    f"{part!r}; give its characters as (start, stop)"
                )
            start = text.index(part)
            part = (start, start + len(part))
        start, stop = part
        if not 0 <= start < stop <= len(text):
            raise InputError(
                f"the segment {name!r} lies in the characters 0 to {len(text)} of the prompt, "
                f"got {part!r}"
            )
        if named[start:stop] != list(owners[start:stop]):
            raise InputError(f"the segment {name!r} overlaps another one")
        named[start:stop] = [name] * (stop - start)
    return named


def _owner(text: str, owners: Sequence[str], span: Span) -> str:
    """Return whose a token is: that of all its characters but white space at its start.

    A token without characters is that of what stands after it, or before it.
    """
    start, stop = span
    if start == stop:
        return next(iter([*owners[start : start + 1], *owners[-1:]]), TEXT)
    n_spaces = len(text[start:stop]) - len(text[start:stop].lstrip())
    inside = set(owners[start + n_spaces : stop] or owners[start:stop])
    return inside.pop() if len(inside) == 1 else TEMPLATE


def _positions(
    found: Sequence[str], roles: Sequence[str], positions: Sequence[int] | None
) -> tuple[int, ...]:
    if positions is None:
        return tuple(i for i, role in enumerate(found) if role in roles)
    bad = [i for i in positions if not 0 <= i < len(found)]
    if bad:
        raise InputError(f"the prompt has positions 0 to {len(found) - 1}, got {bad[0]!r}")
    return tuple(sorted(set(positions)))
