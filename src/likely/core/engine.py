"""The engine: merges requests into one trie, asks the model once, and hands answers back.

Requests of one call may be of any kind and in any order. Each distinct prefix is evaluated once;
each number is checked as it arrives; a request that the cache knows costs nothing. Unit: nats.
"""

import json
import struct
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Protocol, TypeAlias, runtime_checkable

import numpy as np
from jaxtyping import Bool, Float, Int

from likely.core.estimate import Cost
from likely.core.jsonio import dumps
from likely.core.logspace import check_log_probs, logsumexp
from likely.core.model import (
    Capability,
    HiddenNorm,
    LanguageModel,
    Settings,
    TopTokens,
    Work,
    require,
)
from likely.core.trie import PrefixTrie, build_trie
from likely.errors import InputError, NumericalError

ROW_TOLERANCE = {"float32": 1e-6, "float64": 1e-9}
"""How far the log-normaliser of a next-token row may be from 0, by dtype of the weights."""

_LISTED = b"\xfftop"  # no shape has so many axes
_HALF_TOLERANCE = 1e-6  # 16-bit weights: the softmax is taken in float64 all the same


@dataclass(frozen=True, slots=True, kw_only=True)
class Continuation:
    """Ask for the log-probability of each token of ``target`` after ``prefix``.

    Attributes:
        prefix: Ids, at least one.
        target: Ids, at least one.
    """

    prefix: tuple[int, ...]
    target: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reduction:
    """A named function of next-token rows, so that whole rows need not be kept.

    Attributes:
        name: Part of the cache key: two functions of one name must be the same function.
        apply: Rows of shape ``(r, V)``, nats, to an array of shape ``(r, ...)``.
    """

    name: str
    apply: Callable[[Float[np.ndarray, "r V"]], Float[np.ndarray, "r ..."]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """Ask for the next-token row after ``prefix``, or for a reduction of it."""

    prefix: tuple[int, ...]
    reduction: Reduction | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Hidden:
    """Ask for the last hidden state at the end of ``prefix``, before or after the final norm."""

    prefix: tuple[int, ...]
    norm: HiddenNorm = "after"


@dataclass(frozen=True, slots=True, kw_only=True)
class Top:
    """Ask for the ``k`` likeliest next tokens after ``prefix``, with a bound on the rest."""

    prefix: tuple[int, ...]
    k: int


Request: TypeAlias = Continuation | Row | Hidden | Top


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The answer to one request.

    Attributes:
        values: Continuation: shape ``(n,)``; row: ``(V,)``, or as its reduction gives; hidden:
            ``(D,)``; top: the log-probs, shape ``(k,)``. Nats, but for hidden states.
        censored: Continuation from a server: which values are only upper bounds.
        top: The likeliest tokens, for a `Top` request.
    """

    values: Float[np.ndarray, "..."]
    censored: Bool[np.ndarray, "..."] | None = None
    top: TopTokens | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Answers:
    """Answers in the order of the requests, and what they cost."""

    answers: tuple[Answer, ...]
    cost: Cost

    def __getitem__(self, index: int) -> Answer:
        return self.answers[index]

    def __len__(self) -> int:
        return len(self.answers)


@runtime_checkable
class Store(Protocol):
    """A score cache: bytes by key, many at a time."""

    def get_many(self, keys: Sequence[bytes]) -> dict[bytes, bytes]:
        """Return the values of those keys that are there."""
        ...

    def put_many(self, items: Iterable[tuple[bytes, bytes]]) -> None:
        """Keep the values; durable when this returns."""
        ...


@runtime_checkable
class Meter(Protocol):
    """A progress bar for a whole job, in tokens."""

    def expect(self, tokens: int) -> None:
        """Add to the total."""
        ...

    def advance(self, tokens: int) -> None:
        """Move on."""
        ...


def evaluate(
    model: LanguageModel,
    requests: Sequence[Request],
    *,
    settings: Settings | None = None,
    cache: Store | None = None,
    meter: Meter | None = None,
) -> Answers:
    """Answer all requests, evaluating each distinct prefix once.

    Args:
        model: Any adapter.
        requests: Of any kinds, in any order.
        settings: How to evaluate; the default plans by measured cost.
        cache: Where known answers are looked up and new ones kept.
        meter: Is told of tokens planned and tokens done.

    Returns:
        One answer a request, in the same order.

    Raises:
        InputError: An id out of range, an empty prefix, or a prefix past the context limit.
        CapabilityError: The model cannot give what a request asks.
        NumericalError: NaN, a log-probability above 0, or a row that does not sum to 1.
    """
    settings = settings or Settings()
    for request in requests:
        _check_request(model, request)
    answers: list[Answer | None] = [None] * len(requests)
    keys = _lookup(model, requests, settings, cache, answers)
    missing = [i for i, answer in enumerate(answers) if answer is None]
    n_cached = len(requests) - len(missing)
    groups = [[i] for i in missing] if settings.deterministic else [missing]
    cost = Cost(cached=n_cached)
    for group in groups:
        if not group:
            continue
        fresh, spent = _evaluate_group(model, [requests[i] for i in group], settings, meter)
        cost = cost + spent
        for i, answer in zip(group, fresh, strict=True):
            answers[i] = answer
        if cache is not None:
            cache.put_many([(keys[i], _pack(answers[i])) for i in group])
    return Answers(answers=tuple(a for a in answers if a is not None), cost=cost)


def _check_request(model: LanguageModel, request: Request) -> None:
    info = model.info
    needed = {
        Continuation: Capability.CONTINUATION,
        Row: Capability.NEXT_TOKEN,
        Hidden: Capability.HIDDEN_STATES,
        Top: Capability.TOP_TOKENS,
    }
    require(model, needed[type(request)])
    if not request.prefix:
        raise InputError(
            "nothing stands before the first token, so it has no probability: "
            "give a context, or bos='always' for a model with a BOS token"
        )
    target: tuple[int, ...] = ()
    if isinstance(request, Continuation):
        target = request.target
        if not target:
            raise InputError("a continuation needs at least one token, got none")
    ids = request.prefix + target
    if min(ids) < 0 or max(ids) >= info.n_vocab:
        bad = next(t for t in ids if not 0 <= t < info.n_vocab)
        raise InputError(
            f"token id {bad} is out of range for {info.name!r}, whose ids are 0..{info.n_vocab - 1}"
        )
    n_evaluated = len(ids) - 1 if target else len(ids)
    if info.max_tokens is not None and n_evaluated > info.max_tokens:
        raise InputError(
            f"the text needs {n_evaluated} tokens of context, {info.name!r} has "
            f"{info.max_tokens}; shorten it, or score it with likely.surprisal(window=...)"
        )


def _evaluate_group(
    model: LanguageModel, requests: Sequence[Request], settings: Settings, meter: Meter | None
) -> tuple[list[Answer], Cost]:
    collector = _Collector.plan(model, requests, settings, meter)
    model.evaluate(collector.work, collector)
    return collector.finish(), collector.cost


@dataclass
class _Collector:
    """The sink of one call: holds the wanted numbers and checks each one as it comes."""

    model: LanguageModel
    requests: Sequence[Request]
    work: Work
    pair_slices: list[Int[np.ndarray, "_"] | None]
    ends: Int[np.ndarray, "n"]
    meter: Meter | None
    pairs: Float[np.ndarray, "Q"]
    censored: Bool[np.ndarray, "Q"]
    found: dict[tuple[int, str], Answer] = field(default_factory=dict)
    cost: Cost = field(default_factory=Cost)

    @classmethod
    def plan(
        cls,
        model: LanguageModel,
        requests: Sequence[Request],
        settings: Settings,
        meter: Meter | None,
    ) -> "_Collector":
        trie, paths = build_trie([_evaluated(request) for request in requests])
        nodes: list[Int[np.ndarray, "_"]] = []
        targets: list[Int[np.ndarray, "_"]] = []
        for request, path in zip(requests, paths, strict=True):
            if isinstance(request, Continuation):
                nodes.append(path[len(request.prefix) - 1 :])
                targets.append(np.array(request.target, dtype=np.int64))
        pair_nodes = np.concatenate(nodes) if nodes else np.empty(0, dtype=np.int64)
        pair_targets = np.concatenate(targets) if targets else np.empty(0, dtype=np.int64)
        order = np.argsort(pair_nodes, kind="stable")
        place = np.empty_like(order)
        place[order] = np.arange(len(order))
        slices: list[Int[np.ndarray, "_"] | None] = []
        at = 0
        for request in requests:
            if isinstance(request, Continuation):
                slices.append(place[at : at + len(request.target)])
                at += len(request.target)
            else:
                slices.append(None)
        ends = np.array([path[-1] for path in paths], dtype=np.int64)
        work = _work(model, requests, ends, trie, pair_nodes[order], pair_targets[order], settings)
        if meter is not None:
            meter.expect(len(trie))
        return cls(
            model=model, requests=requests, work=work, pair_slices=slices, ends=ends, meter=meter,
            pairs=np.full(len(pair_nodes), np.nan), censored=np.zeros(len(pair_nodes), dtype=bool),
        )  # fmt: skip

    def put_pairs(
        self,
        index: Int[np.ndarray, "q"],
        log_probs: Float[np.ndarray, "q"],
        censored: Bool[np.ndarray, "q"] | None = None,
    ) -> None:
        if not np.all(log_probs <= 1e-9):
            self._name_culprit(int(index[int(np.flatnonzero(~(log_probs <= 1e-9))[0])]), log_probs)
        self.pairs[index] = log_probs
        if censored is not None:
            self.censored[index] = censored

    def put_rows(self, nodes: Int[np.ndarray, "r"], log_probs: Float[np.ndarray, "r V"]) -> None:
        self._check_rows(nodes, log_probs)
        rows = np.asarray(log_probs, dtype=np.float64)
        for name, reduction, wanted in self._reductions:
            chosen = np.flatnonzero(np.isin(nodes, wanted))
            if not len(chosen):
                continue
            part = rows[chosen] if len(chosen) < len(rows) else rows
            values = part if reduction is None else reduction.apply(part)
            for node, value in zip(nodes[chosen], values, strict=True):
                self.found[int(node), name] = Answer(values=np.array(value))
        for node, row in zip(nodes, rows, strict=True):
            for k in self._tops.get(int(node), ()):
                top = list_likeliest(self.model, row, k=k)
                self.found[int(node), f"top {k}"] = Answer(values=np.array(top.log_probs), top=top)

    def put_hidden(self, nodes: Int[np.ndarray, "h"], vectors: Float[np.ndarray, "h D"]) -> None:
        for node, vector in zip(nodes, vectors, strict=True):
            if not np.all(np.isfinite(vector)):
                raise NumericalError(f"{self._describe(int(node))}: the hidden state is not finite")
            self.found[int(node), "hidden"] = Answer(values=np.array(vector, dtype=np.float64))

    def put_top(self, node: int, top: TopTokens) -> None:
        check_log_probs(np.array(top.log_probs), what=self._describe(node))
        for k in {r.k for r in self.requests if isinstance(r, Top)}:
            self.found[node, f"top {k}"] = Answer(values=np.array(top.log_probs), top=top)

    def spend(self, *, tokens: int, calls: int, seconds: float) -> None:
        spent = Cost(token_evaluations=tokens, model_calls=calls, seconds=seconds)
        self.cost = self.cost + spent
        if self.meter is not None:
            self.meter.advance(tokens)

    def finish(self) -> list[Answer]:
        """Return the answers in order; an unanswered request is an error, never a default."""
        answers = []
        for i, request in enumerate(self.requests):
            where = self.pair_slices[i]
            if where is not None:
                values = self.pairs[where]
                if np.isnan(values).any():
                    raise NumericalError(
                        f"{self._describe(int(self.ends[i]))}: the model left a score out"
                    )
                censored = self.censored[where]
                answers.append(Answer(values=values, censored=censored if censored.any() else None))
                continue
            key = (int(self.ends[i]), _kind(request))
            if key not in self.found:
                raise NumericalError(f"{self._describe(key[0])}: the model gave no {key[1]}")
            answers.append(self.found[key])
        return answers

    @cached_property
    def _reductions(self) -> list[tuple[str, Reduction | None, Int[np.ndarray, "_"]]]:
        wanted: dict[str, tuple[Reduction | None, list[int]]] = {}
        for request, end in zip(self.requests, self.ends, strict=True):
            if isinstance(request, Row):
                wanted.setdefault(_kind(request), (request.reduction, []))[1].append(int(end))
        return [(name, r, np.unique(nodes)) for name, (r, nodes) in wanted.items()]

    @cached_property
    def _tops(self) -> dict[int, set[int]]:
        tops: dict[int, set[int]] = {}
        for request, end in zip(self.requests, self.ends, strict=True):
            if isinstance(request, Top):
                tops.setdefault(int(end), set()).add(request.k)
        return tops

    def _check_rows(self, nodes: Int[np.ndarray, "r"], log_probs: Float[np.ndarray, "r V"]) -> None:
        with np.errstate(over="ignore", divide="ignore"):
            log_z = np.log(np.exp(log_probs).sum(axis=-1, dtype=np.float64))
        limit = ROW_TOLERANCE.get(self.model.info.dtype, _HALF_TOLERANCE)
        bad = np.flatnonzero(~(np.abs(log_z) <= limit))
        if len(bad):
            raise NumericalError(
                f"{self._describe(int(nodes[bad[0]]))}: the next-token probabilities sum to "
                f"{float(np.exp(log_z[bad[0]]))!r}, not 1; check the weights (likely self-check)"
            )

    def _name_culprit(self, pair: int, log_probs: Float[np.ndarray, "q"]) -> None:
        node = int(self.work.pair_nodes[pair])
        check_log_probs(log_probs, what=self._describe(node))

    def _describe(self, node: int) -> str:
        text = self.model.tokenizer.decode(self.work.trie.prefix(node))
        shown = text if len(text) <= 60 else "..." + text[-57:]
        return f"{self.model.info.name!r} after {shown!r}"


def _evaluated(request: Request) -> tuple[int, ...]:
    """Return the prefix that must go through the model: the last target needs no evaluation."""
    if isinstance(request, Continuation):
        return request.prefix + request.target[:-1]
    return request.prefix


def _kind(request: Request) -> str:
    if isinstance(request, Row):
        return "row" if request.reduction is None else f"row {request.reduction.name}"
    if isinstance(request, Top):
        return f"top {request.k}"
    return "hidden" if isinstance(request, Hidden) else "continuation"


def _work(
    model: LanguageModel,
    requests: Sequence[Request],
    ends: Int[np.ndarray, "n"],
    trie: PrefixTrie,
    pair_nodes: Int[np.ndarray, "Q"],
    pair_targets: Int[np.ndarray, "Q"],
    settings: Settings,
) -> Work:
    has_rows = Capability.NEXT_TOKEN in model.info.capabilities
    rows = [
        int(end)
        for request, end in zip(requests, ends, strict=True)
        if isinstance(request, Row) or (has_rows and isinstance(request, Top))
    ]
    tops = [
        (int(end), request.k)
        for request, end in zip(requests, ends, strict=True)
        if isinstance(request, Top) and not has_rows
    ]
    hidden = [int(e) for r, e in zip(requests, ends, strict=True) if isinstance(r, Hidden)]
    norms = {r.norm for r in requests if isinstance(r, Hidden)}
    if len(norms) > 1:
        raise InputError("one call gives hidden states before or after the final norm, not both")
    return Work(
        trie=trie,
        pair_nodes=pair_nodes,
        pair_targets=pair_targets,
        row_nodes=np.unique(np.array(rows, dtype=np.int64)),
        hidden_nodes=np.unique(np.array(hidden, dtype=np.int64)),
        hidden_norm=norms.pop() if norms else "after",
        top_nodes=np.unique(np.array([node for node, _ in tops], dtype=np.int64)),
        top_k=max((k for _, k in tops), default=0),
        settings=settings,
    )


def list_likeliest(model: LanguageModel, row: Float[np.ndarray, "V"], *, k: int) -> TopTokens:
    """Return the ``k`` likeliest tokens of a next-token row, likeliest first; equal ones by id."""
    order = np.lexsort((np.arange(len(row)), -row))[:k]
    rest = np.delete(row, order)
    return TopTokens(
        tokens=tuple(int(t) for t in order),
        pieces=tuple(model.tokenizer.decode([int(t)]) for t in order),
        log_probs=tuple(float(x) for x in row[order]),
        log_prob_elsewhere=float(rest.max()) if len(rest) else -np.inf,
        log_mass_elsewhere=float(logsumexp(rest)),
    )


def _lookup(
    model: LanguageModel,
    requests: Sequence[Request],
    settings: Settings,
    cache: Store | None,
    answers: list[Answer | None],
) -> list[bytes]:
    """Fill in the answers that the cache knows, and return the key of each request."""
    if cache is None:
        return [b""] * len(requests)
    keys = [_key(model, request, settings) for request in requests]
    known = cache.get_many(keys)
    for i, key in enumerate(keys):
        if key in known:
            answers[i] = _unpack(known[key])
    return keys


def _key(model: LanguageModel, request: Request, settings: Settings) -> bytes:
    from likely.core.cache import content_key

    kind = _kind(request)
    if isinstance(request, Hidden):
        kind = f"{kind} {request.norm}"
    elif isinstance(request, Top):
        kind = f"{kind} with pieces"  # older versions kept the values alone under "top k"
    target = request.target if isinstance(request, Continuation) else ()
    mode = "deterministic" if settings.deterministic else "planned"
    return content_key(model.info.identity, mode, kind, request.prefix, target)


def _pack(answer: Answer | None) -> bytes:
    """Return shape, values and censoring of an answer as raw little-endian bytes.

    A list of likeliest tokens holds text and becomes JSON.
    """
    if answer is None:
        raise InputError("only an answered request can be kept")
    if answer.top is not None:
        return _LISTED + dumps(asdict(answer.top)).encode()
    values = np.asarray(answer.values, dtype="<f8")
    head = struct.pack("<BB", values.ndim, answer.censored is not None)
    shape = struct.pack(f"<{values.ndim}q", *values.shape)
    mask = b"" if answer.censored is None else answer.censored.astype("u1").tobytes()
    return head + shape + values.tobytes() + mask


def _unpack(raw: bytes) -> Answer:
    if raw.startswith(_LISTED):
        return _read_top(raw[len(_LISTED) :])
    n_axes, is_censored = struct.unpack_from("<BB", raw)
    shape = struct.unpack_from(f"<{n_axes}q", raw, 2)
    start = 2 + 8 * n_axes
    size = int(np.prod(shape, dtype=np.int64))
    values = np.frombuffer(raw, dtype="<f8", count=size, offset=start).reshape(shape)
    mask = None
    if is_censored:
        mask = np.frombuffer(raw, dtype="u1", offset=start + 8 * size).astype(bool)
    return Answer(values=values.astype(np.float64), censored=mask)


def _read_top(raw: bytes) -> Answer:
    """Return the list that `_pack` wrote; ``-inf`` comes back from its name."""
    read = json.loads(raw)
    log_probs = tuple(map(float, read["log_probs"]))
    top = TopTokens(
        tokens=tuple(read["tokens"]),
        pieces=tuple(read["pieces"]),
        log_probs=log_probs,
        log_prob_elsewhere=float(read["log_prob_elsewhere"]),
        log_mass_elsewhere=float(read["log_mass_elsewhere"]),
    )
    return Answer(values=np.array(log_probs), top=top)
