"""Items that differ in nothing but which option is mentioned first. Unit: none."""

from collections import defaultdict
from collections.abc import Hashable, Mapping, Sequence
from typing import TypeAlias

import numpy as np
from jaxtyping import Int

from likely.calibration.items import Item, Plain

Meta: TypeAlias = Mapping[str, Plain]


def twin_options(items: Sequence[Item]) -> Int[np.ndarray, "M"]:
    """Return where each option stands in the item that names the options the other way round.

    Twins share wording, language, scale and notation, and each option has the same numbers and the
    same ideal. Where several items could be the twin (a number pair drawn twice, an unrelated
    number), that one is which agrees in most of what the family records besides (`Item.meta`), if
    it is one alone; else there is none.

    Returns:
        Shape ``(M,)``: a place among the options of all items; -1 without a twin.
    """
    offsets = [0]
    sides: dict[Hashable, tuple[list[int], list[int]]] = defaultdict(lambda: ([], []))
    labels: dict[int, list[str]] = {}
    metas: dict[int, Meta] = {}
    for place, item in enumerate(items):
        offsets.append(offsets[-1] + len(item.options))
        if item.order != "none":
            labels[place] = [option.label for option in item.options]
            metas[place] = item.meta
            sides[_question(item)][item.order == "reversed"].append(place)
    twin = np.full(offsets[-1], -1, dtype=np.int64)
    for forward, backward in sides.values():
        for a, b in _couples(forward, backward, metas):
            there = {label: offsets[b] + j for j, label in enumerate(labels[b])}
            for i, label in enumerate(labels[a]):
                twin[offsets[a] + i] = there[label]
                twin[there[label]] = offsets[a] + i
    return twin


def _question(item: Item) -> Hashable:
    """Return what twins share."""
    labels = [option.label for option in item.options]
    is_owned = len(item.numbers) == len(labels)
    owned = item.numbers if is_owned else (None,) * len(labels)
    shared = () if is_owned else tuple(sorted(item.numbers))
    return (
        item.family, item.version, item.template_id, item.lang, item.scale, item.notation,
        item.number_pair_id, frozenset(zip(labels, item.ideal, owned, strict=True)), shared,
    )  # fmt: skip


def _couples(
    forward: Sequence[int], backward: Sequence[int], metas: Mapping[int, Meta]
) -> list[tuple[int, int]]:
    """Return those pairs of which each is the other's only best match."""
    if len(forward) == len(backward) == 1:
        return [(forward[0], backward[0])]
    alike = np.array([[_likeness(metas[a], metas[b]) for b in backward] for a in forward])
    if not alike.size:
        return []
    is_best = (alike == alike.max(axis=1, keepdims=True)) & (
        alike == alike.max(axis=0, keepdims=True)
    )
    is_only = is_best & (_n_best(alike, 1) == 1) & (_n_best(alike, 0) == 1)
    return [(forward[i], backward[j]) for i, j in np.argwhere(is_only).tolist()]


def _n_best(alike: Int[np.ndarray, "a b"], axis: int) -> Int[np.ndarray, "..."]:
    return np.asarray((alike == alike.max(axis=axis, keepdims=True)).sum(axis=axis, keepdims=True))


def _likeness(a: Meta, b: Meta) -> int:
    return sum(b.get(name) == value for name, value in a.items())
