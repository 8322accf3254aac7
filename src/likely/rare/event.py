"""What must happen: the argmax is a token, one of several, or the first of a whole answer. Nats.

An event has one or more steps. At each step the model has read the input and the tokens of the
steps before; the *margin* of the step is how far the best of its winners stands above the best of
all other tokens (in logits, which differ as log-probabilities do). The event happens where every
margin is greater than ``above``, so a tie at the top is nobody's win, on every path alike.
"""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from likely.core.model import LanguageModel
from likely.errors import InputError
from likely.rare.support import read_token


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """Something that a greedy model does or does not do with an input.

    Attributes:
        name: What it is called, the text of its tokens.
        steps: The winners of each step, ids; all steps but the last have one winner, which the
            model then reads.
        above: By how many nats the winners must lead, more than this; 0 for the argmax itself, a
            negative number for coming so near.

    Raises:
        InputError: There is no step, a step has no winner or one twice, or an early step has
            several.
    """

    name: str
    steps: tuple[tuple[int, ...], ...]
    above: float = 0.0

    def __post_init__(self) -> None:
        if not self.steps or not all(self.steps):
            raise InputError(f"an event has steps and each of them winners, got {self.steps!r}")
        if any(len(winners) != 1 for winners in self.steps[:-1]):
            raise InputError(f"only the last step has several winners, got {self.steps!r}")
        if any(len(set(winners)) != len(winners) for winners in self.steps):
            raise InputError(f"a token stands twice among the winners of {self.name!r}")
        if not np.isfinite(self.above):
            raise InputError(f"the margin of an event is a finite number, got {self.above!r}")

    @property
    def read(self) -> tuple[int, ...]:
        """What the model reads after the input, up to the last step."""
        return tuple(winners[0] for winners in self.steps[:-1])

    @property
    def is_one_step(self) -> bool:
        """Whether the law of the next token alone decides."""
        return len(self.steps) == 1

    @property
    def is_plain(self) -> bool:
        """Whether it is that one token is the argmax, and no more."""
        return self.is_one_step and self.above == 0.0 and len(self.winners) == 1

    @property
    def winners(self) -> tuple[int, ...]:
        """The winners of the last step."""
        return self.steps[-1]

    def scores(self, margins: Float[np.ndarray, "*n"]) -> Float[np.ndarray, "*n"]:
        """Return how far margins exceed what is asked: 0 or more exactly where the event happens.

        That a score is *at least* a level is how splitting puts it; a tie falls just short of 0.
        """
        lead = margins - self.above
        return np.where(lead > 0.0, lead, np.minimum(lead, -sys.float_info.min))

    def to_dict(self) -> dict[str, object]:
        """Return the fields as a JSON-ready mapping."""
        return {"name": self.name, "steps": [list(one) for one in self.steps], "above": self.above}

    @classmethod
    def from_dict(cls, record: Mapping[str, object]) -> "Event":
        """Return the event that `to_dict` took apart.

        Raises:
            InputError: A field is missing or unusable.
        """
        name, steps, above = record.get("name"), record.get("steps"), record.get("above")
        if not isinstance(name, str) or not isinstance(steps, list):
            raise InputError(f"an event has a name and steps, got {dict(record)!r}")
        if not isinstance(above, int | float):
            raise InputError(f"the margin of an event is a number, got {above!r}")
        if not all(isinstance(t, int) for one in steps for t in one):
            raise InputError(f"the winners of an event are ids, got {steps!r}")
        return cls(name=name, steps=tuple(tuple(one) for one in steps), above=float(above))


Target = int | str | Event
"""What a caller may give for an event: an id, a text that is one token, or an event."""


def token(target: int | str, model: LanguageModel, *, above: float = 0.0) -> Event:
    """Return the event that the argmax is one token.

    Args:
        target: An id, or a text that is exactly one token.
        model: Whose token it is.
        above: By how many nats it must lead, more than this.

    Raises:
        InputError: The text is not one token, or the id is none of the model.
    """
    return any_of([target], model, above=above)


def any_of(targets: Sequence[int | str], model: LanguageModel, *, above: float = 0.0) -> Event:
    """Return the event that the argmax is one of some tokens.

    Args:
        targets: Ids or texts that are one token each.
        model: Whose tokens they are.
        above: By how many nats the best of them must lead all others, more than this.

    Raises:
        InputError: There is none, or one of them is unusable.
    """
    ids = tuple(sorted({read_token(one, model) for one in targets}))
    _check_all_known(ids, model)
    names = " | ".join(model.tokenizer.decode([one]) for one in ids)
    return Event(name=_led(names, above), steps=(ids,), above=above)


def continuation(text: str | Sequence[int], model: LanguageModel, *, above: float = 0.0) -> Event:
    """Return the event that the greedy answer begins with these tokens.

    Args:
        text: A text, cut into tokens by itself, or ids.
        model: That answers.
        above: By how many nats each token must lead, more than this.

    Raises:
        InputError: There is no token, or an id is none of the model.
    """
    given = model.tokenizer.encode(text).tokens if isinstance(text, str) else text
    ids = tuple(read_token(one, model) for one in given)
    if not ids:
        raise InputError("a continuation has at least one token, got none")
    name = _led(model.tokenizer.decode(ids), above)
    return Event(name=name, steps=tuple((one,) for one in ids), above=above)


def read_event(target: Target, model: LanguageModel) -> Event:
    """Return the event that a caller means.

    Raises:
        InputError: A text is not exactly one token, or an id is none of the model.
    """
    if isinstance(target, Event):
        for winners in target.steps:
            _check_all_known(winners, model)
        return target
    return token(target, model)


def margins(rows: Float[np.ndarray, "n V"], winners: Sequence[int]) -> Float[np.ndarray, "n"]:
    """Return how far the best winner stands above the best of all others, row by row.

    Args:
        rows: Shape ``(n, V)``: logits or log-probabilities.
        winners: Ids, distinct.

    >>> margins(np.array([[1.0, 3.0, 2.5]]), [1])
    array([0.5])
    """
    others = rows.copy()
    others[:, list(winners)] = -np.inf
    return np.asarray(rows[:, list(winners)].max(axis=1) - others.max(axis=1))


def _check_all_known(ids: Sequence[int], model: LanguageModel) -> None:
    for one in ids:
        read_token(one, model)
    if len(set(ids)) >= model.info.n_vocab:
        raise InputError(
            f"a step of an event leaves at least one token out, got all {model.info.n_vocab}"
        )


def _led(name: str, above: float) -> str:
    return name if above == 0.0 else f"{name} by {above:g} nats"
