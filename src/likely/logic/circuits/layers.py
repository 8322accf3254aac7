"""Values of a graph's nodes over a batch, one depth at a time, and the flow back to its literals.

All values are logs, shape (nodes, batch), so that a gather reads contiguous rows; false is a
finite floor inside and becomes ``-inf`` at the edge. Which sum of products is taken, an ordinary
one or the best product alone, is a `Semiring`.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Int64
from torch import Tensor

from likely.logic.circuits.closed_forms import Slope
from likely.logic.circuits.graph import Graph
from likely.logic.circuits.literals import FLOOR, log_literals

Terms = Float[Tensor, "A M B"]
Values = Float[Tensor, "M B"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Semiring:
    """How the elements of a node make its value.

    Attributes:
        plus: From the logs of the elements, (A, M, B), to that of the node, (M, B).
        share: How much of the node's value each element answers for, linear, (A, M, B); may
            overwrite the terms.
    """

    plus: Callable[[Terms], Values]
    share: Callable[[Terms, Values], Terms]


def _log_plus(terms: Terms) -> Values:
    if len(terms) == 1:
        return terms[0]
    if len(terms) == 2:
        return torch.logaddexp(terms[0], terms[1])
    return torch.logsumexp(terms, 0)


LOG = Semiring(plus=_log_plus, share=lambda terms, values: terms.sub_(values).exp_())
"""Sum of products: log P, and the probability of each literal in the models that mention it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Layer:
    """Nodes of one depth and one number of elements.

    Attributes:
        start: Row of the first node.
        stop: Row after the last.
        children: Rows of the first and of the second halves, element by element, (2, A, M).
    """

    start: int
    stop: int
    children: Int64[Tensor, "2 A M"]

    def to(self, device: torch.device) -> "Layer":
        """Return the layer with its rows on a device."""
        return Layer(start=self.start, stop=self.stop, children=self.children.to(device))

    def terms(self, values: Float[Tensor, "R B"]) -> Terms:
        """Return the logs of the elements, from the values of all rows."""
        halves = values.index_select(0, self.children.flatten())
        prime, sub = halves.view(*self.children.shape, values.shape[1]).unbind()
        return prime.add_(sub)


class Layers:
    """A graph made ready for batches: nodes in order of depth, rows of the layers as tensors.

    The literals and constants keep their ids as rows; the inner nodes below the root follow.

    Args:
        graph: The root is an inner node or a literal or a constant.
    """

    def __init__(self, graph: Graph) -> None:
        self.n = graph.n_vars
        rows, self._layers, self.n_rows = _arrange(graph)
        self.root = int(rows[graph.root])
        self._placed: dict[torch.device, list[Layer]] = {}

    @property
    def width(self) -> int:
        """How many numbers an item takes."""
        n_elements = sum(layer.children[0].numel() for layer in self._layers)
        return 2 * self.n_rows + n_elements

    def __call__(self, log_odds: Float[Tensor, "n B"]) -> tuple[Float[Tensor, "B"], Slope]:
        """Return log P of the graph and its slope (see `closed_forms`)."""
        log_true, log_false = log_literals(log_odds)
        values, terms = self.values(log_true, log_false, LOG)

        def slope() -> Float[Tensor, "n B"]:
            is_true, is_false = self.flow(values, terms, LOG)
            return is_true * torch.sigmoid(-log_odds) - is_false * torch.sigmoid(log_odds)

        return to_edge(values[self.root]), slope

    def values(
        self, log_true: Float[Tensor, "n B"], log_false: Float[Tensor, "n B"], semiring: Semiring
    ) -> tuple[Float[Tensor, "R B"], list[Terms]]:
        """Return the log-values of all rows, and those of the elements of each layer.

        Args:
            log_true: Log-weights of the variables being true; ``-inf`` is legal.
            log_false: Log-weights of their being false.
            semiring: How elements are summed.
        """
        values = log_true.new_empty((self.n_rows, log_true.shape[1]))
        torch.clamp(log_true, min=FLOOR, out=values[: self.n])
        torch.clamp(log_false, min=FLOOR, out=values[self.n : 2 * self.n])
        values[2 * self.n] = 0.0
        values[2 * self.n + 1] = FLOOR
        kept = []
        for layer in self.on(values.device):
            terms = layer.terms(values)
            values[layer.start : layer.stop] = semiring.plus(terms)
            kept.append(terms)
        return values, kept

    def flow(
        self, values: Float[Tensor, "R B"], terms: list[Terms], semiring: Semiring
    ) -> tuple[Float[Tensor, "n B"], Float[Tensor, "n B"]]:
        """Return how much of the root's value passes through each literal, true and false.

        For the sum of products that is the derivative of the root's log-value by the literal's;
        for the best product, 1 on the literals of the best model and 0 elsewhere. A variable that
        the graph skips gets 0 on both sides. The terms are used up.
        """
        passing = torch.zeros_like(values)
        passing[self.root] = 1.0
        for layer in reversed(self.on(values.device)):
            block = slice(layer.start, layer.stop)
            shares = semiring.share(terms.pop(), values[block]).mul_(passing[block])
            flat = shares.flatten(0, 1)
            primes, subs = layer.children.flatten(1)
            passing.index_add_(0, primes, flat)
            passing.index_add_(0, subs, flat)
        return passing[: self.n], passing[self.n : 2 * self.n]

    def on(self, device: torch.device) -> list[Layer]:
        """Return the layers with their rows on a device."""
        if device not in self._placed:
            self._placed[device] = [layer.to(device) for layer in self._layers]
        return self._placed[device]


def to_edge(values: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
    """Return the values with the floor that stands for log 0 made ``-inf``."""
    return values.masked_fill(values < FLOOR / 2, -math.inf)


def _arrange(graph: Graph) -> tuple[list[int], list[Layer], int]:
    """Return the row of each id (-1 if nothing needs it), the layers, and how many rows."""
    first = 2 * graph.n_vars + 2
    primes, subs, offsets = graph.primes.tolist(), graph.subs.tolist(), graph.offsets.tolist()
    n_inner = len(offsets) - 1
    is_needed = [False] * (first + n_inner)
    is_needed[graph.root] = True
    for node in range(n_inner - 1, -1, -1):
        if is_needed[first + node]:
            for k in range(offsets[node], offsets[node + 1]):
                is_needed[primes[k]] = is_needed[subs[k]] = True
    depth = [0] * (first + n_inner)
    groups: dict[tuple[int, int], list[int]] = {}
    for node in range(n_inner):
        if is_needed[first + node]:
            start, stop = offsets[node], offsets[node + 1]
            deepest = max(depth[child] for child in (*primes[start:stop], *subs[start:stop]))
            depth[first + node] = deepest + 1
            groups.setdefault((deepest, stop - start), []).append(node)
    rows = [*range(first), *[-1] * n_inner]
    n_rows = first
    for key in sorted(groups):
        for node in groups[key]:
            rows[first + node] = n_rows
            n_rows += 1
    layers = []
    for key in sorted(groups):
        ids = [range(offsets[node], offsets[node + 1]) for node in groups[key]]
        start = rows[first + groups[key][0]]
        children = np.array(
            [[[rows[half[k]] for k in owned] for owned in ids] for half in (primes, subs)]
        )
        # Node by node becomes element by element: (2, M, A) to (2, A, M).
        turned = torch.from_numpy(np.ascontiguousarray(children.swapaxes(1, 2)))
        layers.append(Layer(start=start, stop=start + len(ids), children=turned))
    return rows, layers, n_rows
