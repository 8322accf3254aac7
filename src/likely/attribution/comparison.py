"""Two attributions side by side: two models on a prompt, or a model on two prompts. Unit: nats.

Models cut a text into different tokens, so what is compared is stretches of text: words, or the
shortest stretches that are whole tokens on both sides. The score of a stretch of several tokens is
the sum of their scores. That is not the score of the stretch as one place (scores do not add up
where tokens say the same thing); attribute with groups for that, and compare the groups.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from likely.attribution.alignment import By, align
from likely.attribution.result import Attribution, Place
from likely.core.estimate import Estimate
from likely.core.stored import Stored
from likely.core.text.spans import Span
from likely.errors import InputError, UnknownNameError
from likely.stats.combination import weighted_sum

if TYPE_CHECKING:
    import pandas as pd

_BY: tuple[By, ...] = ("words", "spans")
_SHOWN = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedText:
    """A stretch of text in two attributions.

    Attributes:
        text: The stretch.
        first_positions: Its tokens in the first prompt; none where it is not there.
        second_positions: In the second.
        first: Sum of the scores of its tokens in the first; None where it is not there, or where
            some of it was not attributed.
        second: In the second.
        difference: First less second; None unless both are known.
    """

    text: str
    first_positions: tuple[int, ...]
    second_positions: tuple[int, ...]
    first: Estimate | None
    second: Estimate | None
    difference: Estimate | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison(Stored):
    """Two attributions side by side.

    Attributes:
        first: What the first is called.
        second: What the second is called.
        by: What stretches are: ``words`` or ``spans``.
        per_character: Whether scores and log-probabilities are divided by the number of characters
            of the response that they are about.
        first_log_response: Log-probability of the first response given its prompt.
        second_log_response: Of the second.
        texts: The stretches, in order of the prompts.
    """

    first: str
    second: str
    by: By
    per_character: bool
    first_log_response: float
    second_log_response: float
    texts: tuple[ComparedText, ...]

    @property
    def shared(self) -> tuple[ComparedText, ...]:
        """The stretches with a score on both sides."""
        return tuple(one for one in self.texts if one.difference is not None)

    def to_frame(self) -> "pd.DataFrame":
        """Return a row a stretch, each number with the ends of its interval; None where unknown."""
        import pandas as pd

        return pd.DataFrame([_row(one) for one in self.texts])

    def summary(self, *, limit: int = _SHOWN) -> str:
        """Return lines for a person: the stretches that differ most, in order of the prompt.

        Args:
            limit: How many; 0 for all.
        """
        unit = "nats a character" if self.per_character else "nats"
        shared = self.shared
        ranked = sorted(shared, key=lambda one: -abs(_value(one.difference)))
        chosen = {id(one) for one in ranked[: limit or len(ranked)]}
        lines = [
            f"response: {self.first_log_response:.4f} {unit} ({self.first}), "
            f"{self.second_log_response:.4f} {unit} ({self.second})",
            f"scores of {len(shared)} shared {self.by}, in {unit}; {len(self.texts) - len(shared)} "
            "more on one side only or not attributed",
        ]
        for one in shared:
            if id(one) in chosen and one.difference is not None:
                low, high = one.difference.low, one.difference.high
                mark = "" if low <= 0.0 <= high else "  *"
                lines.append(
                    f"{_value(one.first):+z9.4f} - {_value(one.second):+z9.4f} = "
                    f"{one.difference.value:+z9.4f} [{low:+z.4f}, {high:+z.4f}]  {one.text!r}{mark}"
                )
        if len(chosen) < len(shared):
            lines.append(f"... {len(shared) - len(chosen)} more that differ less")
        return "\n".join(lines)


def compare(
    first: Attribution,
    second: Attribution,
    *,
    by: By = "words",
    per_character: bool = False,
    names: tuple[str, str] | None = None,
) -> Comparison:
    """Return two attributions side by side, on the text that their prompts share.

    The intervals of differences take the two attributions to be independent, as they are with
    different seeds. With one seed a position draws with the same random numbers in both.

    Args:
        first: An attribution.
        second: Another: by another model, of another prompt, of another response.
        by: ``words``, or ``spans`` for the shortest stretches that cut no token of either side.
            Words that both prompts have in the same order are matched.
        per_character: Whether to divide all numbers by the characters of their own response, so
            that long and short responses compare.
        names: What to call the two; by default the names of their models.

    Raises:
        InputError: A position is in two places of one attribution, the intervals are of different
            levels, or a response has no characters to divide by.
        UnknownNameError: No such ``by``.
    """
    if by not in _BY:
        raise UnknownNameError.among("way to cut texts", by, _BY)
    sides = _Side(first, per_character), _Side(second, per_character)
    stretches = align(
        first.case.prompt_text, second.case.prompt_text, sides[0].uncut, sides[1].uncut, by=by
    )
    first_name, second_name = names or _names(first, second)
    return Comparison(
        first=first_name,
        second=second_name,
        by=by,
        per_character=per_character,
        first_log_response=first.log_response * sides[0].scale,
        second_log_response=second.log_response * sides[1].scale,
        texts=tuple(_compared(sides, one.first, one.second) for one in stretches),
    )


class _Side:
    """One of the two attributions, asked about stretches of its prompt."""

    def __init__(self, found: Attribution, per_character: bool) -> None:
        self.found = found
        n_characters = len(found.case.response_text)
        if per_character and not n_characters:
            raise InputError("a response of no characters has nothing to divide by")
        self.scale = 1.0 / n_characters if per_character else 1.0
        self.place_at: dict[int, Place] = {}
        for place in found.places:
            for position in place.positions:
                if position in self.place_at:
                    raise InputError(
                        f"position {position} is in two places, so its score has no one value; "
                        "select(...) places that do not overlap"
                    )
                self.place_at[position] = place

    @property
    def uncut(self) -> list[Span]:
        """Characters that belong together: of each token, and from end to end of each place."""
        spans = self.found.case.spans
        wide = [place.positions for place in self.found.places if len(place.positions) > 1]
        return [
            *spans,
            *((min(spans[i][0] for i in at), max(spans[i][1] for i in at)) for at in wide),
        ]

    def positions(self, span: Span | None) -> tuple[int, ...]:
        """Return the tokens that begin in a stretch; one of no characters counts where it is."""
        if span is None:
            return ()
        last = len(self.found.case.prompt_text) - 1
        return tuple(
            i for i, (start, _) in enumerate(self.found.case.spans)
            if span[0] <= min(start, last) < span[1]
        )  # fmt: skip

    def score(self, positions: Sequence[int]) -> Estimate | None:
        """Return the sum of scores of tokens, or None unless all were attributed."""
        if not positions or any(i not in self.place_at for i in positions):
            return None
        places = list({id(self.place_at[i]): self.place_at[i] for i in positions}.values())
        scores = [place.measures.score for place in places]
        if len(scores) == 1 and self.scale == 1.0:
            return scores[0]
        return weighted_sum(scores, [self.scale] * len(scores), method="sum of scores")


def _names(first: Attribution, second: Attribution) -> tuple[str, str]:
    if first.model.name != second.model.name:
        return first.model.name, second.model.name
    return f"{first.model.name} (first)", f"{second.model.name} (second)"


def _compared(sides: tuple[_Side, _Side], first: Span | None, second: Span | None) -> ComparedText:
    at = sides[0].positions(first), sides[1].positions(second)
    scores = sides[0].score(at[0]), sides[1].score(at[1])
    side, span = (sides[0], first) if first is not None else (sides[1], second)
    return ComparedText(
        text="" if span is None else side.found.case.prompt_text[slice(*span)],
        first_positions=at[0],
        second_positions=at[1],
        first=scores[0],
        second=scores[1],
        difference=None
        if scores[0] is None or scores[1] is None
        else weighted_sum([scores[0], scores[1]], [1.0, -1.0], method="difference of scores"),
    )


def _row(one: ComparedText) -> dict[str, object]:
    row: dict[str, object] = {
        "text": one.text,
        "n_first": len(one.first_positions),
        "n_second": len(one.second_positions),
    }
    ends: tuple[tuple[str, Callable[[Estimate], float]], ...] = (
        ("", lambda x: x.value), ("_low", lambda x: x.low), ("_high", lambda x: x.high),
    )  # fmt: skip
    for name in ("first", "second", "difference"):
        estimate = getattr(one, name)
        row |= {f"{name}{end}": None if estimate is None else of(estimate) for end, of in ends}
    return row


def _value(estimate: Estimate | None) -> float:
    return 0.0 if estimate is None else estimate.value
