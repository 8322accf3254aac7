"""Items that differ in nothing but which option is mentioned first. Unit: none."""

import re
from collections import Counter, defaultdict
from collections.abc import Hashable, Mapping, Sequence
from fractions import Fraction
from itertools import pairwise
from typing import TypeAlias, TypeVar

import numpy as np
from jaxtyping import Int

from likely.calibration.data_sets.items import Item, Plain

T = TypeVar("T")

Told: TypeAlias = tuple[tuple[Fraction, ...], str, Mapping[str, Plain]]
"""The numbers of an item, its context, and what the family records besides."""


def twin_options(items: Sequence[Item]) -> Int[np.ndarray, "M"]:
    """Return where each option stands in the item that names the options the other way round.

    Twins share wording, language, scale, notation and number pair, and each option has the same
    ideal; where a text states the chance of one option alone, its twin states that of the other.
    Of several such items (a number pair drawn twice, draws in another order, an unrelated number)
    the twin is the one that differs least, if it is one alone: in its numbers, then in words and
    neighbouring words of the text, then in `Item.meta`. Else there is none.

    Returns:
        Shape ``(M,)``: a place among the options of all items; -1 without a twin.
    """
    offsets = [0]
    sides: dict[Hashable, tuple[list[int], list[int]]] = defaultdict(lambda: ([], []))
    labels: dict[int, list[str]] = {}
    told: dict[int, Told] = {}
    for place, item in enumerate(items):
        offsets.append(offsets[-1] + len(item.options))
        if item.order != "none":
            labels[place] = [option.label for option in item.options]
            told[place] = (item.numbers, item.context, item.meta)
            sides[_question(item)][item.order == "reversed"].append(place)
    twin = np.full(offsets[-1], -1, dtype=np.int64)
    for forward, backward in sides.values():
        for a, b in _couples(forward, backward, told):
            there = {label: offsets[b] + j for j, label in enumerate(labels[b])}
            for i, label in enumerate(labels[a]):
                twin[offsets[a] + i] = there[label]
                twin[there[label]] = offsets[a] + i
    return twin


def _question(item: Item) -> Hashable:
    """Return what twins share."""
    labels = [option.label for option in item.options]
    return (
        item.family, item.version, item.template_id, item.lang, item.scale, item.notation,
        item.number_pair_id, frozenset(zip(labels, item.ideal, strict=True)),
    )  # fmt: skip


def _couples(
    forward: Sequence[int], backward: Sequence[int], told: Mapping[int, Told]
) -> list[tuple[int, int]]:
    """Return those pairs of which each is the other's only best match."""
    if not forward or not backward:
        return []
    if len(forward) == len(backward) == 1:
        return [(forward[0], backward[0])]
    apart = [[_differences(told[a], told[b]) for b in backward] for a in forward]
    steps = {found: step for step, found in enumerate(sorted({d for row in apart for d in row}))}
    distance = np.array([[steps[found] for found in row] for row in apart])
    is_best = np.ones(distance.shape, dtype=bool)
    for axis in (0, 1):
        is_least = distance == distance.min(axis=axis, keepdims=True)
        is_best &= is_least & (is_least.sum(axis=axis, keepdims=True) == 1)
    return [(forward[i], backward[j]) for i, j in np.argwhere(is_best).tolist()]


def _differences(a: Told, b: Told) -> tuple[int, int, int]:
    """Return by how much two items differ, what weighs most first."""
    (numbers_a, text_a, meta_a), (numbers_b, text_b, meta_b) = a, b
    in_meta = sum(meta_b.get(name) != value for name, value in meta_a.items())
    in_numbers = _apart(Counter(numbers_a), Counter(numbers_b))
    return in_numbers, _apart(_runs(text_a), _runs(text_b)), in_meta


def _apart(a: Counter[T], b: Counter[T]) -> int:
    return (a - b).total() + (b - a).total()


def _runs(text: str) -> Counter[tuple[str, ...]]:
    """Return the words of a text and its pairs of neighbouring words."""
    words = re.findall(r"\w+", text.lower())
    return Counter([*((word,) for word in words), *pairwise(words)])
