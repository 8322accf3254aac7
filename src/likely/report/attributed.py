"""An attribution as a page shows it: tokens, their shades, and what is seen. Unit: nats."""

import math
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from likely.attribution.cells import EDGES_NATS, Marked, n_shared, shade
from likely.attribution.result import Attribution, Place
from likely.core.estimate import Estimate
from likely.report.display import fixed, magnitude, share
from likely.report.heatmap import cut

ENTROPY_EDGES = (0.5, 1.0, 2.0, 4.0, 6.0, 8.0)
"""Where shades of an entropy or a surprisal end: as of 1.6, 2.7, 7.4, 55, 403 and 2,981 tokens."""

NEAR = EDGES_NATS[0]
"""A score closer to 0 than this is called near 0."""

HIGH_SCORE, HIGH_ENTROPY = EDGES_NATS[1], ENTROPY_EDGES[1]
"""From where on the four cases of a page call a score or an entropy high."""

_DETERMINED = 0.9
_MOST_EXCLUDED = 0.001  # of a prior: less is not worth a warning


def score_shade(score: float) -> str:
    """Return the class of the page's style for a score: ``down4`` to ``up4``, empty near 0.

    >>> [score_shade(x) for x in (-3.0, -0.2, -0.05, 0.0, 0.1, 2.9, 11.6)]
    ['down4', 'down1', '', '', 'up1', 'up3', 'up4']
    """
    step = shade(score)
    return f"{'up' if step > 0 else 'down'}{abs(step)}" if step else ""


def entropy_shade(nats: float) -> str:
    """Return the class of the page's style for an entropy or a surprisal, ``s0`` to ``s6``.

    >>> [entropy_shade(x) for x in (0.0, 0.5, 7.9, float("inf"))]
    ['s0', 's1', 's5', 's6']
    """
    return f"s{bisect_right(ENTROPY_EDGES, nats)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Token:
    """One token of a prompt or a response as it is shown.

    Attributes:
        index: Its place, from 0.
        lead: The spaces it begins with; they are not shaded.
        shown: What else it shows; empty for the later tokens of one character.
        place: Which place of the attribution it belongs to; None where it was not attributed.
        role: Whose word it is.
    """

    index: int
    lead: str
    shown: str
    place: int | None
    role: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Laid:
    """Tokens in order, and what is left of the text after them."""

    tokens: tuple[Token, ...]
    tail: str


def lay_out_prompt(found: Attribution) -> Laid:
    """Return the prompt's tokens; where two places share one, the first of them is shown."""
    case = found.case
    owner: dict[int, int] = {}
    for i, place in enumerate(found.places):
        for position in place.positions:
            owner.setdefault(position, i)
    parts, tail = cut(case.prompt_text, case.spans)
    return Laid(
        tokens=tuple(
            Token(index=i, lead=lead, shown=shown, place=owner.get(i), role=case.roles[i])
            for i, (lead, shown) in enumerate(parts)
        ),
        tail=tail,
    )


def lay_out_response(found: Attribution) -> Laid:
    """Return the response's tokens."""
    parts, tail = cut(found.case.response_text, found.case.response_spans)
    return Laid(
        tokens=tuple(
            Token(index=i, lead=lead, shown=shown, place=None, role="response")
            for i, (lead, shown) in enumerate(parts)
        ),
        tail=tail,
    )


def windows(laid: Laid, size: int) -> tuple[tuple[Token, ...], ...]:
    """Return the tokens in runs of at most ``size``, each with a line of its own on the page."""
    return tuple(laid.tokens[i : i + size] for i in range(0, len(laid.tokens), size))


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What an attribution shows, for sentences.

    Attributes:
        best: The place with the highest score.
        is_clear: Whether that score is surely above 0, and not near it.
        worst: The place with the lowest score, if that is surely below 0 and not near it.
        n_near: Of how many places the score is near 0.
        n_determined: Of these, how many hold a token to which the rest of the prompt gives a
            probability of nine in ten or more.
        heaviest: The response token with most of the highest score; None without a response.
    """

    best: Place
    is_clear: bool
    worst: Place | None
    n_near: int
    n_determined: int
    heaviest: int | None

    @property
    def factor(self) -> float:
        """How many times likelier the response is with the best place's token than without."""
        return math.exp(self.best.measures.score.value)


def look(found: Attribution) -> Seen:
    """Return what an attribution shows."""
    places = found.places
    best = max(places, key=lambda place: place.measures.score.value)
    worst = min(places, key=lambda place: place.measures.score.value)
    own, low = best.measures.score, worst.measures.score
    near = [place for place in places if abs(place.measures.score.value) < NEAR]
    shares = best.measures.matrix.tolist()
    return Seen(
        best=best,
        is_clear=own.value >= NEAR and own.low > 0.0,
        worst=worst if low.value <= -NEAR and low.high < 0.0 else None,
        n_near=len(near),
        n_determined=sum(
            place.measures.surprisal.value <= -math.log(_DETERMINED) for place in near
        ),
        heaviest=max(range(len(shares)), key=shares.__getitem__) if shares else None,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Quarter:
    """Places by the size of score and context entropy.

    Attributes:
        is_high_score: Whether the score is at least `HIGH_SCORE`.
        is_high_entropy: Whether the context entropy is at least `HIGH_ENTROPY`.
        places: Which those are by their estimates, highest score first.
        is_sure: Of each, whether its intervals leave no other case.
    """

    is_high_score: bool
    is_high_entropy: bool
    places: tuple[Place, ...]
    is_sure: tuple[bool, ...]


def quarters(found: Attribution) -> tuple[Quarter, ...]:
    """Return the four cases of scores that are not low: high or near 0, over sure or unsure places.

    Scores of ``-HIGH_SCORE`` and below are in none of them.
    """
    order = sorted(found.places, key=lambda place: -place.measures.score.value)
    made = []
    for is_high_score in (True, False):
        for is_high_entropy in (True, False):
            own = [
                place
                for place in order
                if place.measures.score.value > -HIGH_SCORE
                and (place.measures.score.value >= HIGH_SCORE) == is_high_score
                and (place.measures.context_entropy.value >= HIGH_ENTROPY) == is_high_entropy
            ]
            made.append(
                Quarter(
                    is_high_score=is_high_score,
                    is_high_entropy=is_high_entropy,
                    places=tuple(own),
                    is_sure=tuple(map(_is_sure, own)),
                )
            )
    return tuple(made)


def _is_sure(place: Place) -> bool:
    """Return whether the intervals of score and context entropy hold no border of `quarters`."""
    score, entropy = place.measures.score, place.measures.context_entropy
    borders = ((score, HIGH_SCORE), (score, -HIGH_SCORE), (entropy, HIGH_ENTROPY))
    return not any(one.low < border <= one.high for one, border in borders)


RULES = {
    "all": "every token that has a meaning",
    "round_trip": "tokens with which the prompt’s text is split into the same tokens again",
    "word_start": "tokens that begin a word where the actual one does, and that do not elsewhere",
}
"""What each rule for candidates lets stand at a place."""

_REMARKS = ("generated", "template_trims")
_FLAGS = {
    "generated": "The response is the model’s own likeliest continuation, token by token.",
    "response_cut_at_end": "The response went on after its end-of-sequence token; what came after "
    "is left out.",
    "boundary_merge": "A token spans the end of the prompt and the start of the response; it "
    "counts as response.",
    "template_trims": "The chat template, left alone, would have trimmed the opened reply.",
    "double_bos": "Two BOS tokens begin the text.",
    "trailing_space": "The prompt ends with a space.",
    "whitespace_moved": "White space at the end of the prompt counts as the start of the response.",
}


def warnings_of(found: Attribution) -> tuple[str, ...]:
    """Return a line for each thing that a reader should know before reading a score."""
    scores = [place.measures.score for place in found.places if not place.converged]
    return (
        *unknown_line(scores, len(found.places), found.tolerance, "scores"),
        *shared_line(found.places),
        *text_warnings(found),
    )


def unknown_line(
    numbers: Sequence[Estimate], n_all: int, tolerance: float, what: str
) -> tuple[str, ...]:
    """Return the line about numbers that are not known to the tolerance, if there are any.

    Args:
        numbers: Those that are not.
        n_all: How many there are with those that are.
        tolerance: Nats.
        what: What they are, such as ``scores``.
    """
    if not numbers:
        return ()
    widest = max(max(one.high - one.value, one.value - one.low) for one in numbers)
    return (
        f"Not known to ±{tolerance:g} nats: {len(numbers)} of {n_all} {what} (half an interval is "
        f"up to {fixed(widest)}). They have a dashed outline; a larger budget narrows them.",
    )


def shared_line(places: Sequence[Marked]) -> tuple[str, ...]:
    """Return the line about tokens that are in more than one group, if any are."""
    n = n_shared(places)
    if not n:
        return ()
    which = "1 token is" if n == 1 else f"{n} tokens are"
    return (
        f"Groups overlap: {which} in more than one, and shown with the first of them; the tables "
        "have every group.",
    )


def text_warnings(found: Attribution) -> tuple[str, ...]:
    """Return the warnings that are about model, candidates and text, not about intervals."""
    lines = []
    if found.noise > found.tolerance:
        lines.append(
            f"With how texts are batched the response’s log-probability changes by up to "
            f"{magnitude(found.noise)} nats, more than the tolerance: no score is known better."
        )
    most = max(found.excluded_mass.tolist(), default=0.0)
    if most >= _MOST_EXCLUDED:
        lines.append(
            f"Ids that were no candidates, or are not told of, had up to {share(most)} of the "
            "prior probability of a place; scores are over the others."
        )
    if not found.case.response:
        lines.append("The response is empty, so that every score is 0.")
    return (*lines, *_written(found, is_remark=False))


def remarks_of(found: Attribution) -> tuple[str, ...]:
    """Return what a reader may want to know of prompt and response, but need not."""
    return _written(found, is_remark=True)


def _written(found: Attribution, *, is_remark: bool) -> tuple[str, ...]:
    flags = [flag for flag in sorted(found.case.flags) if (flag in _REMARKS) == is_remark]
    return tuple(_FLAGS.get(flag, f"Flag of the text: {flag}.") for flag in flags)
