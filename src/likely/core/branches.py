"""Sequences that share a prefix and grow together, so that nothing is evaluated twice. Unit: nats.

`likely.core.engine.evaluate` answers requests that are all known beforehand. Where what is asked
next depends on the answers so far, a *stem* keeps a text and any number of *branches* go on from
any of its prefixes, each step evaluating new tokens alone.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

import numpy as np
from jaxtyping import Bool, Float, Int

from likely.core.engine import Continuation, Row, evaluate
from likely.core.estimate import Cost
from likely.core.model import Capability, LanguageModel, Settings
from likely.errors import CapabilityError, InputError

_ROWS_AT_ONCE = 128  # whole rows held together: 50 MB of a vocabulary of 50,000


@dataclass(kw_only=True)
class Spending:
    """What a stem and all its branches have cost so far."""

    cost: Cost = field(default_factory=Cost)

    def add(self, tokens: int, calls: int, seconds: float) -> None:
        """Count work."""
        self.cost += Cost(token_evaluations=tokens, model_calls=calls, seconds=seconds)


class UntoldError(CapabilityError):
    """The model tells no more than an upper bound on some of the log-probabilities asked for.

    Attributes:
        log_bounds: Shape ``(B, k)``: what it tells of each appended token, nats.
        is_bound: Shape ``(B, k)``: where that is only a bound.
    """

    def __init__(
        self,
        message: str,
        *,
        log_bounds: Float[np.ndarray, "B k"],
        is_bound: Bool[np.ndarray, "B k"],
    ) -> None:
        super().__init__(message)
        self.log_bounds = log_bounds
        self.is_bound = is_bound


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
            UntoldError: The model tells only bounds; the branches are as they were before.
        """
        ...

    def append(self, tokens: Int[np.ndarray, "B k"]) -> None:
        """Append k tokens to each branch without asking how likely they are.

        Raises:
            InputError: The shape is wrong.
        """
        ...

    def iter_rows(self) -> Iterator[Float[np.ndarray, "r V"]]:
        """Yield the next-token row after each branch, in their order, some rows at a time.

        Rows are float64 nats, to be read and not written to. No more of them are held than come
        together, so a reduction of rows (the likeliest token, a draw) takes little memory.

        Raises:
            NumericalError: The model gave NaN.
        """
        ...

    def keep(self, index: Int[np.ndarray, "b"]) -> None:
        """Go on with these branches alone, in this order; one may come several times."""
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

    @property
    def reads_anew(self) -> bool:
        """Whether a branch that grows is evaluated from the first token of the stem on."""
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

    @property
    def reads_anew(self) -> bool:
        """Whether the model evaluates the stem again for each branch."""
        return Capability.SHARED_PREFIX not in self.model.info.capabilities

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
        self._is_done = False

    def __len__(self) -> int:
        return len(self.grown)

    def grow(
        self, tokens: Int[np.ndarray, "B k"], *, last: bool = False
    ) -> Float[np.ndarray, "B k"]:
        """Append tokens as `Branches.grow` says, reading each sequence from its start."""
        check_growth(self, tokens, is_done=self._is_done)
        if not tokens.size:
            return np.empty(tokens.shape)
        requests = [
            Continuation(prefix=before, target=tuple(new.tolist()))
            for before, new in zip(self._texts(self.grown), tokens, strict=True)
        ]
        answers = evaluate(self.stem.model, requests, settings=self.stem.settings)
        self.stem.spending.cost += answers.cost
        values = np.stack([answer.values for answer in answers.answers])
        none = np.zeros(tokens.shape[1], dtype=bool)
        is_bound = np.stack(
            [none if answer.censored is None else answer.censored for answer in answers.answers]
        )
        if is_bound.any():
            first = tuple(int(at[0]) for at in np.nonzero(is_bound))
            raise UntoldError(
                f"{self.stem.model.info.name!r} tells no log-probability of token "
                f"{int(tokens[first])}, only that it is at most {float(values[first])!r}; use a "
                "local model or a server with prompt log-probs, such as vLLM (see docs/servers.md)",
                log_bounds=values, is_bound=is_bound,
            )  # fmt: skip
        self.grown = np.concatenate([self.grown, tokens], axis=1)
        self._is_done = last
        return values

    def append(self, tokens: Int[np.ndarray, "B k"]) -> None:
        """Append tokens as `Branches.append` says."""
        check_growth(self, tokens, is_done=self._is_done)
        self.grown = np.concatenate([self.grown, tokens], axis=1)

    def iter_rows(self) -> Iterator[Float[np.ndarray, "r V"]]:
        """Yield rows as `Branches.iter_rows` says, reading each sequence from its start."""
        for start in range(0, len(self), _ROWS_AT_ONCE):
            texts = self._texts(self.grown[start : start + _ROWS_AT_ONCE])
            requests = [Row(prefix=text) for text in texts]
            answers = evaluate(self.stem.model, requests, settings=self.stem.settings)
            self.stem.spending.cost += answers.cost
            yield np.stack([answer.values for answer in answers.answers])

    def keep(self, index: Int[np.ndarray, "b"]) -> None:
        """Go on with some, as `Branches.keep` says."""
        self.grown = self.grown[index]

    def _texts(self, grown: Int[np.ndarray, "r k"]) -> list[tuple[int, ...]]:
        return [self.prefix + tuple(row) for row in grown.tolist()]


def check_length(tokens: Sequence[int], length: int) -> None:
    """Raise unless a stem of these tokens has a prefix of this length.

    Raises:
        InputError: It has none.
    """
    if not 1 <= length <= len(tokens):
        raise InputError(f"the stem has prefixes of 1 to {len(tokens)} tokens, got {length!r}")


def check_growth(
    branches: Branches, tokens: Int[np.ndarray, "B k"], *, is_done: bool = False
) -> None:
    """Raise unless branches may grow by these tokens: a row for each of them.

    Args:
        branches: That are to grow.
        tokens: To be appended.
        is_done: Whether they were grown for the last time.

    Raises:
        InputError: They may not.
    """
    if is_done:
        raise InputError("these branches were grown with last=True and grow no more")
    if tokens.ndim != 2 or len(tokens) != len(branches):
        raise InputError(f"{len(branches)} branches grow by as many rows, got {tokens.shape}")
