"""The probability of an answer: the sum over every spelling that stands for it. Unit: nats.

Of two spellings of one answer where the ids of one begin the other's, only the shorter counts, for
it contains the other. Between answers (``1`` and ``12``) the *word end* keeps events apart: the
spelling, and then a token that cannot go on with the word. See `likely.core.answer_events`.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from likely.core.answer_events import (
    Answers,
    AnswersEach,
    ContextEvents,
    Event,
    WordEnd,
    disjoint,
    plan_events,
)
from likely.core.answer_scores import AnswerPart, AnswerScore, AnswerScores, ContextAnswers
from likely.core.engine import Answer, Meter, Request, Store, evaluate
from likely.core.logspace import log1mexp, log_sum, log_union
from likely.core.model import LanguageModel, Settings
from likely.core.text.encode import Bos, Boundary, Context
from likely.core.text.surfaces import Level
from likely.errors import NumericalError

MASS_TOLERANCE = {"float64": 1e-9, "float32": 1e-4}
"""How far rounding may put the mass of disjoint answers above 1, in nats, by dtype."""

_HALF_MASS_TOLERANCE = 0.25  # the widest noise that self_check accepts of 16-bit weights


def score_answers(
    model: LanguageModel,
    contexts: Sequence[Context],
    answers: Answers | AnswersEach,
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
        answers: Names with their declared spellings, or words that `surfaces` spells out, the same
            for every context; or a sequence of such mappings, one for each context.
        level: Which spellings a word has, for answers given as words.
        word_end: ``always`` multiplies each spelling by the probability that its word then ends,
            ``never`` does not, ``auto`` does where a spelling of one answer begins one of
            another's, and where every answer is a number; it decides for each context by itself.
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
    plan = plan_answers(
        model, contexts, answers, level=level, word_end=word_end, bos=bos, boundary=boundary
    )
    answered = evaluate(model, plan.requests, settings=settings, cache=cache, meter=meter)
    return AnswerScores(items=plan.read(answered.answers), cost=answered.cost)


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerPlan:
    """The requests that answers take, for a caller that has more to ask in the same call.

    Attributes:
        model: That will be asked.
        contexts: The events of each context.
    """

    model: LanguageModel
    contexts: tuple[ContextEvents, ...]

    @property
    def requests(self) -> list[Request]:
        """What the engine is asked, in the order in which `read` takes the answers."""
        return [
            request
            for part in self.contexts
            for event in part.events
            for request in event.requests()
        ]

    def read(self, answers: Sequence[Answer]) -> tuple[ContextAnswers, ...]:
        """Return the scores of each context.

        Args:
            answers: One for each of `requests`.

        Raises:
            NumericalError: Disjoint answers with more than all the probability.
        """
        values = iter(answers)
        return tuple(_context_answers(self.model, part, values) for part in self.contexts)


def plan_answers(
    model: LanguageModel,
    contexts: Sequence[Context],
    answers: Answers | AnswersEach,
    *,
    level: Level = "paper",
    word_end: WordEnd = "auto",
    bos: Bos = "auto",
    boundary: Boundary = "joint",
) -> AnswerPlan:
    """Return what `score_answers` asks of the model, and how it reads the answers.

    Raises:
        InputError: As `score_answers`.
        CapabilityError: As `score_answers`.
    """
    events = plan_events(
        model, contexts, answers, level=level, word_end=word_end, bos=bos, boundary=boundary
    )
    return AnswerPlan(model=model, contexts=events)


def _context_answers(
    model: LanguageModel,
    plan: ContextEvents,
    values: Iterator[Answer],
) -> ContextAnswers:
    events = plan.events
    parts = [_part(model, event, values) for event in events]
    apart = set(disjoint(events))
    overlapping = _overlapping(events, apart)
    scores = []
    for name in plan.names:
        own = [i for i, event in enumerate(events) if event.name == name]
        flags = frozenset().union(*(events[i].flags for i in own))
        flags |= {"overlap"} if name in overlapping else frozenset()
        flags |= {"censored"} if any(parts[i].is_bound for i in own) else frozenset()
        scores.append(
            AnswerScore(
                name=name, log_prob=log_union([parts[i].log_total for i in own]),
                parts=tuple(parts[i] for i in own), flags=flags,
            )
        )  # fmt: skip
    all_flags = frozenset().union(*(score.flags for score in scores))
    log_mass = log_sum([parts[i].log_total for i in apart])
    if "censored" not in all_flags:
        _check_mass(model, events[0], log_mass)
    log_mass = min(log_mass, 0.0)
    return ContextAnswers(
        answers=tuple(scores),
        context_tokens=events[0].context,
        log_mass=log_mass,
        log_other=float(log1mexp(np.array(log_mass))),
        has_word_ends=plan.has_word_ends,
        flags=all_flags,
    )


def _part(model: LanguageModel, event: Event, values: Iterator[Answer]) -> AnswerPart:
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


def _overlapping(events: Sequence[Event], apart: set[int]) -> set[str]:
    """Return the names of answers whose events contain, or lie in, another answer's."""
    names: set[str] = set()
    for i, event in enumerate(events):
        if i not in apart:
            heads = {event.tokens[:n] for n in range(1, len(event.tokens))}
            names |= {event.name, *(other.name for other in events if other.tokens in heads)}
    return names


def _sum(log_probs: Sequence[float]) -> float:
    return -math.inf if -math.inf in log_probs else math.fsum(log_probs)


def _check_mass(model: LanguageModel, event: Event, log_mass: float) -> None:
    limit = MASS_TOLERANCE.get(model.info.dtype, _HALF_MASS_TOLERANCE)
    if log_mass > limit:
        text = model.tokenizer.decode(event.context)
        raise NumericalError(
            f"after {text[-60:]!r} disjoint answers have probability {math.exp(log_mass)!r} "
            f"together, more than 1, on {model.info.name!r}; check it (likely self-check)"
        )
