"""Events scored on a model: every rescaling asked for, from one pass over it. Unit: nats.

The candidates of an event are words with their default spellings; one that begins with white space
is an exact spelling. Without candidates its rivals are the answers of all other events of the call
after the same context.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import get_args

import numpy as np

from likely.core.engine import Meter, Store
from likely.core.model import Capability, LanguageModel, Settings, most_listed
from likely.core.text.encode import Bos, Boundary
from likely.core.text.surfaces import encode_surface
from likely.errors import CapabilityError, InputError
from likely.logic.events.answers import (
    Ids,
    Multi,
    TokenisedAnswer,
    find_clashes,
    first_tokens,
    spellings,
    tokenise,
)
from likely.logic.events.bounds import is_bounded
from likely.logic.events.closed import Named, distinct_answers, rest_of
from likely.logic.events.combine import Result, combine
from likely.logic.events.event import Event
from likely.logic.events.readings import Readings, Target, read_targets
from likely.logic.events.registry import RESCALINGS
from likely.logic.events.rescale import Rescaling, rescaling
from likely.logic.events.scores import EventScores

DEFAULT_RESCALINGS = ("duel", "minp", "identity")
"""A conclusion is shown under three: the informative middle, viability, and the raw probability."""

CLAMP = 1e-6
"""Probabilities under rescalings that reach 1 are kept this far from 0 and 1."""


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
        InputError: Unusable events; no neutral context for ``pmi``; first tokens of rivals that
            agree under ``first``; ``seq_ratio`` under a rescaling that has none.
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
    encode = _Encoder(model=model, bos=bos, boundary=boundary, word_end=word_end)
    answers = [encode.own(event) for event in events]
    groups = distinct_answers(["|".join(_given(event)) for event in events], answers)
    needs = {need for r in chosen for need in r.needs}
    targets = [
        _target(encode, event, answer, groups[answer.context], multi=multi, needs=needs)
        for event, answer in zip(events, answers, strict=True)
    ]
    readings = read_targets(
        model, targets, sorted(needs - {"log_others"}), top_k=top_k or most_listed(model),
        settings=settings, cache=cache, meter=meter,
    )  # fmt: skip
    results = {r.label: combine(r, targets, readings, multi=multi, clamp=clamp) for r in chosen}
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
        clashes=tuple(c for group in groups.values() for c in find_clashes(group)),
        multi=multi,
        cost=readings.cost,
    )


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


@dataclass(frozen=True, slots=True, kw_only=True)
class _Encoder:
    """How the texts of events become ids."""

    model: LanguageModel
    bos: Bos
    boundary: Boundary
    word_end: bool

    def own(self, event: Event) -> TokenisedAnswer:
        """Return the answer of an event."""
        forms = event.spellings
        if forms is None:
            forms = self._spellings(event, event.answers)
        return self._tokenised(event, forms)

    def candidates(self, event: Event, given: Sequence[str]) -> list[Named]:
        """Return the candidates of an event that are not its own answer."""
        named = []
        for text in dict.fromkeys(given):
            if text not in (*event.answers, *(event.spellings or ())):
                forms = (text,) if text[:1].isspace() else self._spellings(event, (text,))
                named.append((text, self._tokenised(event, forms)))
        return named

    def neutral(self, event: Event, answer: TokenisedAnswer) -> Ids:
        """Return the ids of an event's neutral context."""
        if event.neutral is None:
            raise InputError(
                f"event {event.id!r}: the rescaling 'pmi' needs a neutral context, got none"
            )
        # With a spelling behind it, so that a space at its end is treated as in the context.
        pair = encode_surface(
            self.model, event.neutral, answer.surfaces[0], bos=self.bos, boundary=self.boundary
        )
        return pair.context

    def _spellings(self, event: Event, words: Sequence[str]) -> tuple[str, ...]:
        with _naming(event):
            return spellings(self.model, event.context, words)

    def _tokenised(self, event: Event, forms: Sequence[str]) -> TokenisedAnswer:
        with _naming(event):
            return tokenise(
                self.model, event.context, forms, bos=self.bos, boundary=self.boundary,
                word_end=self.word_end,
            )  # fmt: skip


@contextmanager
def _naming(event: Event) -> Iterator[None]:
    """Put the event's id before the message of what it is the matter of."""
    try:
        yield
    except InputError as error:
        raise InputError(f"event {event.id!r}: {error}") from error


def _given(event: Event) -> tuple[str, ...]:
    return event.answers if event.spellings is None else event.spellings


def _target(
    encode: _Encoder,
    event: Event,
    answer: TokenisedAnswer,
    group: Sequence[Named],
    *,
    multi: Multi,
    needs: set[str],
) -> Target:
    """Return what is read for one event."""
    rivals: list[Named] = []
    if multi == "first" or "log_others" in needs:
        rivals = (
            [(name, other) for name, other in group if other.key != answer.key]
            if event.candidates is None
            else encode.candidates(event, event.candidates)
        )
    if multi == "first":
        found = find_clashes([("|".join(_given(event)), answer), *rivals])
        if found:
            raise InputError(
                f"event {event.id!r}: {found[0].summary()}; with multi='first' the first tokens of "
                "competing answers must differ"
            )
        answer = first_tokens(answer)
        rivals = [(name, first_tokens(other)) for name, other in rivals]
    return Target(
        answer=answer,
        neutral=encode.neutral(event, answer) if "log_neutral" in needs else None,
        rest=rest_of(encode.model, answer, rivals) if "log_others" in needs else None,
    )


def _flags(
    targets: Sequence[Target], readings: Readings, results: Sequence[Result]
) -> tuple[frozenset[str], ...]:
    flags = []
    for i, (target, reading) in enumerate(zip(targets, readings.items, strict=True)):
        found = {
            "censored": reading.is_censored,
            "interval": any(result.low[i] < result.high[i] for result in results),
            "clamped": any(result.is_clamped[i] for result in results),
            "closed_alone": target.is_alone,
            "overlap": target.rest is not None and bool(target.rest.inside),
        }
        flags.append(target.answer.flags | {name for name, is_so in found.items() if is_so})
    return tuple(flags)
