"""A prompt as pieces to be coloured by their scores. Unit: nats."""

from bisect import bisect_right
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from likely.attribution.case import Case
from likely.attribution.result import Attribution, Place

EDGES_NATS = (0.1, 0.3, 1.0, 3.0)
"""Where one shade ends and the next begins: where the token made the response 1.1, 1.3, 2.7 and 20
times as likely, or less likely by these factors."""


@runtime_checkable
class Marked(Protocol):
    """A place of a prompt, of an attribution or of a contrast."""

    @property
    def positions(self) -> tuple[int, ...]:
        """In the prompt."""
        ...

    @property
    def converged(self) -> bool:
        """Whether its number is known to the tolerance."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """A piece of the prompt as it is shown: a token, or the tokens of one character.

    Attributes:
        text: Its characters; all cells together are the prompt.
        positions: Of its tokens.
        score: Of the tokens of one character the score that is farthest from 0; None where none
            of them was attributed.
        shade: -4 to 4, or None where it was not attributed.
        is_converged: Whether that score is known to the tolerance.
    """

    text: str
    positions: tuple[int, ...]
    score: float | None
    shade: int | None
    is_converged: bool


def shade(score: float) -> int:
    """Return the shade of a score: 0 says little, 4 and -4 are 3 nats and more.

    >>> [shade(score) for score in (0.05, -0.05, 0.1, -0.5, 3.0, float("-inf"))]
    [0, 0, 1, -2, 4, -4]
    """
    depth = bisect_right(EDGES_NATS, abs(score))
    return depth if score > 0.0 else -depth


def farthest(values: Sequence[float], limit: int) -> tuple[int, ...]:
    """Return which of some numbers are farthest from 0, in their order.

    Args:
        values: Scores, or differences of scores.
        limit: How many; 0 for all.

    >>> farthest([0.5, 0.0, -2.0], 2)
    (0, 2)
    """
    ranked = sorted(range(len(values)), key=lambda i: -abs(values[i]))
    return tuple(sorted(ranked[: limit or len(ranked)]))


def strongest(found: Attribution, limit: int) -> tuple[Place, ...]:
    """Return the places with scores farthest from 0, in order of the prompt.

    Args:
        found: The attribution.
        limit: How many; 0 for all.
    """
    return tuple(found.places[i] for i in farthest(found.scores.tolist(), limit))


def cells(found: Attribution) -> tuple[Cell, ...]:
    """Return the cells of a prompt, in order."""
    return scored_cells(found.case, found.places, found.scores.tolist())


def scored_cells(case: Case, places: Sequence[Marked], scores: Sequence[float]) -> tuple[Cell, ...]:
    """Return the cells of a prompt with a number for each place.

    Args:
        case: The prompt.
        places: Of an attribution or a contrast; of two that share a position the first one is
            shown there.
        scores: Of each place: its score, or the difference of two.
    """
    owner: dict[int, int] = {}
    for i, place in enumerate(places):
        for position in place.positions:
            owner.setdefault(position, i)
    groups: list[list[int]] = []
    done = 0
    for i, (start, stop) in enumerate(case.spans):
        if groups and start < done:
            groups[-1].append(i)  # this token has a part of a character that is shown already
        else:
            groups.append([i])
        done = max(done, stop)
    made = []
    for group in groups:
        spans = [case.spans[i] for i in group]
        own = [owner[i] for i in group if i in owner]
        strong = max(own, key=lambda i: abs(scores[i]), default=None)
        made.append(
            Cell(
                text=case.prompt_text[min(a for a, _ in spans) : max(b for _, b in spans)],
                positions=tuple(group),
                score=None if strong is None else scores[strong],
                shade=None if strong is None else shade(scores[strong]),
                is_converged=strong is None or places[strong].converged,
            )
        )
    return tuple(made)


def n_shared(places: Sequence[Marked]) -> int:
    """Return how many positions are in more than one place."""
    counts = Counter(position for place in places for position in place.positions)
    return sum(n > 1 for n in counts.values())
