"""The probability of an answer: the sum over every spelling that stands for it. Unit: nats.

Each spelling is an event, "the text goes on with these ids". Of two spellings of one answer where
the ids of one begin the other's, only the shorter counts, for it contains the other. Between
answers (``1`` and ``12``) the *word end* keeps events apart: the spelling, and then a token that
cannot go on with the word.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from likely.core.answer_scores import AnswerPart, AnswerScore, AnswerScores, ContextAnswers
from likely.core.engine import Answer, Continuation, Meter, Request, Row, Store, evaluate
from likely.core.logspace import log1mexp, logsumexp
from likely.core.model import Capability, LanguageModel, Settings
from likely.core.text.encode import Bos, Boundary, Context
from likely.core.text.surfaces import Level, encode_surface, is_numeral, surfaces, uncovered
from likely.core.text.word_ends import Kind, WordEnds, word_ends
from likely.errors import CapabilityError, InputError, NumericalError

WordEnd = Literal["auto", "always", "never"]

MASS_TOLERANCE = {"float64": 1e-9, "float32": 1e-4}
"""How far rounding may put the mass of disjoint answers above 1, in nats, by dtype."""

_HALF_MASS_TOLERANCE = 0.25  # the widest noise that self_check accepts of 16-bit weights


def score_answers(
    model: LanguageModel,
    contexts: Sequence[Context],
    answers: Mapping[str, Sequence[str]] | Sequence[str],
    *,
    level: Level = "paper",
    word_end: WordEnd = "auto",
    bos: Bos = "auto",
    boundary: Boundary = "joint",
    settings: Settings | None = None,
    cache: Store | None = None,
    meter: Meter | None = None,
) -> AnswerScores:
    """Return the log-probability of each answer after each context, over all its spellings.

    Args:
        model: Any model that gives continuations; word ends need whole rows.
        contexts: Text, ids, or contexts from `likely.chat`.
        answers: Names with their declared spellings, or words that `surfaces` spells out.
        level: Which spellings a word has, for answers given as words.
        word_end: ``always`` multiplies each spelling by the probability that its word then ends,
            ``never`` does not, ``auto`` does where a spelling of one answer begins one of
            another's, and where every answer is a number.
        bos: ``auto`` follows the tokenizer's own setting, ``always``, ``never``.
        boundary: As in `score`; a spelling that a token joins to the context is encoded alone.
        settings: How to evaluate; changes no number beyond rounding.
        cache: A `ScoreCache`, off by default.
        meter: A progress meter.

    Returns:
        One item a context, in order; all prefixes of the call are shared.

    Raises:
        InputError: Unusable contexts or answers, or a spelling that belongs to two answers.
        CapabilityError: Word ends are needed and the model has no whole rows.
        NumericalError: NaN, or disjoint answers with more than all the probability.

    >>> import likely, math
    >>> law = {" Yes": 0.3, "Yes": 0.25, " yes": 0.1, " No": 0.32, "yes": 0.03}
    >>> model = likely.TableModel(["?", "No", " no", "no", *law], lambda context: law)
    >>> scores = score_answers(model, ["?"], ["yes", "no"])
    >>> round(math.exp(scores[0].log_prob("yes")), 6)
    0.68
    """
    if isinstance(contexts, str):
        raise InputError(f"contexts is a sequence of contexts, got the text {contexts!r}")
    spellings = _declare(answers, level)
    has_word_ends = _needs_word_ends(spellings, word_end)
    if has_word_ends and Capability.NEXT_TOKEN not in model.info.capabilities:
        raise CapabilityError(
            f"to tell where a word ends takes whole next-token rows, which {model.info.name!r} "
            "does not give; use word_end='never' and answers of which none begins another"
        )
    events = [
        _events(model, context, spellings, has_word_ends, bos, boundary) for context in contexts
    ]
    requests = [request for part in events for event in part for request in event.requests()]
    answered = evaluate(model, requests, settings=settings, cache=cache, meter=meter)
    values = iter(answered.answers)
    items = [_context_answers(model, tuple(spellings), part, values) for part in events]
    return AnswerScores(items=tuple(items), has_word_ends=has_word_ends, cost=answered.cost)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Event:
    """One spelling of one answer as ids; ``ends`` is None where the word need not end."""

    name: str
    surface: str
    context: tuple[int, ...]
    tokens: tuple[int, ...]
    ends: WordEnds | None
    flags: frozenset[str]

    def requests(self) -> list[Request]:
        asked: list[Request] = [Continuation(prefix=self.context, target=self.tokens)]
        if self.ends is not None:
            asked.append(Row(prefix=self.context + self.tokens, reduction=self.ends.reduction))
        return asked


def _declare(
    answers: Mapping[str, Sequence[str]] | Sequence[str], level: Level
) -> dict[str, tuple[str, ...]]:
    """Return the spellings of each answer, each of them declared for one answer only."""
    if isinstance(answers, str):
        raise InputError(f"answers is a mapping or a sequence of words, got the text {answers!r}")
    declared: dict[str, tuple[str, ...]] = {}
    if isinstance(answers, Mapping):
        for name, forms in answers.items():
            if isinstance(forms, str) or not forms or not all(forms):
                raise InputError(
                    f"the answer {name!r} needs a sequence of spellings, none of them empty, "
                    f"got {forms!r}"
                )
            declared[name] = tuple(dict.fromkeys(forms))
    else:
        declared = {word: surfaces(word, level=level) for word in answers}
        if len(declared) < len(answers):
            raise InputError(f"the answers must be distinct, got {list(answers)!r}")
    if not declared:
        raise InputError("there is nothing to score: got no answers")
    owners: dict[str, str] = {}
    for name, forms in declared.items():
        for form in forms:
            if form in owners:
                raise InputError(
                    f"the spelling {form!r} belongs to both {owners[form]!r} and {name!r}; "
                    "declare the spellings of each answer in a mapping"
                )
            owners[form] = name
    return declared


def _needs_word_ends(spellings: Mapping[str, Sequence[str]], word_end: WordEnd) -> bool:
    if word_end not in ("auto", "always", "never"):
        raise InputError(f"word_end is 'auto', 'always' or 'never', got {word_end!r}")
    if word_end != "auto":
        return word_end == "always"
    if all(is_numeral(form) for forms in spellings.values() for form in forms):
        return True
    owners = {form: name for name, forms in spellings.items() for form in forms}
    return any(
        owners.get(form[:n], name) != name
        for form, name in owners.items()
        for n in range(1, len(form))
    )


def _events(
    model: LanguageModel,
    context: Context,
    spellings: Mapping[str, Sequence[str]],
    has_word_ends: bool,
    bos: Bos,
    boundary: Boundary,
) -> list[_Event]:
    """Return the events of one context: for each answer, those that no other of its own holds."""
    kept: list[_Event] = []
    for name, forms in spellings.items():
        own = []
        for form in forms:
            pair = encode_surface(model, context, form, bos=bos, boundary=boundary)
            kind: Kind = "numeral" if is_numeral(form) else "word"
            own.append(
                _Event(
                    name=name, surface=form, context=pair.context, tokens=pair.target,
                    ends=word_ends(model, kind) if has_word_ends else None, flags=pair.flags,
                )
            )  # fmt: skip
        kept += [own[i] for i in _disjoint(own)]
    owners: dict[tuple[int, ...], _Event] = {}
    for event in kept:
        twin = owners.setdefault(event.tokens, event)
        if twin.name != event.name:
            raise InputError(
                f"{twin.surface!r} of {twin.name!r} and {event.surface!r} of {event.name!r} are "
                f"the same tokens, {list(event.tokens)}; leave one of them out"
            )
    return kept


def _disjoint(events: Sequence[_Event]) -> tuple[int, ...]:
    by_ids = {event.tokens: event for event in events}

    def ends_word(ids: tuple[int, ...], token: int) -> bool:
        ends = by_ids[ids].ends
        return ends is None or token in ends

    return uncovered([event.tokens for event in events], ends_word)


def _context_answers(
    model: LanguageModel,
    names: Sequence[str],
    events: Sequence[_Event],
    values: Iterator[Answer],
) -> ContextAnswers:
    parts = [_part(model, event, values) for event in events]
    apart = set(_disjoint(events))
    overlapping = _overlapping(events, apart)
    scores = []
    for name in names:
        own = [i for i, event in enumerate(events) if event.name == name]
        flags = frozenset().union(*(events[i].flags for i in own))
        flags |= {"overlap"} if name in overlapping else frozenset()
        flags |= {"censored"} if any(parts[i].is_bound for i in own) else frozenset()
        scores.append(
            AnswerScore(
                name=name, log_prob=min(0.0, _log_sum([parts[i].log_total for i in own])),
                parts=tuple(parts[i] for i in own), flags=flags,
            )
        )  # fmt: skip
    all_flags = frozenset().union(*(score.flags for score in scores))
    log_mass = _log_sum([parts[i].log_total for i in apart])
    if "censored" not in all_flags:
        _check_mass(model, events[0], log_mass)
    log_mass = min(log_mass, 0.0)
    return ContextAnswers(
        answers=tuple(scores),
        context_tokens=events[0].context,
        log_mass=log_mass,
        log_other=float(log1mexp(np.array(log_mass))),
        flags=all_flags,
    )


def _part(model: LanguageModel, event: _Event, values: Iterator[Answer]) -> AnswerPart:
    answer = next(values)
    log_word_end = None if event.ends is None else float(next(values).values)
    is_bound = answer.censored is not None and bool(answer.censored.any())
    return AnswerPart(
        surface=event.surface,
        tokens=event.tokens,
        pieces=tuple(model.tokenizer.decode([token]) for token in event.tokens),
        log_prob=_sum(answer.values.tolist()),
        log_word_end=log_word_end,
        is_bound=is_bound,
    )


def _overlapping(events: Sequence[_Event], apart: set[int]) -> set[str]:
    """Return the names of answers whose events contain, or lie in, another answer's."""
    names: set[str] = set()
    for i, event in enumerate(events):
        if i not in apart:
            heads = {event.tokens[:n] for n in range(1, len(event.tokens))}
            names |= {event.name, *(other.name for other in events if other.tokens in heads)}
    return names


def _sum(log_probs: Sequence[float]) -> float:
    return -math.inf if -math.inf in log_probs else math.fsum(log_probs)


def _log_sum(log_probs: Sequence[float]) -> float:
    return float(logsumexp(np.array(log_probs)))


def _check_mass(model: LanguageModel, event: _Event, log_mass: float) -> None:
    limit = MASS_TOLERANCE.get(model.info.dtype, _HALF_MASS_TOLERANCE)
    if log_mass > limit:
        text = model.tokenizer.decode(event.context)
        raise NumericalError(
            f"after {text[-60:]!r} disjoint answers have probability {math.exp(log_mass)!r} "
            f"together, more than 1, on {model.info.name!r}; check it (likely self-check)"
        )
