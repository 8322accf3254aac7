"""Sum-of-products graphs, the one compiled form that every evaluator reads. Unit: none."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from jaxtyping import Int64

from likely.core.streams import generator
from likely.errors import InputError, ShapeError

N_ENUMERATED = 16
"""With up to this many variables determinism is proven by enumeration: 65,536 assignments."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Graph:
    """A formula as a graph of sums of products over ``n_vars`` variables.

    Ids ``0..n-1`` are the positive literals, ``n..2n-1`` the negative ones, ``2n`` is true,
    ``2n+1`` false, and ``2n+2+i`` the inner node ``i``, children before parents. An inner node is
    the disjunction of its elements, of which at most one holds; an element is the conjunction of
    its prime and its sub, which share no variable.

    Attributes:
        n_vars: How many variables there are, those that do not matter included.
        primes: Id of the first half of each element, shape (E,).
        subs: Id of the second half of each element, shape (E,).
        offsets: Node ``i`` owns the elements ``offsets[i]:offsets[i+1]``; shape (M + 1,).
        root: Id of the node that stands for the whole.
    """

    n_vars: int
    primes: Int64[np.ndarray, "E"]
    subs: Int64[np.ndarray, "E"]
    offsets: Int64[np.ndarray, "O"]
    root: int

    @property
    def n_inner(self) -> int:
        """How many inner nodes there are."""
        return len(self.offsets) - 1

    @property
    def n_ids(self) -> int:
        """How many ids there are: literals, constants and inner nodes."""
        return 2 * self.n_vars + 2 + self.n_inner


class GraphBuilder:
    """Collects the nodes of a graph, children first; nodes with the same elements are one.

    Args:
        n_vars: How many variables the graph has.
    """

    def __init__(self, n_vars: int) -> None:
        self.n_vars = n_vars
        self.true = 2 * n_vars
        self.false = 2 * n_vars + 1
        self._nodes: dict[tuple[tuple[int, int], ...], int] = {}

    def literal(self, column: int, *, positive: bool) -> int:
        """Return the id of a variable, or of its negation."""
        return column if positive else self.n_vars + column

    def add(self, elements: Iterable[tuple[int, int]]) -> int:
        """Return the id of a disjunction of (prime, sub), made unless it is there.

        Elements that cannot hold are left out, and an element with a true half that stands alone
        is its other half.
        """
        false, true = self.false, self.true
        kept = tuple(pair for pair in elements if false not in pair)
        if not kept:
            return false
        if len(kept) == 1 and true in kept[0]:
            return kept[0][0] if kept[0][1] == true else kept[0][1]
        return self._nodes.setdefault(kept, 2 * self.n_vars + 2 + len(self._nodes))

    def conjoin(self, parts: Sequence[int]) -> int:
        """Return the id of a conjunction of nodes that share no variable, in a balanced tree."""
        if not parts:
            return self.true
        if len(parts) == 1:
            return parts[0]
        half = len(parts) // 2
        return self.add([(self.conjoin(parts[:half]), self.conjoin(parts[half:]))])

    def graph(self, root: int) -> Graph:
        """Return the graph of the nodes at or below this root."""
        first = 2 * self.n_vars + 2
        nodes = list(self._nodes)
        is_used = [False] * (first + len(nodes))
        is_used[root] = True
        for i in range(len(nodes) - 1, -1, -1):
            if is_used[first + i]:
                for prime, sub in nodes[i]:
                    is_used[prime] = is_used[sub] = True
        kept = [node for i, node in enumerate(nodes) if is_used[first + i]]
        new = [*range(first), *(first - 1 + np.cumsum(is_used[first:])).tolist()]
        pairs = np.array([(new[p], new[s]) for node in kept for p, s in node], dtype=np.int64)
        sizes = np.fromiter(map(len, kept), dtype=np.int64, count=len(kept))
        return Graph(
            n_vars=self.n_vars,
            primes=pairs.reshape(-1, 2)[:, 0].copy(),
            subs=pairs.reshape(-1, 2)[:, 1].copy(),
            offsets=np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(sizes)]),
            root=new[root],
        )


def element_lists(graph: Graph) -> list[list[tuple[int, int]]]:
    """Return the elements (prime, sub) of each inner node, as plain Python numbers."""
    pairs = list(zip(graph.primes.tolist(), graph.subs.tolist(), strict=True))
    bounds = graph.offsets.tolist()
    return [pairs[start:stop] for start, stop in pairwise(bounds)]


def variable_masks(graph: Graph) -> list[int]:
    """Return for every id the set of variables at or below it, as bits of a Python int."""
    return _masks(graph, [1 << column for column in range(graph.n_vars)])


def smooth(graph: Graph) -> Graph:
    """Return an equal graph in which all variables are spelled out.

    Every element of a node mentions the same variables, and the root all of them; a variable
    that does not matter is added as (x or not x). Sets of added variables share their tails in
    the order in which the graph decides on variables, so that skipped ranges cost little.

    Args:
        graph: Any graph.

    Returns:
        A graph for counting, maximising and free literal weights; no element is impossible.
    """
    order = _order(graph)
    bits = [0] * graph.n_vars
    for rank, column in enumerate(order):
        bits[column] = 1 << rank
    smoother = _Smoother(graph, order, bits)
    for elements in element_lists(graph):
        smoother.add(elements)
    return smoother.finish(graph.root)


class _Smoother:
    """The state of `smooth`: new ids and variable sets of the old nodes, and shared chains."""

    def __init__(self, graph: Graph, order: list[int], bits: list[int]) -> None:
        self._builder = GraphBuilder(graph.n_vars)
        self._order = order
        self._full = (1 << graph.n_vars) - 1
        self._new = list(range(2 * graph.n_vars + 2))
        self._masks = [*bits, *bits, 0, 0]
        self._chains = {0: self._builder.true}

    def add(self, elements: list[tuple[int, int]]) -> None:
        new, masks, false = self._new, self._masks, self._builder.false
        kept = [(p, s) for p, s in elements if new[p] != false and new[s] != false]
        mask = 0
        for prime, sub in kept:
            mask |= masks[prime] | masks[sub]
        self._new.append(
            self._builder.add(
                (new[p], self._widen(new[s], mask & ~(masks[p] | masks[s]))) for p, s in kept
            )
        )
        self._masks.append(mask)

    def finish(self, root: int) -> Graph:
        missing = self._full & ~self._masks[root]
        return self._builder.graph(self._widen(self._new[root], missing))

    def _widen(self, node: int, missing: int) -> int:
        return self._builder.conjoin([node, self._chain(missing)]) if missing else node

    def _chain(self, mask: int) -> int:
        """Return the node that is always true and mentions the variables of the mask."""
        pending = []
        while mask not in self._chains:
            pending.append(mask)
            mask &= mask - 1
        for longer in reversed(pending):
            rest = self._chains[longer & (longer - 1)]
            column = self._order[(longer & -longer).bit_length() - 1]
            pair = [self._builder.literal(column, positive=sign) for sign in (True, False)]
            self._chains[longer] = self._builder.add([(literal, rest) for literal in pair])
        return self._chains[mask if not pending else pending[0]]


def model_counts(graph: Graph) -> tuple[int, tuple[int, ...]]:
    """Return the number of models, and for each variable in how many of them it is true.

    Args:
        graph: A smooth graph (see `smooth`).

    Returns:
        Exact counts over all ``n_vars`` variables.

    Raises:
        InputError: The graph is not smooth.
    """
    n = graph.n_vars
    nodes = element_lists(graph)
    counts = [1] * (2 * n) + [1, 0]
    for elements in nodes:
        counts.append(sum(counts[p] * counts[s] for p, s in elements))
    count = counts[graph.root]
    # How many models pass through each node; for a literal: the models in which it holds.
    passing = [0] * len(counts)
    passing[graph.root] = 1
    for node in range(len(nodes) - 1, -1, -1):
        weight = passing[2 * n + 2 + node]
        if weight:
            for prime, sub in nodes[node]:
                passing[prime] += weight * counts[sub]
                passing[sub] += weight * counts[prime]
    if any(passing[column] + passing[n + column] != count for column in range(n)):
        raise InputError(
            "models are counted on a smooth graph, but here an element leaves out a variable; "
            "call smooth(graph) first"
        )
    return count, tuple(passing[:n])


def check_graph(graph: Graph) -> None:
    """Raise unless the graph is what its evaluators take it for.

    Its ids must be in range and children come before parents; the halves of each element must
    share no variable; of the elements of a node at most one may hold. The last is proven with up
    to `N_ENUMERATED` variables and beyond that only tried (see `find_overlap`).

    Raises:
        ShapeError: The arrays do not fit one another.
        InputError: A node is not as it must be; the message names it.
    """
    _check_ids(graph)
    shared = find_shared(graph)
    if shared is not None:
        node, column = shared
        raise InputError(
            f"the halves of an element may share no variable, but in the inner node {node} both "
            f"mention the variable {column}"
        )
    overlap = find_overlap(graph)
    if overlap is not None:
        node, true = overlap
        raise InputError(
            "of the elements of a node at most one may hold, but in the inner node "
            f"{node} two do where exactly the variables {true!r} are true"
        )


def find_shared(graph: Graph) -> tuple[int, int] | None:
    """Return an inner node and a variable that both halves of one element mention, or None."""
    masks = variable_masks(graph)
    for node, elements in enumerate(element_lists(graph)):
        for prime, sub in elements:
            both = masks[prime] & masks[sub]
            if both:
                return node, both.bit_length() - 1
    return None


def find_overlap(graph: Graph, *, n_sampled: int = 4096) -> tuple[int, list[int]] | None:
    """Return an inner node two of whose elements hold at once, and where, or None.

    Args:
        graph: The graph.
        n_sampled: How many random assignments are tried where there are too many for all.

    Returns:
        The node and the variables that are true there. None is a proof with up to
        `N_ENUMERATED` variables, and no more than an absence of evidence with more.
    """
    n = graph.n_vars
    width = 1 << n if n <= N_ENUMERATED else n_sampled
    columns = [_alternating(i, n) for i in range(n)] if n <= N_ENUMERATED else _random(n, width)
    everywhere = (1 << width) - 1
    truths = [*columns, *(everywhere ^ column for column in columns), everywhere, 0]
    for node, elements in enumerate(element_lists(graph)):
        truth = 0
        for prime, sub in elements:
            holds = truths[prime] & truths[sub]
            twice = truth & holds
            if twice:
                at = twice.bit_length() - 1
                return node, [i for i, column in enumerate(columns) if column >> at & 1]
            truth |= holds
        truths.append(truth)
    return None


def _alternating(column: int, n: int) -> int:
    """Return the truth of a variable over all assignments, bit a for the assignment a."""
    period = 1 << (column + 1)
    block = ((1 << period // 2) - 1) << period // 2
    while period < 1 << n:
        block |= block << period
        period *= 2
    return block


def _random(n: int, width: int) -> list[int]:
    stream = generator(0, "logic", "overlap")
    return [int.from_bytes(stream.bytes(width // 8), "little") for _ in range(n)]


def _masks(graph: Graph, bits: list[int]) -> list[int]:
    masks = [*bits, *bits, 0, 0]
    for elements in element_lists(graph):
        mask = 0
        for prime, sub in elements:
            mask |= masks[prime] | masks[sub]
        masks.append(mask)
    return masks


def _order(graph: Graph) -> list[int]:
    """Return the variables as they appear from the root downwards, then those that do not."""
    n = graph.n_vars
    ids = np.stack([graph.subs, graph.primes], axis=1).ravel()[::-1]
    seen = dict.fromkeys((ids[ids < 2 * n] % max(n, 1)).tolist())
    return list(dict.fromkeys([*seen, *range(n)]))


def _check_ids(graph: Graph) -> None:
    offsets, n_elements = graph.offsets, len(graph.primes)
    fits = len(offsets) >= 1 and offsets[0] == 0 and offsets[-1] == n_elements
    if not fits or len(graph.subs) != n_elements or np.any(np.diff(offsets) < 0):
        raise ShapeError(
            "offsets rise from 0 to the number of elements, one prime and one sub each; got "
            f"{n_elements} primes, {len(graph.subs)} subs, offsets {offsets.tolist()[:5]!r}..."
        )
    if not 0 <= graph.root < graph.n_ids:
        raise InputError(f"the root is an id below {graph.n_ids}, got {graph.root!r}")
    owner = np.repeat(np.arange(graph.n_inner), np.diff(offsets)) + 2 * graph.n_vars + 2
    for ids in (graph.primes, graph.subs):
        bad = (ids < 0) | (ids >= owner)
        if bad.any():
            at = int(np.argmax(bad))
            raise InputError(
                f"children come before parents, but the node {int(owner[at])} has the child "
                f"{int(ids[at])}"
            )
