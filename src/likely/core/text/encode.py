"""From a context and a continuation to the exact ids that are scored, with nothing hidden.

A context or continuation is text, a sequence of ids, or a rendered chat. The policies:

* ``boundary="joint"`` (default) splits the joined text once, as the model saw text in training.
  Where a token spans the join, scoring starts at the first token that differs from the context's
  own split; the result then carries ``boundary_merge`` and its pieces show what was scored.
* ``"separate"`` splits both on their own; ``"error"`` refuses a token that spans the join.
* Spaces that end a text context belong to the next word's token; ``joint`` moves them to the
  continuation (``whitespace_moved``), so both spellings of a prompt give one score.
"""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import index
from typing import Literal, Protocol, SupportsIndex, TypeAlias, runtime_checkable

import numpy as np
from jaxtyping import Int

from likely.core.model import Encoding, LanguageModel
from likely.errors import InputError, LikelyWarning

Bos = Literal["auto", "always", "never"]
Boundary = Literal["joint", "separate", "error"]


@runtime_checkable
class HasText(Protocol):
    """Something that stands for a text, such as a rendered chat."""

    @property
    def text(self) -> str:
        """The text."""
        ...


@runtime_checkable
class EncodesMany(Protocol):
    """A tokenizer that splits many texts faster together than one by one."""

    def encode_many(self, texts: Sequence[str]) -> list[tuple[int, ...]]:
        """Return the ids of each text, the same as ``encode`` gives of it alone."""
        ...


Known: TypeAlias = Mapping[str, tuple[int, ...]]
"""Ids of texts that are encoded already; see `encode_texts`."""

Context: TypeAlias = str | Sequence[SupportsIndex] | Int[np.ndarray, "_"] | HasText


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """A context and a continuation as ids.

    Attributes:
        context: Ids before the scored part, BOS included; may be empty without a BOS.
        target: Ids of the scored part.
        flags: What happened on the way.
    """

    context: tuple[int, ...]
    target: tuple[int, ...]
    flags: frozenset[str]


def check_contexts(contexts: Sequence[Context]) -> None:
    """Raise if one text stands where several contexts are expected.

    Raises:
        InputError: It does: its characters would be taken for contexts.
    """
    if isinstance(contexts, str):
        raise InputError(f"contexts is a sequence of contexts, got the text {contexts!r}")


def encode_context(
    model: LanguageModel, context: Context, *, bos: Bos = "auto"
) -> tuple[tuple[int, ...], frozenset[str]]:
    """Return the ids of a context with the BOS policy applied, and its flags.

    Raises:
        InputError: An unusable context, or ``bos="always"`` on a model without BOS.
    """
    return with_bos(model, _own_ids(model, context), bos=bos, given=_is_ids(context))


def encode_pair(
    model: LanguageModel,
    context: Context,
    continuation: Context,
    *,
    bos: Bos = "auto",
    boundary: Boundary = "joint",
    leading_space: bool = False,
    known: Known | None = None,
) -> Pair:
    """Return the ids of a context and its continuation under the policies of this module.

    Args:
        model: For its tokenizer and its BOS.
        context: May be empty text.
        continuation: Not empty.
        bos: ``auto`` follows the tokenizer's own setting; ids are taken as they are.
        boundary: See the module; it has no effect where either part is given as ids.
        leading_space: Whether a space is put before a text continuation that begins without one.
        known: Ids of texts from `encode_texts`; the others are encoded now.

    Raises:
        InputError: An empty continuation, an unknown policy, or a merge under ``error``.
    """
    if boundary not in ("joint", "separate", "error"):
        raise InputError(f"boundary is 'joint', 'separate' or 'error', got {boundary!r}")
    after = _as_text(continuation)
    if after is not None and leading_space and not after[:1].isspace():
        after = " " + after
    if after == "" or (after is None and not len(_own_ids(model, continuation))):
        raise InputError("a continuation needs at least one token, got an empty one")
    before = _as_text(context)
    if before is None or after is None:
        target = _own_ids(model, continuation if after is None else after)
        ids, flags = encode_context(model, context, bos=bos)
        return Pair(context=ids, target=target, flags=flags)
    if boundary == "separate":
        return _separate(model, before, after, bos, known)
    return _joint(model, before, after, bos, boundary, known)


def joined_texts(context: str, continuations: Sequence[str]) -> tuple[str, ...]:
    """Return the texts that `encode_pair` splits for text continuations of a text context."""
    return (context.rstrip(" "), *(context + continuation for continuation in continuations))


def encode_texts(model: LanguageModel, texts: Sequence[str]) -> dict[str, tuple[int, ...]]:
    """Return the ids of each text as ``model.tokenizer.encode`` gives them, no special tokens.

    Raises:
        InputError: A text holds half a surrogate pair, which no encoding has.
    """
    distinct = list(dict.fromkeys(text for text in texts if text))
    if not isinstance(model.tokenizer, EncodesMany):
        return {text: encode_text(model, text).tokens for text in distinct}
    for text in distinct:
        _check_text(text)
    return dict(zip(distinct, model.tokenizer.encode_many(distinct), strict=True))


def with_bos(
    model: LanguageModel, ids: tuple[int, ...], *, bos: Bos, given: bool = False
) -> tuple[tuple[int, ...], frozenset[str]]:
    """Return ``ids`` with at most one BOS put before them, and flags.

    Args:
        model: For its BOS.
        ids: Without what the policy adds; they may begin with a BOS of their own.
        bos: The policy; ``auto`` leaves ids that the caller gave as they are.
        given: Whether the caller gave ids, not text.

    Raises:
        InputError: An unknown policy, or ``always`` on a model without BOS.
    """
    if bos not in ("auto", "always", "never"):
        raise InputError(f"bos is 'auto', 'always' or 'never', got {bos!r}")
    bos_id = model.info.bos_id
    if bos == "always" and bos_id is None:
        raise InputError(f"{model.info.name!r} has no BOS token; use bos='auto' or 'never'")
    wanted = bos == "always" or (bos == "auto" and model.info.adds_bos and not given)
    if wanted and bos_id is not None and ids[:1] != (bos_id,):
        ids = (bos_id, *ids)
    flags: set[str] = set()
    if bos_id is not None and ids[:2] == (bos_id, bos_id):
        flags.add("double_bos")
        warnings.warn(
            f"two BOS tokens (id {bos_id}) begin this text; one of them is a mistake",
            LikelyWarning,
            stacklevel=3,
        )
    return ids, frozenset(flags)


def _separate(model: LanguageModel, before: str, after: str, bos: Bos, known: Known | None) -> Pair:
    context, flags = with_bos(model, _own_ids(model, before, known), bos=bos)
    if before.endswith(" "):
        flags |= {"trailing_space"}
    return Pair(context=context, target=_own_ids(model, after, known), flags=flags)


def _joint(
    model: LanguageModel, before: str, after: str, bos: Bos, boundary: Boundary,
    known: Known | None,
) -> Pair:  # fmt: skip
    flags: set[str] = set()
    kept = before.rstrip(" ")
    if kept != before:
        flags.add("whitespace_moved")
    before, after = kept, before[len(kept) :] + after
    own = _own_ids(model, before, known)
    whole = _own_ids(model, before + after, known)
    shared = _shared(own, whole)
    if shared < len(own):
        flags.add("boundary_merge")
        if boundary == "error":
            piece = model.tokenizer.decode(whole[shared : shared + 1])
            raise InputError(
                f"a token spans the join of {before[-20:]!r} and {after[:20]!r}: {piece!r}; "
                "move the join, or use boundary='joint' or 'separate'"
            )
    elif len(whole) == shared:
        raise InputError(f"the continuation {after!r} adds no token to {before[-20:]!r}")
    context, bos_flags = with_bos(model, whole, bos=bos)
    start = shared + len(context) - len(whole)
    return Pair(context=context[:start], target=context[start:], flags=frozenset(flags) | bos_flags)


def _shared(a: tuple[int, ...], b: tuple[int, ...]) -> int:
    if b[: len(a)] == a:
        return len(a)
    n = 0
    while n < min(len(a), len(b)) and a[n] == b[n]:
        n += 1
    return n


def _is_ids(context: Context) -> bool:
    return _as_text(context) is None


def _as_text(context: Context) -> str | None:
    if isinstance(context, str):
        return context
    return context.text if isinstance(context, HasText) else None


def encode_text(model: LanguageModel, text: str) -> Encoding:
    """Return the model's own encoding of ``text``.

    Raises:
        InputError: The text holds half a surrogate pair, which no encoding has.
    """
    _check_text(text)
    return model.tokenizer.encode(text)


def _check_text(text: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise InputError(
            f"the text has half a surrogate pair, {text[error.start]!r} at character "
            f"{error.start}; read the file as UTF-8"
        ) from error


def _own_ids(model: LanguageModel, context: Context, known: Known | None = None) -> tuple[int, ...]:
    """Return the ids of one part alone, with no special tokens added."""
    text = _as_text(context)
    if text is not None:
        if known is not None and text in known:
            return known[text]
        return encode_text(model, text).tokens if text else ()
    if isinstance(context, str | bytes | bytearray | HasText):
        raise InputError(f"bytes are neither text nor ids, got {context!r}; decode them first")
    try:
        # operator.index and not int: an id of 1.5 is a mistake, not a 1
        return tuple(index(token) for token in context)
    except TypeError as error:
        raise InputError(
            f"a context or continuation is text or a sequence of ids, got {context!r}"
        ) from error
