"""The truth: the probability of every token, by going through all inputs or very many. Unit: prob.

Estimators are judged against this, so it carries its own error: where inputs were drawn, each token
has an interval, and a token that was never seen has an upper limit and no more.
"""

import json
import math
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from jaxtyping import Float, Int

from likely.core.estimate import Estimate
from likely.core.files import write_whole
from likely.core.model import LanguageModel
from likely.errors import InputError, StoreError
from likely.rare.counting import STEMS, Counts, endings_of, iter_counts, no_ending, open_counter
from likely.rare.event import Event, Target, read_event
from likely.rare.inputs import InputDistribution, check_fits
from likely.rare.result import Spent
from likely.stats.intervals import check_level
from likely.stats.weighted_counts import gamma_interval

SCHEMA_VERSION = 1
_RARE = (1e-9, 1e-5)  # between these probabilities tokens are called rare
_FEWEST_RARE = 10
_COLUMNS = ("total", "squares", "largest", "stems", "inputs")
_HEAD = (
    "model", "fingerprint", "distribution", "law", "seed", "is_exact", "n_endings",
    "effective_endings",
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Truth:
    """How likely each token is to win, under a law of inputs.

    Attributes:
        model: The model's name.
        fingerprint: Of the model.
        distribution: Name of the law.
        law: Its fingerprint.
        seed: Of the stems.
        is_exact: Whether every input was gone through.
        n_endings: Endings of each stem, S; of an exact truth, 1.
        effective_endings: How many equally likely endings would be worth as much.
        counts: What stems have added to each token; of an exact truth, all there is.
    """

    model: str
    fingerprint: str
    distribution: str
    law: str
    seed: int
    is_exact: bool
    n_endings: int
    effective_endings: float
    counts: Counts

    @property
    def n_vocab(self) -> int:
        """V."""
        return len(self.counts.total) - 1

    @property
    def probs(self) -> Float[np.ndarray, "V"]:
        """The probability of each token; sums that rounding puts above 1 are 1."""
        return np.minimum(1.0, self.counts.total[:-1] / self.counts.n_stems)

    @property
    def tied(self) -> float:
        """The probability that the best two tokens are level, which is nobody's win."""
        return min(1.0, float(self.counts.total[-1] / self.counts.n_stems))

    def interval(self, token: int, *, level: float = 0.95) -> tuple[float, float]:
        """Return both ends of a token's interval.

        Sums over stems are taken as sums of weighted Poisson counts: with one weight this is
        Garwood's interval. A stem that has not been drawn may add more than those that have: with
        n that added something, (1 + 10 / n) times the largest of them is allowed for, at most 1;
        for a token that was never seen, 1.

        Args:
            token: Id.
            level: Coverage, in (0, 1).

        Sources:
            `likely.stats.weighted_counts.gamma_interval`.
        """
        check_level(level)
        if self.is_exact:
            return float(self.probs[token]), float(self.probs[token])
        counts = self.counts
        low, high = weighted_interval(
            float(counts.total[token]), float(counts.squares[token]),
            float(counts.largest[token]), (int(counts.stems[token]), counts.n_stems), level=level,
        )  # fmt: skip
        return low, min(1.0, high)

    def prob(self, token: int, *, level: float = 0.95) -> Estimate:
        """Return the probability of a token with its interval.

        Raises:
            InputError: The id is none of the model, or the level is out of range.
        """
        if not 0 <= token < self.n_vocab:
            raise InputError(f"the truth has ids 0 to {self.n_vocab - 1}, got {token!r}")
        value = float(self.probs[token])
        if self.is_exact:
            return Estimate.exact(value, unit="prob", method="enumeration")
        low, high = self.interval(token, level=level)
        return Estimate(
            value=value, low=min(low, value), high=max(high, value), level=level, unit="prob",
            method="counts", cost=self.counts.spent.cost,
            diagnostics={
                "stems": self.counts.n_stems,
                "stems with a hit": int(self.counts.stems[token]),
                "inputs with a hit": int(self.counts.inputs[token]),
                "effective inputs": float(self.effective_inputs[token]),
            },
        )  # fmt: skip

    @property
    def effective_inputs(self) -> Float[np.ndarray, "V"]:
        """Independent inputs that would tell each token's probability as well.

        The number n for which the variance of a share among n independent inputs, q (1 - q) / n,
        is the variance between stems. What a stem adds lies in [0, 1], so that it varies no more
        than a hit or a miss, and the number is never below that of the stems. It is 0 for a token
        that was never seen, and ``inf`` for every token of an exact truth.
        """
        counts, q = self.counts, self.probs
        if self.is_exact:
            return np.full(self.n_vocab, np.inf)
        mean_square = counts.squares[:-1] / counts.n_stems
        variance = np.maximum(mean_square - q**2, mean_square / counts.n_stems)
        with np.errstate(invalid="ignore", divide="ignore"):
            found = counts.n_stems * q * (1.0 - q) / variance
        # A token that wins after every stem has no variance: then the floor alone may say less.
        return np.where(q > 0.0, np.fmax(found, counts.n_stems), 0.0)

    @property
    def rare_tokens(self) -> Int[np.ndarray, "n"]:
        """The tokens of a probability from 1e-9 to 1e-5 that rests on 20 stems at least."""
        return self.tokens_between(*_RARE, n_stems=20)

    @property
    def effective_rare(self) -> float:
        """The median of `effective_inputs` over `rare_tokens`; 0 where these are fewer than ten."""
        rare = self.rare_tokens
        return float(np.median(self.effective_inputs[rare])) if len(rare) >= _FEWEST_RARE else 0.0

    def tokens_between(self, low: float, high: float, *, n_stems: int = 5) -> Int[np.ndarray, "n"]:
        """Return the tokens whose probability lies in ``[low, high)`` and rests on enough stems.

        Args:
            low: Probability.
            high: Probability.
            n_stems: Stems with a hit, at least; of an exact truth nothing is asked.
        """
        rests = self.counts.stems[:-1] >= (0 if self.is_exact else n_stems)
        return np.flatnonzero((self.probs >= low) & (self.probs < high) & rests)

    def save(self, path: str | Path) -> None:
        """Write the tokens that were seen as a Parquet file, whole or not at all.

        Raises:
            StoreError: The file cannot be written.
        """
        counts = self.counts
        seen = np.flatnonzero(counts.stems > 0)
        table = pa.table(
            {"token": seen, **{name: getattr(counts, name)[seen] for name in _COLUMNS}}
        )
        head = {
            "schema_version": SCHEMA_VERSION, "model": self.model,
            "fingerprint": self.fingerprint, "distribution": self.distribution, "law": self.law,
            "seed": self.seed, "is_exact": self.is_exact, "n_endings": self.n_endings,
            "effective_endings": self.effective_endings, "n_vocab": self.n_vocab,
            "n_stems": counts.n_stems, "n_inputs": counts.n_inputs,
            "spent": {
                "forwards": counts.spent.forwards,
                "token_evaluations": counts.spent.token_evaluations,
                "seconds": counts.spent.seconds,
            },
        }  # fmt: skip
        table = table.replace_schema_metadata({"likely.rare.truth": json.dumps(head)})
        sink = pa.BufferOutputStream()
        pq.write_table(table, sink, compression="zstd")
        try:
            write_whole(Path(path), [sink.getvalue().to_pybytes()])
        except OSError as error:
            raise StoreError(f"cannot write {str(path)!r}: {error.strerror}") from error

    @classmethod
    def load(cls, path: str | Path) -> "Truth":
        """Return the truth of a file that `save` wrote.

        Raises:
            StoreError: It cannot be read, is damaged, or a newer version wrote it.
        """
        try:
            table = pq.read_table(Path(path))
            head = json.loads((table.schema.metadata or {})[b"likely.rare.truth"])
            if head["schema_version"] > SCHEMA_VERSION:
                raise StoreError(
                    f"{str(path)!r} has schema {head['schema_version']}, this version of likely "
                    f"reads {SCHEMA_VERSION}; update likely"
                )
            counts = Counts.none(head["n_vocab"])
            at = table["token"].to_numpy()
            columns = {name: getattr(counts, name).copy() for name in _COLUMNS}
            for name, column in columns.items():
                column[at] = table[name].to_numpy()
            return cls(
                **{name: head[name] for name in _HEAD},
                counts=Counts(
                    n_stems=head["n_stems"], n_inputs=head["n_inputs"],
                    spent=Spent(**head["spent"]), **columns,
                ),
            )  # fmt: skip
        except KeyError as error:
            raise StoreError(f"cannot read a truth from {str(path)!r}: it lacks {error}") from error
        except (OSError, pa.ArrowInvalid, ValueError, TypeError, IndexError) as error:
            raise StoreError(f"cannot read a truth from {str(path)!r}: {error}") from error


def truth(
    model: LanguageModel, distribution: InputDistribution, *, n: int = 2**20, seed: int = 0
) -> Truth:
    """Return how likely every token is to win: exactly if the law has no more than ``n`` inputs.

    Args:
        model: Any local model.
        distribution: The law of inputs.
        n: Inputs that are evaluated, at least; whole blocks of `STEMS` stems are.
        seed: Of the stems.

    Raises:
        InputError: ``n`` is not positive, or the model does not read so long inputs.
        CapabilityError: The model gives no next-token rows.
    """
    if n < 1:
        raise InputError(f"a truth takes at least one input, got n={n!r}")
    check_fits(distribution, model)
    if distribution.n_inputs <= n:
        return _enumerated(model, distribution)
    counts = Counts.none(model.info.n_vocab)
    n_endings = len(endings_of(distribution).probs)
    n_blocks = -(-n // (STEMS * n_endings))
    for more in islice(iter_counts(model, distribution, seed=seed), n_blocks):
        counts += more
    return framed(model, distribution, counts, seed=seed)


def framed(
    model: LanguageModel, distribution: InputDistribution, counts: Counts, *, seed: int
) -> Truth:
    """Return counts over stems as a truth."""
    endings = endings_of(distribution)
    return Truth(
        model=model.info.name, fingerprint=model.info.fingerprint,
        distribution=distribution.name, law=distribution.fingerprint, seed=seed, is_exact=False,
        n_endings=len(endings.probs), effective_endings=endings.effective_number, counts=counts,
    )  # fmt: skip


def enumerate_events(
    model: LanguageModel, distribution: InputDistribution, targets: list[Target]
) -> tuple[Estimate, ...]:
    """Return the exact probability of any events, by going through every input.

    Args:
        model: Any local model.
        distribution: A law of few inputs.
        targets: As for `likely.rare.estimate`; at least one.

    Raises:
        InputError: There is no target, one is unusable, or the model does not read so long inputs.
    """
    if not targets:
        raise InputError("there is nothing to enumerate: give at least one target")
    events: list[Event] = [read_event(target, model) for target in targets]
    check_fits(distribution, model, events=events)
    is_short = all(event.is_one_step for event in events)
    counter = open_counter(model, endings_of(distribution) if is_short else no_ending())
    parts: list[list[float]] = [[] for _ in events]
    spent = Spent()
    for margins, probs, more in counter.iter_margins(distribution, events):
        spent += more
        for column, (part, event) in enumerate(zip(parts, events, strict=True)):
            part.extend(probs[margins[:, column] > event.above].tolist())
    return tuple(
        Estimate.exact(
            min(1.0, math.fsum(part)), unit="prob", method="enumeration",
            cost=spent.divided(len(events)).cost,
        )
        for part in parts
    )  # fmt: skip


def weighted_interval(
    total: float, squares: float, largest: float, stems: tuple[int, int], *, level: float
) -> tuple[float, float]:
    """Return the interval of a mean over stems of what each adds, as `Truth.interval` says.

    Args:
        total: Sum of what stems added.
        squares: Sum of squares.
        largest: The largest of them.
        stems: How many added something, of how many.
        level: Coverage, in (0, 1).

    >>> n = 10**9
    >>> [round(n * end, 3) for end in weighted_interval(4.0, 4.0, 1.0, (4, n), level=0.95)]
    [1.09, 10.242]
    """
    n_added, n_stems = stems
    # Between stems, not of Poisson counts: a token that nearly always wins varies less than these.
    error = math.sqrt(max(squares - total**2 / n_stems, largest**2))
    unseen = min(1.0, largest * (1.0 + 10.0 / n_added)) if n_added else 1.0
    low, high = gamma_interval(total, error, largest=unseen, level=level)
    return math.exp(low) / n_stems, math.exp(high) / n_stems


def _enumerated(model: LanguageModel, distribution: InputDistribution) -> Truth:
    n_vocab = model.info.n_vocab
    parts: list[list[float]] = [[] for _ in range(n_vocab + 1)]
    spent = Spent()
    counter = open_counter(model, endings_of(distribution))
    for winners, probs, more in counter.iter_every(distribution):
        spent += more
        for winner, prob in zip(winners.tolist(), probs.tolist(), strict=True):
            parts[winner].append(prob)  # -1, a tie, is the last place
    total = np.array([math.fsum(part) for part in parts])
    hits = np.array([len(part) for part in parts], dtype=np.int64)
    counts = Counts(
        n_stems=1, n_inputs=int(hits.sum()), total=total, squares=total**2, largest=total,
        stems=(hits > 0).astype(np.int64), inputs=hits, spent=spent,
    )  # fmt: skip
    return Truth(
        model=model.info.name, fingerprint=model.info.fingerprint,
        distribution=distribution.name, law=distribution.fingerprint, seed=0, is_exact=True,
        n_endings=1, effective_endings=1.0, counts=counts,
    )  # fmt: skip
