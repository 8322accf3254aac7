"""Every way in which a vocabulary spells a text, and the probability of all of them. Unit: nats.

A model puts probability on other splits of a text than the tokenizer's own. Scores everywhere else
are those of the tokenizer's split; this module tells how much that leaves out.
"""

import heapq
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias
from weakref import WeakKeyDictionary

import numpy as np

from likely.core.engine import Continuation, Meter, Store, evaluate
from likely.core.estimate import Cost
from likely.core.jsonio import dumps
from likely.core.logspace import log_union
from likely.core.model import LanguageModel, Settings, Tokenizer
from likely.core.text.encode import Bos, Boundary, Context
from likely.core.text.surfaces import encode_surface
from likely.errors import InputError

_Vocabulary: TypeAlias = dict[bytes, list[int]]
_KNOWN: WeakKeyDictionary[Tokenizer, _Vocabulary] = WeakKeyDictionary()


@dataclass(frozen=True, slots=True, kw_only=True)
class Segmentations:
    """The id sequences whose bytes are one text.

    Attributes:
        sequences: The tokenizer's own first, then the others by length and ids.
        n_total: How many there are in all.
    """

    sequences: tuple[tuple[int, ...], ...]
    n_total: int

    @property
    def is_complete(self) -> bool:
        """Whether ``sequences`` holds all of them."""
        return len(self.sequences) == self.n_total


@dataclass(frozen=True, slots=True, kw_only=True)
class Marginal:
    """The log-probability of a text over its segmentations.

    Attributes:
        log_prob: Nats, of the segmentations that were scored; of the text if all of them were,
            and else a lower bound.
        canonical_log_prob: Nats, of the tokenizer's own segmentation.
        n_scored: How many segmentations were scored.
        n_total: How many there are.
        flags: ``boundary_merge`` if the text was encoded alone because a token spans the join;
            ``censored`` if some score is only an upper bound.
        cost: What it took.
    """

    log_prob: float
    canonical_log_prob: float
    n_scored: int
    n_total: int
    flags: frozenset[str]
    cost: Cost

    @property
    def is_complete(self) -> bool:
        """Whether every segmentation was scored."""
        return self.n_scored == self.n_total

    @property
    def gap(self) -> float:
        """Nats that the tokenizer's own segmentation leaves out, at least 0.

        ``inf`` where it is impossible and others are not; 0 where all are impossible.
        """
        if self.log_prob == -math.inf:
            return 0.0
        return self.log_prob - self.canonical_log_prob

    def to_dict(self) -> dict[str, object]:
        """Return the fields as a mapping for strict JSON."""
        return {
            "log_prob": self.log_prob,
            "canonical_log_prob": self.canonical_log_prob,
            "gap": self.gap,
            "n_scored": self.n_scored,
            "n_total": self.n_total,
            "flags": self.flags,
            "cost": self.cost.to_dict(),
        }

    def to_json(self) -> str:
        """Return `to_dict` as strict JSON."""
        return dumps(self.to_dict())

    def summary(self) -> str:
        """Return one line for a person."""
        sign = "" if self.is_complete else ">="
        return (
            f"{sign}{self.log_prob:.4f} nats over {self.n_scored} of {self.n_total} "
            f"segmentations, {self.gap:.4g} above the tokenizer's own"
        )


def segmentations(model: LanguageModel, text: str, *, limit: int = 64) -> Segmentations:
    """Return the id sequences that spell ``text``, shortest first after the tokenizer's own.

    Args:
        model: For its tokenizer; its BOS and EOS spell nothing.
        text: Not empty.
        limit: Most sequences to return; how many there are is counted in any case.

    Raises:
        InputError: Empty text, or a limit below 1.

    >>> import likely
    >>> model = likely.TableModel(["a", "aa"], lambda context: {"a": 0.5, "aa": 0.5})
    >>> segmentations(model, "aaa")
    Segmentations(sequences=((1, 0), (0, 1), (0, 0, 0)), n_total=3)
    """
    if not text:
        raise InputError("there is no text to split: got an empty string")
    return segmentations_of(model, model.tokenizer.encode(text).tokens, limit=limit)


def segmentations_of(
    model: LanguageModel, tokens: tuple[int, ...], *, limit: int = 64
) -> Segmentations:
    """Return the id sequences that spell what ``tokens`` do, these first and then shortest first.

    Args:
        model: For its tokenizer; its BOS and EOS spell nothing.
        tokens: Ids of a text, such as those of its place after a context.
        limit: Most sequences to return; how many there are is counted in any case.

    Raises:
        InputError: A limit below 1.
    """
    if limit < 1:
        raise InputError(f"the limit counts segmentations, from 1; got {limit!r}")
    vocabulary = _vocabulary(model)
    pieces = [model.tokenizer.token_bytes(token) for token in tokens]
    raw = b"".join(pieces)
    steps = _steps(raw, vocabulary)
    n_ways = [0] * len(raw) + [1]
    for at in range(len(raw) - 1, -1, -1):
        n_ways[at] = sum(n_ways[stop] for _, stop in steps[at])
    is_special = any(
        token not in vocabulary.get(piece, ()) for token, piece in zip(tokens, pieces, strict=True)
    )
    others = (ids for ids in _shortest_first(steps, n_ways) if ids != tokens)
    return Segmentations(
        sequences=(tokens, *(ids for ids, _ in zip(others, range(limit - 1), strict=False))),
        n_total=n_ways[0] + is_special,  # a text may name a special token by its own spelling
    )


def marginal_log_prob(
    model: LanguageModel,
    context: Context,
    text: str,
    *,
    limit: int = 64,
    bos: Bos = "auto",
    boundary: Boundary = "joint",
    settings: Settings | None = None,
    cache: Store | None = None,
    meter: Meter | None = None,
) -> Marginal:
    """Return the log-probability of ``text`` after ``context`` over its segmentations, in nats.

    Args:
        model: Any model that gives continuations.
        context: Text, ids, or a context from `likely.chat`; it keeps the tokenizer's own split.
        text: What follows it.
        limit: Most segmentations to score, the tokenizer's own always among them.
        bos: ``auto`` follows the tokenizer's own setting, ``always``, ``never``.
        boundary: As in `score`; a text that a token joins to the context is encoded alone.
        settings: How to evaluate; changes no number beyond rounding.
        cache: A `ScoreCache`, off by default.
        meter: A progress meter.

    Raises:
        InputError: Empty text, nothing before it, or a limit below 1.
        CapabilityError: The model gives no continuation scores.
    """
    pair = encode_surface(model, context, text, bos=bos, boundary=boundary)
    found = segmentations_of(model, pair.target, limit=limit)
    asked = [Continuation(prefix=pair.context, target=ids) for ids in found.sequences]
    answers = evaluate(model, asked, settings=settings, cache=cache, meter=meter)
    log_probs = [float(np.sum(answer.values)) for answer in answers.answers]
    is_bound = any(answer.censored is not None for answer in answers.answers)
    return Marginal(
        log_prob=max(log_probs[0], log_union(log_probs)),
        canonical_log_prob=log_probs[0],
        n_scored=len(log_probs),
        n_total=found.n_total,
        flags=pair.flags | ({"censored"} if is_bound else frozenset()),
        cost=answers.cost,
    )


def _vocabulary(model: LanguageModel) -> _Vocabulary:
    """Return the ids that stand for each byte string; found once for each tokenizer."""
    try:
        known = _KNOWN.setdefault(model.tokenizer, {})
    except TypeError:  # a tokenizer without hash or weak references is read anew each time
        known = {}
    if not known:
        for token in range(model.info.n_tokens):
            raw = model.tokenizer.token_bytes(token)
            if raw and token not in (model.info.bos_id, model.info.eos_id):
                known.setdefault(raw, []).append(token)
    return known


def _steps(raw: bytes, vocabulary: _Vocabulary) -> list[list[tuple[int, int]]]:
    """Return for each byte position the (id, next position) of every token that fits there."""
    longest = max(map(len, vocabulary), default=0)
    return [
        [
            (token, stop)
            for stop in range(at + 1, min(len(raw), at + longest) + 1)
            for token in vocabulary.get(raw[at:stop], ())
        ]
        for at in range(len(raw))
    ]


def _shortest_first(
    steps: Sequence[Sequence[tuple[int, int]]], n_ways: Sequence[int]
) -> Iterator[tuple[int, ...]]:
    """Yield the id sequences that reach the end, by length and then ids; no step is wasted."""
    end = len(steps)
    fewest = [math.inf] * end + [0.0]
    for at in range(end - 1, -1, -1):
        fewest[at] = min((1 + fewest[stop] for _, stop in steps[at]), default=math.inf)
    heap: list[tuple[float, tuple[int, ...], int]] = [(fewest[0], (), 0)]
    while heap:
        _, ids, at = heapq.heappop(heap)
        if at == end:
            yield ids
            continue
        for token, stop in steps[at]:
            if n_ways[stop]:
                heapq.heappush(heap, (len(ids) + 1 + fewest[stop], (*ids, token), stop))
