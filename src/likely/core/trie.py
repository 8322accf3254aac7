"""The prefix trie: every distinct prefix of a set of id sequences, once, in depth-first order."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Int


@dataclass(frozen=True, slots=True, kw_only=True)
class PrefixTrie:
    """Distinct prefixes as numbered nodes; a node is the prefix that ends in its token.

    Nodes are numbered in depth-first order, so the subtree of ``i`` is the range
    ``i .. stop[i]``, and ``a`` is a prefix of ``b`` exactly if ``a <= b < stop[a]``.

    Attributes:
        token: Shape ``(N,)``: the last token of each prefix.
        parent: Shape ``(N,)``: the prefix one token shorter, -1 for one-token prefixes.
        depth: Shape ``(N,)``: length of each prefix, from 1.
        stop: Shape ``(N,)``: one past the last node of the subtree.
    """

    token: Int[np.ndarray, "N"]
    parent: Int[np.ndarray, "N"]
    depth: Int[np.ndarray, "N"]
    stop: Int[np.ndarray, "N"]

    def __len__(self) -> int:
        """Return N, the number of token evaluations that this work cannot do without."""
        return len(self.token)

    def path(self, node: int) -> Int[np.ndarray, "d"]:
        """Return the nodes from the first token to ``node``, inclusive; empty for -1."""
        if node < 0:
            return np.empty(0, dtype=np.int64)
        nodes = np.empty(int(self.depth[node]), dtype=np.int64)
        for i in range(len(nodes) - 1, -1, -1):
            nodes[i] = node
            node = int(self.parent[node])
        return nodes

    def prefix(self, node: int) -> tuple[int, ...]:
        """Return the ids of the prefix ``node``."""
        return tuple(int(t) for t in self.token[self.path(node)])

    def sees(
        self, queries: Int[np.ndarray, "*q"], keys: Int[np.ndarray, "*k"]
    ) -> Bool[np.ndarray, "..."]:
        """Return whether each key is a prefix of (or equal to) each query, broadcasting."""
        return np.asarray((keys <= queries) & (queries < self.stop[keys]))

    def leaves(self) -> Int[np.ndarray, "L"]:
        """Return the nodes that no other node extends, in order."""
        return np.flatnonzero(self.stop == np.arange(len(self)) + 1)


def build_trie(
    sequences: Sequence[Sequence[int]],
) -> tuple[PrefixTrie, list[Int[np.ndarray, "_"]]]:
    """Return the trie of all prefixes of ``sequences``, and the path of each sequence.

    Args:
        sequences: Id sequences in any order; duplicates and prefixes of one another cost nothing.

    Returns:
        The trie, and for each sequence the node of each of its prefixes, shortest first.

    >>> trie, paths = build_trie([(5, 6, 7), (5, 6), (5, 8)])
    >>> len(trie), [p.tolist() for p in paths]
    (4, [[0, 1, 2], [0, 1], [0, 3]])
    """
    keyed = [tuple(sequence) for sequence in sequences]
    order = sorted(range(len(keyed)), key=keyed.__getitem__)
    tokens: list[int] = []
    parents: list[int] = []
    depths: list[int] = []
    paths: list[Int[np.ndarray, "_"]] = [np.empty(0, dtype=np.int64)] * len(keyed)
    previous: tuple[int, ...] = ()
    path: list[int] = []
    for i in order:
        sequence = keyed[i]
        shared = _common_length(previous, sequence)
        del path[shared:]
        for position in range(shared, len(sequence)):
            parents.append(path[-1] if path else -1)
            path.append(len(tokens))
            tokens.append(sequence[position])
            depths.append(position + 1)
        paths[i] = np.array(path, dtype=np.int64)
        previous = sequence
    return _finish(tokens, parents, depths), paths


def _common_length(a: tuple[int, ...], b: tuple[int, ...]) -> int:
    limit = min(len(a), len(b))
    if a[:limit] == b[:limit]:
        return limit
    return next(i for i in range(limit) if a[i] != b[i])


def _finish(tokens: list[int], parents: list[int], depths: list[int]) -> PrefixTrie:
    parent = np.array(parents, dtype=np.int64)
    stop = np.arange(1, len(tokens) + 1, dtype=np.int64)
    for node in range(len(tokens) - 1, -1, -1):
        if parents[node] >= 0:
            stop[parents[node]] = max(stop[parents[node]], stop[node])
    return PrefixTrie(
        token=np.array(tokens, dtype=np.int64),
        parent=parent,
        depth=np.array(depths, dtype=np.int64),
        stop=stop,
    )
