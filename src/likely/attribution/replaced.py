"""What a replacement study returns: for each place the responses to its substitutes. Unit: nats."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from likely.attribution.result import ModelFacts
from likely.core.estimate import Cost, Estimate, estimate_names
from likely.core.stored import Stored

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """A response, and the substitutes that lead to it.

    Attributes:
        tokens: Ids.
        text: Without the end-of-sequence token.
        n_substitutes: How many of those tried lead to it.
        prob: Posterior of these together.
        distance: Edit distance from the original response, in tokens.
        is_original: Whether it is the original response.
        substitutes: The text of some of them, the likeliest first.
    """

    tokens: tuple[int, ...]
    text: str
    n_substitutes: int
    prob: float
    distance: int
    is_original: bool
    substitutes: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Replacement:
    """How the response changes with what stands at one place.

    Intervals of the weighted numbers hold for the whole posterior, wherever the substitutes that
    were not tried may lead: with nine tenths of it in the set they are wide by design. Their
    values are those of the set alone.

    Attributes:
        positions: In the prompt.
        tokens: Ids that stand there.
        text: Their text.
        n_set: Substitutes in the set, the actual one counted if it is there.
        set_mass: Posterior of the set.
        reached: Whether that is as much as was asked for.
        is_smallest: Whether it is certain that no smaller set has it.
        n_tried: How many of the set were tried.
        actual_in_set: Whether the actual tokens are in the set.
        count_entropy: Entropy of the responses where every substitute counts once; at most
            ``log n_set``.
        weighted_entropy: Entropy of the response to a substitute drawn from the posterior.
        stability: How likely such a substitute leads to the original response.
        distance: Expected edit distance from the original response, in tokens.
        n_reproducing: How many of the set lead to the original response.
        outcomes: The responses, likeliest first.
        notes: What is to be known about this place before its numbers are used.
        cost: Of the responses.
    """

    positions: tuple[int, ...]
    tokens: tuple[int, ...]
    text: str
    n_set: int
    set_mass: Estimate
    reached: bool
    is_smallest: bool
    n_tried: int
    actual_in_set: bool
    count_entropy: Estimate
    weighted_entropy: Estimate
    stability: Estimate
    distance: Estimate
    n_reproducing: Estimate
    outcomes: tuple[Outcome, ...]
    notes: tuple[str, ...]
    cost: Cost

    def to_row(self) -> dict[str, object]:
        """Return the numbers, each with the ends of its interval."""
        row: dict[str, object] = {
            "position": self.positions[0],
            "text": self.text,
            "n_set": self.n_set,
            "n_tried": self.n_tried,
            "reached": self.reached,
            "is_smallest": self.is_smallest,
            "actual_in_set": self.actual_in_set,
            "n_responses": len(self.outcomes),
        }
        for name in estimate_names(Replacement):
            estimate: Estimate = getattr(self, name)
            row |= estimate.to_columns(name)
        return row | {"token_evaluations": self.cost.token_evaluations}


@dataclass(frozen=True, slots=True, kw_only=True)
class Replacements(Stored):
    """What substitutes do at the places of a prompt.

    Attributes:
        places: In the order asked for.
        prompt: Its text.
        original: Ids of the response that others are compared with: the one that was attributed.
        own: Ids of the likeliest response to the prompt as it stands.
        mass: Of the posterior, as asked for.
        given_response: Whether the posterior is that given the response, q^r, and not q.
        max_tokens: Of a response.
        most: Substitutes tried at a place.
        level: Of intervals where substitutes were drawn.
        seed: Of the draws.
        model: Which was asked.
        cost: Of everything.
    """

    places: tuple[Replacement, ...]
    prompt: str
    original: tuple[int, ...]
    own: tuple[int, ...]
    mass: float
    given_response: bool
    max_tokens: int
    most: int
    level: float
    seed: int
    model: ModelFacts
    cost: Cost

    def __getitem__(self, index: int) -> Replacement:
        return self.places[index]

    def __len__(self) -> int:
        return len(self.places)

    def __iter__(self) -> Iterator[Replacement]:
        return iter(self.places)

    @property
    def is_own(self) -> bool:
        """Whether the attributed response is the likeliest one, as far as both go."""
        n = min(len(self.original), len(self.own))
        return self.original[:n] == self.own[:n]

    def to_frame(self) -> "pd.DataFrame":
        """Return a row a place."""
        import pandas as pd

        return pd.DataFrame([place.to_row() for place in self.places])

    def summary(self) -> str:
        """Return a few lines for a person, a line a place."""
        law = "prompt and response" if self.given_response else "the rest of the prompt"
        lines = [
            f"substitutes with {self.mass:.0%} of the posterior given {law}, "
            f"likeliest responses of up to {self.max_tokens} tokens ({self.model.name})"
        ]
        if not self.is_own:
            lines.append("the attributed response is not the likeliest one to this prompt itself")
        for place in self.places:
            same = place.n_reproducing
            lines.append(
                f"{place.positions[0]:4d} {place.text!r}: {place.n_set} substitutes, "
                f"{same.value:.4g} give the response, count entropy "
                f"{place.count_entropy.value:.4f}, weighted {place.weighted_entropy.value:.4f} "
                f"[{place.weighted_entropy.low:.4f}, {place.weighted_entropy.high:.4f}], "
                f"stability {place.stability.value:.3f} "
                f"[{place.stability.low:.3f}, {place.stability.high:.3f}]"
            )
            lines += [f"     note: {note}" for note in place.notes]
        return "\n".join(lines)
