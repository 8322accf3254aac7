"""One call of the engine for all events: statistics of each step, whole or bounded. Unit: nats."""

import hashlib
import math
import struct
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
import torch
from jaxtyping import Float, Int

from likely.core.engine import Answer, Continuation, Meter, Reduction, Request, Row, Store, Top
from likely.core.engine import evaluate as engine_evaluate
from likely.core.estimate import Cost
from likely.core.logspace import log1mexp, log_union
from likely.core.model import Capability, LanguageModel, Settings
from likely.core.text.word_ends import Kind, word_ends
from likely.logic.events.answers import Ids, TokenisedAnswer
from likely.logic.events.bounds import bound_statistics, statistics_of_target
from likely.logic.events.closed import Rest
from likely.logic.events.statistics import ROW_STATISTICS, lose, row_statistics, win

STANDARD = (*ROW_STATISTICS, win(1.0), lose(1.0))
"""Read of every row, so that other rescalings can be had from the cache without the model."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """What is read for one event.

    Attributes:
        answer: The event's own.
        neutral: Ids of the neutral context, or None where none is needed.
        rest: What else its closed set holds, or None where none is needed.
    """

    answer: TokenisedAnswer
    neutral: Ids | None = None
    rest: Rest | None = None

    @property
    def is_alone(self) -> bool:
        """Whether its closed set holds nothing else."""
        return self.rest is not None and not self.rest.sequences


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """The answer of one event as the model has it.

    Attributes:
        token_log_probs: For each inner node of the trie the log-probability of each token that
            goes on; upper ends where ``is_censored``.
        log_ends: For each sequence, that a new word starts after it; None where none must.
        log_prob: Lower and upper end for the whole answer.
        log_others: Lower and upper end for all others of the closed set together.
        is_censored: Whether some token of the answer is known only by an upper bound.
    """

    token_log_probs: Mapping[Ids, Mapping[int, float]]
    log_ends: tuple[float, ...] | None
    log_prob: tuple[float, float]
    log_others: tuple[float, float]
    is_censored: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Readings:
    """All events of a call.

    Attributes:
        items: One an event.
        worst: Each statistic of each step at its worst for the event, shape ``(M,)``; the steps of
            an event are its inner nodes, in the order of `TokenisedAnswer.branches`.
        best: At its best; equal where rows are whole.
        offsets: Shape ``(N + 1,)``: event i has the steps ``offsets[i] .. offsets[i + 1]``.
        cost: Of the call.
    """

    items: tuple[Reading, ...]
    worst: dict[str, Float[np.ndarray, "M"]]
    best: dict[str, Float[np.ndarray, "M"]]
    offsets: Int[np.ndarray, "_"]
    cost: Cost


def read_targets(
    model: LanguageModel,
    targets: Sequence[Target],
    needs: Sequence[str],
    *,
    top_k: int,
    settings: Settings | None = None,
    cache: Store | None = None,
    meter: Meter | None = None,
) -> Readings:
    """Return what the model says of all targets, each distinct prefix evaluated once.

    Args:
        model: Gives whole rows, or continuations and, if a need takes them, lists.
        targets: One an event.
        needs: Names of the statistics of a step; ``log_neutral`` is one of them.
        top_k: Length of lists, for a model without rows.
        settings: As in the engine.
        cache: As in the engine.
        meter: As in the engine.
    """
    asker = _Asker.of(model, needs, top_k)
    plans = [_plan(asker, target) for target in targets]
    answered = engine_evaluate(model, asker.requests, settings=settings, cache=cache, meter=meter)
    read = [
        _read(asker, target, plan, answered.answers)
        for target, plan in zip(targets, plans, strict=True)
    ]
    n_steps = [len(worst) for _, worst, _ in read]
    return Readings(
        items=tuple(reading for reading, _, _ in read),
        worst=_columns([step for _, worst, _ in read for step in worst]),
        best=_columns([step for _, _, best in read for step in best]),
        offsets=np.concatenate([[0], np.cumsum(n_steps)]).astype(np.int64),
        cost=answered.cost,
    )


def _columns(steps: Sequence[Mapping[str, float]]) -> dict[str, Float[np.ndarray, "M"]]:
    return {name: np.array([step[name] for step in steps]) for name in steps[0]}


@dataclass(kw_only=True)
class _Asker:
    """Collects distinct requests; each is known by its place."""

    model: LanguageModel
    needs: tuple[str, ...]
    names: tuple[str, ...]
    top_k: int
    has_rows: bool
    requests: list[Request] = field(default_factory=list)
    _places: dict[Hashable, int] = field(default_factory=dict)
    _reductions: dict[Ids, Reduction] = field(default_factory=dict)

    @classmethod
    def of(cls, model: LanguageModel, needs: Sequence[str], top_k: int) -> "_Asker":
        of_row = tuple(need for need in dict.fromkeys(needs) if need != "log_neutral")
        extra = tuple(sorted(set(of_row) - set(STANDARD)))
        return cls(
            model=model, needs=of_row, names=(*STANDARD, *extra), top_k=top_k,
            has_rows=Capability.NEXT_TOKEN in model.info.capabilities,
        )  # fmt: skip

    def row(self, prefix: Ids, tokens: Ids) -> int:
        """Ask for the statistics of a set of tokens after a prefix, and for each token's own."""
        if tokens not in self._reductions:
            self._reductions[tokens] = _reduction(tokens, self.names)
        request = Row(prefix=prefix, reduction=self._reductions[tokens])
        return self._ask(("row", prefix, tokens), request)

    def path(self, prefix: Ids, target: Ids) -> int:
        request = Continuation(prefix=prefix, target=target)
        return self._ask(("path", prefix, target), request)

    def top(self, prefix: Ids) -> int:
        return self._ask(("top", prefix), Top(prefix=prefix, k=self.top_k))

    def end(self, prefix: Ids, kind: Kind) -> int:
        """Ask for the chance that a new word starts."""
        request = Row(prefix=prefix, reduction=word_ends(self.model, kind).reduction)
        return self._ask(("end", prefix, kind), request)

    def ends(self, answer: TokenisedAnswer | Rest) -> tuple[int, ...]:
        """Ask for a new word after each sequence; for nothing where none must start."""
        kinds = answer.ends or ()
        return tuple(
            self.end(answer.context + ids, kind)
            for ids, kind in zip(answer.sequences, kinds, strict=bool(kinds))
        )

    def _ask(self, key: Hashable, request: Request) -> int:
        place = self._places.setdefault(key, len(self.requests))
        if place == len(self.requests):
            self.requests.append(request)
        return place


def _reduction(tokens: Ids, names: tuple[str, ...]) -> Reduction:
    digest = hashlib.blake2b(struct.pack(f"<{len(tokens)}q", *tokens), digest_size=12).hexdigest()

    def apply(rows: Float[np.ndarray, "r V"]) -> Float[np.ndarray, "r n"]:
        with torch.no_grad():
            found = row_statistics(torch.from_numpy(rows), [tokens] * len(rows), names)
        return np.column_stack([*(found[name].numpy() for name in names), rows[:, list(tokens)]])

    return Reduction(name=f"event {digest} of {len(tokens)}: {', '.join(names)}", apply=apply)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Plan:
    """Places of the requests of one target.

    Attributes:
        nodes: Inner nodes of its trie with the tokens that go on.
        steps: A row, or a list, for each node; empty where the paths suffice.
        paths: For each sequence; empty where rows are read.
        neutral: For each sequence after the neutral context; empty where none is needed.
        ends: For each sequence; empty where no word must end.
        rest: For each other sequence of the closed set.
        rest_ends: For each of those; empty where no word must end.
    """

    nodes: tuple[tuple[Ids, Ids], ...]
    steps: tuple[int, ...]
    paths: tuple[int, ...]
    neutral: tuple[int, ...]
    ends: tuple[int, ...]
    rest: tuple[int, ...]
    rest_ends: tuple[int, ...]


def _plan(asker: _Asker, target: Target) -> _Plan:
    answer = target.answer
    nodes = tuple(answer.branches.items())
    steps: tuple[int, ...] = ()
    paths: tuple[int, ...] = ()
    neutral: tuple[int, ...] = ()
    if asker.has_rows:
        steps = tuple(asker.row(answer.context + node, tokens) for node, tokens in nodes)
    else:
        paths = tuple(asker.path(answer.context, ids) for ids in answer.sequences)
        if set(asker.needs) - {"log_prob", "log_rest"}:
            steps = tuple(asker.top(answer.context + node) for node, _ in nodes)
    if target.neutral is not None:
        neutral = tuple(asker.path(target.neutral, ids) for ids in answer.sequences)
    rest = target.rest
    return _Plan(
        nodes=nodes, steps=steps, paths=paths, neutral=neutral, ends=asker.ends(answer),
        rest=() if rest is None else tuple(asker.path(rest.context, s) for s in rest.sequences),
        rest_ends=() if rest is None else asker.ends(rest),
    )  # fmt: skip


_Steps: TypeAlias = list[dict[str, float]]
_Told: TypeAlias = dict[Ids, dict[int, tuple[float, float]]]
"""For each inner node and token that goes on: the lower and the upper end of its log-prob."""


def _read(
    asker: _Asker, target: Target, plan: _Plan, answers: Sequence[Answer]
) -> tuple[Reading, _Steps, _Steps]:
    """Return the reading of one target, and its steps at their worst and at their best."""
    sequences = target.answer.sequences
    if asker.has_rows:
        told, worst, best = _of_rows(asker, plan, answers)
    else:
        told = _of_paths(sequences, [answers[place] for place in plan.paths])
        worst, best = _of_lists(asker, plan, answers, told)
    if plan.neutral:
        neutral = _of_paths(sequences, [answers[place] for place in plan.neutral])
        for (node, _), low, high in zip(plan.nodes, worst, best, strict=True):
            high["log_neutral"], low["log_neutral"] = _ends(neutral[node])
    log_ends = tuple(_word_end(answers[place]) for place in plan.ends) or None
    reading = Reading(
        token_log_probs={
            node: {token: high for token, (_, high) in tokens.items()}
            for node, tokens in told.items()
        },
        log_ends=log_ends,
        log_prob=_total(told, sequences, log_ends),
        log_others=_others(target, plan, answers, told, log_ends),
        is_censored=any(low < high for tokens in told.values() for low, high in tokens.values()),
    )
    return reading, worst, best


def _of_rows(asker: _Asker, plan: _Plan, answers: Sequence[Answer]) -> tuple[_Told, _Steps, _Steps]:
    told: _Told = {}
    steps: _Steps = []
    for (node, tokens), place in zip(plan.nodes, plan.steps, strict=True):
        values = answers[place].values.tolist()
        steps.append(dict(zip(asker.names, values, strict=False)))
        own = values[len(asker.names) :]
        told[node] = {token: (v, v) for token, v in zip(tokens, own, strict=True)}
    return told, steps, [dict(step) for step in steps]


def _of_paths(sequences: Sequence[Ids], answers: Sequence[Answer]) -> _Told:
    told: _Told = {}
    for ids, answer in zip(sequences, answers, strict=True):
        is_bound = np.zeros(len(ids), dtype=bool) if answer.censored is None else answer.censored
        for n, (token, value) in enumerate(zip(ids, answer.values.tolist(), strict=True)):
            low = -math.inf if is_bound[n] else value
            told.setdefault(ids[:n], {})[token] = (low, value)
    return told


def _of_lists(
    asker: _Asker, plan: _Plan, answers: Sequence[Answer], told: _Told
) -> tuple[_Steps, _Steps]:
    worst: _Steps = []
    best: _Steps = []
    for i, (node, tokens) in enumerate(plan.nodes):
        low, high = _ends(told[node])
        top = answers[plan.steps[i]].top if plan.steps else None
        if top is None:
            worst.append(statistics_of_target(low))
            best.append(statistics_of_target(high))
        else:
            ends = bound_statistics(
                top, tokens, low, high, asker.needs, n_vocab=asker.model.info.n_vocab
            )
            worst.append(ends[0])
            best.append(ends[1])
    return worst, best


def _ends(tokens: Mapping[int, tuple[float, float]]) -> tuple[float, float]:
    """Return both ends of the log-probability of any of the tokens."""
    return (
        log_union([low for low, _ in tokens.values()]),
        log_union([high for _, high in tokens.values()]),
    )


def _total(
    told: _Told, sequences: Sequence[Ids], log_ends: Sequence[float] | None
) -> tuple[float, float]:
    """Return both ends of the log-probability of any of the sequences."""
    after = log_ends or [0.0] * len(sequences)
    low, high = (
        log_union(
            [
                sum((told[ids[:n]][token][side] for n, token in enumerate(ids)), start=end)
                for ids, end in zip(sequences, after, strict=True)
            ]
        )
        for side in (0, 1)
    )
    return low, high


def _others(
    target: Target,
    plan: _Plan,
    answers: Sequence[Answer],
    own: _Told,
    log_ends: Sequence[float] | None,
) -> tuple[float, float]:
    """Return both ends of the rest of the closed set; what of the answer lies in it is taken off.

    One of the others may contain a sequence of the answer; they share its mass, which is counted
    for the answer.
    """
    if target.rest is None or target.is_alone:
        return -math.inf, -math.inf
    told = _of_paths(target.rest.sequences, [answers[place] for place in plan.rest])
    ends = [_word_end(answers[place]) for place in plan.rest_ends] or None
    low, high = _total(told, target.rest.sequences, ends)
    inside = target.rest.inside
    if not inside:
        return low, high
    after = log_ends or [0.0] * len(target.answer.sequences)
    end_of = dict(zip(target.answer.sequences, after, strict=True))
    shared = _total(own, inside, [end_of[ids] for ids in inside])
    return _minus(low, shared[1]), _minus(high, shared[0])


def _minus(log_whole: float, log_part: float) -> float:
    """Return the log of the difference; ``-inf`` where bounds leave nothing."""
    if log_part == -math.inf or log_whole == -math.inf:
        return log_whole
    return log_whole + float(log1mexp(np.array(min(0.0, log_part - log_whole))))


def _word_end(answer: Answer) -> float:
    return min(0.0, float(answer.values))  # rounding of a sum may pass 1
