"""A contrast as a page shows it: what is seen, what to beware of, and its table. Unit: nats."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from likely.attribution.contrasts import Contrast, ContrastPlace
from likely.report.attributed import NEAR, remarks_of, shared_line, text_warnings, unknown_line
from likely.report.attribution_table import Cell, estimate_cell, how_known
from likely.report.display import count


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenContrast:
    """What a contrast shows, for sentences.

    Attributes:
        best: The place that spoke most for the response, if its difference is surely above 0 and
            not near it.
        worst: The one that spoke most for the other, likewise.
        n_near: Of how many places the difference is near 0.
    """

    best: ContrastPlace | None
    worst: ContrastPlace | None
    n_near: int


def look_at_contrast(found: Contrast) -> SeenContrast:
    """Return what a contrast shows."""
    best = max(found.places, key=lambda place: place.difference.value)
    worst = min(found.places, key=lambda place: place.difference.value)
    high, low = best.difference, worst.difference
    return SeenContrast(
        best=best if high.value >= NEAR and high.low > 0.0 else None,
        worst=worst if low.value <= -NEAR and low.high < 0.0 else None,
        n_near=int((np.abs(found.differences) < NEAR).sum()),
    )


HEADS = (
    ("Difference", "", True),
    ("Found", "", True),
    ("Score", "response", True),
    ("Score", "the other", True),
    ("Log-odds", "without it", True),
    ("Context entropy", "H(q)", True),
    ("Surprisal", "two-sided", True),
    ("Response entropy", "response", False),
    ("Response entropy", "the other", False),
    ("Token evaluations", "", False),
)
"""Of the table of all numbers: label, unit, and whether the card of a token shows it."""


def contrast_row(found: Contrast, i: int) -> tuple[Cell, ...]:
    """Return the cells of a place, in the order of `HEADS`."""
    place = found.places[i]
    first, second = (one.places[i].measures for one in (found.first, found.second))
    return (
        estimate_cell(place.difference, is_signed=True),
        Cell(shown=how_known(place)),
        estimate_cell(first.score, is_signed=True),
        estimate_cell(second.score, is_signed=True),
        estimate_cell(place.log_odds_rest, is_signed=True),
        estimate_cell(first.context_entropy),
        estimate_cell(first.surprisal),
        estimate_cell(first.response_entropy),
        estimate_cell(second.response_entropy),
        Cell(shown=count(place.cost.token_evaluations)),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Instead:
    """What else might stand at a place, with both scores that it would have.

    Attributes:
        text: Its tokens' text.
        is_own: Whether it stands there.
        prob: q, given the rest of the prompt.
        score: For the response, nats.
        other: For the other; None where it is not among the candidates kept of that.
    """

    text: str
    is_own: bool
    prob: float
    score: float
    other: float | None


def instead(found: Contrast, i: int, k: int) -> tuple[Instead, ...]:
    """Return the ``k`` likeliest candidates of a place given the rest of the prompt."""
    place, other = found.first.places[i], found.second.places[i].candidates
    scores = dict(zip(map(tuple, other.tokens.tolist()), other.score.tolist(), strict=True))
    return tuple(
        Instead(
            text=one.text, is_own=one.tokens == place.tokens, prob=one.prob, score=one.score,
            other=scores.get(one.tokens),
        )
        for one in place.substitutes(k)
    )  # fmt: skip


def contrast_warnings(found: Contrast) -> tuple[str, ...]:
    """Return a line for each thing that a reader should know before reading a difference."""
    differences = [place.difference for place in found.places if not place.converged]
    return (
        *unknown_line(differences, len(found.places), found.tolerance, "differences"),
        *shared_line(found.places),
        *_of_both(text_warnings(found.first), text_warnings(found.second)),
    )


def contrast_remarks(found: Contrast) -> tuple[str, ...]:
    """Return what a reader may want to know of prompt and responses, but need not."""
    return _of_both(remarks_of(found.first), remarks_of(found.second))


def _of_both(first: Sequence[str], second: Sequence[str]) -> tuple[str, ...]:
    """Return what is said of either response, and of which where it is not of both."""
    return (
        *(line for line in first if line in second),
        *(f"Of the response: {line}" for line in first if line not in second),
        *(f"Of the other: {line}" for line in second if line not in first),
    )
