"""Sentential decision diagrams by PySDD, for formulas too large for BDDs. Unit: elements."""

from collections.abc import Callable, Sequence
from functools import reduce
from operator import and_, or_
from typing import Protocol, runtime_checkable

from likely.errors import BudgetError, InputError, MissingExtraError
from likely.logic.circuits.graph import Graph, GraphBuilder
from likely.logic.circuits.orders import force_order
from likely.logic.formula import Formula, variables


def sdd_graph(
    formula: Formula, *, names: Sequence[str] | None = None, budget: int = 200_000
) -> Graph:
    """Return a formula as a graph, compiled to an SDD over a balanced tree of its variables.

    The tree's leaves stand in the FORCE order, so the graph is about as deep as the logarithm of
    the number of variables where the formula allows it.

    Args:
        formula: A ground formula.
        names: Columns of the graph; the variables in order of first appearance if None.
        budget: Elements allowed at one time. It is looked at between operations; a single one
            can go beyond it.

    Raises:
        MissingExtraError: PySDD is not installed.
        InputError: The formula ranges over rows, or has a variable that is not in the names.
        BudgetError: The diagram outgrows the budget.

    Sources:
        Darwiche (2011), "SDD: a new canonical representation of propositional knowledge bases".
    """
    columns = variables(formula) if names is None else tuple(names)
    unknown = [key for key in variables(formula) if key not in set(columns)]
    if unknown:
        raise InputError(
            f"the formula has the variables {unknown[:8]!r}, which are not among the names "
            f"{columns[:8]!r}"
        )
    compiler = _Compiler(columns, force_order(formula, columns), budget)
    try:
        return _export(compiler.build(formula), len(columns))
    except _Full:
        raise BudgetError(
            f"the formula {str(formula)[:80]!r} needs more than the {budget} elements allowed to "
            "its SDD; give a larger budget, or estimate by Monte Carlo"
        ) from None


@runtime_checkable
class _Node(Protocol):
    """What is used of PySDD's nodes; each keeps its diagram alive as long as it lives itself."""

    @property
    def id(self) -> int: ...
    @property
    def literal(self) -> int: ...
    def is_true(self) -> bool: ...
    def is_false(self) -> bool: ...
    def is_literal(self) -> bool: ...
    def elements(self) -> list[tuple["_Node", "_Node"]]: ...
    def __and__(self, other: "_Node") -> "_Node": ...
    def __or__(self, other: "_Node") -> "_Node": ...
    def __invert__(self) -> "_Node": ...


class _Full(Exception):  # noqa: N818  (a signal inside this module, not an error of its caller)
    """The diagrams in use are larger than the budget."""


class _Compiler:
    """Turns formulas into nodes of one manager, and sweeps up after itself."""

    def __init__(self, names: tuple[str, ...], order: tuple[str, ...], budget: int) -> None:
        try:
            from pysdd.sdd import SddManager, Vtree
        except ImportError as error:
            raise MissingExtraError(
                "compiling to SDDs needs the package pysdd; run: pip install 'likely[logic]'"
            ) from error
        self._number_of = {name: i + 1 for i, name in enumerate(names)}
        self._place_of = {name: float(i) for i, name in enumerate(order)}
        self._budget = budget
        numbers = [self._number_of[name] for name in order] or [1]
        tree = Vtree(var_count=len(numbers), var_order=numbers, vtree_type="balanced")
        self._manager = SddManager.from_vtree(tree)
        # Sizes are checked here, between operations, not by PySDD in the middle of one.
        self._manager.auto_gc_and_minimize_off()

    def build(self, formula: Formula) -> _Node:
        todo, parts = [formula], []
        while todo:
            part = todo.pop()
            parts.append(part)
            todo.extend(part.operands)
        nodes: list[_Node] = []
        places: list[float] = []  # where in the order a formula's variables are, on average
        for part in reversed(parts):
            first = len(nodes) - len(part.operands)
            near = sorted(range(first, len(nodes)), key=places.__getitem__)
            if part.op == "implies":
                near = [first, first + 1]
            nodes[first:] = [self._combine(part, [nodes[i] for i in near])]
            mean = sum(places[first:]) / max(1, len(part.operands))
            places[first:] = [self._place_of[part.key] if part.op == "var" else mean]
        return nodes[0]

    def _combine(self, part: Formula, nodes: list[_Node]) -> _Node:
        if part.domain is not None:
            raise InputError(f"{str(part)!r} ranges over rows; ground it on a data set first")
        match part.op:
            case "var":
                return self._node(self._manager.literal(self._number_of[part.key]))
            case "true":
                return self._node(self._manager.true())
            case "false":
                return self._node(self._manager.false())
            case "not":
                return ~nodes[0]
            case "implies":
                return ~nodes[0] | nodes[1]
            case "and":
                return self._fold(nodes, and_)
            case "or":
                return self._fold(nodes, or_)
            case "xor" | "odd":
                return self._fold(nodes, _differ)
            case "iff" | "even":
                return ~self._fold(nodes, _differ)
            case "all_equal":
                return self._fold(nodes, and_) | ~self._fold(nodes, or_)
            case "card":
                return self._cardinality(nodes, part.low, part.high)

    def _cardinality(self, nodes: list[_Node], low: int, high: int | None) -> _Node:
        n = len(nodes)
        high = n if high is None else min(high, n)
        # The last count stands for itself and all larger ones, which agree.
        last = low if high == n else high + 1
        counts = self._counts(nodes, last)
        wanted = [counts[c] for c in range(low, min(high, last) + 1) if c < len(counts)]
        return reduce(or_, wanted, self._node(self._manager.false()))

    def _counts(self, nodes: list[_Node], last: int) -> list[_Node]:
        """Return for each count up to the last where exactly so many hold, halves first."""
        if last == 0:
            return [self._node(self._manager.true())]
        if len(nodes) == 1:
            return [~nodes[0], nodes[0]]
        half = len(nodes) // 2
        left, right = self._counts(nodes[:half], last), self._counts(nodes[half:], last)
        sums: dict[int, _Node] = {}
        for i, first in enumerate(left):
            for j, second in enumerate(right):
                both, at = self._node(first & second), min(i + j, last)
                sums[at] = self._node(sums[at] | both) if at in sums else both
        return [sums[count] for count in sorted(sums)]

    def _fold(self, nodes: list[_Node], combine: Callable[[_Node, _Node], _Node]) -> _Node:
        while len(nodes) > 1:
            paired = [
                self._node(combine(first, second))
                for first, second in zip(nodes[::2], nodes[1::2], strict=False)
            ]
            nodes = paired + nodes[2 * len(paired) :]
        return nodes[0]

    def _node(self, made: _Node) -> _Node:
        """Return a node just made, once there is room for the next."""
        manager = self._manager
        if manager.size() > self._budget:
            manager.garbage_collect()
            # Nearly full, it would be swept again and again for little.
            if 4 * manager.size() > 3 * self._budget:
                raise _Full
        return made


def _differ(first: _Node, second: _Node) -> _Node:
    return (first & ~second) | (~first & second)


def _export(root: _Node, n_vars: int) -> Graph:
    builder = GraphBuilder(n_vars)
    ids: dict[int, int] = {}
    elements: dict[int, list[tuple[_Node, _Node]]] = {}
    stack = [root]
    while stack:
        node = stack[-1]
        if node.id in ids:
            stack.pop()
        elif node.is_true() or node.is_false():
            ids[node.id] = builder.true if node.is_true() else builder.false
        elif node.is_literal():
            ids[node.id] = builder.literal(abs(node.literal) - 1, positive=node.literal > 0)
        elif node.id in elements:  # its children are done
            pairs = [(ids[prime.id], ids[sub.id]) for prime, sub in elements.pop(node.id)]
            ids[node.id] = builder.add(pairs)
        else:
            elements[node.id] = node.elements()
            stack.extend(part for pair in elements[node.id] for part in pair)
    return builder.graph(ids[root.id])
