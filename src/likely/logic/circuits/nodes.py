"""Storage of the nodes of decision diagrams: each exists once, and room is made. Unit: nodes."""

from collections.abc import Iterable


class NodeTable:
    """Nodes (level, low, high) of reduced ordered decision diagrams over ``n_levels`` levels.

    Node 0 is false and 1 is true, both on the level below the last. A node asks its level's
    variable, and continues at ``low`` where that is false, at ``high`` where it is true.

    Attributes:
        n_levels: How many variables there are.
        level, low, high: Of each node, by its number.
        unique: For each level, the number of the node with these (low, high).
        free: Numbers below ``len(level)`` that stand for no node.
    """

    def __init__(self, n_levels: int) -> None:
        self.n_levels = n_levels
        self.level = [n_levels, n_levels]
        self.low = [0, 1]
        self.high = [0, 1]
        self.unique: list[dict[tuple[int, int], int]] = [{} for _ in range(n_levels)]
        self.free: list[int] = []

    def __len__(self) -> int:
        return len(self.level) - len(self.free)

    def node(self, level: int, low: int, high: int) -> int:
        """Return the node with these parts, made unless it is there."""
        if low == high:
            return low
        known = self.unique[level].get((low, high))
        if known is not None:
            return known
        if self.free:
            made = self.free.pop()
            self.level[made], self.low[made], self.high[made] = level, low, high
        else:
            made = len(self.level)
            self.level.append(level)
            self.low.append(low)
            self.high.append(high)
        self.unique[level][low, high] = made
        return made

    def reachable(self, roots: Iterable[int]) -> list[int]:
        """Return the inner nodes at or below the roots, deepest level first."""
        low, high = self.low, self.high
        seen = {0, 1}
        stack = list(roots)
        while stack:
            node = stack.pop()
            if node not in seen:
                seen.add(node)
                stack.append(low[node])
                stack.append(high[node])
        return sorted(seen - {0, 1}, key=lambda node: -self.level[node])

    def collect(self, roots: Iterable[int]) -> None:
        """Forget every node that is not below a root; its number is given out again."""
        kept = set(self.reachable(roots))
        for i, nodes in enumerate(self.unique):
            self.unique[i] = {key: node for key, node in nodes.items() if node in kept}
            self.free.extend(node for node in nodes.values() if node not in kept)
