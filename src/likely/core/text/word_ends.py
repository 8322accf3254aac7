"""Where a word ends: the tokens that cannot go on with it, and the log of their mass. Unit: nats.

A token goes on with a numeral if it begins with a digit; with any other word if it begins with
a letter, a combining mark, a digit, an apostrophe or a hyphen. A token that begins with only a part
of a character counts as going on, for its character is not known yet. Every other token, and the
end of the text or turn, ends the word.
"""

import hashlib
import unicodedata
from dataclasses import dataclass
from typing import Literal
from weakref import WeakKeyDictionary

import numpy as np
from jaxtyping import Bool, Float

from likely.core.engine import Reduction
from likely.core.logspace import log1mexp, logsumexp
from likely.core.model import LanguageModel, Tokenizer

Kind = Literal["word", "numeral"]

_APOSTROPHES_AND_HYPHENS = frozenset("'\u2019\u02bc-\u2010\u2011")


@dataclass(frozen=True, slots=True, kw_only=True)
class WordEnds:
    """The tokens that end a word of one kind.

    Attributes:
        is_end: Shape ``(V,)``.
        reduction: Takes next-token rows to the log of the mass of those tokens, nats.
    """

    is_end: Bool[np.ndarray, "V"]
    reduction: Reduction

    def __contains__(self, token: int) -> bool:
        """Return whether ``token`` ends the word."""
        return bool(self.is_end[token])


_KNOWN: WeakKeyDictionary[Tokenizer, dict[tuple[Kind, int, int | None], WordEnds]] = (
    WeakKeyDictionary()
)


def word_ends(model: LanguageModel, kind: Kind) -> WordEnds:
    """Return the tokens that end a word of this kind; found once for each tokenizer."""
    info = model.info
    try:
        known = _KNOWN.setdefault(model.tokenizer, {})
    except TypeError:  # a tokenizer without hash or weak references is read anew each time
        known = {}
    key = (kind, info.n_vocab, info.eos_id)
    if key not in known:
        is_end = np.zeros(info.n_vocab, dtype=bool)
        for token in range(info.n_tokens):
            is_end[token] = ends_word(model.tokenizer.token_bytes(token), kind)
        if info.bos_id is not None:
            is_end[info.bos_id] = True
        if info.eos_id is not None:
            is_end[info.eos_id] = True
        known[key] = WordEnds(is_end=is_end, reduction=log_mass(is_end))
    return known[key]


def log_mass(members: Bool[np.ndarray, "V"]) -> Reduction:
    """Return the reduction of next-token rows to the log of the mass of a set of tokens.

    Whichever is smaller is summed, the set or the rest; the rest only where it holds at most half
    of the mass, so that nothing cancels.

    Args:
        members: Shape ``(V,)``: which tokens the set has; its hash is part of the name.
    """
    inside, outside = np.flatnonzero(members), np.flatnonzero(~members)
    digest = hashlib.blake2b(members.tobytes(), digest_size=12).hexdigest()

    def apply(rows: Float[np.ndarray, "r V"]) -> Float[np.ndarray, "r"]:
        if len(inside) <= len(outside):
            return logsumexp(rows.take(inside, axis=-1))
        rest = np.minimum(logsumexp(rows.take(outside, axis=-1)), 0.0)
        masses = log1mexp(rest)
        is_less = masses < rest
        masses[is_less] = logsumexp(rows[is_less].take(inside, axis=-1))
        return masses

    return Reduction(name=f"log_mass {len(members)} {digest}", apply=apply)


def ends_word(raw: bytes, kind: Kind) -> bool:
    """Return whether bytes that come next cannot go on with a word of this kind.

    >>> ends_word(b"dish", "word"), ends_word(b", then", "word"), ends_word(b"rd", "numeral")
    (False, True, True)
    """
    if not raw:
        return False
    if kind == "numeral":
        return not 0x30 <= raw[0] <= 0x39
    for stop in range(1, min(4, len(raw)) + 1):
        try:
            char = raw[:stop].decode()
        except UnicodeDecodeError:
            continue
        return not _goes_on(char)
    return False


def _goes_on(char: str) -> bool:
    is_mark = unicodedata.category(char).startswith("M")
    return char.isalnum() or is_mark or char in _APOSTROPHES_AND_HYPHENS
