"""Two texts cut into the same stretches, each of whole tokens on both sides. Unit: characters."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import pairwise
from typing import Literal, TypeAlias

from likely.core.text.spans import Span, group_words

By: TypeAlias = Literal["words", "spans"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Stretch:
    """A stretch of text that both sides have, or that one has.

    Attributes:
        first: Characters of the first text, or None.
        second: Characters of the second text, or None; if both are given, the same text.
    """

    first: Span | None
    second: Span | None


def align(
    first: str,
    second: str,
    first_spans: Sequence[Span],
    second_spans: Sequence[Span],
    *,
    by: By,
) -> tuple[Stretch, ...]:
    """Return the stretches of two texts in order; together they cover both.

    Args:
        first: A text.
        second: The other. Words that both have, in the same order, are matched.
        first_spans: Character spans of the first text that may not be cut.
        second_spans: Of the second.
        by: ``words`` for stretches that begin and end with words, white space belonging to the
            word after it; ``spans`` for the shortest that cut no span of either side.

    >>> [(x.first, x.second) for x in align("a bc", "a b", [(0, 4)], [(0, 1), (1, 3)], by="words")]
    [((0, 4), None), (None, (0, 1)), (None, (1, 3))]
    """
    ours, theirs = _cuts(first, first_spans, by), _cuts(second, second_spans, by)
    found: list[Stretch] = []
    at, there = 0, 0
    for start, other, length in _shared(first, second):
        common = [i for i in range(length + 1) if start + i in ours and other + i in theirs]
        for low, high in pairwise(common):
            found += _alone(ours, (at, start + low), theirs, (there, other + low))
            at, there = start + high, other + high
            found.append(Stretch(first=(start + low, at), second=(other + low, there)))
    found += _alone(ours, (at, len(first)), theirs, (there, len(second)))
    return tuple(found)


def _cuts(text: str, spans: Sequence[Span], by: By) -> frozenset[int]:
    """Return the places where a text may be cut."""
    inside = {i for start, stop in spans for i in range(start + 1, stop)}
    places = range(len(text) + 1) if by == "spans" else [0, *(stop for _, stop in _words(text))]
    return frozenset(i for i in [0, *places, len(text)] if i not in inside)


def _words(text: str) -> list[Span]:
    letters = [(i, i + 1) for i in range(len(text))]
    return [word.span for word in group_words(text, letters, [None] * len(text))]


def _shared(first: str, second: str) -> Iterator[tuple[int, int, int]]:
    """Yield start, start and length of runs of words that both texts have."""
    if first == second:
        yield 0, 0, len(first)
        return
    ours, theirs = _words(first), _words(second)
    matcher = SequenceMatcher(
        None, [first[slice(*span)] for span in ours], [second[slice(*span)] for span in theirs],
        autojunk=False,
    )  # fmt: skip
    for i, j, n in matcher.get_matching_blocks():
        if n:
            yield ours[i][0], theirs[j][0], ours[i + n - 1][1] - ours[i][0]


def _alone(
    ours: frozenset[int], first: Span, theirs: frozenset[int], second: Span
) -> list[Stretch]:
    """Return what lies between matched stretches, in the shortest stretches of each side."""
    return [
        *(Stretch(first=span, second=None) for span in _pieces(ours, first)),
        *(Stretch(first=None, second=span) for span in _pieces(theirs, second)),
    ]


def _pieces(cuts: frozenset[int], span: Span) -> list[Span]:
    places = sorted(i for i in cuts if span[0] <= i <= span[1])
    return list(pairwise(places))
