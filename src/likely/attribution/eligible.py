"""Which tokens may stand at a place: all, or those that a rule about text lets in.

The measure is over sequences of tokens: a candidate is a token, whether or not the text that it
makes would be split into the same tokens again. A rule takes some candidates out; the law of the
others is theirs given that one of them stands there, and the prior mass of those that were taken
out is reported.
"""

from collections.abc import Sequence
from typing import Literal, TypeAlias

import numpy as np
from jaxtyping import Bool, Int

from likely.attribution.case import Case
from likely.core.model import Capability, LanguageModel
from likely.core.text.encode import encode_texts
from likely.errors import CapabilityError, InputError, UnknownNameError

Rule: TypeAlias = Literal["all", "round_trip", "word_start"]

RULES: tuple[Rule, ...] = ("all", "round_trip", "word_start")

_AT_ONCE = 4096  # texts that are split together


class Eligible:
    """The candidates of each place of a case.

    Args:
        model: For its ids and its tokenizer.
        case: The prompt.
        rule: ``all`` takes every id that has a meaning. ``round_trip`` takes those with which the
            text of the prompt is split into the same ids again. ``word_start`` takes those that
            begin a word where the actual token does, and those that do not where it does not.
        exclude: Ids that are no candidates anywhere.

    Raises:
        InputError: Excluded ids that the model does not have; or a prompt that is itself not
            what its text is split into.
        CapabilityError: A rule for a model without next-token rows, behind which each id would
            have to be asked for.
    """

    def __init__(
        self, model: LanguageModel, case: Case, *, rule: Rule = "all", exclude: Sequence[int] = ()
    ) -> None:
        self.model = model
        self.case = case
        self.rule = rule
        self.ids = _meaningful(model, exclude)
        self._lost_space = False
        if rule not in RULES:
            raise UnknownNameError.among("rule for candidates", rule, RULES)
        if rule != "all" and Capability.NEXT_TOKEN not in model.info.capabilities:
            raise CapabilityError(
                f"candidates={rule!r} asks about every token, and {model.info.name!r} would be "
                "asked for each: use candidates='all', or a local model"
            )
        if rule == "round_trip":
            self._lost_space = self._loses_space()

    def at(self, position: int) -> Int[np.ndarray, "v"]:
        """Return the sorted ids that may stand at a position of the prompt.

        Raises:
            InputError: The token that stands there is not among them.
        """
        found = self.ids
        if self.rule == "round_trip":
            found = found[self._comes_back(position)]
        elif self.rule == "word_start":
            found = found[self._starts_alike(position)]
        actual = self.case.prompt[position]
        if actual not in found:
            raise InputError(
                f"token {actual} stands at position {position} of the prompt and is no candidate "
                "there (excluded, or without a meaning); leave the position out"
            )
        return found

    def _bytes(self, tokens: Sequence[int]) -> bytes:
        return b"".join(self.model.tokenizer.token_bytes(int(token)) for token in tokens)

    def _loses_space(self) -> bool:
        """Return whether the tokenizer puts a space before a text, which its text must lack."""
        raw = self._bytes(self.case.prompt)
        for lost in (False, True):
            if self._split([raw[lost:]]) == [self.case.prompt] and raw[:lost].strip() == b"":
                return lost
        raise InputError(
            "the prompt is not what its own text is split into, so no candidate can be: use "
            "candidates='all'"
        )

    def _split(self, raws: Sequence[bytes]) -> list[tuple[int, ...] | None]:
        """Return the ids of texts; None for bytes that are no text."""
        texts = [_text(raw) for raw in raws]
        known = encode_texts(self.model, [text for text in texts if text is not None])
        return [None if text is None else known.get(text, ()) for text in texts]

    def _comes_back(self, position: int) -> Bool[np.ndarray, "v"]:
        prompt = self.case.prompt
        before, after = self._bytes(prompt[:position]), self._bytes(prompt[position + 1 :])
        comes_back = np.zeros(len(self.ids), dtype=bool)
        for start in range(0, len(self.ids), _AT_ONCE):
            part = self.ids[start : start + _AT_ONCE].tolist()
            raws = [before + self._bytes([token]) + after for token in part]
            found = self._split([raw[self._lost_space :] for raw in raws])
            for i, (token, raw, ids) in enumerate(zip(part, raws, found, strict=True)):
                has_space = not self._lost_space or raw[:1] == b" "
                wanted = (*prompt[:position], token, *prompt[position + 1 :])
                comes_back[start + i] = has_space and ids == wanted
        return comes_back

    def _starts_alike(self, position: int) -> Bool[np.ndarray, "v"]:
        before = self._bytes(self.case.prompt[:position]).decode("utf-8", "replace")
        inside = before[-1:].isalnum()
        starts = [
            begins_word(self._bytes([token]), inside=inside)
            for token in (self.case.prompt[position], *self.ids.tolist())
        ]
        return np.array([start == starts[0] for start in starts[1:]], dtype=bool)


def begins_word(raw: bytes, *, inside: bool) -> bool:
    """Return whether a token begins a word: a letter or digit first, or after white space.

    Args:
        raw: Bytes of the token.
        inside: Whether the text before it ends with a letter or digit.

    >>> begins_word(b" dish", inside=True), begins_word(b"es", inside=True)
    (True, False)
    """
    text = raw.decode("utf-8", "replace")
    bare = text.lstrip()
    return bare[:1].isalnum() and (not inside or len(bare) < len(text))


def _meaningful(model: LanguageModel, exclude: Sequence[int]) -> Int[np.ndarray, "v"]:
    """Return the ids that stand for something and are not excluded."""
    info = model.info
    bad = [token for token in exclude if not 0 <= token < info.n_vocab]
    if bad:
        raise InputError(f"excluded ids are 0..{info.n_vocab - 1}, got {bad[0]!r}")
    ids = np.setdiff1d(np.arange(info.n_tokens), np.array(exclude, dtype=np.int64))
    if Capability.NEXT_TOKEN not in info.capabilities:
        return ids  # behind a server it would take a request an id to find out
    return ids[[bool(model.tokenizer.token_bytes(int(token))) for token in ids]]


def _text(raw: bytes) -> str | None:
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return None
