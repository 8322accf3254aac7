"""The spellings that stand for an answer, and the events that their ids make. Unit: none."""

from collections.abc import Callable, Sequence
from itertools import product
from typing import Literal

from likely.core.model import LanguageModel
from likely.core.text.encode import (
    Bos,
    Boundary,
    Context,
    HasText,
    Known,
    Pair,
    encode_pair,
    encode_texts,
    joined_texts,
)
from likely.errors import InputError

Level = Literal["exact", "paper", "wide"]

_LEADS: dict[Level, tuple[str, ...]] = {
    "exact": ("",),
    "paper": ("", " "),
    "wide": ("", " ", '"', ' "', "**", " **", "\n"),
}


def surfaces(word: str, *, level: Level = "paper") -> tuple[str, ...]:
    """Return the spellings in which a model may write ``word``, likeliest kinds first.

    Args:
        word: Without white space around it.
        level: ``exact`` is the word alone; ``paper`` the word as given and capitalised, each bare
            and after a space; ``wide`` adds the word in capitals, and after an opening quote,
            the mark of bold text and a new line.

    Raises:
        InputError: An empty word, white space around it, or an unknown level.

    >>> surfaces("yes")
    ('yes', ' yes', 'Yes', ' Yes')
    """
    if level not in _LEADS:
        raise InputError(f"the level is one of {list(_LEADS)}, got {level!r}")
    if not word or word != word.strip():
        raise InputError(
            f"an answer is a word without white space around it, got {word!r}; "
            "strip it, or declare its spellings in a mapping"
        )
    casings = {"exact": 1, "paper": 2, "wide": 3}[level]
    forms = (word, word[:1].upper() + word[1:], word.upper())[:casings]
    return tuple(dict.fromkeys(lead + form for form, lead in product(forms, _LEADS[level])))


def is_numeral(surface: str) -> bool:
    """Return whether a spelling is a number: it ends in a digit and has no letters.

    >>> is_numeral(" 12"), is_numeral("3.5"), is_numeral("B2")
    (True, True, False)
    """
    return surface[-1:] in set("0123456789") and not any(char.isalpha() for char in surface)


def encode_surface(
    model: LanguageModel,
    context: Context,
    surface: str,
    *,
    bos: Bos = "auto",
    boundary: Boundary = "joint",
    known: Known | None = None,
) -> Pair:
    """Return the ids of a spelling after a context, such that their product is its probability.

    As `encode_pair`, but where a token spans the join the spelling is encoded alone, flagged
    ``boundary_merge``: a score that starts inside the context would not be a probability.

    Raises:
        InputError: As `encode_pair`.
    """
    pair = encode_pair(model, context, surface, bos=bos, boundary=boundary, known=known)
    if "boundary_merge" not in pair.flags:
        return pair
    before = context.text if isinstance(context, HasText) else str(context)
    kept = before.rstrip(" ")
    alone = encode_pair(
        model, kept, before[len(kept) :] + surface, bos=bos, boundary="separate", known=known
    )
    return Pair(context=alone.context, target=alone.target, flags=alone.flags | pair.flags)


def encode_surfaces(
    model: LanguageModel,
    context: Context,
    forms: Sequence[str],
    *,
    bos: Bos = "auto",
    boundary: Boundary = "joint",
) -> tuple[Pair, ...]:
    """Return `encode_surface` of each spelling, with all texts split in one go.

    Raises:
        InputError: As `encode_surface`.
    """
    text = context.text if isinstance(context, HasText) else context
    known = None
    if isinstance(text, str) and boundary != "separate":
        known = encode_texts(model, joined_texts(text, forms))
    return tuple(
        encode_surface(model, context, form, bos=bos, boundary=boundary, known=known)
        for form in forms
    )


def apart(sequences: Sequence[tuple[int, ...]]) -> tuple[tuple[int, ...], ...]:
    """Return those sequences of ids that no other one begins; of equal ones the first.

    >>> apart([(1, 2), (1,), (1,), (3,)])
    ((1,), (3,))
    """
    return tuple(sequences[i] for i in uncovered(sequences, lambda ids, token: True))


def uncovered(
    sequences: Sequence[tuple[int, ...]], ends_word: Callable[[tuple[int, ...], int], bool]
) -> tuple[int, ...]:
    """Return the places of those events that no other one contains; of equal ones the first.

    An event is "the text goes on with these ids", or with word ends "... and then the word ends".
    The probabilities of the events returned may be added up.

    Args:
        sequences: Ids of each event, none empty.
        ends_word: Whether after these ids that next id keeps the event; always true where words
            need not end.

    >>> uncovered([(1, 2), (1,), (1,), (3,)], lambda ids, token: True)
    (1, 3)
    """
    known = set(sequences)

    def is_covered(ids: tuple[int, ...]) -> bool:
        heads = (ids[:n] for n in range(1, len(ids)))
        return any(head in known and ends_word(head, ids[len(head)]) for head in heads)

    first: dict[tuple[int, ...], int] = {}
    for i, ids in enumerate(sequences):
        first.setdefault(ids, i)
    return tuple(i for ids, i in first.items() if not is_covered(ids))
