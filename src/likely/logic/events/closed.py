"""The closed set of an event: its own answer among those that compete with it. Unit: none."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from likely.core.model import LanguageModel
from likely.core.text.surfaces import uncovered
from likely.core.text.word_ends import Kind, word_ends
from likely.logic.events.answers import Ids, TokenisedAnswer

Named: TypeAlias = tuple[str, TokenisedAnswer]
"""An answer with the name that messages give it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rest:
    """What a closed set holds besides the event's own answer.

    Attributes:
        context: Ids of the context.
        sequences: Ids of the other answers: none contains another, none lies in the event's own.
        ends: For each the kind of word that must end after it; None where none must.
        inside: Sequences of the event's own answer that one of the others contains.
    """

    context: Ids
    sequences: tuple[Ids, ...]
    ends: tuple[Kind, ...] | None
    inside: tuple[Ids, ...]


def distinct_answers(
    names: Sequence[str], answers: Sequence[TokenisedAnswer]
) -> dict[Ids, list[Named]]:
    """Return the distinct answers of each context, each with its first name."""
    groups: dict[Ids, dict[str, Named]] = {}
    for name, answer in zip(names, answers, strict=True):
        groups.setdefault(answer.context, {}).setdefault(answer.key, (name, answer))
    return {context: list(group.values()) for context, group in groups.items()}


def rest_of(model: LanguageModel, own: TokenisedAnswer, rivals: Sequence[Named]) -> Rest:
    """Return what the closed set of an answer and its rivals holds besides the answer.

    Spellings of the rivals that are the answer's own, or that it contains, are its own.
    """
    kinds = _kinds(own)
    other_kinds: dict[Ids, Kind] = {}
    for _, rival in rivals:
        other_kinds |= _kinds(rival)
    has_ends = own.ends is not None

    def ends_word(ids: Ids, token: int) -> bool:
        return not has_ends or token in word_ends(model, (other_kinds | kinds)[ids])

    def lies_in(ids: Ids, others: Mapping[Ids, Kind]) -> bool:
        heads = (ids[:n] for n in range(1, len(ids)))
        return any(head in others and ends_word(head, ids[len(head)]) for head in heads)

    left = [ids for ids in other_kinds if ids not in kinds and not lies_in(ids, kinds)]
    sequences = tuple(left[i] for i in uncovered(left, ends_word))
    return Rest(
        context=own.context,
        sequences=sequences,
        ends=tuple(other_kinds[ids] for ids in sequences) if has_ends else None,
        inside=tuple(ids for ids in kinds if lies_in(ids, dict.fromkeys(sequences, "word"))),
    )


def _kinds(answer: TokenisedAnswer) -> dict[Ids, Kind]:
    ends: Sequence[Kind] = answer.ends or ["word"] * len(answer.sequences)
    return dict(zip(answer.sequences, ends, strict=True))
