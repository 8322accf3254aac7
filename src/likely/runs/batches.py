"""How a run is cut into batches that share their prefixes, and its length foretold in tokens."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from likely.core.engine import Meter
from likely.core.trie import build_trie
from likely.errors import InputError
from likely.runs.items import Item


def plan_batches(items: Sequence[Item], *, size: int) -> tuple[tuple[int, ...], ...]:
    """Return places of ``items`` in batches; items of one context stay together.

    A context with more than ``size`` items is cut; the batches are the same for the same items.

    Args:
        items: In any order.
        size: Most items of a batch.

    Raises:
        InputError: A size below 1.

    >>> items = [Item(id=c + x, context=c, continuation=x) for x in "12" for c in "ab"]
    >>> plan_batches(items, size=3)
    ((0, 2), (1, 3))
    """
    if size < 1:
        raise InputError(f"a batch holds at least 1 item, got {size!r}")
    order = sorted(range(len(items)), key=lambda i: (_context_key(items[i]), i))
    batches: list[tuple[int, ...]] = []
    current: list[int] = []
    for _, group in groupby(order, key=lambda i: _context_key(items[i])):
        same = list(group)
        if len(current) + len(same) > size and current:
            batches.append(tuple(current))
            current = []
        current += same
        while len(current) > size:
            batches.append(tuple(current[:size]))
            current = current[size:]
    if current:
        batches.append(tuple(current))
    return tuple(batches)


def count_tokens(sequences: Sequence[Sequence[int]]) -> int:
    """Return the token positions that evaluating these sequences together takes.

    >>> count_tokens([(1, 2, 3), (1, 2, 4)])
    4
    """
    trie, _ = build_trie([tuple(ids) for ids in sequences if ids])
    return len(trie)


@dataclass
class Share:
    """The meter of one batch, whose tokens the whole job has already announced.

    Attributes:
        meter: Of the whole job.
        planned: Tokens announced for this batch.
        told: Tokens that the batch itself asked for; fewer where the cache knew some.
    """

    meter: Meter
    planned: int
    told: int = 0

    def expect(self, tokens: int) -> None:
        """Take note of what the batch needs."""
        self.told += tokens

    def advance(self, tokens: int) -> None:
        """Move the whole job on."""
        self.meter.advance(tokens)

    def settle(self) -> None:
        """Correct the job's total by what this batch did not need."""
        if self.told != self.planned:
            self.meter.expect(self.told - self.planned)


def _context_key(item: Item) -> tuple[str, tuple[int, ...]]:
    return (item.context, ()) if isinstance(item.context, str) else ("", item.context)
