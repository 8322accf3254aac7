"""Text that a model goes on with: the likeliest token at each step, or exact samples. Unit: nats.

Samples of one context grow together: how many of them take each next token is drawn at once, so a
beginning that many share is evaluated once. The samples are independent draws from the model's own
law, with no cut and at temperature 1.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol, TypeAlias, runtime_checkable

import numpy as np
from jaxtyping import Float

from likely.core.engine import Row, Top, evaluate
from likely.core.estimate import Cost
from likely.core.model import LanguageModel, Settings, TopTokens
from likely.core.streams import generator
from likely.core.text.encode import Bos, Context, check_contexts, encode_context
from likely.errors import CapabilityError, InputError

Finish = Literal["end", "stop", "length"]
Stop: TypeAlias = Sequence[str] | Callable[[str], bool]
Ids: TypeAlias = tuple[int, ...]

_ROWS_AT_ONCE = 128  # whole rows held together: 50 MB of a vocabulary of 50,000


@dataclass(frozen=True, slots=True, kw_only=True)
class Generated:
    """A text that a model wrote.

    Attributes:
        text: Without the end-of-sequence token, and up to a stop text.
        tokens: Ids, all of them.
        log_prob: Of the tokens, nats.
        finish: ``end``: the model ended the text; ``stop``: it came to a stop; ``length``: no
            room was left.
    """

    text: str
    tokens: Ids
    log_prob: float
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
    bos: Bos = "auto",
    settings: Settings | None = None,
) -> Generations:
    """Return the text in which each token is the likeliest one; of equal ones the lowest id.

    All contexts move on one token at a time, and each step reads its prefixes anew.

    Args:
        model: Any model that lists its likeliest tokens, servers among them.
        contexts: Text, ids, or contexts from `likely.chat`.
        max_tokens: Of each text, at least 1.
        stop: Texts of which none may come: what is before the first is returned; or a function
            of the text so far that says whether it is done.
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
    growing = _start(model, contexts, max_tokens, bos)
    cost = Cost()
    while live := [one for one in growing if one.finish is None]:
        answers = evaluate(model, [Top(prefix=one.prefix, k=1) for one in live], settings=settings)
        cost = cost + answers.cost
        for one, answer in zip(live, answers.answers, strict=True):
            token, log_prob = _likeliest(model, answer.top)
            one.add(token, log_prob)
            one.finish = _finish(model, one.context, one.tokens, max_tokens, stop)
    return Generations(items=tuple(one.done(model, stop) for one in growing), cost=cost)


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
    stop: Stop = (),
    bos: Bos = "auto",
    seed: int = 0,
    settings: Settings | None = None,
) -> Samples:
    """Return ``n`` independent texts after each context, drawn from the model's whole law.

    Args:
        model: With whole next-token rows.
        contexts: As in `greedy`; one that comes twice gets draws of its own each time.
        n: Texts of each context, at least 1.
        max_tokens: Of each text, at least 1.
        stop: As in `greedy`.
        bos: As in `likely.score`.
        seed: Of the random streams, of which each context has its own.
        settings: How to evaluate.

    Raises:
        InputError: ``n`` or ``max_tokens`` below 1, or contexts that cannot be used.
        CapabilityError: The model has no whole rows.
    """
    if n < 1:
        raise InputError(f"at least 1 sample is needed, got {n!r}")
    crowds = _crowds(_start(model, contexts, max_tokens, bos), n, seed)
    cost = Cost()
    while any(crowd.live for crowd in crowds):
        cost = cost + _grow(model, crowds, max_tokens, stop, settings)
    return Samples(items=tuple(crowd.texts(model, stop) for crowd in crowds), cost=cost)


@dataclass(kw_only=True)
class _Growing:
    """A text on its way."""

    context: Ids
    tokens: Ids = ()
    log_prob: float = 0.0
    finish: Finish | None = None

    @property
    def prefix(self) -> Ids:
        return self.context + self.tokens

    def add(self, token: int, log_prob: float) -> None:
        self.tokens = (*self.tokens, token)
        self.log_prob += log_prob

    def done(self, model: LanguageModel, stop: Stop) -> Generated:
        if self.finish is None:
            raise InputError(f"a text is still on its way: {self.tokens!r}")
        return Generated(
            text=_cut(_text(model, self.tokens), stop),
            tokens=self.tokens,
            log_prob=self.log_prob,
            finish=self.finish,
        )


@dataclass(kw_only=True)
class _Crowd:
    """The samples of one context: how many have each beginning.

    Attributes:
        context: Ids.
        rng: Its stream.
        live: By ids so far: how many samples there, and the log-probability of the ids.
        ended: Texts that are done, with how many samples each has.
    """

    context: Ids
    rng: np.random.Generator
    live: dict[Ids, tuple[int, float]]
    ended: list[tuple[_Growing, int]] = field(default_factory=list)

    def texts(self, model: LanguageModel, stop: Stop) -> tuple[Generated, ...]:
        """Return all samples in random order: as they would have come one by one."""
        every = [one for text, count in self.ended for one in [text.done(model, stop)] * count]
        return tuple(every[i] for i in self.rng.permutation(len(every)).tolist())


def _start(
    model: LanguageModel, contexts: Sequence[Context], max_tokens: int, bos: Bos
) -> list[_Growing]:
    if max_tokens < 1:
        raise InputError(f"max_tokens is at least 1, got {max_tokens!r}")
    check_contexts(contexts)
    return [_Growing(context=encode_context(model, context, bos=bos)[0]) for context in contexts]


def _crowds(growing: Sequence[_Growing], n: int, seed: int) -> list[_Crowd]:
    seen: Counter[Ids] = Counter()
    crowds = []
    for one in growing:
        rng = generator(seed, "generation", seen[one.context], *one.context)
        seen[one.context] += 1
        crowds.append(_Crowd(context=one.context, rng=rng, live={(): (n, 0.0)}))
    return crowds


def _grow(
    model: LanguageModel,
    crowds: Sequence[_Crowd],
    max_tokens: int,
    stop: Stop,
    settings: Settings | None,
) -> Cost:
    """Move every live sample on by one token; return what that cost."""
    places = [(crowd, ids) for crowd in crowds for ids in sorted(crowd.live)]
    cost = Cost()
    for start in range(0, len(places), _ROWS_AT_ONCE):
        chunk = places[start : start + _ROWS_AT_ONCE]
        requests = [Row(prefix=crowd.context + ids) for crowd, ids in chunk]
        answers = evaluate(model, requests, settings=settings)
        cost = cost + answers.cost
        for (crowd, ids), answer in zip(chunk, answers.answers, strict=True):
            count, before = crowd.live.pop(ids)
            for token, n_taken in _split(answer.values, count, crowd.rng).items():
                longer = (*ids, token)
                log_prob = before + float(answer.values[token])
                finish = _finish(model, crowd.context, longer, max_tokens, stop)
                if finish is None:
                    crowd.live[longer] = n_taken, log_prob
                else:
                    text = _Growing(
                        context=crowd.context, tokens=longer, log_prob=log_prob, finish=finish
                    )
                    crowd.ended.append((text, n_taken))
    return cost


def _split(row: Float[np.ndarray, "V"], count: int, rng: np.random.Generator) -> Mapping[int, int]:
    """Return how many of ``count`` draws take each token, lowest id first."""
    sums = np.cumsum(np.exp(row))
    # Scaled by the sum, which rounding of the weights may put off 1; a step of 0 is never met.
    drawn = np.searchsorted(sums, rng.random(count) * sums[-1], side="right")
    tokens, counts = np.unique(drawn, return_counts=True)
    return dict(zip(tokens.tolist(), counts.tolist(), strict=True))


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


def _finish(
    model: LanguageModel, context: Ids, tokens: Ids, max_tokens: int, stop: Stop
) -> Finish | None:
    """Return why a text is done, or None."""
    if tokens[-1] == model.info.eos_id:
        return "end"
    text = _text(model, tokens)
    if stop(text) if callable(stop) else any(mark in text for mark in stop):
        return "stop"
    room = model.info.max_tokens
    is_full = room is not None and len(context) + len(tokens) > room
    return "length" if is_full or len(tokens) == max_tokens else None


def _text(model: LanguageModel, tokens: Ids) -> str:
    ended = bool(tokens) and tokens[-1] == model.info.eos_id
    return model.tokenizer.decode(tokens[:-1] if ended else tokens)


def _cut(text: str, stop: Stop) -> str:
    """Return the text before the first stop text."""
    if callable(stop):
        return text
    places = [text.index(mark) for mark in stop if mark in text]
    return text[: min(places)] if places else text
