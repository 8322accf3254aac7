"""Reduced ordered binary decision diagrams: canonical, negated in one pass. Unit: nodes."""

from collections.abc import Sequence
from typing import Literal

import numpy as np

from likely.errors import BudgetError, InputError
from likely.logic.circuits.graph import Graph
from likely.logic.circuits.nodes import NodeTable
from likely.logic.circuits.orders import force_order, sift
from likely.logic.formula import Formula, variables

Order = Literal["auto", "natural", "force", "sift"]

DEFAULT_BUDGET = 200_000
"""Nodes at one time: about a second of work and 100 MB; a circuit much larger is slow to read."""

STEPS_PER_NODE = 5
"""Remembered steps allowed for each node of the budget, so that fruitless searches end too."""

FIRST_SIFTING = 4_000
"""Nodes at which a diagram that reorders itself does so first, while that is cheap."""


class Bdd:
    """A manager of decision diagrams under one order of the variables.

    Formulas with the same truth table are the same node: 0 is false, 1 is true. The nodes that
    `build` returns stay valid as long as the manager.

    Args:
        names: Keys of the variables: the columns of graphs, and the variables of counts. There
            may be more than a formula has.
        order: The same names from the top of the diagram downwards; as declared if None.
        budget: How many nodes there may be at one time.
        is_sifted: Whether the order is improved as the diagram grows, by moving each variable to
            its best place.

    Raises:
        InputError: A name stands twice, or the order has other names.
    """

    def __init__(
        self,
        names: Sequence[str],
        *,
        order: Sequence[str] | None = None,
        budget: int = DEFAULT_BUDGET,
        is_sifted: bool = False,
    ) -> None:
        self.names = tuple(names)
        self.budget = budget
        self._column_at = _columns(self.names, self.names if order is None else order)
        self._level_of = {self.names[column]: i for i, column in enumerate(self._column_at)}
        self._table = NodeTable(len(self.names))
        self._is_sifted = is_sifted
        self._limit = min(budget, FIRST_SIFTING) if is_sifted else budget
        self._memo: dict[tuple[int, int, int], int] = {}
        self._kept: list[int] = []
        self._live: list[list[int]] = [self._kept]

    @property
    def order(self) -> tuple[str, ...]:
        """The names from the top downwards."""
        return tuple(self.names[column] for column in self._column_at)

    def build(self, formula: Formula) -> int:
        """Return the node of a ground formula.

        Raises:
            InputError: The formula ranges over rows, or has a variable that is not in `names`.
            BudgetError: It needs more nodes than the budget.

        >>> from likely.logic.parser import parse
        >>> bdd = Bdd(["a", "b"])
        >>> bdd.build(parse("a -> b")) == bdd.build(parse("!(a & !b)"))
        True
        """
        todo, order = [formula], []
        while todo:
            part = todo.pop()
            order.append(part)
            todo.extend(part.operands)
        values: list[int] = []
        self._live[1:] = [values]
        try:
            for part in reversed(order):
                first = len(values) - len(part.operands)
                node = self._combine(part, values[first:])
                values[first:] = [node]
        except _Full:
            raise BudgetError(_advice(formula, self.budget, "this order")) from None
        finally:
            del self._live[1:]
        self._kept.append(values[0])
        if self._is_sifted:
            self._collect(self._kept)
            self._reorder(self._kept)
        return values[0]

    def equivalent(self, first: Formula, second: Formula) -> bool:
        """Return whether two formulas hold under the same assignments."""
        return self.build(first) == self.build(second)

    def implies(self, first: Formula, second: Formula) -> bool:
        """Return whether the second formula holds wherever the first does."""
        return self.build(first >> second) == 1

    def size(self, root: int) -> int:
        """Return how many nodes ask a variable at or below this one."""
        return len(self._table.reachable([root]))

    def count(self, root: int) -> int:
        """Return the number of assignments of all `names` under which the node holds."""
        table = self._table
        level, low, high = table.level, table.low, table.high
        # Of each node: its models over the variables from its own level downwards.
        models = {0: 0, 1: 1}
        for node in table.reachable([root]):
            below = level[node] + 1
            models[node] = (models[low[node]] << (level[low[node]] - below)) + (
                models[high[node]] << (level[high[node]] - below)
            )
        return models[root] << level[root]

    def to_graph(self, root: int) -> Graph:
        """Return the node as a graph over the columns `names`."""
        table, n = self._table, len(self.names)
        true, false = 2 * n, 2 * n + 1
        ids = {0: false, 1: true}
        primes: list[int] = []
        subs: list[int] = []
        offsets = [0]
        for node in table.reachable([root]):
            column = self._column_at[table.level[node]]
            no, yes = ids[table.low[node]], ids[table.high[node]]
            if (no, yes) in ((false, true), (true, false)):
                ids[node] = column if yes == true else n + column
                continue
            ids[node] = 2 * n + 1 + len(offsets)
            kept = [
                (prime, sub) for prime, sub in ((column, yes), (n + column, no)) if sub != false
            ]
            primes += [prime for prime, _ in kept]
            subs += [sub for _, sub in kept]
            offsets.append(len(primes))
        return Graph(
            n_vars=n,
            primes=np.array(primes, dtype=np.int64),
            subs=np.array(subs, dtype=np.int64),
            offsets=np.array(offsets, dtype=np.int64),
            root=ids[root],
        )

    def _combine(self, part: Formula, nodes: list[int]) -> int:
        if part.domain is not None:
            raise InputError(f"{str(part)!r} ranges over rows; ground it on a data set first")
        match part.op:
            case "var":
                return self._variable(part.key)
            case "true" | "false":
                return int(part.op == "true")
            case "not":
                return self._ite(nodes[0], 0, 1)
            case "implies":
                return self._ite(nodes[0], nodes[1], 1)
            case "and" | "or":
                return self._merge(nodes, is_and=part.op == "and")
            case "xor" | "odd":
                return self._scan(nodes, on_true=[1, 0], on_false=[0, 1], accepts=[0, 1])
            case "iff" | "even":
                return self._scan(nodes, on_true=[1, 0], on_false=[0, 1], accepts=[1, 0])
            case "all_equal":  # states: none read, all true, all false, both seen
                return self._scan(
                    nodes, on_true=[1, 1, 3, 3], on_false=[2, 3, 2, 3], accepts=[1, 1, 1, 0]
                )
            case "card":
                return self._cardinality(nodes, part.low, part.high)

    def _variable(self, key: str) -> int:
        level = self._level_of.get(key)
        if level is None:
            raise InputError(
                f"the formula has the variable {key!r}, which is not among the names "
                f"{self.names[:8]!r}{'...' if len(self.names) > 8 else ''}"
            )
        return self._table.node(level, 0, 1)

    def _cardinality(self, nodes: list[int], low: int, high: int | None) -> int:
        """Count the operands that hold or those that do not, whichever ends sooner."""
        n = len(nodes)
        high = n if high is None else min(high, n)
        if low > high:
            return 0
        holding = (low, high, low if high == n else high + 1)
        failing = (n - high, n - low, n - high if low == 0 else n - low + 1)
        least, most, last = min(holding, failing, key=lambda bounds: bounds[2])
        # The last state stands for `last` and all larger counts, which agree.
        accepts = [int(least <= count <= most) for count in range(last)] + [int(most == n)]
        stay = list(range(last + 1))
        step = [min(count + 1, last) for count in stay]
        if last == holding[2]:
            return self._scan(nodes, on_true=step, on_false=stay, accepts=accepts)
        return self._scan(nodes, on_true=stay, on_false=step, accepts=accepts)

    def _scan(
        self, nodes: list[int], *, on_true: list[int], on_false: list[int], accepts: list[int]
    ) -> int:
        """Return where an automaton that reads the operands from the top down accepts."""
        nodes = sorted(nodes, key=self._table.level.__getitem__)
        states = _states(len(nodes), on_true, on_false)
        layer, above = list(accepts), list(accepts)
        self._live.append(layer)
        self._live.append(above)
        ite = self._ite
        for i in range(len(nodes) - 1, -1, -1):
            node = nodes[i]
            for state in states[i]:
                above[state] = ite(node, layer[on_true[state]], layer[on_false[state]])
            layer[:] = above
        del self._live[-2:]
        return layer[0]

    def _merge(self, nodes: list[int], *, is_and: bool) -> int:
        """Return the conjunction or disjunction: neighbours in the order first, in a tree."""
        table = self._table
        live = sorted(set(nodes), key=lambda node: -table.level[node])
        self._live.append(live)
        literals = [node for node in live if self._is_literal(node)]
        if len(literals) > 1:
            folded = int(is_and)
            for node in literals:  # from the bottom up each takes one step
                folded = self._pair(node, folded, is_and=is_and)
            live[:] = [node for node in live if not self._is_literal(node)]
            live.append(folded)
            live.sort(key=lambda node: -table.level[node])
        while len(live) > 1:
            # In place, so that what is still needed is in the list when room is made.
            for i in range(len(live) // 2):
                live[i : i + 2] = [self._pair(live[i + 1], live[i], is_and=is_and)]
                if live[i] == int(not is_and):
                    live[:] = [live[i]]
                    break
        self._live.pop()
        return live[0]

    def _pair(self, first: int, second: int, *, is_and: bool) -> int:
        return self._ite(first, second, 0) if is_and else self._ite(first, 1, second)

    def _is_literal(self, node: int) -> bool:
        return node > 1 and self._table.low[node] < 2 and self._table.high[node] < 2

    def _ite(self, test: int, yes: int, no: int) -> int:
        """Return the node that is ``yes`` where the test holds and ``no`` elsewhere."""
        if yes == no:
            return yes
        table = self._table
        level = table.level
        low, high = table.low[test], table.high[test]
        at = level[test]
        is_on_top = at < level[yes] and at < level[no]
        if is_on_top and low < 2 and high < 2 and len(level) < self._limit:  # a literal
            return table.node(at, no, yes) if high else table.node(at, yes, no)
        is_last = False
        while True:
            try:
                return self._search(test, yes, no)
            except _Full:
                if is_last:
                    raise
            is_last = self._limit >= self.budget
            self._make_room([test, yes, no])

    def _search(self, test: int, yes: int, no: int) -> int:
        """Find if-then-else with a stack of our own: diagrams are deeper than Python's goes."""
        table, memo, limit = self._table, self._memo, self._limit
        level, low, high, unique = table.level, table.low, table.high, table.unique
        most_steps = STEPS_PER_NODE * self.budget
        tasks: list[tuple[int, int, int]] = [(test, yes, no)]
        tops: list[int] = []
        done: list[int] = []
        while tasks:
            f, g, h = task = tasks.pop()
            if f < 0:  # both branches of the task below are done
                task, top, yes = tasks.pop(), tops.pop(), done.pop()
                no = found = done[-1]
                if no != yes:
                    known = unique[top].get((no, yes))
                    if known is None and len(level) >= limit and not table.free:
                        raise _Full
                    found = table.node(top, no, yes) if known is None else known
                    done[-1] = found
                memo[task] = found
                if len(memo) > most_steps:
                    raise _Full
            elif f == 1 or g == h:
                done.append(g)
            elif f == 0:
                done.append(h)
            elif g == 1 and h == 0:
                done.append(f)
            elif (known := memo.get(task)) is not None:
                done.append(known)
            else:
                top = level[f]
                if level[g] < top:
                    top = level[g]
                if level[h] < top:
                    top = level[h]
                f0, f1 = (low[f], high[f]) if level[f] == top else (f, f)
                g0, g1 = (low[g], high[g]) if level[g] == top else (g, g)
                h0, h1 = (low[h], high[h]) if level[h] == top else (h, h)
                tops.append(top)
                tasks += (task, _BOTH_DONE, (f1, g1, h1), (f0, g0, h0))
        return done[0]

    def _make_room(self, operands: list[int]) -> None:
        """Forget what is no longer needed; improve the order; allow more, up to the budget."""
        table = self._table
        roots = [node for nodes in [*self._live, operands] for node in nodes]
        self._collect(roots)
        if self._is_sifted and 2 * len(table) > self._limit:
            self._reorder(roots)
        # A table that is nearly full would be swept again and again for little.
        if 4 * len(table) > 3 * self.budget:
            raise _Full
        self._limit = min(self.budget, max(2 * self._limit, 4 * len(table)))

    def _collect(self, roots: list[int]) -> None:
        self._table.collect(roots)
        self._memo.clear()

    def _reorder(self, roots: list[int]) -> None:
        sift(self._table, roots, self._column_at)
        self._level_of = {name: level for level, name in enumerate(self.order)}


def build_bdd(
    formula: Formula,
    *,
    names: Sequence[str] | None = None,
    order: Order = "auto",
    budget: int = DEFAULT_BUDGET,
) -> tuple[Bdd, int]:
    """Return a diagram of a formula, and its root, under an order that is small enough.

    Args:
        formula: A ground formula.
        names: Columns; the formula's variables in order of first appearance if None.
        order: ``natural`` is that of the names; ``force`` moves variables of one constraint
            together; ``sift`` begins there and goes on improving; ``auto`` tries the three in
            turn until one is within the budget.
        budget: How many nodes there may be at one time.

    Raises:
        InputError: The formula ranges over rows, or has a variable that is not in the names.
        BudgetError: It needs more nodes than the budget.
    """
    columns = variables(formula) if names is None else tuple(names)
    for attempt in ("natural", "force", "sift") if order == "auto" else (order,):
        levels = columns if attempt == "natural" else force_order(formula, columns)
        if (order, attempt, levels) == ("auto", "force", columns):
            continue  # the same order would fail again
        bdd = Bdd(columns, order=levels, budget=budget, is_sifted=attempt == "sift")
        try:
            return bdd, bdd.build(formula)
        except BudgetError:
            continue
    tried = "the natural, the FORCE and the sifted order" if order == "auto" else f"order {order!r}"
    raise BudgetError(_advice(formula, budget, tried))


class _Full(Exception):  # noqa: N818  (a signal inside this module, not an error of its caller)
    """No room for a further node."""


_BOTH_DONE = (-1, -1, -1)


def _advice(formula: Formula, budget: int, tried: str) -> str:
    text = str(formula)
    shown = text if len(text) <= 80 else f"{text[:77]}..."
    return (
        f"the formula {shown!r} needs more than the {budget} nodes allowed under {tried}; give a "
        "larger budget or another order, pip install 'likely[logic]' for compilation to SDDs, "
        "or estimate by Monte Carlo"
    )


def _columns(names: tuple[str, ...], order: Sequence[str]) -> list[int]:
    column_of = {name: column for column, name in enumerate(names)}
    if len(column_of) < len(names):
        twice = next(name for i, name in enumerate(names) if name in names[:i])
        raise InputError(f"each variable has one column, but {twice!r} stands there twice")
    if sorted(order) != sorted(names):
        odd = sorted(set(order) ^ set(names)) or list(order)
        raise InputError(f"an order has each name once; {odd[:8]!r} break that")
    return [column_of[name] for name in order]


def _states(n: int, on_true: list[int], on_false: list[int]) -> list[list[int]]:
    """Return the states in which an automaton can be before each of n inputs."""
    states = [[0]]
    for _ in range(n - 1):
        last = states[-1]
        following = sorted({on_true[state] for state in last} | {on_false[state] for state in last})
        states.append(last if following == last else following)
    return states
