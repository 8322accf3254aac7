"""Events scored on a model: every rescaling asked for, from one pass over it. Unit: nats."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias, get_args

import numpy as np

from likely.core.engine import Meter, Store
from likely.core.model import Capability, LanguageModel, Settings
from likely.core.text.encode import Bos, Boundary, Context
from likely.core.text.surfaces import encode_surface
from likely.errors import CapabilityError, InputError
from likely.logic.events.answers import (
    Clash,
    Ids,
    Multi,
    TokenisedAnswer,
    find_clashes,
    first_tokens,
    spellings,
    tokenise,
)
from likely.logic.events.bounds import is_bounded
from likely.logic.events.combine import Result, combine
from likely.logic.events.readings import Readings, Target, read_targets
from likely.logic.events.registry import RESCALINGS
from likely.logic.events.rescaling import Rescaling, rescaling
from likely.logic.events.scores import EventScores

DEFAULT_RESCALINGS = ("duel", "minp", "identity")
"""A conclusion is shown under three: the informative middle, viability, and the raw probability."""

CLAMP = 1e-6
"""Probabilities under rescalings that reach 1 are kept this far from 0 and 1."""

_TOP_K = 20  # likeliest tokens asked of a model that lists them and does not say how many


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """The event that an answer follows a context.

    Attributes:
        id: Shown in results.
        context: Text, ids, or a chat from `likely.chat`.
        answers: Words that all stand for the one answer, or its exact spellings.
        is_exact: Whether ``answers`` and ``candidates`` are exact spellings, not words.
        candidates: For ``closed``: the words of each answer of the closed set, its own included or
            not. None: the answers of all events of the call that share the context.
        neutral: For ``pmi``: a context that says nothing about the answer.
    """

    id: str
    context: Context
    answers: tuple[str, ...]
    is_exact: bool = False
    candidates: tuple[tuple[str, ...], ...] | None = None
    neutral: Context | None = None


def score_events(
    model: LanguageModel,
    events: Sequence[Event],
    rescalings: Sequence[str | Rescaling] = DEFAULT_RESCALINGS,
    *,
    multi: Multi = "conj",
    word_end: bool = False,
    clamp: float | None = CLAMP,
    bos: Bos = "auto",
    boundary: Boundary = "joint",
    top_k: int | None = None,
    settings: Settings | None = None,
    cache: Store | None = None,
    meter: Meter | None = None,
) -> EventScores:
    """Return the log-odds of each event under each rescaling, each prefix evaluated once.

    Args:
        model: With whole rows everything is exact. With continuations and lists of likeliest tokens
            some rescalings are exact and others intervals; with continuations alone few are left.
        events: At least one. Events that share a context and spellings have one key.
        rescalings: Names, or rescalings with parameters; the default is three of different kinds.
        multi: For answers of several tokens: ``conj`` takes each step's event and multiplies,
            ``geo`` their geometric mean, ``min`` the weakest, ``first`` the first token alone,
            ``seq_ratio`` adds up log ratios to the top and rescales once (``ratio``, ``ratio_soft``
            and ``minp`` only). ``closed`` compares whole sequences, or with ``first`` their heads.
        word_end: Whether an answer counts only as far as a new word then starts.
        clamp: For rescalings that reach 1: kept in ``[clamp, 1 - clamp]`` and counted; None leaves
            ``+inf``.
        bos: As in `likely.score`.
        boundary: As in `likely.score`.
        top_k: Length of lists asked of a model without rows; by default what it says it gives.
        settings: How to evaluate; changes no number beyond rounding.
        cache: A `ScoreCache`; rescalings with other parameters are then had without the model,
            unless they need another temperature of the duel or another smooth maximum.
        meter: A progress meter.

    Raises:
        InputError: Unusable events; no neutral context for ``pmi``; a closed set of one, or whose
            answers overlap; first tokens that agree under ``first``; ``seq_ratio`` under a
            rescaling that has none.
        CapabilityError: The model's answers do not determine a rescaling; names those that work.
        NumericalError: NaN.

    >>> import likely
    >>> law = {" yes": 0.5, " no": 0.3, " Yes": 0.2}
    >>> model = likely.TableModel([*law, "Is it?"], lambda context: law)
    >>> event = Event(id="a", context="Is it?", answers=("yes",))
    >>> scores = score_events(model, [event], ["identity"])
    >>> round(float(scores.log_odds["identity"][0]), 6)  # log(.7 / .3)
    0.847298
    """
    chosen = _choose(model, rescalings, multi, word_end)
    if not events:
        raise InputError("there is nothing to score: got no events")
    answers = [_answer(model, e, e.answers, bos, boundary, word_end) for e in events]
    groups = _groups(events, answers)
    found = tuple(clash for group in groups.values() for clash in find_clashes(group))
    needs = {need for r in chosen for need in r.needs}
    targets = [
        _target(
            event, answer, _rivals(model, event, answer, groups, bos, boundary), multi=multi,
            neutral=_neutral(model, event, answer, bos, boundary)
            if "log_neutral" in needs
            else None,
            has_others="log_others" in needs,
        )
        for event, answer in zip(events, answers, strict=True)
    ]  # fmt: skip
    readings = read_targets(
        model, targets, sorted(needs - {"log_others"}), top_k=top_k or _top_k(model),
        settings=settings, cache=cache, meter=meter,
    )  # fmt: skip
    sequences = [target.answer.sequences for target in targets]
    results = {r.label: combine(r, sequences, readings, multi=multi, clamp=clamp) for r in chosen}
    return EventScores(
        ids=tuple(event.id for event in events),
        keys=tuple(answer.key for answer in answers),
        log_odds={name: result.log_odds for name, result in results.items()},
        low={name: result.low for name, result in results.items()},
        high={name: result.high for name, result in results.items()},
        log_prob=np.array([reading.log_prob[1] for reading in readings.items]),
        flags=_flags(targets, readings, list(results.values())),
        tokens=tuple(target.answer.sequences for target in targets),
        pieces=tuple(target.answer.pieces for target in targets),
        context_tokens=tuple(answer.context for answer in answers),
        clamped={name: int(result.is_clamped.sum()) for name, result in results.items()},
        clashes=found,
        multi=multi,
        cost=readings.cost,
    )


_Named: TypeAlias = list[tuple[str, TokenisedAnswer]]


def _choose(
    model: LanguageModel, rescalings: Sequence[str | Rescaling], multi: Multi, word_end: bool
) -> list[Rescaling]:
    """Return the distinct rescalings, after checking that model and mode can give them."""
    chosen = list({r.label: r for r in map(rescaling, rescalings)}.values())
    if not chosen:
        raise InputError(f"give at least one rescaling of {list(RESCALINGS)}, got none")
    if multi not in get_args(Multi):
        raise InputError(f"multi is one of {list(get_args(Multi))}, got {multi!r}")
    unfit = [r.label for r in chosen if r.of_log_ratio is None]
    if multi == "seq_ratio" and unfit:
        raise InputError(
            f"multi='seq_ratio' is of ratio, ratio_soft and minp, got {unfit}; use multi='conj'"
        )
    if multi == "first" and word_end:
        raise InputError("after the first token no word has ended; use word_end=False")
    if Capability.NEXT_TOKEN not in model.info.capabilities:
        _check_bounded(model, chosen, word_end)
    return chosen


def _check_bounded(model: LanguageModel, chosen: Sequence[Rescaling], word_end: bool) -> None:
    has_lists = Capability.TOP_TOKENS in model.info.capabilities

    def works(candidate: Rescaling) -> bool:
        of_step = set(candidate.needs) - {"log_neutral", "log_others"}
        return all(is_bounded(need, has_lists=has_lists) for need in of_step)

    refused = [r.label for r in chosen if not works(r)]
    if refused or word_end:
        what = f"the rescalings {refused}" if refused else "word ends"
        known = [name for name in RESCALINGS if works(rescaling(name))]
        raise CapabilityError(
            f"{what} need whole next-token rows, which {model.info.name!r} does not give; "
            f"rescalings that work with it: {known}"
        )


def _answer(
    model: LanguageModel,
    event: Event,
    given: Sequence[str],
    bos: Bos,
    boundary: Boundary,
    word_end: bool,
) -> TokenisedAnswer:
    try:
        forms = given if event.is_exact else spellings(model, event.context, given)
        return tokenise(model, event.context, forms, bos=bos, boundary=boundary, word_end=word_end)
    except InputError as error:
        raise InputError(f"event {event.id!r}: {error}") from error


def _groups(events: Sequence[Event], answers: Sequence[TokenisedAnswer]) -> dict[Ids, _Named]:
    """Return the distinct answers of each context, by name."""
    groups: dict[Ids, dict[str, tuple[str, TokenisedAnswer]]] = {}
    for event, answer in zip(events, answers, strict=True):
        named = ("|".join(event.answers), answer)
        groups.setdefault(answer.context, {}).setdefault(answer.key, named)
    return {context: list(group.values()) for context, group in groups.items()}


def _rivals(
    model: LanguageModel,
    event: Event,
    answer: TokenisedAnswer,
    groups: Mapping[Ids, _Named],
    bos: Bos,
    boundary: Boundary,
) -> _Named:
    """Return the event's own answer and then all others of its closed set."""
    given = groups[answer.context]
    if event.candidates is not None:
        word_end = answer.ends is not None
        given = [
            ("|".join(words), _answer(model, event, words, bos, boundary, word_end))
            for words in event.candidates
        ]
    own = {answer.key: ("|".join(event.answers), answer)}
    return list((own | {a.key: (name, a) for name, a in given if a.key != answer.key}).values())


def _target(
    event: Event,
    answer: TokenisedAnswer,
    rivals: _Named,
    *,
    neutral: Ids | None,
    multi: Multi,
    has_others: bool,
) -> Target:
    """Return what is read for one event."""
    if multi == "first":
        _refuse(event, find_clashes(rivals), "with multi='first' their first tokens must differ")
    others: list[TokenisedAnswer] = []
    if has_others:
        if len(rivals) < 2:
            raise InputError(
                f"event {event.id!r}: a closed set needs an answer besides the event's own; give "
                "candidates, or events with other answers after the same context"
            )
        overlaps = [clash for clash in find_clashes(rivals) if clash.kind != "first_token"]
        _refuse(event, overlaps, "the answers of a closed set must not overlap")
        others = [rival for _, rival in rivals[1:]]
    if multi == "first":
        answer, others = first_tokens(answer), [first_tokens(other) for other in others]
    return Target(answer=answer, neutral=neutral, others=tuple(others))


def _refuse(event: Event, found: Sequence[Clash], rule: str) -> None:
    if found:
        raise InputError(f"event {event.id!r}: {found[0].summary()}; {rule}")


def _neutral(
    model: LanguageModel, event: Event, answer: TokenisedAnswer, bos: Bos, boundary: Boundary
) -> Ids:
    if event.neutral is None:
        raise InputError(
            f"event {event.id!r}: the rescaling 'pmi' needs a neutral context, got none"
        )
    # Encoded with a spelling behind it, so that a space at its end is treated as in the context.
    pair = encode_surface(model, event.neutral, answer.surfaces[0], bos=bos, boundary=boundary)
    return pair.context


def _top_k(model: LanguageModel) -> int:
    told = model.info.details.get("top_k")
    return told if isinstance(told, int) and told > 0 else _TOP_K


def _flags(
    targets: Sequence[Target], readings: Readings, results: Sequence[Result]
) -> tuple[frozenset[str], ...]:
    flags = []
    for i, (target, reading) in enumerate(zip(targets, readings.items, strict=True)):
        found = {
            "censored": reading.is_censored,
            "interval": any(result.low[i] < result.high[i] for result in results),
            "clamped": any(result.is_clamped[i] for result in results),
        }
        flags.append(target.answer.flags | {name for name, is_so in found.items() if is_so})
    return tuple(flags)
