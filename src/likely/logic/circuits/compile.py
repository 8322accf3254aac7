"""Compiles formulas: split into independent components, each by the cheapest exact method."""

from collections.abc import Sequence
from functools import lru_cache, partial
from typing import cast

import numpy as np

from likely.errors import BudgetError, InputError, MissingExtraError
from likely.logic.circuits.bdd import DEFAULT_BUDGET, Order, build_bdd
from likely.logic.circuits.circuit import Circuit, Part, Unit
from likely.logic.circuits.closed_forms import closed_form
from likely.logic.circuits.graph import Graph
from likely.logic.circuits.layers import Layers
from likely.logic.circuits.sdd import sdd_graph
from likely.logic.circuits.shapes import Shape, conjuncts, literal_shape, shape, simplify
from likely.logic.circuits.table import Table
from likely.logic.circuits.truth import models, truth_table
from likely.logic.formula import Formula, Op, variables, walk
from likely.logic.parser import as_formula

MAX_TABLE_VARIABLES = 12
"""Up to this many variables the models of a component are listed."""

SHORT_TABLE = 32
"""Up to this many models a list beats any diagram, in the time of a call if not of an item."""

SHAPES_KEPT = 512
"""How many kinds of components stay compiled."""


def compile(
    formula: Formula | str,
    *,
    names: Sequence[str] | None = None,
    budget: int = DEFAULT_BUDGET,
    order: Order = "auto",
) -> Circuit:
    """Return a circuit of a formula: compiled once, evaluated on batches of any size.

    Components that share no variable are compiled apart, each by the cheapest exact method: a
    closed form, the list of its models, or a decision diagram. Components (and formulas) that
    differ by the names of their variables alone are compiled once.

    Args:
        formula: Without quantifiers, or its text.
        names: The event of each column, at least those that the formula mentions; by default
            these, in order of first appearance.
        budget: How many nodes the diagram of a component may have.
        order: Of the variables in diagrams: ``natural``, ``force``, ``sift`` or ``auto``.

    Raises:
        InputError: The formula ranges over rows, or names lack an event or hold one twice.
        BudgetError: A component is too large; the message says what to do.

    >>> circuit = compile("(a <-> b) & (c <-> d) & !e", names=["a", "b", "c", "d", "e", "f"])
    >>> circuit.method, circuit.count()
    ('all_equal x2 + and', 8)
    """
    ground = as_formula(formula)
    quantified = next((node for node in walk(ground) if node.domain is not None), None)
    if quantified is not None:
        raise InputError(f"{str(quantified)!r} ranges over rows; ground it on a data set first")
    mentioned = variables(ground)
    columns = mentioned if names is None else tuple(names)
    column_of = {name: column for column, name in enumerate(columns)}
    missing = [name for name in mentioned if name not in column_of]
    if missing or len(column_of) < len(columns):
        raise InputError(
            "names hold each event of the formula, and no event twice; got "
            f"{columns[:8]!r}" + (f" without {missing[:8]!r}" if missing else "")
        )
    placed = _split(simplify(ground), column_of, budget=budget, order=order)
    return Circuit(
        formula=ground, names=columns, parts=placed or (), is_satisfiable=placed is not None
    )


def _split(
    formula: Formula, column_of: dict[str, int], *, budget: int, order: Order
) -> tuple[Part, ...] | None:
    """Return the components of a simplified formula by kind, or None if one cannot hold."""
    if formula.op in ("true", "false"):
        return () if formula.op == "true" else None
    members: dict[Unit, list[tuple[list[int], tuple[bool, ...]]]] = {}
    for component in conjuncts(formula):
        known = literal_shape(component)
        if known is not None:
            unit: Unit | bool = _closed_unit(known.op, len(known.names), known.low, known.high)
            names, signs = known.names, known.signs
        else:
            unit = _compiled_unit(shape(component), budget, order)
            names = variables(component)
            signs = (True,) * len(names)
        if unit is False:
            return None
        if isinstance(unit, Unit):
            members.setdefault(unit, []).append(([column_of[name] for name in names], signs))
    return tuple(
        Part(
            unit=unit,
            columns=np.array([columns for columns, _ in found], dtype=np.int64).T,
            signs=np.array([signs for _, signs in found], dtype=np.bool_).T,
        )
        for unit, found in members.items()
    )


@lru_cache(maxsize=SHAPES_KEPT)
def _closed_unit(op: str, n: int, low: int, high: int) -> Unit:
    kernel, width = closed_form(op, n=n, low=low, high=high)

    method = "exactly_one" if (op, low, high) == ("card", 1, 1) else op
    source = partial(_closed_graph, op, n, low=low, high=high)
    return Unit(method=method, kernel=kernel, width=width, source=source)


@lru_cache(maxsize=SHAPES_KEPT)
def _compiled_unit(component: Shape, budget: int, order: Order) -> Unit | bool:
    """Return how a component is evaluated, or its truth value if it is constant."""
    formula = component.formula
    names = variables(formula)
    n = len(names)
    table = truth_table(formula, names) if n <= MAX_TABLE_VARIABLES else None
    if table is not None:
        n_models = table.bit_count()
        if n_models in (0, 1 << n):
            return n_models > 0
        if n_models <= SHORT_TABLE:
            return _table_unit(table, formula, n)
    graph, method = _graph(formula, budget=budget, order=order)
    if graph.root in (2 * n, 2 * n + 1):
        return graph.root == 2 * n
    if table is not None and _is_table_cheaper(table.bit_count(), graph):
        return _table_unit(table, formula, n)
    layers = Layers(graph)
    return Unit(method=method, kernel=layers, width=layers.width, source=graph)


def _is_table_cheaper(n_models: int, graph: Graph) -> bool:
    """Return whether a pass over the models costs less than one over the nodes.

    Measured on random 3-CNF of 4 to 12 variables, batches of 4096, value and gradient in float64
    on one core: a table takes the time of the layers where it has about 3 models a node.
    """
    return n_models <= 3 * graph.n_inner


def _table_unit(table: int, formula: Formula, n: int) -> Unit:
    kernel = Table(models(table, n))
    return Unit(
        method="table", kernel=kernel, width=kernel.width, source=partial(_bdd_graph, formula)
    )


def _graph(formula: Formula, *, budget: int, order: Order) -> tuple[Graph, str]:
    try:
        bdd, root = build_bdd(formula, budget=budget, order=order)
    except BudgetError as error:
        try:
            return sdd_graph(formula, budget=budget), "sdd"
        except MissingExtraError:
            raise error from None
    return bdd.to_graph(root), "bdd"


def _closed_graph(op: str, n: int, *, low: int, high: int) -> Graph:
    literals = tuple(Formula("var", name=f"x{i}") for i in range(n))
    if n == 1:
        return _bdd_graph(literals[0])
    if op == "card":
        return _bdd_graph(Formula("card", literals, low=low, high=high))
    return _bdd_graph(Formula(cast(Op, op), literals))


def _bdd_graph(formula: Formula) -> Graph:
    bdd, root = build_bdd(formula)
    return bdd.to_graph(root)
