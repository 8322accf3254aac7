"""Reads inputs through any model: who wins after each, and by how much. Unit: nats.

Models with tensors are read by batches of whole inputs, of which only the last token's state is
kept; all others by rows of log-probabilities from the engine. Both count what they spend.
"""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

import numpy as np
from jaxtyping import Bool, Float, Int

from likely.core.engine import Meter as Progress
from likely.core.engine import Row, evaluate
from likely.core.model import Capability, LanguageModel, Settings, require
from likely.errors import CapabilityError
from likely.rare.event import Event, margins
from likely.rare.result import Spent

_ROW_BATCH = 256  # rows of the engine at a time


@dataclass(kw_only=True)
class Meter:
    """What reading has cost so far.

    Attributes:
        progress: Is told the token positions as they are read.
        spent: The sum.
    """

    progress: Progress | None = None
    spent: Spent = field(default_factory=Spent)

    def forward(self, n: int, length: int, seconds: float) -> None:
        """Count ``n`` inputs of ``length`` tokens that went forward."""
        self._add(Spent(forwards=n, token_evaluations=n * length, seconds=seconds))

    def gradient(self, n: int, length: int, seconds: float) -> None:
        """Count ``n`` inputs of ``length`` tokens that went forward and back."""
        self._add(Spent(gradients=n, token_evaluations=n * length, seconds=seconds))

    def steps(
        self, event: Event, shape: tuple[int, int], seconds: float, *, has_gradient: bool
    ) -> None:
        """Count inputs that were read once for each step of an event.

        Args:
            event: Each step after the first is read one token further.
            shape: How many inputs, and how many tokens of each.
            seconds: That all steps took.
            has_gradient: Whether they went back too.
        """
        n, length = shape
        count = self.gradient if has_gradient else self.forward
        for step in range(len(event.steps)):
            count(n, length + step, seconds / len(event.steps))

    def _add(self, spent: Spent) -> None:
        self.spent += spent
        if self.progress is not None:
            self.progress.advance(spent.token_evaluations)


class Reader:
    """Margins and winners of inputs, through whatever the model offers.

    Args:
        model: Any local model.
        settings: How to evaluate where the engine does it.
        progress: Is told the token positions as they are read.

    Attributes:
        meter: What has been spent.

    Raises:
        CapabilityError: The model gives no whole next-token rows.
    """

    def __init__(
        self,
        model: LanguageModel,
        *,
        settings: Settings | None = None,
        progress: Progress | None = None,
    ) -> None:
        require(model, Capability.NEXT_TOKEN)
        self.model = model
        self.settings = settings
        self.meter = Meter(progress=progress)
        self._batched = _open_batched(model, self.meter)

    def winners(self, inputs: Int[np.ndarray, "n T"]) -> Int[np.ndarray, "n"]:
        """Return the id that wins after each input; -1 where the best two are level."""
        if self._batched is not None:
            return self._batched.winners(inputs)
        return np.concatenate(
            [np.array([], dtype=np.int64), *(unique_argmax(rows) for rows in self._rows(inputs))]
        )

    def margins(
        self, inputs: Int[np.ndarray, "n T"], events: Sequence[Event]
    ) -> Float[np.ndarray, "n E"]:
        """Return for each input and event the smallest margin of its steps.

        Steps after the same tokens, as all first steps are, are read once.
        """
        found = np.full((len(inputs), len(events)), np.inf)
        for read, steps in _by_what_is_read(events).items():
            winners = [events[column].steps[len(read)] for column in steps]
            columns = found[:, steps]
            found[:, steps] = np.minimum(columns, self._after(inputs, read, winners))
        return found

    def hits(
        self, inputs: Int[np.ndarray, "n T"], events: Sequence[Event]
    ) -> Bool[np.ndarray, "n E"]:
        """Return for each input and event whether it happens."""
        if all(event.is_plain for event in events):
            winners = self.winners(inputs)
            return np.stack([winners == event.winners[0] for event in events], axis=1)
        above = np.array([event.above for event in events])
        return self.margins(inputs, events) > above

    def _after(
        self, inputs: Int[np.ndarray, "n T"], read: Sequence[int], winners: Sequence[Sequence[int]]
    ) -> Float[np.ndarray, "n W"]:
        """Return the margins of several sets of winners after each input and what is then read."""
        tail = np.array(read, dtype=np.int64)
        whole = np.hstack([inputs, np.broadcast_to(tail, (len(inputs), len(tail)))])
        if self._batched is not None:
            return self._batched.margins(whole, winners)
        parts = [
            np.stack([margins(rows, one) for one in winners], axis=1) for rows in self._rows(whole)
        ]
        return np.concatenate([np.empty((0, len(winners))), *parts])

    def _rows(self, inputs: Int[np.ndarray, "n T"]) -> Iterator[Float[np.ndarray, "r V"]]:
        for start in range(0, len(inputs), _ROW_BATCH):
            part = inputs[start : start + _ROW_BATCH]
            began = time.perf_counter()
            requests = [Row(prefix=tuple(one)) for one in part.tolist()]
            answers = evaluate(self.model, requests, settings=self.settings)
            self.meter.forward(len(part), part.shape[1], time.perf_counter() - began)
            yield np.stack([answer.values for answer in answers.answers])


@runtime_checkable
class Batched(Protocol):
    """A model that reads batches of whole inputs."""

    def winners(self, inputs: Int[np.ndarray, "n T"]) -> Int[np.ndarray, "n"]:
        """Return as `Reader.winners` does."""
        ...

    def margins(
        self, inputs: Int[np.ndarray, "n T"], winners: Sequence[Sequence[int]]
    ) -> Float[np.ndarray, "n W"]:
        """Return how far the best of each set of winners leads."""
        ...


def unique_argmax(rows: Float[np.ndarray, "n V"]) -> Int[np.ndarray, "n"]:
    """Return the place of the largest entry of each row; -1 where it is not the only one.

    >>> unique_argmax(np.array([[1.0, 2.0], [2.0, 2.0]])).tolist()
    [1, -1]
    """
    best = rows.argmax(axis=1)
    n_best = (rows == rows.max(axis=1, keepdims=True)).sum(axis=1)
    return np.where(n_best == 1, best, -1)


def _by_what_is_read(events: Sequence[Event]) -> dict[tuple[int, ...], list[int]]:
    """Return the numbers of the events that have a step after the same tokens, by these."""
    found: dict[tuple[int, ...], list[int]] = {}
    for number, event in enumerate(events):
        for step in range(len(event.steps)):
            found.setdefault(event.read[:step], []).append(number)
    return found


def _open_batched(model: LanguageModel, meter: Meter) -> Batched | None:
    if Capability.HIDDEN_STATES not in model.info.capabilities:
        return None
    from likely.rare.batches import Batches

    try:
        return Batches(model, meter)
    except CapabilityError:  # such as logits that are capped: the engine's rows have them right
        return None
