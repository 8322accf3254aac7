"""Which positions of a prompt are attributed together: tokens, words, sentences, turns, any."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Literal, TypeAlias

from likely.attribution.case import TEMPLATE, TEXT, Case
from likely.core.text.spans import Span, group_spans, sentence_bounds, word_bounds
from likely.errors import InputError, UnknownNameError

Group: TypeAlias = tuple[int, ...]
Unit: TypeAlias = Literal["tokens", "words", "sentences", "turns"]
Groups: TypeAlias = Unit | Sequence[Sequence[int]]

UNITS: tuple[Unit, ...] = ("tokens", "words", "sentences", "turns")


def split_case(case: Case, groups: Groups) -> tuple[Case, tuple[Group, ...]]:
    """Return the case with the positions that are attributed, and those that go together.

    A word is a run of characters without white space, and owns the white space before it; for a
    sentence see `likely.core.text.spans.sentence_bounds`. Words or sentences that one token touches
    together are one group. A turn is what one message of a chat says; no unit goes on from one
    turn to the next. Of a unit only the tokens among ``case.positions`` are taken.

    Args:
        case: Prompt and response.
        groups: The unit; or the positions of each group, in any order, next to one another or
            not. Groups may overlap. A position need not be among ``case.positions``.

    Returns:
        The case, its ``positions`` those of all groups; and the groups, in order and each sorted.

    Raises:
        UnknownNameError: No such unit.
        InputError: No groups, an empty one, a position outside the prompt or twice in a group,
            turns of a prompt that is no chat, or no
            position that is attributed.
    """
    if isinstance(groups, str):
        found = _units(case, groups)
        if not found:
            raise InputError(
                "no token of the prompt is to be attributed: its tokens are "
                f"{sorted(set(case.roles))!r}; choose roles or positions"
            )
    else:
        found = tuple(_checked(case, group) for group in groups)
        if not found:
            raise InputError("groups are sequences of prompt positions, got none")
        if len(set(found)) < len(found):
            raise InputError(f"each group is named once, got {groups!r}")
    positions = tuple(sorted({i for group in found for i in group}))
    return replace(case, positions=positions), tuple(sorted(found))


def _checked(case: Case, group: Sequence[int]) -> Group:
    positions = tuple(sorted(int(i) for i in group))
    if not positions or len(set(positions)) < len(positions):
        raise InputError(f"a group names each of its positions once, at least one, got {group!r}")
    bad = [i for i in positions if not 0 <= i < len(case.prompt)]
    if bad:
        raise InputError(f"the prompt has positions 0 to {len(case.prompt) - 1}, got {bad[0]!r}")
    return positions


def _units(case: Case, unit: str) -> tuple[Group, ...]:
    if unit == "tokens":
        return tuple((i,) for i in case.positions)
    if unit == "words":
        return _within(case, word_bounds(case.prompt_text))
    if unit == "sentences":
        return _within(case, sentence_bounds(case.prompt_text))
    if unit == "turns":
        return _turns(case)
    raise UnknownNameError.among("unit of groups", unit, UNITS)


def _within(case: Case, bounds: Sequence[Span]) -> tuple[Group, ...]:
    runs = (
        run
        for _, _, tokens in group_spans(case.spans, bounds or [(0, 0)])
        for _, run in groupby(tokens, key=lambda i: case.roles[i])  # a template ends what it parts
    )
    return _chosen(case, runs)


def _chosen(case: Case, runs: Iterable[Iterable[int]]) -> tuple[Group, ...]:
    """Return what of each run is attributed, leaving out runs of which nothing is."""
    chosen = set(case.positions)
    groups = (tuple(i for i in run if i in chosen) for run in runs)
    return tuple(group for group in groups if group)


def _turns(case: Case) -> tuple[Group, ...]:
    if TEXT in case.roles:
        raise InputError("turns are the messages of a chat: give the prompt as messages")
    runs = groupby(range(len(case.prompt)), key=lambda i: case.roles[i])
    return _chosen(case, (run for role, run in runs if role != TEMPLATE))
