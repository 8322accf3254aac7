"""Text that a model goes on with: the likeliest token at each step, or exact samples. Unit: nats.

Samples of one context grow together: how many of them take each next token is drawn at once, so a
beginning that many share is evaluated once. The samples are independent draws from the model's own
law or, if asked for, from that law at a temperature and cut to a nucleus (`likely.core.nucleus`).

Where the model keeps keys and values, each token goes through it once (`likely.core.branches`).
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol, TypeAlias, runtime_checkable

import numpy as np

from likely.core.branches import Branches, Stem, open_stem
from likely.core.engine import Top, evaluate
from likely.core.estimate import Cost
from likely.core.model import Capability, LanguageModel, Settings, TopTokens
from likely.core.nucleus import Cut
from likely.core.streams import generator
from likely.core.text.encode import Bos, Context, check_contexts, encode_context
from likely.errors import CapabilityError, InputError

Finish = Literal["end", "stop", "length"]
Stop: TypeAlias = Sequence[str] | Callable[[str], bool]
Ids: TypeAlias = tuple[int, ...]

_TOGETHER = 128  # texts that grow in one batch: more take memory and are hardly faster


@dataclass(frozen=True, slots=True, kw_only=True)
class Generated:
    """A text that a model wrote.

    Attributes:
        text: Without the end-of-sequence token that ended it, and up to a stop text.
        tokens: Ids, all of them.
        log_prob: Of the tokens by the model's own law, nats, however they were chosen.
        law_log_prob: Of the tokens by the law that they were drawn from, nats: at a temperature,
            cut to a nucleus; 0 for the likeliest text, in which nothing is left to chance.
        law_entropy: Entropies of that law along the text, summed over its tokens, nats. The mean
            over samples is the entropy of the law of whole texts.
        finish: ``end``: the model ended the text; ``stop``: it came to a stop; ``length``: no
            room was left.
    """

    text: str
    tokens: Ids
    log_prob: float
    law_log_prob: float
    law_entropy: float
    finish: Finish


@dataclass(frozen=True, slots=True, kw_only=True)
class Generations:
    """Texts in the order of their contexts, and what they cost."""

    items: tuple[Generated, ...]
    cost: Cost

    def __getitem__(self, index: int) -> Generated:
        return self.items[index]

    def __len__(self) -> int:
        return len(self.items)

    def __iter__(self) -> Iterator[Generated]:
        return iter(self.items)


@runtime_checkable
class Sampler(Protocol):
    """Something that draws texts at temperature 1 from the whole law, such as a server."""

    def sample_texts(self, context: Context, n: int, *, max_tokens: int, seed: int) -> list[str]:
        """Return ``n`` independent texts of at most ``max_tokens`` tokens after a context."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ExactSampler:
    """A `Sampler` over a model that gives whole rows.

    Attributes:
        model: With whole next-token rows.
        stop: Where a text may end early; what comes after is of no interest.
    """

    model: LanguageModel
    stop: Stop = ()

    def sample_texts(self, context: Context, n: int, *, max_tokens: int, seed: int) -> list[str]:
        """Return the texts as `Sampler` says."""
        drawn = sample(self.model, [context], n, max_tokens=max_tokens, stop=self.stop, seed=seed)
        return [one.text for one in drawn[0]]


def greedy(
    model: LanguageModel,
    contexts: Sequence[Context],
    *,
    max_tokens: int,
    stop: Stop = (),
    stop_at_end: bool = True,
    bos: Bos = "auto",
    settings: Settings | None = None,
) -> Generations:
    """Return the text in which each token is the likeliest one; of equal ones the lowest id.

    Contexts of equal length move on together, and what they begin with alike is read once. A model
    that lists its likeliest tokens alone, such as a server, reads its prefixes anew at each step.

    Args:
        model: Any model that lists its likeliest tokens, servers among them.
        contexts: Text, ids, or contexts from `likely.chat`.
        max_tokens: Of each text, at least 1.
        stop: Texts of which none may come: what is before the first is returned; or a function
            of the text so far that says whether it is done.
        stop_at_end: Whether the end-of-sequence token ends a text.
        bos: As in `likely.score`.
        settings: How to evaluate.

    Raises:
        InputError: ``max_tokens`` below 1, contexts that cannot be used, or one that fills all the
            room that the model has.
        CapabilityError: The model lists no tokens, or only texts that are no single token.

    >>> import likely
    >>> model = likely.TableModel(["a", "b", "."], lambda c: {"a": .4, "b": .4, ".": .2}, bos=None)
    >>> greedy(model, ["b"], max_tokens=3)[0].text
    'aaa'
    """
    until = _Until(model=model, max_tokens=max_tokens, stop=stop, stop_at_end=stop_at_end)
    encoded = _encode(model, contexts, bos)
    distinct = list(dict.fromkeys(encoded))
    texts: dict[Ids, _Growing] = {}
    cost = Cost()
    for group in _iter_alike(model, distinct):
        grown, spent = (_read_on if _has_rows(model) else _ask_on)(model, group, until, settings)
        texts |= zip(group, grown, strict=True)
        cost = cost + spent
    return Generations(items=tuple(until.done(texts[one]) for one in encoded), cost=cost)


@dataclass(frozen=True, slots=True, kw_only=True)
class Samples:
    """For each context its texts, in the order of the draws, and what all of them cost."""

    items: tuple[tuple[Generated, ...], ...]
    cost: Cost

    def __getitem__(self, index: int) -> tuple[Generated, ...]:
        return self.items[index]

    def __len__(self) -> int:
        return len(self.items)


def sample(
    model: LanguageModel,
    contexts: Sequence[Context],
    n: int,
    *,
    max_tokens: int,
    temperature: float = 1.0,
    top_p: float = 1.0,
    stop: Stop = (),
    stop_at_end: bool = True,
    bos: Bos = "auto",
    seed: int = 0,
    settings: Settings | None = None,
) -> Samples:
    """Return ``n`` independent texts after each context, by default from the model's whole law.

    Args:
        model: With whole next-token rows.
        contexts: As in `greedy`; one that comes twice gets draws of its own each time.
        n: Texts of each context, at least 1.
        max_tokens: Of each text, at least 1.
        temperature: Divides log-probabilities before anything is cut; positive.
        top_p: Mass of the likeliest tokens that are left at each step, in (0, 1].
        stop: As in `greedy`.
        stop_at_end: As in `greedy`.
        bos: As in `likely.score`.
        seed: Of the random streams, of which each context has its own.
        settings: How to evaluate.

    Raises:
        InputError: ``n`` or ``max_tokens`` below 1, temperature or mass out of range, or contexts
            that cannot be used.
        CapabilityError: The model has no whole rows.
    """
    if n < 1:
        raise InputError(f"at least 1 sample is needed, got {n!r}")
    cut = Cut(temperature=temperature, top_p=top_p)
    until = _Until(model=model, max_tokens=max_tokens, stop=stop, stop_at_end=stop_at_end)
    seen: Counter[Ids] = Counter()
    cost = Cost()
    items = []
    for context in _encode(model, contexts, bos):
        rng = generator(seed, "generation", seen[context], *context)
        seen[context] += 1
        stem = open_stem(model, context, settings=settings)
        crowd = _Crowd(rng=rng, live=[(_Growing(context=context), n)])
        _grow_crowd(crowd, stem, cut, until)
        items.append(crowd.texts(until))
        cost = cost + stem.spending.cost
    return Samples(items=tuple(items), cost=cost)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Growing:
    """A text on its way."""

    context: Ids
    tokens: Ids = ()
    log_prob: float = 0.0
    law_log_prob: float = 0.0
    law_entropy: float = 0.0
    finish: Finish | None = None

    @property
    def prefix(self) -> Ids:
        return self.context + self.tokens


@dataclass(frozen=True, slots=True, kw_only=True)
class _Until:
    """When a text is done, and what is made of it then."""

    model: LanguageModel
    max_tokens: int
    stop: Stop
    stop_at_end: bool

    def __post_init__(self) -> None:
        if self.max_tokens < 1:
            raise InputError(f"max_tokens is at least 1, got {self.max_tokens!r}")

    def longer(
        self,
        one: _Growing,
        token: int,
        log_prob: float,
        *,
        law_log_prob: float = 0.0,
        law_entropy: float = 0.0,
    ) -> _Growing:
        """Return a text with a token more."""
        tokens = (*one.tokens, token)
        return _Growing(
            context=one.context,
            tokens=tokens,
            log_prob=one.log_prob + log_prob,
            law_log_prob=one.law_log_prob + law_log_prob,
            law_entropy=one.law_entropy + law_entropy,
            finish=self._finish(one.context, tokens),
        )

    def done(self, one: _Growing) -> Generated:
        """Return a text as a result."""
        if one.finish is None:
            raise InputError(f"a text is still on its way: {one.tokens!r}")
        return Generated(
            text=_cut(self._text(one.tokens), self.stop),
            tokens=one.tokens,
            log_prob=one.log_prob,
            law_log_prob=one.law_log_prob,
            law_entropy=one.law_entropy,
            finish=one.finish,
        )

    def _finish(self, context: Ids, tokens: Ids) -> Finish | None:
        """Return why a text is done, or None."""
        info = self.model.info
        if self.stop_at_end and tokens[-1] == info.eos_id:
            return "end"
        if self.stop:
            text, stop = self._text(tokens), self.stop
            if stop(text) if callable(stop) else any(mark in text for mark in stop):
                return "stop"
        room = info.max_tokens
        is_full = room is not None and len(context) + len(tokens) > room
        return "length" if is_full or len(tokens) == self.max_tokens else None

    def _text(self, tokens: Ids) -> str:
        ended = self.stop_at_end and bool(tokens) and tokens[-1] == self.model.info.eos_id
        return self.model.tokenizer.decode(tokens[:-1] if ended else tokens)


@dataclass(kw_only=True)
class _Crowd:
    """The samples of one context: how many have each beginning.

    Attributes:
        rng: Its stream.
        live: Beginnings in the order of their ids, each with how many samples have it.
        ended: Texts that are done, each with how many samples it has.
    """

    rng: np.random.Generator
    live: list[tuple[_Growing, int]]
    ended: list[tuple[_Growing, int]] = field(default_factory=list)

    def texts(self, until: _Until) -> tuple[Generated, ...]:
        """Return all samples in random order: as they would have come one by one."""
        every = [one for text, count in self.ended for one in [until.done(text)] * count]
        return tuple(every[i] for i in self.rng.permutation(len(every)).tolist())


def _encode(model: LanguageModel, contexts: Sequence[Context], bos: Bos) -> list[Ids]:
    check_contexts(contexts)
    return [encode_context(model, context, bos=bos)[0] for context in contexts]


def _has_rows(model: LanguageModel) -> bool:
    return Capability.NEXT_TOKEN in model.info.capabilities


def _iter_alike(model: LanguageModel, contexts: Sequence[Ids]) -> Iterator[list[Ids]]:
    """Yield groups of contexts that can grow together, each of one length and first token."""
    if not _has_rows(model):
        yield list(contexts)
        return
    groups: dict[tuple[int, Ids], list[Ids]] = {}
    for context in contexts:
        groups.setdefault((len(context), context[:1]), []).append(context)
    for group in groups.values():
        for start in range(0, len(group), _TOGETHER):
            yield group[start : start + _TOGETHER]


def _read_on(
    model: LanguageModel, contexts: Sequence[Ids], until: _Until, settings: Settings | None
) -> tuple[list[_Growing], Cost]:
    """Return the likeliest texts after contexts of one length, read from the model's rows."""
    stem, branches = _branch_out(model, contexts, settings)
    texts = [_Growing(context=context) for context in contexts]
    live = list(range(len(contexts)))
    while live:
        place = 0
        for rows in branches.iter_rows():
            for row, token in zip(rows, rows.argmax(axis=1).tolist(), strict=True):
                i = live[place]
                texts[i] = until.longer(texts[i], token, float(row[token]))
                place += 1
        left = [place for place, i in enumerate(live) if texts[i].finish is None]
        live = [live[place] for place in left]
        if live:
            branches.keep(np.array(left))
            branches.append(np.array([[texts[i].tokens[-1]] for i in live]))
    return texts, stem.spending.cost


def _branch_out(
    model: LanguageModel, contexts: Sequence[Ids], settings: Settings | None
) -> tuple[Stem, Branches]:
    """Return a stem of what contexts of one length begin with, and a branch for each."""
    ids = np.array(contexts, dtype=np.int64)
    differs = (ids != ids[0]).any(axis=0)
    shared = int(differs.argmax()) if differs.any() else ids.shape[1]
    stem = open_stem(model, contexts[0][:shared], settings=settings)
    branches = stem.branches(shared, len(contexts))
    branches.append(ids[:, shared:])
    return stem, branches


def _ask_on(
    model: LanguageModel, contexts: Sequence[Ids], until: _Until, settings: Settings | None
) -> tuple[list[_Growing], Cost]:
    """Return the likeliest texts after contexts by a model that lists its likeliest tokens."""
    texts = [_Growing(context=context) for context in contexts]
    cost = Cost()
    while live := [i for i, one in enumerate(texts) if one.finish is None]:
        requests = [Top(prefix=texts[i].prefix, k=1) for i in live]
        answers = evaluate(model, requests, settings=settings)
        cost = cost + answers.cost
        for i, answer in zip(live, answers.answers, strict=True):
            texts[i] = until.longer(texts[i], *_likeliest(model, answer.top))
    return texts, cost


def _grow_crowd(crowd: _Crowd, stem: Stem, cut: Cut, until: _Until) -> None:
    """Move the samples of one context on until all are done."""
    branches = stem.branches(len(stem.tokens), 1)
    while crowd.live:
        before, crowd.live, parents, place = crowd.live, [], [], 0
        for rows in branches.iter_rows():
            for row in rows:
                one, count = before[place]
                law = cut.law(row)
                spread = law.entropy
                for token, log_prob, n_taken in law.iter_split(count, rng=crowd.rng):
                    longer = until.longer(
                        one, token, float(row[token]), law_log_prob=log_prob, law_entropy=spread
                    )
                    if longer.finish is None:
                        crowd.live.append((longer, n_taken))
                        parents.append(place)
                    else:
                        crowd.ended.append((longer, n_taken))
                place += 1
        if crowd.live:
            branches.keep(np.array(parents))
            branches.append(np.array([[one.tokens[-1]] for one, _ in crowd.live]))


def _likeliest(model: LanguageModel, top: TopTokens | None) -> tuple[int, float]:
    if top is None or not top.log_probs:
        raise CapabilityError(f"{model.info.name!r} lists no likeliest token; use a local model")
    token = top.id_at(0, model.tokenizer)
    if token is None:
        raise CapabilityError(
            f"{model.info.name!r} names its likeliest token by the text {top.pieces[0]!r} "
            "alone, which is no single token; use a server that tells ids"
        )
    return token, top.log_probs[0]


def _cut(text: str, stop: Stop) -> str:
    """Return the text before the first stop text."""
    if callable(stop):
        return text
    places = [text.index(mark) for mark in stop if mark in text]
    return text[: min(places)] if places else text
