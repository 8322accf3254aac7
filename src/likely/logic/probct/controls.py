"""Controls: the same suite with answers that belong to other rows, or with made-up words."""

import re
from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from likely.core.streams import generator
from likely.errors import InputError
from likely.logic.grounding import Column, Row
from likely.logic.guards import guard_holds
from likely.logic.theory import Theory

_SMALL = frozenset({
    "a", "an", "the", "of", "in", "on", "at", "after", "before", "with", "to", "from",
    "under", "for", "and", "or", "by", "as", "is", "are", "you", "your", "its", "it",
    "that", "which", "who", "not", "no", "than", "into",
})  # fmt: skip
"""Small words that hold a phrase together; there they stay as they are."""

_ONSETS = (
    "b", "d", "f", "g", "k", "l", "m", "n", "p", "r", "s", "t", "v", "z", "bl", "br",
    "dr", "fl", "gl", "kr", "pl", "sk", "sl", "sn", "tr",
)  # fmt: skip
_VOWELS = ("a", "e", "i", "o", "u")
_CODAS = (
    "b", "d", "f", "g", "k", "l", "m", "n", "p", "t", "x", "nd", "nk", "lp", "mp", "rk",
)  # fmt: skip
_ENDINGS = ("ing", "ed", "s")


def shuffled(theory: Theory, *, seed: int) -> Theory:
    """Return the theory with its target columns moved from row to row.

    Every row gets the targets of another one that the same frame packs fit, so that sentences stay
    grammatical while answers no longer belong to them. What is left of a score comes from the
    frames and from how common the words are.

    Args:
        theory: With ``targets``.
        seed: Of the stream ``(name, "shuffled")``.

    Raises:
        InputError: The theory names no targets, or a row has no partner.
    """
    if not theory.targets:
        raise InputError(f"the theory {theory.name!r} names no targets: to shuffle")
    rng = generator(seed, theory.name, "shuffled")
    moved: dict[str, Row] = {}
    for group in _groups(theory):
        if len(group) < 2:
            raise InputError(
                f"row {group[0].id!r} of {theory.name!r} has no partner to take targets from: no "
                "other row has its columns and frame packs"
            )
        order = rng.permutation(len(group))
        for at, place in enumerate(order):
            donor = group[order[(at + 1) % len(group)]]
            row = group[place]
            taken = {name: donor.columns[name] for name in theory.targets if name in row.columns}
            moved[row.id] = replace(row, columns={**row.columns, **taken})
    return replace(
        theory,
        name=f"{theory.name}-shuffled",
        rows=tuple(moved[row.id] for row in theory.rows),
    )


def nonsense(theory: Theory, *, seed: int) -> Theory:
    """Return the theory with every content word replaced by a made-up one.

    One word becomes one made-up word throughout, keeps an ending in -s, -ed or -ing and its
    capital; words such as "of" and "the" stay, unless they are all that a text holds. Nothing can
    be known about such rows.

    Args:
        theory: With ``content``.
        seed: Of the streams ``(name, "nonsense", word)``.

    Raises:
        InputError: The theory names no content columns.
    """
    if not theory.content:
        raise InputError(f"the theory {theory.name!r} names no content: to replace")
    words = sorted({
        word
        for row in theory.rows
        for name in theory.content
        for text in _texts(row.columns.get(name, ()))
        for word in _words(text)
    })  # fmt: skip
    invented = _invent(words, theory.name, seed)

    def replaced(column: Column) -> Column:
        if isinstance(column, str):
            own = {word: invented[word] for word in _words(column)}
            return re.sub(r"[^\W_]+", lambda m: _put(m.group(), own), column)
        return tuple(str(replaced(text)) for text in column)

    rows = tuple(
        replace(
            row,
            columns={
                name: replaced(value) if name in theory.content else value
                for name, value in row.columns.items()
            },
        )
        for row in theory.rows
    )
    return replace(theory, name=f"{theory.name}-nonsense", rows=rows)


CONTROLS = {"shuffled": shuffled, "nonsense": nonsense}
"""Name to control."""


def _groups(theory: Theory) -> list[list[Row]]:
    groups: dict[tuple[object, ...], list[Row]] = {}
    for row in theory.rows:
        fits = tuple(
            pack.id
            for pack in theory.packs
            if pack.where is None or guard_holds(pack.where, row.scope())
        )
        shape = tuple(
            (name, isinstance(row.columns[name], str))
            for name in theory.targets
            if name in row.columns
        )
        groups.setdefault((fits, shape), []).append(row)
    return list(groups.values())


def _texts(column: Column) -> tuple[str, ...]:
    return (column,) if isinstance(column, str) else column


def _words(text: str) -> list[str]:
    """Return the words of a text that are replaced."""
    words = [word.lower() for word in re.findall(r"[^\W_]+", text)]
    return [word for word in words if word not in _SMALL] or words


def _put(word: str, invented: Mapping[str, str]) -> str:
    new = invented.get(word.lower())
    if new is None:
        return word
    return new.capitalize() if word[:1].isupper() else new


def _invent(words: list[str], name: str, seed: int) -> dict[str, str]:
    """Return a made-up word for each word, no two alike and none of them among the words."""
    made: dict[str, str] = {}
    taken = set(words)
    for word in words:
        rng = generator(seed, name, "nonsense", word)
        new = _syllables(rng) + _ending(word)
        while new in taken:
            new = _syllables(rng) + _ending(word)
        taken.add(new)
        made[word] = new
    return made


def _ending(word: str) -> str:
    return next((e for e in _ENDINGS if word.endswith(e) and len(word) > len(e) + 2), "")


def _syllables(rng: np.random.Generator) -> str:
    parts = (_ONSETS, _VOWELS, _CODAS[:9], _VOWELS, _CODAS)
    return "".join(part[rng.integers(len(part))] for part in parts)
