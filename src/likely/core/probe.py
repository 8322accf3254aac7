"""Asks a model the same thing in several ways and measures how far the answers lie apart.

Every difference is the largest over all tokens, in nats; equal infinities differ by 0, and NaN or
an impossible token against a possible one by infinity.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Bool, Float, Int

from likely.core.engine import Continuation, evaluate
from likely.core.estimate import Cost
from likely.core.model import LanguageModel, Method, Settings, TopTokens, Work
from likely.core.trie import PrefixTrie, build_trie
from likely.errors import ContractError

_SHAPES = ((None, None), (6, 3))  # row tokens and rows: small ones make prefixes stored
_CUTS = 4  # places at which each text is cut: more cost calls and find the same faults

Ids = tuple[int, ...]
LogProbs = Float[np.ndarray, "_"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """The largest difference, nats a token, and how many numbers were compared."""

    largest: float
    n: int


def compare(ones: Sequence[LogProbs], others: Sequence[LogProbs]) -> Measured:
    """Return the largest difference between arrays of the same shapes.

    >>> compare([np.array([0.0, -np.inf])], [np.array([-0.5, -np.inf])])
    Measured(largest=0.5, n=2)
    """
    a, b = np.concatenate([*ones]), np.concatenate([*others])
    with np.errstate(invalid="ignore"):
        apart = np.where(a == b, 0.0, np.abs(a - b))
    return Measured(largest=float(np.max(np.nan_to_num(apart, nan=np.inf))), n=len(a))


class Probe:
    """A model, what it reads, and what the reading has cost so far.

    Args:
        model: Any model that gives continuations.
        sequences: Distinct ids, each at least two.
        settings: How to evaluate where nothing else is said.
    """

    def __init__(self, model: LanguageModel, sequences: Sequence[Ids], settings: Settings) -> None:
        self.model = model
        self.sequences = tuple(sequences)
        self.settings = settings
        self.cost = Cost()
        self._table: tuple[Measured, Measured] | None = None

    def batch_size(self) -> Measured:
        """Compare each sequence alone with calls and batches of two, three and all sequences."""
        alone = self._alone(self.settings)
        sizes = sorted({2, 3, len(self.sequences)})
        batched = [self._chunks(self.sequences, size) for size in sizes]
        whole = replace(self.settings, method="full", row_tokens=None)
        batched += [self._scores(self.sequences, replace(whole, batch_rows=n)) for n in sizes]
        return compare(alone * len(batched), [values for part in batched for values in part])

    def batch_order(self) -> Measured:
        """Compare pairs of neighbours with pairs in another order and company."""
        forwards = self._chunks(self.sequences, 2)
        turned = self.sequences[1:] + self.sequences[:1]
        backwards = self._chunks(turned[::-1], 2)[::-1]
        return compare(forwards, backwards[-1:] + backwards[:-1])

    def method(self, method: Method) -> Measured:
        """Compare a method, in batches of several shapes, with one plain forward a sequence."""
        whole = replace(self.settings, method="full", row_tokens=None, batch_rows=1)
        wanted = self._scores(self.sequences, whole)
        found = [
            self._scores(
                self.sequences,
                replace(self.settings, method=method, row_tokens=row_tokens, batch_rows=n_rows),
            )
            for row_tokens, n_rows in _SHAPES
        ]
        return compare([x for part in found for x in part], wanted * len(_SHAPES))

    def split(self) -> Measured:
        """Compare what follows each cut, scored in a call of its own, with the whole text."""
        wholes: list[LogProbs] = []
        tails: list[LogProbs] = []
        for ids, whole in zip(self.sequences, self._alone(self.settings), strict=True):
            cuts = np.unique(np.linspace(1, len(ids) - 1, num=min(_CUTS, len(ids) - 1)).astype(int))
            for cut in cuts.tolist():
                asked = [Continuation(prefix=ids[:cut], target=ids[cut:])]
                answers = evaluate(self.model, asked, settings=self.settings)
                self.cost = self.cost + answers.cost
                wholes.append(whole[cut - 1 :])
                tails.append(answers[0].values)
        return compare(tails, wholes)

    def repeat(self) -> Measured:
        """Compare two equal calls."""
        once = self._scores(self.sequences, self.settings)
        return compare(self._scores(self.sequences, self.settings), once)

    def deterministic(self) -> Measured:
        """Compare each sequence alone with all in one call, both in deterministic mode."""
        settings = replace(self.settings, deterministic=True)
        return compare(self._scores(self.sequences, settings), self._alone(settings))

    def row_normaliser(self) -> Measured:
        """Compare the log of the sum of every next-token row with 0."""
        return self._rows()[0]

    def row_against_pair(self) -> Measured:
        """Compare each token's score with its place in the whole row."""
        return self._rows()[1]

    def _alone(self, settings: Settings) -> list[LogProbs]:
        return [self._scores([ids], settings)[0] for ids in self.sequences]

    def _chunks(self, sequences: Sequence[Ids], size: int) -> list[LogProbs]:
        starts = range(0, len(sequences), size)
        parts = [self._scores(sequences[i : i + size], self.settings) for i in starts]
        return [values for part in parts for values in part]

    def _scores(self, sequences: Sequence[Ids], settings: Settings) -> list[LogProbs]:
        asked = [Continuation(prefix=ids[:1], target=ids[1:]) for ids in sequences]
        answers = evaluate(self.model, asked, settings=settings)
        self.cost = self.cost + answers.cost
        return [answer.values for answer in answers.answers]

    def _rows(self) -> tuple[Measured, Measured]:
        """Ask the model past the engine, whose own checks would stop at the first bad row."""
        if self._table is None:
            trie, paths = build_trie([ids[:-1] for ids in self.sequences])
            pairs = sorted(
                {
                    (int(node), token)
                    for path, ids in zip(paths, self.sequences, strict=True)
                    for node, token in zip(path, ids[1:], strict=True)
                }
            )
            sink = _RowSink(trie, np.array(pairs, dtype=np.int64))
            self.model.evaluate(_rows_and_pairs(trie, sink.wanted, self.settings), sink)
            self.cost = self.cost + sink.cost
            self._table = (
                compare([sink.log_z], [np.zeros(len(trie))]),
                compare([sink.in_rows], [sink.pairs]),
            )
        return self._table


class _RowSink:
    """Takes rows and pairs as they come, unchecked; what never comes stays NaN."""

    def __init__(self, trie: PrefixTrie, wanted: Int[np.ndarray, "Q 2"]) -> None:
        self.wanted = wanted
        self.log_z = np.full(len(trie), np.nan)
        self.in_rows = np.full(len(wanted), np.nan)
        self.pairs = np.full(len(wanted), np.nan)
        self.cost = Cost()

    def put_pairs(
        self,
        index: Int[np.ndarray, "q"],
        log_probs: Float[np.ndarray, "q"],
        censored: Bool[np.ndarray, "q"] | None = None,
    ) -> None:
        self.pairs[index] = log_probs

    def put_rows(self, nodes: Int[np.ndarray, "r"], log_probs: Float[np.ndarray, "r V"]) -> None:
        for node, row in zip(nodes, log_probs, strict=True):
            with np.errstate(invalid="ignore"):
                self.log_z[node] = np.logaddexp.reduce(row)
            here = np.flatnonzero(self.wanted[:, 0] == node)
            self.in_rows[here] = row[self.wanted[here, 1]]

    def put_hidden(self, nodes: Int[np.ndarray, "h"], vectors: Float[np.ndarray, "h D"]) -> None:
        raise ContractError("answers: hidden states came that nobody asked for")

    def put_top(self, node: int, top: TopTokens) -> None:
        raise ContractError("answers: top tokens came that nobody asked for")

    def spend(self, *, tokens: int, calls: int, seconds: float) -> None:
        spent = Cost(token_evaluations=tokens, model_calls=calls, seconds=seconds)
        self.cost = self.cost + spent


def _rows_and_pairs(trie: PrefixTrie, wanted: Int[np.ndarray, "Q 2"], settings: Settings) -> Work:
    none = np.empty(0, dtype=np.int64)
    return Work(
        trie=trie,
        pair_nodes=wanted[:, 0],
        pair_targets=wanted[:, 1],
        row_nodes=np.arange(len(trie), dtype=np.int64),
        hidden_nodes=none,
        hidden_norm="after",
        top_nodes=none,
        top_k=0,
        settings=settings,
    )
