"""The models of a graph in order of weight, each worked out when it is asked for. Unit: nats."""

import heapq
import math
from collections.abc import Iterator, Sequence

from likely.logic.circuits.graph import Graph, element_lists


def iter_best(
    graph: Graph, log_pos: Sequence[float], log_neg: Sequence[float]
) -> Iterator[tuple[float, list[bool]]]:
    """Yield the models of a graph and their log-weights, the heaviest first.

    One pass finds the heaviest model of every node. From then on a node keeps its best models so
    far, and works out one more only where a node above it asks: a model of a node is an element
    with one model of its prime and one of its sub, and what may come next is an element that was
    not used yet, or the last one with the next model of either half.

    Args:
        graph: Smooth (see `smooth`), so that models of a node assign the same variables.
        log_pos: Log-weight of each variable, nats; ``-inf`` is legal.
        log_neg: Log-weight of its negation.

    Yields:
        Log-weight and truth values; models without weight are left out.

    Sources:
        Huang and Chiang (2005), "Better k-best parsing", algorithm 3.
    """
    search = _Search(graph, [*log_pos, *log_neg])
    rank = 0
    while search.has(graph.root, rank):
        yield search.values[graph.root][rank], search.model(graph.root, rank)
        rank += 1


class _Search:
    """The best models of each node so far, and what may come next.

    ``values[id][r]`` is the log-weight of the node's model of rank ``r``. ``taken[id][r]`` says how
    that model is made: of which element, and of the models of which ranks of its prime and its sub.
    ``waiting[id]`` is a heap of such makings that are not taken yet, by falling weight.
    """

    def __init__(self, graph: Graph, weights: Sequence[float]) -> None:
        self.n = graph.n_vars
        n_leaves = 2 * graph.n_vars + 2
        self.elements: list[list[tuple[int, int]]] = [[] for _ in range(n_leaves)]
        self.elements += element_lists(graph)
        self.values: list[list[float]] = [[w] if w > -math.inf else [] for w in weights]
        self.values += [[0.0], []]
        self.taken: list[list[tuple[int, int, int]]] = [[] for _ in self.elements]
        self.waiting: list[list[tuple[float, int, int, int]]] = [[] for _ in self.elements]
        self.is_done = [True] * n_leaves + [False] * (len(self.elements) - n_leaves)
        for node in range(n_leaves, len(self.elements)):
            self.values.append([])
            for element in range(len(self.elements[node])):
                self._offer(node, element, 0, 0)
            self._take(node)

    def has(self, node: int, rank: int) -> bool:
        """Return whether the node has a model of that rank, after working it out.

        Those of lower rank are known already. A stack stands for the recursion, since a graph may
        be as deep as it has variables.
        """
        stack = [] if len(self.values[node]) > rank or self.is_done[node] else [node]
        while stack:
            half = self._unready(stack[-1])
            if half is not None:
                stack.append(half)
                continue
            self._offer_next(stack[-1])
            self._take(stack.pop())
        return len(self.values[node]) > rank

    def model(self, node: int, rank: int) -> list[bool]:
        """Return the truth values of a known model."""
        truth = [False] * self.n
        stack = [(node, rank)]
        while stack:
            node, rank = stack.pop()
            if self.taken[node]:
                element, prime_rank, sub_rank = self.taken[node][rank]
                prime, sub = self.elements[node][element]
                stack += [(prime, prime_rank), (sub, sub_rank)]
            elif node < self.n:
                truth[node] = True
        return truth

    def _unready(self, node: int) -> int | None:
        """Return a half of the last making whose next model is still to be worked out."""
        for half, rank in self._next_halves(node):
            if len(self.values[half]) <= rank and not self.is_done[half]:
                return half
        return None

    def _next_halves(self, node: int) -> list[tuple[int, int]]:
        # The prime's rank rises only while the sub's is 0, so that no making is offered twice.
        element, prime_rank, sub_rank = self.taken[node][-1]
        prime, sub = self.elements[node][element]
        return [(sub, sub_rank + 1)] + ([(prime, prime_rank + 1)] if sub_rank == 0 else [])

    def _offer_next(self, node: int) -> None:
        element, prime_rank, sub_rank = self.taken[node][-1]
        self._offer(node, element, prime_rank, sub_rank + 1)
        if sub_rank == 0:
            self._offer(node, element, prime_rank + 1, 0)

    def _offer(self, node: int, element: int, prime_rank: int, sub_rank: int) -> None:
        prime, sub = self.elements[node][element]
        if len(self.values[prime]) > prime_rank and len(self.values[sub]) > sub_rank:
            value = self.values[prime][prime_rank] + self.values[sub][sub_rank]
            heapq.heappush(self.waiting[node], (-value, element, prime_rank, sub_rank))

    def _take(self, node: int) -> None:
        if not self.waiting[node]:
            self.is_done[node] = True
            return
        value, *making = heapq.heappop(self.waiting[node])
        self.values[node].append(-value)
        self.taken[node].append((making[0], making[1], making[2]))
