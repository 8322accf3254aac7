"""Counts winners over a law of inputs: every input there is, or many with shared beginnings.

Where a law is too large to go through, its last varying places are: beginnings (*stems*) are drawn,
each is read once, and every ending follows it with its exact probability. What a stem adds to a
token is then a probability, not a count; stems are independent, endings of one stem are not.

Source: section (g) of the specification (Rao-Blackwell). Unit: none.
"""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float, Int

from likely.core.model import Capability, LanguageModel
from likely.core.streams import generator
from likely.errors import CapabilityError
from likely.rare.event import Event
from likely.rare.inputs import IndependentDistribution, InputDistribution
from likely.rare.reading import Meter, Reader
from likely.rare.result import Spent

if TYPE_CHECKING:
    import torch

STEMS = 64
"""Stems that one random stream draws, counted together."""
ENDINGS = 4096
"""Most endings that follow one stem, unless the last varying place alone has more."""
_ROWS = 4096  # inputs read at once
_LOGITS = 512  # rows of logits at once


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Counts:
    """What stems have added to each token so far.

    Attributes:
        n_stems: How many stems were drawn, M.
        n_inputs: How many inputs were evaluated, endings times stems.
        total: Shape ``(V + 1,)``: sum over stems of the probability of the endings after which the
            token wins; the last place is for ties.
        squares: Shape ``(V + 1,)``: sum of the squares of these.
        largest: Shape ``(V + 1,)``: the largest of them.
        stems: Shape ``(V + 1,)``: after how many stems it wins at all.
        inputs: Shape ``(V + 1,)``: after how many evaluated inputs.
        spent: What it took.
    """

    n_stems: int
    n_inputs: int
    total: Float[np.ndarray, "V1"]
    squares: Float[np.ndarray, "V1"]
    largest: Float[np.ndarray, "V1"]
    stems: Int[np.ndarray, "V1"]
    inputs: Int[np.ndarray, "V1"]
    spent: Spent

    @classmethod
    def none(cls, n_vocab: int) -> "Counts":
        """Return the counts of no stem."""
        zeros, naught = np.zeros(n_vocab + 1), np.zeros(n_vocab + 1, dtype=np.int64)
        return cls(
            n_stems=0, n_inputs=0, total=zeros, squares=zeros, largest=zeros, stems=naught,
            inputs=naught, spent=Spent(),
        )  # fmt: skip

    def __add__(self, other: "Counts") -> "Counts":
        """Return the counts of the stems of both."""
        return Counts(
            n_stems=self.n_stems + other.n_stems,
            n_inputs=self.n_inputs + other.n_inputs,
            total=self.total + other.total,
            squares=self.squares + other.squares,
            largest=np.maximum(self.largest, other.largest),
            stems=self.stems + other.stems,
            inputs=self.inputs + other.inputs,
            spent=self.spent + other.spent,
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Endings:
    """Every way in which inputs may end.

    Attributes:
        tokens: Shape ``(S, k)``, ids of the last k places.
        probs: Shape ``(S,)``, their probabilities.
    """

    tokens: Int[np.ndarray, "S k"]
    probs: Float[np.ndarray, "S"]

    @property
    def effective_number(self) -> float:
        """How many equally likely endings would be worth as much (Kish)."""
        return float(1.0 / np.sum(self.probs**2))


def no_ending() -> Endings:
    """Return one empty ending, after which stems are whole inputs."""
    return Endings(tokens=np.empty((1, 0), dtype=np.int64), probs=np.ones(1))


def endings_of(distribution: InputDistribution, *, most: int = ENDINGS) -> Endings:
    """Return the endings with which an input costs the fewest token evaluations.

    A stem of L tokens with S endings of k takes L + S k evaluations. Of equals the shorter endings
    are taken, since endings of one stem are not independent. The last varying place is always
    among them; a law whose places are not independent has one empty ending.

    Args:
        distribution: The law of inputs.
        most: Endings.
    """
    none = no_ending()
    if not isinstance(distribution, IndependentDistribution) or not distribution.varying:
        return none
    sizes = [len(support) for support in distribution.supports]
    choices = [(distribution.varying[-1], sizes[distribution.varying[-1]])]
    for first in range(choices[0][0] - 1, 0, -1):
        choices.append((first, choices[-1][1] * sizes[first]))
    fits = [choices[0], *(choice for choice in choices[1:] if choice[1] <= most)]
    first = min(fits, key=lambda choice: choice[0] / choice[1] + (len(sizes) - choice[0]))[0]
    if first == 0:
        return none
    tail = IndependentDistribution(
        name=distribution.name, supports=distribution.supports[first:], details={}
    )
    tokens, log_probs = next(tail.iter_inputs(size=tail.n_inputs))
    return Endings(tokens=tokens, probs=np.exp(log_probs))


def iter_counts(
    model: LanguageModel,
    distribution: InputDistribution,
    *,
    seed: int,
    first_block: int = 0,
) -> Iterator[Counts]:
    """Yield the counts of one block of stems after another, without end.

    Args:
        model: Any local model.
        distribution: The law of inputs.
        seed: Of the stems; a block's stems depend on seed and number alone, so that counting can
            stop and go on.
        first_block: Number of the first.
    """
    endings = endings_of(distribution)
    count = open_counter(model, endings)
    length = distribution.length - endings.tokens.shape[1]
    block = first_block
    while True:
        rng = generator(seed, "rare", "truth", block)
        yield count(distribution.sample(STEMS, rng=rng)[:, :length])
        block += 1


class Counter:
    """Finds who wins after every stem with every ending, and counts.

    Args:
        finder: Reads them.
        endings: That follow every stem.
        n_vocab: V.
    """

    def __init__(self, finder: "_Whole | _Shared", endings: Endings, n_vocab: int) -> None:
        self.finder = finder
        self.endings = endings
        self.n_vocab = n_vocab

    def __call__(self, stems: Int[np.ndarray, "P T"]) -> Counts:
        """Return what stems that were drawn add."""
        counts = Counts.none(self.n_vocab)
        for start in range(0, len(stems), self.n_at_once):
            winners, spent = self.finder(stems[start : start + self.n_at_once])
            counts += counted(winners, self.endings.probs, self.n_vocab, spent)
        return counts

    @property
    def n_at_once(self) -> int:
        """How many stems are read at once."""
        return max(1, _ROWS // len(self.endings.probs))

    def iter_margins(
        self, distribution: InputDistribution, events: Sequence[Event]
    ) -> Iterator[tuple[Float[np.ndarray, "n E"], Float[np.ndarray, "n"], Spent]]:
        """Yield the margins of events after each input, how likely it is, and what that took.

        Args:
            distribution: Whose endings these are.
            events: Of one step each, unless the endings are empty.
        """
        stems = _stems_of(distribution, self.endings)
        for tokens, log_probs in stems.iter_inputs(size=self.n_at_once):
            margins, spent = self.finder.margins(tokens, events)
            probs = np.exp(log_probs)[:, None] * self.endings.probs
            yield margins, probs.ravel(), spent

    def iter_every(
        self, distribution: InputDistribution
    ) -> Iterator[tuple[Int[np.ndarray, "n"], Float[np.ndarray, "n"], Spent]]:
        """Yield who wins after each input that there is, how likely it is, and what that took.

        Args:
            distribution: Whose endings these are.
        """
        stems = _stems_of(distribution, self.endings)
        for tokens, log_probs in stems.iter_inputs(size=self.n_at_once):
            winners, spent = self.finder(tokens)
            probs = np.exp(log_probs)[:, None] * self.endings.probs
            yield winners.ravel(), probs.ravel(), spent


def _stems_of(distribution: InputDistribution, endings: Endings) -> InputDistribution:
    """Return the law of what stands before the endings."""
    length = distribution.length - endings.tokens.shape[1]
    if length == distribution.length or not isinstance(distribution, IndependentDistribution):
        return distribution
    return IndependentDistribution(
        name=distribution.name, supports=distribution.supports[:length], details={}
    )


class _Whole:
    """Reads whole inputs, for models without tensors."""

    def __init__(self, model: LanguageModel, endings: Endings) -> None:
        self.endings = endings
        self.reader = Reader(model)

    def __call__(self, stems: Int[np.ndarray, "P T"]) -> tuple[Int[np.ndarray, "P S"], Spent]:
        """Return who wins after each stem and ending, -1 for a tie, and what that took."""
        before = self.reader.meter.spent
        winners = self.reader.winners(self._inputs(stems)).reshape(len(stems), -1)
        return winners, self._since(before)

    def margins(
        self, stems: Int[np.ndarray, "P T"], events: Sequence[Event]
    ) -> tuple[Float[np.ndarray, "n E"], Spent]:
        """Return the margins of events after each stem and ending, and what that took."""
        before = self.reader.meter.spent
        return self.reader.margins(self._inputs(stems), events), self._since(before)

    def _inputs(self, stems: Int[np.ndarray, "P T"]) -> Int[np.ndarray, "n T2"]:
        n = len(self.endings.probs)
        return np.hstack(
            [np.repeat(stems, n, axis=0), np.tile(self.endings.tokens, (len(stems), 1))]
        )

    def _since(self, before: Spent) -> Spent:
        spent = self.reader.meter.spent
        return Spent(
            forwards=spent.forwards - before.forwards,
            token_evaluations=spent.token_evaluations - before.token_evaluations,
            seconds=spent.seconds - before.seconds,
        )


def counted(
    winners: Int[np.ndarray, "P S"], probs: Float[np.ndarray, "S"], n_vocab: int, spent: Spent
) -> Counts:
    """Return what stems add, from the winner after each of their endings.

    Args:
        winners: Ids; -1 for a tie.
        probs: Of the endings.
        n_vocab: V.
        spent: What finding the winners took.
    """
    n_stems, n_endings = winners.shape
    width = n_vocab + 1
    places = np.where(winners < 0, n_vocab, winners)
    flat = (places + width * np.arange(n_stems)[:, None]).ravel()
    used, at, hits = np.unique(flat, return_inverse=True, return_counts=True)
    shares = np.bincount(at, weights=np.tile(probs, n_stems), minlength=len(used))
    tokens = used % width
    largest = np.zeros(width)
    np.maximum.at(largest, tokens, shares)
    return Counts(
        n_stems=n_stems,
        n_inputs=n_stems * n_endings,
        total=np.bincount(tokens, weights=shares, minlength=width),
        squares=np.bincount(tokens, weights=shares**2, minlength=width),
        largest=largest,
        stems=np.bincount(tokens, minlength=width),
        inputs=np.bincount(tokens, weights=hits, minlength=width).astype(np.int64),
        spent=spent,
    )


def open_counter(model: LanguageModel, endings: Endings) -> Counter:
    """Return a counter that reads each stem once for all endings, if the model allows it.

    Args:
        model: Any local model.
        endings: That follow every stem; one empty ending for stems that are whole inputs.

    Raises:
        CapabilityError: The model gives no next-token rows.
    """
    finder: _Whole | _Shared
    is_empty = endings.tokens.shape[1] == 0
    if is_empty or Capability.HIDDEN_STATES not in model.info.capabilities:
        finder = _Whole(model, endings)
    else:
        try:
            finder = _Shared(model, endings)
        except CapabilityError:
            finder = _Whole(model, endings)
    return Counter(finder, endings, model.info.n_vocab)


class _Shared:
    """Reads each stem once for all of its endings, through a network.

    Raises:
        CapabilityError: The model gives no states, or its logits are not linear in them.
    """

    def __init__(self, model: LanguageModel, endings: Endings) -> None:
        import torch

        from likely.rare.network import Readout, require_network
        from likely.rare.screening import Screen

        self.network = require_network(model)
        self.readout = Readout.of(self.network)
        self.screen = Screen(self.readout)
        self.tokens = torch.from_numpy(endings.tokens)

    def __call__(self, stems: Int[np.ndarray, "P T"]) -> tuple[Int[np.ndarray, "P S"], Spent]:
        """Return who wins after each stem and ending, -1 for a tie, and what that took."""
        import torch

        began = time.perf_counter()
        states = self._states(stems)
        with torch.inference_mode():
            winners = self.screen.winners(self.readout.normed(states))
        return winners.view(len(stems), -1).numpy(), self._spent(stems, began)

    def margins(
        self, stems: Int[np.ndarray, "P T"], events: Sequence[Event]
    ) -> tuple[Float[np.ndarray, "n E"], Spent]:
        """Return the margins of events of one step after each stem and ending, and the cost."""
        import torch

        from likely.rare.network import margins

        began = time.perf_counter()
        found = []
        with torch.inference_mode():
            states = self._states(stems)
            for start in range(0, len(states), _LOGITS):
                logits = self.readout.logits(states[start : start + _LOGITS])
                columns = [margins(logits.clone(), event).double() for event in events]
                found.append(torch.stack(columns, dim=1))
        return torch.cat(found).numpy(), self._spent(stems, began)

    def _states(self, stems: Int[np.ndarray, "P T"]) -> "torch.Tensor":
        import torch

        from likely.rare.network import finite_states

        states = self.network.states_after(
            torch.from_numpy(np.ascontiguousarray(stems)), self.tokens, rows=_ROWS
        )
        length = stems.shape[1] + self.tokens.shape[1]
        return finite_states(states, self.network, length).flatten(0, 1)

    def _spent(self, stems: Int[np.ndarray, "P T"], began: float) -> Spent:
        meter = Meter()
        length = stems.shape[1] + self.tokens.numel()
        meter.forward(len(stems), length, time.perf_counter() - began)
        return meter.spent
