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
from likely.core.text.surfaces import Level, encode_surface, uncovered
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
        pairs = [
            encode_surface(model, before, text, bos=bos)
            for text in option_surfaces(option, item.lead, level)
        ]
        contexts |= {pair.context for pair in pairs}
        ids = [pair.target for pair in pairs]
        options.append(tuple(ids[i] for i in uncovered(ids, lambda ids, token: True)))
    if len(contexts) != 1:
        raise InputError(f"the options of {item.id!r} do not all begin where its context ends")
    every = [ids for own in options for ids in own]
    if len(set(every)) < len(every):
        raise InputError(f"two options of {item.id!r} have a surface of the same ids")
    return Spelled(context=contexts.pop(), options=tuple(options))


def lists_needed(options: Sequence[Sequence[Ids]]) -> tuple[Ids, ...]:
    """Return the ids after a context at whose ends a list is wanted, the context's own first.

    Args:
        options: For each option the ids of its surfaces.

    >>> lists_needed([[(1,), (2, 5)], [(3,)]])
    ((), (2,))
    """
    heads = {ids[:n] for surfaces in options for ids in surfaces for n in range(len(ids))}
    return tuple(sorted(heads, key=lambda ids: (len(ids), ids)))
