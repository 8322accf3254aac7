"""Grounding: formulas that range over rows or list columns become formulas over events."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product

from likely.errors import InputError, UnknownNameError
from likely.logic.formula import FALSE, TRUE, Domain, Formula, holds
from likely.logic.guards import guard_holds

Column = str | tuple[str, ...]
"""A column holds a text, or a list of texts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One row of a data set.

    Attributes:
        id: Unique in its data set.
        columns: By name.
    """

    id: str
    columns: Mapping[str, Column] = field(default_factory=dict)

    def scope(self) -> dict[str, object]:
        """Return what a guard may name of the row: its columns and its id."""
        return {**self.columns, "id": self.id}


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """What a formula may range over and what its arguments are bound to.

    Attributes:
        rows: The data set; empty where one row is looked at by itself.
        row: That row, or None.
        bound: Values of the variables of quantifiers around the formula.
    """

    rows: Sequence[Row] = ()
    row: Row | None = None
    bound: Mapping[str, Row | str] = field(default_factory=dict)

    def elements(self, source: str) -> Sequence[Row | str]:
        """Return the members of a set that a formula names.

        Raises:
            InputError: There is no such set, or the column holds no list.
        """
        if source == "rows" and self.row is None:
            return self.rows
        owner, _, column = source.rpartition(".")
        row = self.bound.get(owner) if owner else self.row
        if not isinstance(row, Row):
            known = "rows" if self.row is None else f"the list columns of row {self.row.id!r}"
            raise InputError(f"there is no set {source!r} to range over; there are {known}")
        if column not in row.columns:
            raise UnknownNameError.among(f"column of row {row.id!r}", column, row.columns)
        value = row.columns[column]
        if isinstance(value, str):
            raise InputError(
                f"the column {column!r} of row {row.id!r} is the text {value!r}, not a list; "
                "write [...] in the data set"
            )
        return value

    def guard_scope(self) -> dict[str, object]:
        """Return what a guard may name."""
        own = self.row.scope() if self.row is not None else {}
        bound = {n: v.scope() if isinstance(v, Row) else v for n, v in self.bound.items()}
        return {**own, **bound}


def ground(formula: Formula, scope: Scope) -> Formula:
    """Return the formula without quantifiers, its arguments replaced by what they are bound to.

    An empty range makes ``forall``, ``at_most_one``, ``none``, ``all_equal`` and ``even`` true,
    ``exists``, ``exactly_one``, ``at_least_one`` and ``odd`` false.

    Raises:
        InputError: An unknown set or column, or a guard that cannot be decided.

    >>> from likely.logic.parser import parse
    >>> row = Row(id="p1", columns={"cities": ("Paris", "New York")})
    >>> str(ground(parse("exactly_one(x(c) for c in cities)"), Scope(row=row)))
    "exactly_one(x(Paris), x('New York'))"
    """
    if formula.op == "var":
        return replace(formula, args=tuple(_bind(arg, scope) for arg in formula.args))
    if formula.domain is not None:
        return _expand(formula, formula.domain, scope)
    operands = tuple(ground(part, scope) for part in formula.operands)
    return formula if operands == formula.operands else replace(formula, operands=operands)


def _bind(arg: str, scope: Scope) -> str:
    value = scope.bound.get(arg, arg)
    return value.id if isinstance(value, Row) else value


def _expand(formula: Formula, domain: Domain, scope: Scope) -> Formula:
    elements = scope.elements(domain.source)
    bodies = []
    for values in product(elements, repeat=len(domain.variables)):
        bound = {**scope.bound, **dict(zip(domain.variables, values, strict=True))}
        inner = replace(scope, bound=bound)
        if domain.guard is None or guard_holds(domain.guard, inner.guard_scope()):
            bodies.append(ground(formula.operands[0], inner))
    if not bodies:
        return TRUE if _holds_of_nothing(formula) else FALSE
    if len(bodies) == 1 and formula.op in ("and", "or"):
        return bodies[0]
    return replace(formula, operands=tuple(bodies), domain=None)


def _holds_of_nothing(formula: Formula) -> bool:
    """Return the truth of a quantified formula over no bodies: as over bodies that are false."""
    if formula.op in ("and", "or"):
        return formula.op == "and"
    return holds(replace(formula, operands=(FALSE,), domain=None), {})
