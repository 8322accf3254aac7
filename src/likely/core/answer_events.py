"""Spellings of answers as events, "the text goes on with these ids", one set for each context.

Events of one answer never contain one another. Unit: none.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, TypeAlias, cast

from likely.core.engine import Continuation, Request, Row
from likely.core.model import Capability, LanguageModel
from likely.core.text.encode import Bos, Boundary, Context, check_contexts
from likely.core.text.surfaces import Level, encode_surfaces, is_numeral, surfaces, uncovered
from likely.core.text.word_ends import Kind, WordEnds, word_ends
from likely.errors import CapabilityError, InputError

WordEnd = Literal["auto", "always", "never"]
Answers: TypeAlias = Mapping[str, Sequence[str]] | Sequence[str]
AnswersEach: TypeAlias = Sequence[Mapping[str, Sequence[str]]]
Spellings: TypeAlias = tuple[tuple[str, tuple[str, ...]], ...]
"""Each answer's name with its distinct spellings."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One spelling of one answer as ids.

    Attributes:
        name: The answer.
        surface: The spelling.
        context: Ids before it, BOS included.
        tokens: Its ids.
        ends: The tokens that end its word; None where the word need not end.
        flags: What happened when it was encoded.
    """

    name: str
    surface: str
    context: tuple[int, ...]
    tokens: tuple[int, ...]
    ends: WordEnds | None
    flags: frozenset[str]

    def requests(self) -> list[Request]:
        """Return what is asked of the model: the ids, and then whether the word ends."""
        asked: list[Request] = [Continuation(prefix=self.context, target=self.tokens)]
        if self.ends is not None:
            asked.append(Row(prefix=self.context + self.tokens, reduction=self.ends.reduction))
        return asked


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextEvents:
    """The events of one context.

    Attributes:
        names: Of the answers, in the order they were declared.
        events: Of all answers; of each answer those that no other of its own holds.
        has_word_ends: Whether each event includes that its word ends.
    """

    names: tuple[str, ...]
    events: tuple[Event, ...]
    has_word_ends: bool


def plan_events(
    model: LanguageModel,
    contexts: Sequence[Context],
    answers: Answers | AnswersEach,
    *,
    level: Level,
    word_end: WordEnd,
    bos: Bos,
    boundary: Boundary,
) -> tuple[ContextEvents, ...]:
    """Return the events of each context; see `likely.core.answers.score_answers`.

    Raises:
        InputError: Unusable contexts or answers, or a spelling that belongs to two answers.
        CapabilityError: Word ends are needed and the model has no whole rows.
    """
    check_contexts(contexts)
    declared = _declare_each(contexts, answers, level)
    return tuple(
        _context_events(
            model, context, spellings, has_word_ends=_has_word_ends(model, spellings, word_end),
            bos=bos, boundary=boundary,
        )
        for context, spellings in zip(contexts, declared, strict=True)
    )  # fmt: skip


def disjoint(events: Sequence[Event]) -> tuple[int, ...]:
    """Return the places of those events that no other one of them contains."""
    by_ids = {event.tokens: event for event in events}

    def ends_word(ids: tuple[int, ...], token: int) -> bool:
        ends = by_ids[ids].ends
        return ends is None or token in ends

    return uncovered([event.tokens for event in events], ends_word)


def _declare_each(
    contexts: Sequence[Context], answers: Answers | AnswersEach, level: Level
) -> list[Spellings]:
    """Return the spellings of each context's answers."""
    is_each = not isinstance(answers, Mapping | str) and any(
        isinstance(part, Mapping) for part in answers
    )
    if not is_each:
        return [_declare(cast(Answers, answers), level)] * len(contexts)
    if len(answers) != len(contexts) or not all(isinstance(part, Mapping) for part in answers):
        raise InputError(
            f"answers for each of {len(contexts)} contexts are as many mappings, got "
            f"{len(answers)} of {sorted({type(part).__name__ for part in answers})}"
        )
    return [_declare(part, level) for part in cast(AnswersEach, answers)]


def _declare(answers: Answers, level: Level) -> Spellings:
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
    return _check_owners(tuple(declared.items()))


@lru_cache(maxsize=4096)  # the contexts of one kind declare the same answers
def _check_owners(declared: Spellings) -> Spellings:
    owners: dict[str, str] = {}
    for name, forms in declared:
        for form in forms:
            if form in owners:
                raise InputError(
                    f"the spelling {form!r} belongs to both {owners[form]!r} and {name!r}; "
                    "declare the spellings of each answer in a mapping"
                )
            owners[form] = name
    return declared


def _has_word_ends(model: LanguageModel, declared: Spellings, word_end: WordEnd) -> bool:
    if word_end not in ("auto", "always", "never"):
        raise InputError(f"word_end is 'auto', 'always' or 'never', got {word_end!r}")
    has_word_ends = word_end == "always" or (word_end == "auto" and _needs_word_ends(declared))
    if has_word_ends and Capability.NEXT_TOKEN not in model.info.capabilities:
        raise CapabilityError(
            f"to tell where a word ends takes whole next-token rows, which {model.info.name!r} "
            "does not give; use word_end='never' and answers of which none begins another"
        )
    return has_word_ends


@lru_cache(maxsize=4096)
def _needs_word_ends(declared: Spellings) -> bool:
    if all(is_numeral(form) for _, forms in declared for form in forms):
        return True
    owners = {form: name for name, forms in declared for form in forms}
    return any(
        owners.get(form[:n], name) != name
        for form, name in owners.items()
        for n in range(1, len(form))
    )


def _context_events(
    model: LanguageModel,
    context: Context,
    declared: Spellings,
    *,
    has_word_ends: bool,
    bos: Bos,
    boundary: Boundary,
) -> ContextEvents:
    """Return the events of one context: for each answer, those that no other of its own holds."""
    named = [(name, form) for name, forms in declared for form in forms]
    pairs = encode_surfaces(model, context, [form for _, form in named], bos=bos, boundary=boundary)
    own: dict[str, list[Event]] = {name: [] for name, _ in declared}
    for (name, form), pair in zip(named, pairs, strict=True):
        kind: Kind = "numeral" if is_numeral(form) else "word"
        own[name].append(
            Event(
                name=name, surface=form, context=pair.context, tokens=pair.target,
                ends=word_ends(model, kind) if has_word_ends else None, flags=pair.flags,
            )
        )  # fmt: skip
    kept = tuple(events[i] for events in own.values() for i in disjoint(events))
    owners: dict[tuple[int, ...], Event] = {}
    for event in kept:
        twin = owners.setdefault(event.tokens, event)
        if twin.name != event.name:
            raise InputError(
                f"{twin.surface!r} of {twin.name!r} and {event.surface!r} of {event.name!r} are "
                f"the same tokens, {list(event.tokens)}; leave one of them out"
            )
    return ContextEvents(names=tuple(own), events=kept, has_word_ends=has_word_ends)
