"""Boolean formulas over token-prediction events: nodes, operators, printer, truth. Unit: none."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Literal

from likely.errors import InputError

Op = Literal[
    "var", "true", "false", "not", "and", "or", "xor", "implies", "iff",
    "card", "all_equal", "odd", "even",
]  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Domain:
    """What a quantified formula ranges over.

    Attributes:
        variables: Names bound, one or more.
        source: Name of the set: ``rows``, or a column that holds a list, of a bound row as
            ``r.column``.
        guard: A condition on the columns of the bound rows, or None.
    """

    variables: tuple[str, ...]
    source: str
    guard: str | None = None


@dataclass(frozen=True, slots=True)
class Formula:
    """One node of a formula, and with its operands the whole of it; equal if written the same.

    Python's operators build them: ``~a``, ``a & b``, ``a | b``, ``a ^ b``, ``a >> b``,
    ``a.iff(b)``. ``&``, ``|`` and ``^`` extend a chain on their left, as the parser does.

    Attributes:
        op: What the node is. ``xor`` of several operands is odd parity, not exactly-one.
        operands: The parts, in order.
        name: Of a variable.
        args: Of a variable: what it is applied to, such as a row's id.
        low: ``card``: the least number of operands that hold.
        high: ``card``: the largest, or None for no limit.
        domain: Set on a formula that ranges over rows; its only operand is the body. Grounding
            turns it into a formula without.
    """

    op: Op
    operands: tuple["Formula", ...] = ()
    name: str = ""
    args: tuple[str, ...] = ()
    low: int = 0
    high: int | None = None
    domain: Domain | None = None

    def __post_init__(self) -> None:
        least, most = _ARITY.get(self.op, (0, 0))
        if self.domain is not None:
            least, most = (1, 1) if most is None else (1, 0)
        n = len(self.operands)
        if n < least or (most is not None and n > most):
            raise InputError(f"{self.op!r} takes {least} operands{_or_more(most)}, got {n}")

    @property
    def key(self) -> str:
        """The name of a variable with its arguments, as probabilities are looked up by.

        >>> var("a", "n01").key
        'a(n01)'
        """
        if not self.args:
            return self.name
        return f"{self.name}({', '.join(_argument(arg) for arg in self.args)})"

    def __invert__(self) -> "Formula":
        return Formula("not", (self,))

    def __and__(self, other: "Formula") -> "Formula":
        return _chain("and", self, other)

    def __or__(self, other: "Formula") -> "Formula":
        return _chain("or", self, other)

    def __xor__(self, other: "Formula") -> "Formula":
        return _chain("xor", self, other)

    def __rshift__(self, other: "Formula") -> "Formula":
        return Formula("implies", (self, other))

    def iff(self, other: "Formula") -> "Formula":
        """Return the formula that holds where both have one truth value."""
        return Formula("iff", (self, other))

    def __bool__(self) -> bool:
        raise InputError(
            f"the formula {str(self)!r} has no truth value of its own; combine formulas with "
            "& | ~ >> (not and, or, not), or ask holds(formula, assignment)"
        )

    def __str__(self) -> str:
        return _print(self)


_ARITY: Mapping[Op, tuple[int, int | None]] = {
    "not": (1, 1), "implies": (2, 2), "iff": (2, 2), "and": (2, None), "or": (2, None),
    "xor": (2, None), "card": (1, None), "all_equal": (1, None), "odd": (1, None),
    "even": (1, None),
}  # fmt: skip


def _or_more(most: int | None) -> str:
    return " or more" if most is None else ""


TRUE = Formula("true")
FALSE = Formula("false")


def var(name: str, *args: str) -> Formula:
    """Return a variable: the event ``name``, or ``name`` applied to arguments.

    Raises:
        InputError: The name is no identifier, or is a word of the language.
    """
    if not is_name(name):
        raise InputError(
            f"an event is named by letters, digits and '_' (and not by one of the words "
            f"{', '.join(sorted(WORDS))}), got {name!r}"
        )
    return Formula("var", name=name, args=args)


def count_of(*operands: Formula, low: int = 0, high: int | None = None) -> Formula:
    """Return the formula that holds where ``low`` to ``high`` of the operands do.

    >>> str(count_of(var("a"), var("b"), low=1, high=1))
    'exactly_one(a, b)'

    Raises:
        InputError: The bounds are negative or out of order.
    """
    if low < 0 or (high is not None and high < low):
        raise InputError(f"a count lies between 0 <= low <= high, got low {low} and high {high}")
    return Formula("card", operands, low=low, high=high)


def all_equal(*operands: Formula) -> Formula:
    """Return the formula that holds where all operands or none hold."""
    return Formula("all_equal", operands)


WORDS = frozenset({
    "true", "false", "not", "and", "or", "xor", "implies", "iff", "exactly", "atleast", "atmost",
    "between", "exactly_one", "at_most_one", "at_least_one", "none", "all_equal", "odd", "even",
    "forall", "exists", "count", "in", "where", "for",
})  # fmt: skip
"""The words of the language, which no event may be named by."""


def is_name(text: str) -> bool:
    """Return whether an event may have that name."""
    return text.isidentifier() and text.isascii() and text not in WORDS


def walk(formula: Formula) -> Iterator[Formula]:
    """Yield every node, parents before children, from the left."""
    stack = [formula]
    while stack:
        node = stack.pop()
        yield node
        stack.extend(reversed(node.operands))


def variables(formula: Formula) -> tuple[str, ...]:
    """Return the keys of the variables in order of first appearance.

    >>> variables(var("b") & (var("a") | var("b")))
    ('b', 'a')
    """
    return tuple(dict.fromkeys(node.key for node in walk(formula) if node.op == "var"))


def substitute(formula: Formula, change: Callable[[Formula], Formula]) -> Formula:
    """Return the formula with each variable replaced by what ``change`` makes of it."""
    if formula.op == "var":
        return change(formula)
    operands = tuple(substitute(part, change) for part in formula.operands)
    return formula if operands == formula.operands else replace(formula, operands=operands)


def holds(formula: Formula, assignment: Mapping[str, bool]) -> bool:
    """Return the truth of a ground formula under an assignment of its variables.

    Raises:
        InputError: A variable has no value, or the formula ranges over rows.

    >>> holds(var("a") >> var("b"), {"a": True, "b": False})
    False
    """
    if formula.domain is not None:
        raise InputError(f"{str(formula)!r} ranges over rows; ground it on a data set first")
    if formula.op == "var":
        if formula.key not in assignment:
            raise InputError(f"the assignment gives no value to {formula.key!r}")
        return bool(assignment[formula.key])
    truths = [holds(part, assignment) for part in formula.operands]
    return _TRUTH[formula.op](truths, formula)


_TRUTH: Mapping[str, Callable[[list[bool], Formula], bool]] = {
    "true": lambda truths, _: True,
    "false": lambda truths, _: False,
    "not": lambda truths, _: not truths[0],
    "and": lambda truths, _: all(truths),
    "or": lambda truths, _: any(truths),
    "xor": lambda truths, _: sum(truths) % 2 == 1,
    "odd": lambda truths, _: sum(truths) % 2 == 1,
    "even": lambda truths, _: sum(truths) % 2 == 0,
    "implies": lambda truths, _: not truths[0] or truths[1],
    "iff": lambda truths, _: truths[0] == truths[1],
    "all_equal": lambda truths, _: len(set(truths)) <= 1,
    "card": lambda truths, node: node.low <= sum(truths) and (
        node.high is None or sum(truths) <= node.high
    ),
}  # fmt: skip


def _chain(op: Op, left: Formula, right: Formula) -> Formula:
    head = left.operands if left.op == op and left.domain is None else (left,)
    return Formula(op, (*head, right))


_LEVEL = {"iff": 1, "implies": 2, "xor": 3, "or": 4, "and": 5, "not": 6}
_SIGN = {"iff": " <-> ", "implies": " -> ", "xor": " ^ ", "or": " | ", "and": " & "}
_QUANTIFIER = {"and": "forall", "or": "exists"}


def _print(node: Formula) -> str:
    if node.domain is not None and node.op in _QUANTIFIER:
        return f"{_QUANTIFIER[node.op]} {_range(node.domain)}: {_print(node.operands[0])}"
    if node.op == "var":
        return node.key
    if node.op in ("true", "false"):
        return node.op
    if node.op == "not":
        return f"!{_inside(node.operands[0], 6)}"
    if node.op in _SIGN:
        return _print_chain(node)
    return _print_call(node)


def _print_chain(node: Formula) -> str:
    level = _LEVEL[node.op]
    # The side on which a binary operator nests needs no parentheses; a chain always does.
    least = [level + 1] * len(node.operands)
    if node.op == "iff":
        least[0] = level
    if node.op == "implies":
        least[-1] = level
    parts = [_inside(part, floor) for part, floor in zip(node.operands, least, strict=True)]
    return _SIGN[node.op].join(parts)


def _inside(node: Formula, floor: int) -> str:
    text = _print(node)
    is_open = node.domain is not None and node.op in _QUANTIFIER
    level = 0 if is_open else _LEVEL.get(node.op, 7)
    return text if level >= floor else f"({text})"


def _print_call(node: Formula) -> str:
    if node.domain is not None:
        inner = f"{_print(node.operands[0])} for {_range(node.domain)}"
    else:
        inner = ", ".join(_print(part) for part in node.operands)
    if node.op != "card":
        return f"{node.op}({inner})"
    word = _CARD_WORDS.get((node.low, node.high))
    if word is not None:
        return f"{word}({inner})"
    if node.high is None:
        head = f"atleast({node.low}"
    elif node.low == node.high:
        head = f"exactly({node.low}"
    elif node.low == 0:
        head = f"atmost({node.high}"
    else:
        head = f"between({node.low}, {node.high}"
    return f"{head}, {inner})"


_CARD_WORDS = {
    (1, 1): "exactly_one",
    (0, 1): "at_most_one",
    (1, None): "at_least_one",
    (0, 0): "none",
}


def _range(domain: Domain) -> str:
    guard = f" where {domain.guard}" if domain.guard is not None else ""
    return f"{', '.join(domain.variables)} in {domain.source}{guard}"


def _argument(arg: str) -> str:
    is_plain = arg.isascii() and (arg.isidentifier() or arg.isdigit())
    return arg if is_plain else "'" + arg.replace("\\", "\\\\").replace("'", "\\'") + "'"
