"""Orders of variables under which decision diagrams stay small. Unit: nodes."""

from collections.abc import Collection, Sequence

from likely.logic.circuits.nodes import NodeTable
from likely.logic.formula import Formula

MAX_GROWTH = 1.2
"""A variable's search for its place turns round where the diagram is larger than this by factor."""

MAX_TOUCHED = 2_000_000
"""Nodes that one sifting may touch before it ends with what it has: two or three seconds."""


def force_order(formula: Formula, names: Sequence[str]) -> tuple[str, ...]:
    """Return the names in an order that draws the variables of each constraint together.

    Args:
        formula: Each of its operators is a constraint on the variables below it.
        names: The variables, in the order to begin with; there may be more than in the formula.

    Returns:
        The order with the least total span of constraints on the way.

    Sources:
        Aloul, Markov and Sakallah (2003), "FORCE: a fast and easy-to-implement variable-ordering
        heuristic": each constraint goes to the mean place of its variables, each variable to the
        mean place of its constraints.
    """
    edges = _constraints(formula)
    touching: dict[str, list[int]] = {name: [] for name in names}
    for i, edge in enumerate(edges):
        for name in edge:
            touching[name].append(i)
    order = best = list(names)
    least = _span(edges, order)
    for _ in range(5 * max(1, len(names)).bit_length()):
        place = {name: i for i, name in enumerate(order)}
        centres = [sum(place[name] for name in edge) / len(edge) for edge in edges]
        pull = {
            name: sum(centres[i] for i in ours) / len(ours) if ours else float(place[name])
            for name, ours in touching.items()
        }
        order = sorted(order, key=lambda name: pull[name])
        span = _span(edges, order)
        if span < least:
            least, best = span, order
    return tuple(best)


def sift(table: NodeTable, roots: Collection[int], labels: list[int]) -> None:
    """Move each variable to the level where the diagrams are smallest, the largest first.

    Nodes keep their numbers and meanings; only levels change.

    Args:
        table: Holds no node that is not below a root.
        roots: What must be kept.
        labels: Of each level, its variable; changed along with the levels.

    Sources:
        Rudell (1993), "Dynamic variable ordering for ordered binary decision diagrams".
    """
    sizes = {label: len(nodes) for label, nodes in zip(labels, table.unique, strict=True)}
    sifter = _Sifter(table, roots, labels)
    for label in sorted(labels, key=lambda label: -sizes[label]):
        if sifter.touched > MAX_TOUCHED:
            break
        sifter.place(labels.index(label))


class _Sifter:
    """Swaps neighbouring levels; counts the parents of each node, to drop those left with none."""

    def __init__(self, table: NodeTable, roots: Collection[int], labels: list[int]) -> None:
        self.touched = 0
        self._table = table
        self._labels = labels
        self._size = len(table)
        self._parents = [0] * len(table.level)
        for nodes in table.unique:
            for low, high in nodes:
                self._parents[low] += 1
                self._parents[high] += 1
        for node in (0, 1, *roots):
            self._parents[node] += 1

    def place(self, at: int) -> None:
        """Try every level for the variable of this one, the nearer end first; keep the best."""
        best, least = at, self._size
        last = self._table.n_levels - 1
        for end in (last, 0) if 2 * at > last else (0, last):
            while at != end and self._size <= MAX_GROWTH * least:
                at = self._step(at, end)
                if self._size < least:
                    best, least = at, self._size
            while at != best:
                at = self._step(at, best)

    def _step(self, at: int, target: int) -> int:
        self._swap(at if target > at else at - 1)
        return at + 1 if target > at else at - 1

    def _swap(self, at: int) -> None:
        """Exchange the variables of a level and the one below it.

        Nodes of the upper variable that lead to the lower one are rewritten in place, so that
        all nodes above and all roots still mean the same.
        """
        table, parents = self._table, self._parents
        level, low, high = table.level, table.low, table.high
        upper, lower = table.unique[at], table.unique[at + 1]
        self.touched += len(upper) + len(lower) + 1
        rising = list(lower.values())
        table.unique[at], table.unique[at + 1] = lower, {}
        mixed = []
        for key, node in upper.items():
            if level[key[0]] == at + 1 or level[key[1]] == at + 1:
                mixed.append(node)
            else:
                table.unique[at + 1][key] = node
        for node in mixed:
            f0, f1 = low[node], high[node]
            f00, f01 = (low[f0], high[f0]) if level[f0] == at + 1 else (f0, f0)
            f10, f11 = (low[f1], high[f1]) if level[f1] == at + 1 else (f1, f1)
            parents[f0] -= 1
            parents[f1] -= 1
            no, yes = self._node(at + 1, f00, f10), self._node(at + 1, f01, f11)
            parents[no] += 1
            parents[yes] += 1
            low[node], high[node] = no, yes
            lower[no, yes] = node
        for node in table.unique[at + 1].values():
            level[node] = at + 1
        for node in rising:
            level[node] = at
        self._drop([node for node in rising if not parents[node]])
        self._labels[at], self._labels[at + 1] = self._labels[at + 1], self._labels[at]

    def _node(self, level: int, low: int, high: int) -> int:
        if low == high:
            return low
        n_before = len(self._table)
        node = self._table.node(level, low, high)
        if len(self._table) > n_before:
            if node == len(self._parents):
                self._parents.append(0)
            self._parents[low] += 1
            self._parents[high] += 1
            self._size += 1
        return node

    def _drop(self, nodes: list[int]) -> None:
        table, parents = self._table, self._parents
        while nodes:
            node = nodes.pop()
            low, high = table.low[node], table.high[node]
            del table.unique[table.level[node]][low, high]
            table.free.append(node)
            self._size -= 1
            for child in (low, high):
                parents[child] -= 1
                if not parents[child]:
                    nodes.append(child)


def _constraints(formula: Formula) -> list[tuple[str, ...]]:
    """Return the variables below each operator; not those of one that has all, if others are."""
    todo, parts = [formula], []
    while todo:
        part = todo.pop()
        parts.append(part)
        todo.extend(part.operands)
    found: dict[tuple[str, ...], None] = {}
    below: list[dict[str, None]] = []
    for part in reversed(parts):
        first = len(below) - len(part.operands)
        names = dict.fromkeys([part.key] if part.op == "var" else [])
        for operand in below[first:]:
            names.update(operand)
        below[first:] = [names]
        if len(names) > 1:
            found[tuple(names)] = None
    total = len(below[0])
    return [edge for edge in found if len(edge) < total] or list(found)


def _span(edges: list[tuple[str, ...]], order: list[str]) -> int:
    place = {name: i for i, name in enumerate(order)}
    spans = ([place[name] for name in edge] for edge in edges)
    return sum(max(span) - min(span) for span in spans)
