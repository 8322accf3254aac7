"""From a trie to batches: rows of new tokens over stored prefixes, within a memory budget.

A *row* evaluates some nodes at once; its *past* is the path to its first node, whose keys and
values earlier rows left behind. Three ways to cut a trie into rows:

* ``tree``: consecutive nodes in depth-first order, branches side by side. Any node's prefixes
  lie in its own row or on the path to the row's first node, so one tree mask is all it takes and
  each node is evaluated once. With ``stem``, the nodes that rows need of one another go first, in
  a row of their own; then all other rows can go side by side.
* ``cache``: unbranched runs; the same reuse without branches in a row.
* ``full``: whole sequences from the first token, nothing reused: the reference.

A *pass* is a batch of rows, padded on the right. Keys and values live in numbered slots, given out
and taken back in advance, so that the peak is known before the first forward pass.
"""

import heapq
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from jaxtyping import Bool, Float, Int

from likely.core.model import Method
from likely.core.trie import PrefixTrie

_EARLIEST_CUT = 0.75  # a row may end early, from this share of its length, at a branch
_LOOKAHEAD = 4  # ready rows that are compared by length for one batch, in batches


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """Nodes evaluated together, in depth-first order, and the stored ones that they may need."""

    nodes: Int[np.ndarray, "t"]
    past: Int[np.ndarray, "p"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Pass:
    """One forward pass: B rows, padded on the right to T new and P stored tokens.

    Attributes:
        nodes: Shape ``(B, T)``: node of each place, -1 for padding.
        past_slots: Shape ``(B, P)``: slot of each stored token, -1 for padding.
        past_nodes: Shape ``(B, P)``: its node, -1 for padding.
        kept_places: Shape ``(2, k)``: row and column of nodes that later passes need.
        kept_slots: Shape ``(k,)``: where their keys and values go.
    """

    nodes: Int[np.ndarray, "B T"]
    past_slots: Int[np.ndarray, "B P"]
    past_nodes: Int[np.ndarray, "B P"]
    kept_places: Int[np.ndarray, "2 k"]
    kept_slots: Int[np.ndarray, "k"]

    @property
    def n_tokens(self) -> int:
        """Token positions evaluated, padding left out."""
        return int((self.nodes >= 0).sum())

    def is_plain(self, trie: PrefixTrie) -> bool:
        """Whether every row is one whole sequence: causal attention alone is right."""
        if self.past_nodes.size:
            return False
        position = np.arange(self.nodes.shape[1])
        depth = np.where(self.nodes >= 0, trie.depth[self.nodes], position + 1)
        return bool(np.all(depth == position + 1))

    def mask(self, trie: PrefixTrie, *, window: int | None = None) -> Bool[np.ndarray, "B T K"]:
        """Return which stored and new places each new place attends to.

        Args:
            trie: Of the nodes.
            window: Sliding-window attention: only prefixes less than this many tokens back.
        """
        keys = np.concatenate([self.past_nodes, self.nodes], axis=1)
        key, query = keys[:, None, :], self.nodes[:, :, None]
        allowed = (key >= 0) & (query >= 0) & trie.sees(query, key)
        if window is not None:
            allowed &= trie.depth[query] - trie.depth[key] < window
        n_past, places = self.past_nodes.shape[1], np.arange(self.nodes.shape[1])
        # A place that attends to nothing gives NaN, so padding attends to itself and is not read.
        allowed[:, places, n_past + places] = True
        return np.asarray(allowed)


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Passes in order, and the slots that they need at once."""

    passes: tuple[Pass, ...]
    n_slots: int
    method: Method

    @property
    def n_tokens(self) -> int:
        """Token positions evaluated by all passes, padding left out."""
        return sum(p.n_tokens for p in self.passes)


@dataclass(frozen=True, slots=True, kw_only=True)
class CostModel:
    """Seconds of one pass as a sum of parts, measured on the machine that runs it.

    Attributes:
        per_call: Seconds of a pass, whatever its size.
        per_token: Seconds for each place, padding included.
        per_pair: Seconds for each (query place, key place) of masked attention.
    """

    per_call: float
    per_token: float
    per_pair: float

    def seconds(self, shapes: Sequence[tuple[int, int, int]]) -> float:
        """Return the predicted time of passes of (rows, new tokens, stored tokens) each."""
        total = 0.0
        for n_rows, n_new, n_past in shapes:
            pairs = n_rows * n_new * (n_new + n_past)
            total += self.per_call + self.per_token * n_rows * n_new + self.per_pair * pairs
        return total


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """Rows in batches: enough to know what a plan would cost, at little cost itself.

    Attributes:
        trie: What is evaluated.
        rows: In order of their first node.
        batches: Places of the rows of each pass.
        method: How the trie was cut.
    """

    trie: PrefixTrie
    rows: tuple[Row, ...]
    batches: tuple[tuple[int, ...], ...]
    method: Method

    @property
    def shapes(self) -> list[tuple[int, int, int]]:
        """(rows, new tokens, stored tokens) of each pass, padding included."""
        return [
            (
                len(batch),
                max(len(self.rows[i].nodes) for i in batch),
                max(len(self.rows[i].past) for i in batch),
            )
            for batch in self.batches
        ]

    @property
    def last_use(self) -> Int[np.ndarray, "N"]:
        """For each node the last pass that attends to it from storage, or -1."""
        last = np.full(len(self.trie), -1, dtype=np.int64)
        for at, batch in enumerate(self.batches):
            for i in batch:
                last[self.rows[i].past] = at
        return last

    @property
    def peak_slots(self) -> int:
        """Most nodes whose keys and values are stored at once."""
        last = self.last_use
        change = np.zeros(len(self.batches) + 1, dtype=np.int64)
        for at, batch in enumerate(self.batches):
            for i in batch:
                kept = last[self.rows[i].nodes]
                kept = kept[kept > at]
                change[at] += len(kept)
                np.subtract.at(change, kept, 1)
        return int(np.cumsum(change).max(initial=0))


def make_plan(
    trie: PrefixTrie, *, method: Method, row_tokens: int, batch_rows: int, stem: bool = False
) -> Plan:
    """Return the finished plan of one cut; see `cut_rows` and `draft_plan`."""
    rows = cut_rows(trie, method=method, row_tokens=row_tokens, stem=stem)
    return finish_plan(draft_plan(trie, rows, method=method, batch_rows=batch_rows))


def cut_rows(
    trie: PrefixTrie, *, method: Method, row_tokens: int, stem: bool = False
) -> tuple[Row, ...]:
    """Return rows that evaluate every node of ``trie``.

    Args:
        trie: What to evaluate.
        method: ``tree``, ``cache`` or ``full``.
        row_tokens: Most new tokens of a row (``full`` rows are as long as their sequences).
        stem: For ``tree``: whether what rows share goes first, where it fits into one row.
    """
    if method == "full":
        nothing = np.empty(0, dtype=np.int64)
        whole = [Row(nodes=trie.path(int(leaf)), past=nothing) for leaf in trie.leaves()]
        return tuple(sorted(whole, key=lambda row: -len(row.nodes)))
    starts = _tree_cuts(trie, row_tokens) if method == "tree" else _run_cuts(trie, row_tokens)
    rows = tuple(
        Row(nodes=np.arange(a, b), past=trie.path(int(trie.parent[a])))
        for a, b in pairwise([*starts, len(trie)])
    )
    return _behind_stem(rows, row_tokens) if stem and method == "tree" else rows


def _behind_stem(rows: tuple[Row, ...], row_tokens: int) -> tuple[Row, ...]:
    """Return the rows with all that any of them needs of another moved to a row before them."""
    shared = np.unique(np.concatenate([row.past for row in rows]))
    if not 0 < len(shared) <= row_tokens:
        return rows
    behind = [Row(nodes=shared, past=np.empty(0, dtype=np.int64))]
    for row in rows:
        is_shared = np.isin(row.nodes, shared)
        if not is_shared.all():
            past = np.concatenate([row.past, row.nodes[is_shared]])
            behind.append(Row(nodes=row.nodes[~is_shared], past=past))
    return tuple(behind)


def _tree_cuts(trie: PrefixTrie, row_tokens: int) -> list[int]:
    """Return the first node of each row: near the full length, at the shallowest branch."""
    starts = []
    at, n = 0, len(trie)
    while at < n:
        starts.append(at)
        limit = at + row_tokens
        if limit >= n:
            break
        low = at + max(1, int(row_tokens * _EARLIEST_CUT))
        candidates = np.arange(low, limit + 1)
        branches = candidates[trie.parent[candidates] != candidates - 1]
        if len(branches):
            depth = trie.depth[branches]
            at = int(branches[np.flatnonzero(depth == depth.min())[-1]])
        else:
            at = limit
    return starts


def _run_cuts(trie: PrefixTrie, row_tokens: int) -> list[int]:
    """Return the first node of each unbranched run, cut at ``row_tokens``."""
    starts: list[int] = []
    for node in range(len(trie)):
        is_run = node > 0 and trie.parent[node] == node - 1
        if not is_run or node - starts[-1] >= row_tokens:
            starts.append(node)
    return starts


def finish_plan(draft: Draft) -> Plan:
    """Return the passes of a draft, with a slot for each kept node, free after its last use."""
    last_use = draft.last_use
    used = np.flatnonzero(last_use >= 0)
    by_end = used[np.argsort(last_use[used], kind="stable")]
    slot_of = np.full(len(draft.trie), -1, dtype=np.int64)
    free: list[int] = []
    n_slots = 0
    passes = []
    for at, batch in enumerate(draft.batches):
        nodes = _padded([draft.rows[i].nodes for i in batch])
        past = _padded([draft.rows[i].past for i in batch])
        past_slots = np.where(past >= 0, slot_of[past], -1)
        ending = by_end[slice(*np.searchsorted(last_use[by_end], [at, at + 1]))]
        free.extend(slot_of[ending].tolist())
        rows, columns = np.nonzero((nodes >= 0) & (last_use[nodes] > at))
        missing = max(0, len(rows) - len(free))
        free.extend(range(n_slots, n_slots + missing))
        n_slots += missing
        free, taken = free[len(rows) :], free[: len(rows)]
        slot_of[nodes[rows, columns]] = taken
        passes.append(
            Pass(
                nodes=nodes, past_slots=past_slots, past_nodes=past,
                kept_places=np.stack([rows, columns]).astype(np.int64),
                kept_slots=np.array(taken, dtype=np.int64),
            )
        )  # fmt: skip
    return Plan(passes=tuple(passes), n_slots=n_slots, method=draft.method)


def draft_plan(trie: PrefixTrie, rows: Sequence[Row], *, method: Method, batch_rows: int) -> Draft:
    """Return rows in batches such that their past is stored by then, earliest rows first.

    Args:
        trie: Of the rows.
        rows: From `cut_rows`.
        method: How they were cut.
        batch_rows: Most rows of a pass.
    """
    owner = np.full(len(trie), -1, dtype=np.int64)
    if method != "full":
        for i, row in enumerate(rows):
            owner[row.nodes] = i
    waiting: dict[int, list[int]] = {}
    ready: list[int] = []
    for i, row in enumerate(rows):
        if len(row.past):
            waiting.setdefault(int(owner[row.past[-1]]), []).append(i)
        else:
            heapq.heappush(ready, i)
    batches: list[tuple[int, ...]] = []
    while ready:
        first = [heapq.heappop(ready) for _ in range(min(len(ready), _LOOKAHEAD * batch_rows))]
        first.sort(key=lambda i: (-len(rows[i].nodes) - len(rows[i].past), i))
        batch, rest = first[:batch_rows], first[batch_rows:]
        for i in rest:
            heapq.heappush(ready, i)
        for i in batch:
            for freed in waiting.pop(i, ()):
                heapq.heappush(ready, freed)
        batches.append(tuple(batch))
    return Draft(trie=trie, rows=tuple(rows), batches=tuple(batches), method=method)


def _padded(rows: Sequence[Int[np.ndarray, "_"]]) -> Int[np.ndarray, "B n"]:
    width = max((len(row) for row in rows), default=0)
    out = np.full((len(rows), width), -1, dtype=np.int64)
    for i, row in enumerate(rows):
        out[i, : len(row)] = row
    return out


def fit_cost(shapes: Sequence[tuple[int, int]], seconds: Float[np.ndarray, "n"]) -> CostModel:
    """Return the cost model that fits measured single-row passes, no part below zero.

    Args:
        shapes: (new tokens, keys) of each measured pass.
        seconds: Time of each.

    Sources:
        Lawson and Hanson (1974), non-negative least squares; relative residuals.
    """
    from scipy.optimize import nnls

    design = np.array([[1.0, new, new * keys] for new, keys in shapes])
    weights, _ = nnls(design / seconds[:, None], np.ones(len(seconds)))
    return CostModel(
        per_call=float(weights[0]), per_token=float(weights[1]), per_pair=float(weights[2])
    )
