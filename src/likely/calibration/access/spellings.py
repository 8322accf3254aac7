"""Token ids of an item's options: what is listed, biased or sampled where rows are not to be had.

Unit: none.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from likely.calibration.data_sets.items import Item
from likely.calibration.surface_kinds import option_surfaces
from likely.core.model import LanguageModel
from likely.core.text.encode import Bos, Context
from likely.core.text.surfaces import Level, apart, encode_surfaces
from likely.errors import InputError

Ids: TypeAlias = tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Spelled:
    """An item as ids.

    Attributes:
        context: Ids of the context, BOS included.
        options: For each option the ids of its surfaces after the context, none of which begins
            with another.
    """

    context: Ids
    options: tuple[tuple[Ids, ...], ...]


def spell(
    model: LanguageModel,
    item: Item,
    *,
    context: Context | None = None,
    level: Level = "paper",
    bos: Bos = "auto",
) -> Spelled:
    """Return the ids of an item's context and of the surfaces of its options.

    Args:
        model: For its tokenizer and its BOS.
        item: Of any family.
        context: Instead of the item's own, such as a rendered chat.
        level: Which spellings count.
        bos: As in `likely.score`.

    Raises:
        InputError: Surfaces that are split off at different places of the context, or the same ids
            for two options.
    """
    before = item.context if context is None else context
    contexts: set[Ids] = set()
    options: list[tuple[Ids, ...]] = []
    for option in item.options:
        pairs = encode_surfaces(model, before, option_surfaces(option, item.lead, level), bos=bos)
        contexts |= {pair.context for pair in pairs}
        ids = [pair.target for pair in pairs]
        options.append(apart(ids))
    if len(contexts) != 1:
        raise InputError(f"the options of {item.id!r} do not all begin where its context ends")
    every = [ids for own in options for ids in own]
    if len(set(every)) < len(every):
        raise InputError(f"two options of {item.id!r} have a surface of the same ids")
    return Spelled(context=contexts.pop(), options=tuple(options))


def lists_needed(options: Sequence[Sequence[Ids]]) -> dict[Ids, tuple[int, ...]]:
    """Return the ids after a context at whose ends a list is wanted, and which ids it should tell.

    The context's own end comes first, longer ids after shorter ones.

    Args:
        options: For each option the ids of its surfaces.

    >>> lists_needed([[(1,), (2, 5)], [(3,)]])
    {(): (1, 2, 3), (2,): (5,)}
    """
    nexts: dict[Ids, set[int]] = {}
    for ids in (ids for surfaces in options for ids in surfaces):
        for n, token in enumerate(ids):
            nexts.setdefault(ids[:n], set()).add(token)
    heads = sorted(nexts, key=lambda ids: (len(ids), ids))
    return {head: tuple(sorted(nexts[head])) for head in heads}
