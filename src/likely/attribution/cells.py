"""A prompt as pieces to be coloured by their scores. Unit: nats."""

from bisect import bisect_right
from dataclasses import dataclass

from likely.attribution.result import Attribution, Place

EDGES_NATS = (0.1, 0.3, 1.0, 3.0)
"""Where one shade ends and the next begins: where the token made the response 1.1, 1.3, 2.7 and 20
times as likely, or less likely by these factors."""


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


def strongest(found: Attribution, limit: int) -> tuple[Place, ...]:
    """Return the places with scores farthest from 0, in order of the prompt.

    Args:
        found: The attribution.
        limit: How many; 0 for all.
    """
    ranked = sorted(found.places, key=lambda place: -abs(place.measures.score.value))
    kept = {id(place) for place in ranked[: limit or len(ranked)]}
    return tuple(place for place in found.places if id(place) in kept)


def cells(found: Attribution) -> tuple[Cell, ...]:
    """Return the cells of a prompt, in order."""
    places: dict[int, Place] = {}
    for place in found.places:
        for position in place.positions:
            places.setdefault(position, place)
    groups: list[list[int]] = []
    done = 0
    for i, (start, stop) in enumerate(found.case.spans):
        if groups and start < done:
            groups[-1].append(i)  # this token has a part of a character that is shown already
        else:
            groups.append([i])
        done = max(done, stop)
    return tuple(_cell(found, group, places) for group in groups)


def _cell(found: Attribution, group: list[int], places: dict[int, Place]) -> Cell:
    spans = [found.case.spans[i] for i in group]
    own = [places[i] for i in group if i in places]
    strong = max(own, key=lambda place: abs(place.measures.score.value), default=None)
    score = None if strong is None else strong.measures.score.value
    return Cell(
        text=found.case.prompt_text[min(a for a, _ in spans) : max(b for _, b in spans)],
        positions=tuple(group),
        score=score,
        shade=None if score is None else shade(score),
        is_converged=strong is None or strong.converged,
    )
