"""The three questions everyone asks: score continuations, the next token, a whole text."""

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from likely.core.engine import (
    Answer,
    Continuation,
    Meter,
    Reduction,
    Request,
    Row,
    Store,
    Top,
    evaluate,
)
from likely.core.estimate import Cost
from likely.core.logspace import entropy
from likely.core.model import LanguageModel, Settings, TopTokens
from likely.core.results import NextToken, Score, Scores, TextScore
from likely.core.text.chat import chat_flags
from likely.core.text.encode import (
    Bos,
    Boundary,
    Context,
    Pair,
    check_contexts,
    encode_context,
    encode_pair,
    encode_text,
    with_bos,
)
from likely.core.text.spans import char_spans
from likely.core.text.windows import Window, plan_windows
from likely.errors import InputError

ENTROPY = Reduction(name="entropy", apply=entropy)


def score(
    model: LanguageModel,
    pairs: Sequence[tuple[Context, Context]],
    *,
    bos: Bos = "auto",
    boundary: Boundary = "joint",
    leading_space: bool = False,
    settings: Settings | None = None,
    cache: Store | None = None,
    meter: Meter | None = None,
) -> Scores:
    """Return the log-probability of each continuation after its context, in nats.

    Args:
        model: Any model that gives continuations.
        pairs: (context, continuation) each; text, ids, or a context from `likely.chat`.
        bos: ``auto`` follows the tokenizer's own setting, ``always``, ``never``.
        boundary: ``joint``, ``separate`` or ``error``: see `likely.core.text.encode`.
        leading_space: Whether text continuations that begin without a space get one.
        settings: How to evaluate; changes no number beyond rounding.
        cache: A `ScoreCache`, off by default.
        meter: A progress meter.

    Returns:
        One `Score` a pair, in order; all prefixes of the call are shared.

    Raises:
        InputError: Unusable input, named with its place.
        CapabilityError: The model gives no continuation scores.
        NumericalError: The model gave NaN.

    >>> import likely, math
    >>> coin = likely.TableModel(["H", "T"], lambda context: {"H": 0.25, "T": 0.75})
    >>> scores = score(coin, [("H", "T"), ("H", "HH")])
    >>> round(math.exp(scores[0].log_prob), 6), scores[1].n_scored
    (0.75, 2)
    """
    encoded = [
        _encode(model, i, pair, bos, boundary, leading_space) for i, pair in enumerate(pairs)
    ]
    requests: list[Request] = []
    places: list[int | None] = []
    for pair in encoded:
        prefix, target = _scorable(pair)
        places.append(len(requests) if target else None)
        if target:
            requests.append(Continuation(prefix=prefix, target=target))
    answers = evaluate(model, requests, settings=settings, cache=cache, meter=meter)
    items = tuple(
        _score(model, pair, None if place is None else answers[place])
        for pair, place in zip(encoded, places, strict=True)
    )
    return Scores(items=items, cost=answers.cost)


def next_token(
    model: LanguageModel,
    context: Context,
    *,
    bos: Bos = "auto",
    settings: Settings | None = None,
    cache: Store | None = None,
) -> NextToken:
    """Return the whole next-token distribution after ``context``.

    Raises:
        InputError: Nothing stands before the token.
        CapabilityError: The model gives only part of the distribution; use `top_tokens`.
    """
    return next_tokens(model, [context], bos=bos, settings=settings, cache=cache)[0]


def next_tokens(
    model: LanguageModel,
    contexts: Sequence[Context],
    *,
    bos: Bos = "auto",
    settings: Settings | None = None,
    cache: Store | None = None,
    meter: Meter | None = None,
) -> tuple[NextToken, ...]:
    """Return the next-token distribution after each context; prefixes are shared.

    Each row takes ``8 V`` bytes; for many contexts of which only some figures are wanted, give
    `likely.core.engine.evaluate` a `Row` with a `Reduction`.

    Raises:
        InputError: A text in place of a sequence, or a context that cannot be used.
        CapabilityError: The model gives only part of the distribution.
    """
    check_contexts(contexts)
    encoded = [encode_context(model, context, bos=bos) for context in contexts]
    requests = [Row(prefix=ids) for ids, _ in encoded]
    answers = evaluate(model, requests, settings=settings, cache=cache, meter=meter)
    return tuple(
        NextToken(
            log_probs=answers[i].values,
            context_tokens=ids,
            n_tokens=model.info.n_tokens,
            flags=flags | chat_flags(contexts[i]),
            cost=answers.cost,
            tokenizer=model.tokenizer,
        )
        for i, (ids, flags) in enumerate(encoded)
    )


def top_tokens(
    model: LanguageModel, context: Context, k: int = 10, *, bos: Bos = "auto"
) -> tuple[TopTokens, Cost]:
    """Return the ``k`` likeliest next tokens with a bound on every other one, and the cost.

    Works on every model, servers with partial answers included.

    Raises:
        InputError: ``k`` is below 1, or nothing stands before the token.
    """
    if k < 1:
        raise InputError(f"k counts the likeliest tokens, from 1; got {k!r}")
    ids, _ = encode_context(model, context, bos=bos)
    answers = evaluate(model, [Top(prefix=ids, k=k)])
    top = answers[0].top
    if top is None:
        raise InputError(f"{model.info.name!r} gave no list of tokens")
    return top, answers.cost


def surprisal(
    model: LanguageModel,
    text: str,
    *,
    window: int | None = None,
    stride: int | None = None,
    bos: Bos = "auto",
    leading_space: bool = False,
    with_entropy: bool = False,
    settings: Settings | None = None,
    cache: Store | None = None,
    meter: Meter | None = None,
) -> TextScore:
    """Return the log-probability of each token of ``text`` after those before it, in nats.

    Args:
        model: Any model that gives continuations (whole rows, for ``with_entropy``).
        text: Not empty.
        window: Most tokens that one evaluation may hold; needed where the text is longer than
            the context, and never chosen silently.
        stride: How far each window moves on; half the window by default.
        bos: Without a BOS the first token is not scored: None, never 0.
        leading_space: Whether a text that begins without white space gets a space, so that its
            first word is split as in running text.
        with_entropy: Whether the entropy of each predicting distribution comes too.
        settings: How to evaluate; changes no number beyond rounding.
        cache: A `ScoreCache`, off by default.
        meter: A progress meter.

    Raises:
        InputError: Empty text, a text past the context without a window, a window past it.
    """
    if not text:
        raise InputError("there is no text to read: got an empty string")
    if leading_space and not text[0].isspace():
        text = " " + text
    encoding = encode_text(model, text)
    ids, flags = with_bos(model, encoding.tokens, bos=bos)
    n_added = len(ids) - len(encoding.tokens)
    windows, size = _windows(model, len(ids), window, stride)
    answers = evaluate(
        model, _window_requests(ids, windows, with_entropy),
        settings=settings, cache=cache, meter=meter,
    )  # fmt: skip
    log_probs, censored, entropies = _read_windows(len(ids), windows, answers.answers, with_entropy)
    flags |= {"windowed"} if len(windows) > 1 else frozenset()
    flags |= {"censored"} if any(censored) else frozenset()
    flags |= {"first_token_not_scored"} if log_probs[n_added] is None else frozenset()
    return TextScore(
        text=text,
        tokens=encoding.tokens,
        pieces=tuple(model.tokenizer.decode([token]) for token in encoding.tokens),
        token_log_probs=tuple(log_probs[n_added:]),
        entropies=tuple(entropies[n_added:]) if with_entropy else None,
        spans=char_spans(text, encoding.byte_spans),
        byte_spans=encoding.byte_spans,
        context_tokens=ids[:n_added],
        censored=tuple(censored[n_added:]),
        window=size if len(windows) > 1 else None,
        stride=(stride or max(1, size // 2)) if len(windows) > 1 else None,
        flags=flags,
        cost=answers.cost,
    )


def _encode(
    model: LanguageModel,
    place: int,
    pair: tuple[Context, Context],
    bos: Bos,
    boundary: Boundary,
    leading_space: bool,
) -> Pair:
    try:
        context, continuation = pair
        encoded = encode_pair(
            model, context, continuation,
            bos=bos, boundary=boundary, leading_space=leading_space,
        )  # fmt: skip
        return replace(encoded, flags=encoded.flags | chat_flags(context))
    except InputError as error:
        raise type(error)(f"pair {place}: {error}") from error
    except (TypeError, ValueError) as error:
        raise InputError(f"pair {place} is no (context, continuation): {pair!r}") from error


def _scorable(pair: Pair) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return prefix and target; with nothing before it the first target only conditions."""
    if pair.context:
        return pair.context, pair.target
    return pair.target[:1], pair.target[1:]


def _score(model: LanguageModel, pair: Pair, answer: Answer | None) -> Score:
    values = [] if answer is None else [float(x) for x in answer.values]
    unscored: list[float | None] = [None] * (len(pair.target) - len(values))
    mask = [False] * len(values)
    if answer is not None and answer.censored is not None:
        mask = [bool(x) for x in answer.censored]
    flags = pair.flags
    flags |= {"first_token_not_scored"} if unscored else frozenset()
    flags |= {"nothing_scored"} if not values else frozenset()
    flags |= {"censored"} if any(mask) else frozenset()
    return Score(
        log_prob=math.fsum(values) if np.isfinite(values).all() else -math.inf,
        tokens=pair.target,
        pieces=tuple(model.tokenizer.decode([token]) for token in pair.target),
        token_log_probs=(*unscored, *values),
        censored=(*[False] * len(unscored), *mask),
        context_tokens=pair.context,
        flags=flags,
    )


def _windows(
    model: LanguageModel, n_ids: int, window: int | None, stride: int | None
) -> tuple[tuple[Window, ...], int]:
    limit = model.info.max_tokens
    needed = max(1, n_ids - 1)
    if window is None:
        if stride is not None:
            raise InputError(f"a stride needs a window, got stride={stride!r} alone")
        if limit is not None and needed > limit:
            raise InputError(
                f"the text needs {needed} tokens of context, {model.info.name!r} has {limit}; "
                f"pass window={limit} (or less) to read it in windows"
            )
        window = needed
    elif limit is not None and window > limit:
        raise InputError(f"window={window} is past the {limit} tokens of {model.info.name!r}")
    return plan_windows(n_ids, window=window, stride=stride), window


def _window_requests(
    ids: tuple[int, ...], windows: Sequence[Window], with_entropy: bool
) -> list[Request]:
    requests: list[Request] = []
    for w in windows:
        requests.append(Continuation(prefix=ids[w.start : w.first], target=ids[w.first : w.stop]))
        if with_entropy:
            requests += [
                Row(prefix=ids[w.start : i], reduction=ENTROPY) for i in range(w.first, w.stop)
            ]
    return requests


def _read_windows(
    n_ids: int, windows: Sequence[Window], answers: Sequence[Answer], with_entropy: bool
) -> tuple[list[float | None], list[bool], list[float | None]]:
    log_probs: list[float | None] = [None] * n_ids
    entropies: list[float | None] = [None] * n_ids
    censored = [False] * n_ids
    at = 0
    for w in windows:
        answer, at = answers[at], at + 1
        for i, value in zip(range(w.first, w.stop), answer.values, strict=True):
            log_probs[i] = float(value)
        if answer.censored is not None:
            censored[w.first : w.stop] = [bool(x) for x in answer.censored]
        if with_entropy:
            for i in range(w.first, w.stop):
                entropies[i], at = float(answers[at].values), at + 1
    return log_probs, censored, entropies
