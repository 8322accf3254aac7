"""The law of inputs: independent places, or a list of whole inputs. Unit: nats.

An event is rare under a stated law of inputs, so the law is an object of its own: it can be drawn
from, says how likely an input is, and, where it is small, goes through every input there is.
"""

import hashlib
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float, Int

from likely.core.model import LanguageModel
from likely.core.streams import generator
from likely.errors import InputError
from likely.rare.event import Event
from likely.rare.support import Number, Support, Weights, read_weights

BLOCK = 1024
"""Inputs that one random stream draws; fixed, so that draws do not depend on batches."""


@runtime_checkable
class InputDistribution(Protocol):
    """A law over inputs that are all of one length."""

    @property
    def name(self) -> str:
        """What it is called."""
        ...

    @property
    def length(self) -> int:
        """T, tokens of each input, BOS and other constants included."""
        ...

    @property
    def n_inputs(self) -> int:
        """How many inputs have a positive probability."""
        ...

    @property
    def fingerprint(self) -> str:
        """A hash of the law: the same for the same law of the same ids."""
        ...

    def sample(self, n: int, *, rng: np.random.Generator) -> Int[np.ndarray, "n T"]:
        """Return independent inputs."""
        ...

    def log_prob(self, inputs: Int[np.ndarray, "n T"]) -> Float[np.ndarray, "n"]:
        """Return how likely inputs are, nats."""
        ...

    def iter_inputs(
        self, *, size: int
    ) -> Iterator[tuple[Int[np.ndarray, "n T"], Float[np.ndarray, "n"]]]:
        """Yield every input once with its log-probability, at most ``size`` at a time."""
        ...


@runtime_checkable
class Described(Protocol):
    """A law that says what its inputs look like."""

    @property
    def sentence(self) -> str:
        """What they look like, in words; empty if nobody has said."""
        ...


def sentence_of(distribution: InputDistribution) -> str:
    """Return what the inputs of a law look like, in its own words; empty if it does not say."""
    return distribution.sentence if isinstance(distribution, Described) else ""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class IndependentDistribution:
    """Inputs whose tokens are independent, each with a law of its own.

    Attributes:
        name: What it is called.
        supports: One law for each place, in order; a BOS is a place with one token.
        details: Where it comes from: the corpus, its hash, filters.
        sentence: What its inputs look like, in words; empty if nobody has said.

    Raises:
        InputError: There is no place.
    """

    name: str
    supports: tuple[Support, ...]
    details: Mapping[str, str | int | float]
    sentence: str = ""

    def __post_init__(self) -> None:
        if not self.supports:
            raise InputError(f"the distribution {self.name!r} has no place; give at least one")

    @property
    def length(self) -> int:
        """T, tokens of each input."""
        return len(self.supports)

    @property
    def varying(self) -> tuple[int, ...]:
        """Places where more than one token may stand."""
        return tuple(i for i, support in enumerate(self.supports) if len(support) > 1)

    @property
    def n_inputs(self) -> int:
        """How many inputs have a positive probability."""
        return math.prod(len(support) for support in self.supports)

    @property
    def fingerprint(self) -> str:
        """A hash of ids and probabilities, place by place."""
        digest = hashlib.blake2b(digest_size=16)
        for support in self.supports:
            digest.update(len(support).to_bytes(8, "little"))
            digest.update(support.tokens.astype("<i8").tobytes())
            digest.update(support.log_probs.astype("<f8").tobytes())
        return digest.hexdigest()

    def sample(self, n: int, *, rng: np.random.Generator) -> Int[np.ndarray, "n T"]:
        """Return ``n`` independent inputs."""
        return self.at(rng.random((n, self.length)))

    def at(self, uniforms: Float[np.ndarray, "n T"]) -> Int[np.ndarray, "n T"]:
        """Return the inputs that numbers in [0, 1) stand for."""
        columns = [
            support.draw(uniforms[:, i])
            if len(support) > 1
            else support.tokens[[0] * len(uniforms)]
            for i, support in enumerate(self.supports)
        ]
        return np.stack(columns, axis=1)

    def log_prob(self, inputs: Int[np.ndarray, "n T"]) -> Float[np.ndarray, "n"]:
        """Return how likely inputs are, nats; ``-inf`` for those that never come."""
        columns = [support.log_prob(inputs[:, i]) for i, support in enumerate(self.supports)]
        return np.asarray(np.sum(columns, axis=0, dtype=np.float64))

    def iter_inputs(
        self, *, size: int
    ) -> Iterator[tuple[Int[np.ndarray, "n T"], Float[np.ndarray, "n"]]]:
        """Yield every input once, the last place changing fastest."""
        shape = [len(support) for support in self.supports]
        for start in range(0, self.n_inputs, size):
            flat = np.arange(start, min(start + size, self.n_inputs))
            places = np.unravel_index(flat, shape)
            pairs = list(zip(self.supports, places, strict=True))
            inputs = np.stack([support.tokens[at] for support, at in pairs], axis=1)
            yield inputs, np.sum([support.log_probs[at] for support, at in pairs], axis=0)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ListedDistribution:
    """Inputs of one length that are written out, such as prefixes cut from a corpus.

    Attributes:
        name: What it is called.
        inputs: Shape ``(N, T)``, ids; the same input may stand more than once.
        log_probs: Shape ``(N,)``, nats; they sum to 1.
        details: Where they come from.
        sentence: What they look like, in words; empty if nobody has said.
    """

    name: str
    inputs: Int[np.ndarray, "N T"]
    log_probs: Float[np.ndarray, "N"]
    details: Mapping[str, str | int | float]
    sentence: str = ""

    @property
    def length(self) -> int:
        """T, tokens of each input."""
        return int(self.inputs.shape[1])

    @property
    def n_inputs(self) -> int:
        """How many inputs are listed."""
        return len(self.inputs)

    @property
    def fingerprint(self) -> str:
        """A hash of ids and probabilities."""
        digest = hashlib.blake2b(digest_size=16)
        digest.update(repr(self.inputs.shape).encode())
        digest.update(self.inputs.astype("<i8").tobytes())
        digest.update(self.log_probs.astype("<f8").tobytes())
        return digest.hexdigest()

    def sample(self, n: int, *, rng: np.random.Generator) -> Int[np.ndarray, "n T"]:
        """Return ``n`` independent draws from the list."""
        whole = Support(tokens=np.arange(len(self.inputs)), log_probs=self.log_probs)
        return np.asarray(self.inputs[whole.draw(rng.random(n))])

    def log_prob(self, inputs: Int[np.ndarray, "n T"]) -> Float[np.ndarray, "n"]:
        """Return how likely inputs are, nats; ``-inf`` for those that are not listed."""
        total: dict[bytes, float] = {}
        listed = np.ascontiguousarray(self.inputs, dtype=np.int64)
        for row, log_prob in zip(listed, self.log_probs, strict=True):
            key = row.tobytes()
            total[key] = float(np.logaddexp(total.get(key, -np.inf), log_prob))
        rows = np.ascontiguousarray(inputs, dtype=np.int64)
        return np.array([total.get(row.tobytes(), -np.inf) for row in rows], dtype=np.float64)

    def iter_inputs(
        self, *, size: int
    ) -> Iterator[tuple[Int[np.ndarray, "n T"], Float[np.ndarray, "n"]]]:
        """Yield the list, ``size`` inputs at a time."""
        for start in range(0, len(self.inputs), size):
            part = slice(start, start + size)
            yield self.inputs[part], self.log_probs[part]


def independent(
    places: Sequence[Weights],
    model: LanguageModel,
    *,
    bos: bool = True,
    name: str = "independent",
    sentence: str = "",
) -> IndependentDistribution:
    """Return a law of inputs whose places are independent, as a user writes it down.

    Args:
        places: For each place its tokens, as ids or as texts that are one token each, with
            weights that need not sum to 1.
        model: Whose tokens they are.
        bos: Whether the model's BOS stands before them, if it has one.
        name: What it is called in results.
        sentence: What its inputs look like, in words, for whoever reads the results.

    Raises:
        InputError: There is no place, a place has no token of positive weight, a text is not one
            token, or the whole is longer than the model reads.
    """
    supports = [read_weights(weights, model) for weights in places]
    if bos and model.info.bos_id is not None:
        supports.insert(0, Support.only(model.info.bos_id))
    found = IndependentDistribution(
        name=name, supports=tuple(supports), details={}, sentence=sentence
    )
    check_fits(found, model)
    return found


def listed(
    inputs: Sequence[Sequence[int]],
    model: LanguageModel,
    *,
    weights: Sequence[Number] | None = None,
    name: str = "listed",
    sentence: str = "",
) -> ListedDistribution:
    """Return the law that draws one of some inputs of equal length.

    Args:
        inputs: Ids, all of one length; a BOS is one of them where it is wanted.
        model: Whose ids they are.
        weights: One each, that need not sum to 1; all alike if None.
        name: What it is called in results.
        sentence: What they look like, in words, for whoever reads the results.

    Raises:
        InputError: There is none, lengths differ, an id means nothing, a weight is unusable, or
            the inputs are longer than the model reads.
    """
    lengths = sorted({len(one) for one in inputs})
    if len(lengths) != 1 or lengths == [0]:
        raise InputError(f"listed inputs are one or more of one length >= 1, got lengths {lengths}")
    given = np.array([list(one) for one in inputs])
    if given.dtype.kind not in "iu":
        bad = next(one for one in inputs if np.array(list(one)).dtype.kind not in "iu")
        raise InputError(f"listed inputs are ids (whole numbers), got {list(bad)!r}")
    unknown = given[(given < 0) | (given >= model.info.n_tokens)]
    if len(unknown):
        raise InputError(
            f"{model.info.name!r} has ids 0 to {model.info.n_tokens - 1}, got {unknown[0]}"
        )
    ids = given.astype(np.int64)
    each = [1.0] * len(ids) if weights is None else list(weights)
    if len(each) != len(ids):
        raise InputError(f"{len(ids)} inputs have as many weights, got {len(each)}")
    law = Support.of(dict(enumerate(each)))
    found = ListedDistribution(
        name=name, inputs=ids[law.tokens], log_probs=law.log_probs, details={}, sentence=sentence
    )
    check_fits(found, model)
    return found


def check_fits(
    distribution: InputDistribution, model: LanguageModel, *, events: Sequence[Event] = ()
) -> None:
    """Raise unless the model can read the inputs, and after them what events read.

    Args:
        distribution: The law of inputs.
        model: That reads them.
        events: All but the last token of each is read after an input.

    Raises:
        InputError: They are longer than it reads.
    """
    room = model.info.max_tokens
    if room is None:
        return
    if distribution.length > room:
        raise InputError(
            f"inputs of {distribution.name!r} have {distribution.length} tokens, "
            f"{model.info.name!r} reads {room}"
        )
    for event in events:
        if distribution.length + len(event.read) > room:
            raise InputError(
                f"inputs of {distribution.name!r} have {distribution.length} tokens and "
                f"{event.name!r} reads {len(event.read)} more, {model.info.name!r} reads {room}; "
                "take shorter inputs or fewer steps"
            )


def iter_sample(
    distribution: InputDistribution, n: int, *, seed: int, names: Sequence[str | int] = ()
) -> Iterator[Int[np.ndarray, "b T"]]:
    """Yield ``n`` independent inputs in blocks, each from a random stream of its own.

    Args:
        distribution: Their law.
        n: How many in all.
        seed: Of the run.
        names: Path of the streams; the number of the block comes last.
    """
    for block, start in enumerate(range(0, n, BLOCK)):
        rng = generator(seed, *names, block)
        yield distribution.sample(BLOCK, rng=rng)[: n - start]
