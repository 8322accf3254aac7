"""Sequences that share a prefix and grow together, so that nothing is evaluated twice. Unit: nats.

`likely.core.engine.evaluate` answers requests that are all known beforehand. Where what is asked
next depends on the answers so far, a *stem* keeps a text and any number of *branches* go on from
any of its prefixes, each step evaluating new tokens alone.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float, Int

from likely.core.engine import Continuation, Row, evaluate
from likely.core.estimate import Cost
from likely.core.model import LanguageModel, Settings
from likely.errors import InputError


@dataclass(kw_only=True)
class Spending:
    """What a stem and all its branches have cost so far."""

    cost: Cost = field(default_factory=Cost)

    def add(self, tokens: int, calls: int, seconds: float) -> None:
        """Count work."""
        self.cost += Cost(token_evaluations=tokens, model_calls=calls, seconds=seconds)


@runtime_checkable
class Branches(Protocol):
    """B sequences after one prefix of a stem, all of one length."""

    def __len__(self) -> int:
        """Return B."""
        ...

    def grow(
        self, tokens: Int[np.ndarray, "B k"], *, last: bool = False
    ) -> Float[np.ndarray, "B k"]:
        """Append k tokens to each branch and return the log-probability of each of them.

        Args:
            tokens: Ids, a row for each branch.
            last: Whether the branches grow no more, so that nothing need be kept of them.

        Raises:
            InputError: The branches were grown for the last time, or the shape is wrong.
            NumericalError: The model gave NaN.
        """
        ...

    def keep(self, index: Int[np.ndarray, "b"]) -> None:
        """Go on with these branches alone, in this order."""
        ...


@runtime_checkable
class Stem(Protocol):
    """A text whose every prefix can be gone on from."""

    @property
    def tokens(self) -> tuple[int, ...]:
        """Its ids."""
        ...

    @property
    def spending(self) -> Spending:
        """What it and its branches have cost."""
        ...

    def row(self, length: int) -> Float[np.ndarray, "V"]:
        """Return the next-token log-probabilities after the first ``length`` tokens."""
        ...

    def branches(self, length: int, n: int) -> Branches:
        """Return ``n`` branches that go on after the first ``length`` tokens, at least 1."""
        ...


@runtime_checkable
class HasStem(Protocol):
    """A model that keeps what it computed between calls."""

    def stem(self, tokens: Sequence[int], *, settings: Settings | None = None) -> Stem:
        """Return a stem of these tokens."""
        ...


def open_stem(
    model: LanguageModel, tokens: Sequence[int], *, settings: Settings | None = None
) -> Stem:
    """Return a stem of ``tokens``: the model's own, or one that evaluates whole sequences.

    Args:
        model: Any model.
        tokens: Ids, at least one.
        settings: Memory that branches may take, and for `EngineStem` how to evaluate.

    Raises:
        InputError: No tokens, or more than the model can read.
    """
    if not len(tokens):
        raise InputError("a stem needs at least one token, got none: give a context or a BOS")
    room = model.info.max_tokens
    if room is not None and len(tokens) > room:
        raise InputError(f"the text has {len(tokens)} tokens, {model.info.name!r} reads {room}")
    if isinstance(model, HasStem):
        return model.stem(tokens, settings=settings)
    return EngineStem(model, tokens, settings=settings)


class EngineStem:
    """A stem for models that keep nothing between calls: each step reads its sequences anew."""

    def __init__(
        self, model: LanguageModel, tokens: Sequence[int], *, settings: Settings | None = None
    ) -> None:
        self.model = model
        self.tokens = tuple(int(token) for token in tokens)
        self.spending = Spending()
        self.settings = settings
        self._rows: dict[int, Float[np.ndarray, "V"]] = {}

    def row(self, length: int) -> Float[np.ndarray, "V"]:
        """Return a row as `Stem.row` says."""
        check_length(self.tokens, length)
        if length not in self._rows:
            request = Row(prefix=self.tokens[:length])
            answers = evaluate(self.model, [request], settings=self.settings)
            self.spending.cost += answers.cost
            self._rows = {length: answers[0].values}
        return self._rows[length]

    def branches(self, length: int, n: int) -> "EngineBranches":
        """Return branches as `Stem.branches` says."""
        check_length(self.tokens, length)
        return EngineBranches(self, self.tokens[:length], n)


class EngineBranches:
    """Branches of an `EngineStem`."""

    def __init__(self, stem: EngineStem, prefix: tuple[int, ...], n: int) -> None:
        self.stem = stem
        self.prefix = prefix
        self.grown = np.empty((n, 0), dtype=np.int64)

    def __len__(self) -> int:
        return len(self.grown)

    def grow(
        self, tokens: Int[np.ndarray, "B k"], *, last: bool = False
    ) -> Float[np.ndarray, "B k"]:
        """Append tokens as `Branches.grow` says, reading each sequence from its start."""
        check_growth(self, tokens)
        if not tokens.size:
            return np.empty(tokens.shape)
        requests = [
            Continuation(prefix=self.prefix + tuple(before.tolist()), target=tuple(new.tolist()))
            for before, new in zip(self.grown, tokens, strict=True)
        ]
        answers = evaluate(self.stem.model, requests, settings=self.stem.settings)
        self.stem.spending.cost += answers.cost
        self.grown = np.concatenate([self.grown, tokens], axis=1)
        return np.stack([answer.values for answer in answers.answers])

    def keep(self, index: Int[np.ndarray, "b"]) -> None:
        """Go on with some, as `Branches.keep` says."""
        self.grown = self.grown[index]


def check_length(tokens: Sequence[int], length: int) -> None:
    """Raise unless a stem of these tokens has a prefix of this length.

    Raises:
        InputError: It has none.
    """
    if not 1 <= length <= len(tokens):
        raise InputError(f"the stem has prefixes of 1 to {len(tokens)} tokens, got {length!r}")


def check_growth(branches: Branches, tokens: Int[np.ndarray, "B k"]) -> None:
    """Raise unless there is a row of tokens for each branch.

    Raises:
        InputError: There is not.
    """
    if tokens.ndim != 2 or len(tokens) != len(branches):
        raise InputError(f"{len(branches)} branches grow by as many rows, got {tokens.shape}")
