"""What `score_answers` returns: answers with their spellings, mass and odds. Unit: nats."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from likely.core.estimate import Cost
from likely.core.jsonio import dumps
from likely.core.logspace import logsumexp
from likely.errors import InputError

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerPart:
    """One spelling of an answer.

    Attributes:
        surface: The spelling.
        tokens: Its ids exactly as scored.
        pieces: Their text.
        log_prob: Nats, the sum over the tokens.
        log_word_end: Nats, that the word then ends; None where words need not end.
        is_bound: Whether ``log_prob`` is only an upper bound.
    """

    surface: str
    tokens: tuple[int, ...]
    pieces: tuple[str, ...]
    log_prob: float
    log_word_end: float | None
    is_bound: bool

    @property
    def log_total(self) -> float:
        """Nats of the spelling with its word end, if one is asked."""
        return self.log_prob + (self.log_word_end or 0.0)

    def to_dict(self) -> dict[str, object]:
        """Return the fields as a mapping for strict JSON."""
        return {
            "surface": self.surface,
            "tokens": self.tokens,
            "pieces": self.pieces,
            "log_prob": self.log_prob,
            "log_word_end": self.log_word_end,
            "is_bound": self.is_bound,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerScore:
    """The probability of one answer after one context.

    Attributes:
        name: The answer.
        log_prob: Nats, the sum of the probabilities of ``parts``.
        parts: The spellings that were added up: no event of one contains that of another.
        flags: ``boundary_merge`` if a spelling was encoded alone because a token spans the join;
            ``overlap`` if the event of another answer contains this one, or the reverse;
            ``censored`` if the number is only an upper bound.
    """

    name: str
    log_prob: float
    parts: tuple[AnswerPart, ...]
    flags: frozenset[str]

    @property
    def best_part(self) -> AnswerPart:
        """The likeliest spelling; of equal ones the first."""
        return max(self.parts, key=lambda part: part.log_total)

    def log_shares(self) -> dict[str, float]:
        """Return the log of each spelling's share of the answer, nats.

        Raises:
            InputError: The answer is impossible, so there is nothing to share.
        """
        if self.log_prob == -math.inf:
            raise InputError(f"the answer {self.name!r} has probability 0, so it has no shares")
        return {part.surface: part.log_total - self.log_prob for part in self.parts}

    def to_dict(self) -> dict[str, object]:
        """Return the fields as a mapping for strict JSON."""
        return {
            "name": self.name,
            "log_prob": self.log_prob,
            "parts": [part.to_dict() for part in self.parts],
            "flags": self.flags,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextAnswers(Sequence[AnswerScore]):
    """All answers after one context, in the order they were declared.

    Attributes:
        answers: One for each name.
        context_tokens: Ids of the context exactly as evaluated, BOS included.
        log_mass: Nats, of any of the answers.
        log_other: Nats, of none of them.
        has_word_ends: Whether each answer includes that its word ends.
        flags: All flags of the answers.
    """

    answers: tuple[AnswerScore, ...]
    context_tokens: tuple[int, ...]
    log_mass: float
    log_other: float
    has_word_ends: bool
    flags: frozenset[str]

    def __getitem__(self, index: int) -> AnswerScore:  # type: ignore[override]  # no slices
        return self.answers[index]

    def __len__(self) -> int:
        return len(self.answers)

    def __iter__(self) -> Iterator[AnswerScore]:
        return iter(self.answers)

    def log_prob(self, name: str) -> float:
        """Return the log-probability of one answer, nats.

        Raises:
            InputError: No answer has that name.
        """
        for answer in self.answers:
            if answer.name == name:
                return answer.log_prob
        raise InputError(f"no answer named {name!r}; they are {[a.name for a in self.answers]}")

    def renormalised(self) -> dict[str, float]:
        """Return the log-probability of each answer given that it is one of them, nats.

        Raises:
            InputError: The answers overlap, are known only by bounds, or are all impossible.
        """
        if "overlap" in self.flags:
            names = [a.name for a in self.answers if "overlap" in a.flags]
            raise InputError(
                f"the answers {names} overlap, so they share no whole; use word_end='always', "
                "or answers of which none begins another"
            )
        if "censored" in self.flags:
            raise InputError("some answers are known only by a bound, which cannot be shared out")
        if self.log_mass == -math.inf:
            raise InputError("every answer has probability 0, so there is nothing to renormalise")
        log_probs = np.array([answer.log_prob for answer in self.answers])
        shared = log_probs - float(logsumexp(log_probs))
        return {a.name: float(x) for a, x in zip(self.answers, shared, strict=True)}

    def to_dict(self) -> dict[str, object]:
        """Return the fields as a mapping for strict JSON."""
        return {
            "answers": [answer.to_dict() for answer in self.answers],
            "context_tokens": self.context_tokens,
            "log_mass": self.log_mass,
            "log_other": self.log_other,
            "has_word_ends": self.has_word_ends,
            "flags": self.flags,
        }

    def summary(self) -> str:
        """Return a line an answer for a person, and one for the rest."""
        lines = []
        for answer in self.answers:
            flags = f"  [{', '.join(sorted(answer.flags))}]" if answer.flags else ""
            best = answer.best_part.surface
            lines.append(f"{answer.log_prob:.4f} nats  {answer.name!r}, most as {best!r}{flags}")
        lines.append(f"{self.log_mass:.4f} nats any of these, {self.log_other:.4f} none")
        return "\n".join(lines)


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerScores(Sequence[ContextAnswers]):
    """The answers after each context of one call, and what they cost together.

    Attributes:
        items: One for each context, in order.
        cost: Of the whole call.
    """

    items: tuple[ContextAnswers, ...]
    cost: Cost

    @property
    def has_word_ends(self) -> bool:
        """Whether every answer after every context includes that its word ends."""
        return all(item.has_word_ends for item in self.items)

    def __getitem__(self, index: int) -> ContextAnswers:  # type: ignore[override]  # cost is whole
        return self.items[index]

    def __len__(self) -> int:
        return len(self.items)

    def __iter__(self) -> Iterator[ContextAnswers]:
        return iter(self.items)

    def to_frame(self) -> "pd.DataFrame":
        """Return one row for each context and answer."""
        import pandas as pd

        rows = [
            {
                "context": i,
                "answer": answer.name,
                "log_prob": answer.log_prob,
                "log_mass": item.log_mass,
                "log_other": item.log_other,
                "best_surface": answer.best_part.surface,
                "n_surfaces": len(answer.parts),
                "flags": ",".join(sorted(answer.flags)),
            }
            for i, item in enumerate(self.items)
            for answer in item
        ]
        return pd.DataFrame(rows)

    def to_dict(self) -> dict[str, object]:
        """Return the fields as a mapping for strict JSON."""
        return {
            "contexts": [item.to_dict() for item in self.items],
            "has_word_ends": self.has_word_ends,
            "cost": self.cost.to_dict(),
        }

    def to_json(self) -> str:
        """Return `to_dict` as strict JSON."""
        return dumps(self.to_dict())

    def summary(self) -> str:
        """Return a few lines a context for a person."""
        return "\n\n".join(item.summary() for item in self.items)
