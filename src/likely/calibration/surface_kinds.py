"""The spellings of an option, and of which kind each is. Unit: none."""

from functools import lru_cache
from typing import Literal

from likely.calibration.data_sets.items import Option
from likely.core.text.surfaces import Level, surfaces
from likely.errors import InputError

SurfaceKind = Literal["bare", "spaced", "bare_capitalised", "spaced_capitalised", "other"]

KINDS: tuple[SurfaceKind, ...] = (
    "bare", "spaced", "bare_capitalised", "spaced_capitalised", "other",
)  # fmt: skip
"""Kinds of spellings: the word as given or capitalised, each alone or after a space, and all else
(in capitals, behind a quote, the mark of bold text or a new line)."""


def option_surfaces(option: Option, lead: str, level: Level = "paper") -> tuple[str, ...]:
    """Return the spellings that count as an option, each once.

    Args:
        option: With the words that stand for it.
        lead: What the context needs before them; it matters to ``exact`` alone, since the other
            levels have every word both bare and after a space.
        level: ``exact`` is what the context needs; ``paper`` and ``wide`` are those of
            `likely.core.text.surfaces`, for each word.

    Raises:
        InputError: An unknown level, an option without words, or white space around a word.

    >>> option_surfaces(Option(label="red", words=("red",)), " ")
    ('red', ' red', 'Red', ' Red')
    """
    if not option.words:
        raise InputError(f"the option {option.label!r} has no words that stand for it")
    if level == "exact":
        return tuple(dict.fromkeys(lead + surfaces(word, level=level)[0] for word in option.words))
    return tuple(
        dict.fromkeys(form for word in option.words for form in surfaces(word, level=level))
    )


@lru_cache(maxsize=4096)  # items of one kind have the same words
def surface_kind(surface: str, words: tuple[str, ...]) -> SurfaceKind:
    """Return the kind of a spelling of one of these words.

    >>> surface_kind(" Red", ("red",))
    'spaced_capitalised'
    """
    is_spaced = surface.startswith(" ")
    form = surface.removeprefix(" ")
    if form in words:
        return "spaced" if is_spaced else "bare"
    if form in {word[:1].upper() + word[1:] for word in words}:
        return "spaced_capitalised" if is_spaced else "bare_capitalised"
    return "other"
