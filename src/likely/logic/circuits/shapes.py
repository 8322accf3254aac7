"""Shapes of formulas: simplified, split where they can be, and told apart from mere names."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from likely.logic.formula import FALSE, TRUE, Formula, substitute, variables

Key = tuple[object, ...]
"""A formula with its variables numbered by first appearance: equal for equal shapes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LiteralShape:
    """A formula over distinct literals that a closed form knows.

    Attributes:
        op: ``and``, ``or``, ``all_equal``, ``xor`` (odd parity), ``even`` or ``card``.
        names: The variable of each operand.
        signs: Whether the operand is the variable (True) or its negation.
        low: ``card``: the least number of literals that hold.
        high: ``card``: the largest number.
    """

    op: str
    names: tuple[str, ...]
    signs: tuple[bool, ...]
    low: int = 0
    high: int = 0


@dataclass(frozen=True, slots=True)
class Shape:
    """A formula up to the names of its variables.

    Attributes:
        key: What makes two shapes equal.
        formula: One formula of this shape; the variables count in order of first appearance.
    """

    key: Key
    formula: Formula = field(compare=False)


def simplify(formula: Formula) -> Formula:
    """Return an equivalent formula of fewer kinds of nodes, often much smaller.

    Constants and double negations vanish, negations move down to ``and`` and ``or``, chains are
    flattened, repeated operands dropped, and a literal that stands alone in a conjunction (or
    disjunction) is put into its other operands. What is left is built of variables, ``not``,
    ``and``, ``or``, ``iff``, ``all_equal``, ``xor``, ``even`` and ``card``, or is a constant.

    >>> from likely.logic.parser import parse
    >>> str(simplify(parse("!(a | !b) & exactly_one(a, c, d) & true & b")))
    '!a & b & (c <-> !d)'
    """
    return _positive(formula)


def conjuncts(formula: Formula) -> list[Formula]:
    """Return the parts of a conjunction that share no variable, in order of first appearance.

    >>> from likely.logic.parser import parse
    >>> [str(part) for part in conjuncts(parse("(a -> b) & (c <-> d) & (b | e)"))]
    ['(a -> b) & (b | e)', 'c <-> d']
    """
    if formula.op != "and":
        return [formula]
    leader: dict[str, str] = {}
    firsts = []
    for part in formula.operands:
        names = variables(part)
        firsts.append(names[0] if names else "")
        for name in names:
            leader[_leader(leader, name)] = _leader(leader, names[0])
    groups: dict[str, list[Formula]] = {}
    for part, first in zip(formula.operands, firsts, strict=True):
        groups.setdefault(_leader(leader, first), []).append(part)
    return [
        group[0] if len(group) == 1 else Formula("and", tuple(group)) for group in groups.values()
    ]


def _leader(leader: dict[str, str], name: str) -> str:
    """Return the name that stands for the group of this one, and shorten the way to it."""
    while leader.setdefault(name, name) != name:
        leader[name] = leader[leader[name]]
        name = leader[name]
    return name


def literal_shape(formula: Formula) -> LiteralShape | None:
    """Return what a simplified formula says about distinct literals, or None if that is no shape.

    >>> from likely.logic.parser import parse
    >>> literal_shape(simplify(parse("none(a, b)"))).signs
    (False, False)
    """
    if formula.op in ("var", "not"):
        operands: tuple[Formula, ...] = (formula,)
        op = "and"
    else:
        operands = formula.operands
        op = "all_equal" if formula.op == "iff" else formula.op
    if op not in ("and", "or", "all_equal", "xor", "even", "card"):
        return None
    names, signs = [], []
    for operand in operands:
        inner = operand.operands[0] if operand.op == "not" else operand
        if inner.op != "var":
            return None
        names.append(inner.key)
        signs.append(inner is operand)
    if len(set(names)) < len(names):
        return None
    high = len(names) if formula.high is None else formula.high
    return LiteralShape(op=op, names=tuple(names), signs=tuple(signs), low=formula.low, high=high)


def shape(formula: Formula) -> Shape:
    """Return the shape of a formula, the same for all formulas that differ by names alone.

    >>> from likely.logic.parser import parse
    >>> shape(parse("a -> b & a")) == shape(parse("x(n1) -> y & x(n1)"))
    True
    """
    return Shape(_key(formula, {}), formula)


def _key(formula: Formula, numbers: dict[str, int]) -> Key:
    if formula.op == "var":
        return (numbers.setdefault(formula.key, len(numbers)),)
    return (
        formula.op,
        formula.low,
        formula.high,
        *(_key(part, numbers) for part in formula.operands),
    )


def negation(formula: Formula) -> Formula:
    """Return the negation of a formula without two signs of negation in a row."""
    if formula.op == "not":
        return formula.operands[0]
    if formula.op in ("true", "false"):
        return FALSE if formula.op == "true" else TRUE
    return Formula("not", (formula,))


def _positive(formula: Formula) -> Formula:
    op, parts = formula.op, formula.operands
    if op in ("var", "true", "false"):
        return formula
    if op == "not":
        return _negative(parts[0])
    if op in ("and", "or"):
        return _chain(op, [_positive(part) for part in parts])
    if op == "implies":
        return _chain("or", [_negative(parts[0]), _positive(parts[1])])
    if op in ("xor", "odd", "even", "iff"):
        return _parity([_positive(part) for part in parts], is_odd=op in ("xor", "odd"))
    if op == "all_equal":
        return _equal([_positive(part) for part in parts])
    return _card([_positive(part) for part in parts], low=formula.low, high=formula.high)


def _negative(formula: Formula) -> Formula:
    op, parts = formula.op, formula.operands
    if op in ("var", "true", "false"):
        return negation(formula)
    if op == "not":
        return _positive(parts[0])
    if op in ("and", "or"):
        return _chain("or" if op == "and" else "and", [_negative(part) for part in parts])
    if op == "implies":
        return _chain("and", [_positive(parts[0]), _negative(parts[1])])
    if op in ("xor", "odd", "even", "iff"):
        return _parity([_positive(part) for part in parts], is_odd=op in ("even", "iff"))
    if op == "all_equal":
        return _card([_positive(part) for part in parts], low=1, high=len(parts) - 1)
    return _not_card([_positive(part) for part in parts], low=formula.low, high=formula.high)


def _chain(op: str, parts: Iterable[Formula]) -> Formula:
    """Return the ``and`` or ``or`` of simplified parts."""
    is_and = op == "and"
    nothing, everything = (TRUE, FALSE) if is_and else (FALSE, TRUE)
    flat: dict[Formula, None] = {}
    for part in parts:
        flat.update(dict.fromkeys(part.operands if part.op == op else (part,)))
    flat.pop(nothing, None)
    if everything in flat or any(p.op == "not" and p.operands[0] in flat for p in flat):
        return everything
    # Where the rest matters at all, a lone literal has its one value there.
    known = {}
    for part in flat:
        if part.op == "var":
            known[part.key] = nothing
        elif part.op == "not" and part.operands[0].op == "var":
            known[part.operands[0].key] = everything
    if known and len(known) < len(flat):
        simpler = [_put(part, known) for part in flat]
        if any(new is not old for new, old in zip(simpler, flat, strict=True)):
            return _chain(op, simpler)
    if len(flat) <= 1:
        return next(iter(flat), nothing)
    return Formula("and" if is_and else "or", tuple(flat))


def _put(part: Formula, known: dict[str, Formula]) -> Formula:
    if part.op == "var" or (part.op == "not" and part.operands[0].op == "var"):
        return part
    changed = substitute(part, lambda leaf: known.get(leaf.key, leaf))
    return part if changed is part else simplify(changed)


def _parity(parts: Sequence[Formula], *, is_odd: bool) -> Formula:
    """Return the formula that holds where an odd (or even) number of simplified parts do."""
    seen: dict[Formula, None] = {}
    pending = list(reversed(parts))
    while pending:
        part = pending.pop()
        is_odd ^= part.op in ("not", "true", "even", "iff")
        if part.op in ("not", "xor", "even", "iff"):
            pending.extend(reversed(part.operands))
        elif part in seen:
            del seen[part]
        elif part.op not in ("true", "false"):
            seen[part] = None
    kept = tuple(seen)
    if not kept:
        return FALSE if is_odd else TRUE
    if len(kept) == 1:
        return kept[0] if is_odd else _negative(kept[0])
    if len(kept) == 2:
        return Formula("iff", (kept[0], _negative(kept[1]) if is_odd else kept[1]))
    return Formula("xor" if is_odd else "even", kept)


def _equal(parts: Sequence[Formula]) -> Formula:
    kept = dict.fromkeys(parts)
    if TRUE in kept:
        return _chain("and", kept)
    if FALSE in kept:
        return _chain("and", [_negative(part) for part in kept])
    if any(part.op == "not" and part.operands[0] in kept for part in kept):
        return FALSE
    if len(kept) <= 2:
        return _parity(tuple(kept), is_odd=False) if len(kept) == 2 else TRUE
    return Formula("all_equal", tuple(kept))


def _card(parts: Sequence[Formula], *, low: int, high: int | None) -> Formula:
    always = sum(part.op == "true" for part in parts)
    kept = tuple(part for part in parts if part.op not in ("true", "false"))
    n = len(kept)
    low = max(low - always, 0)
    high = n if high is None else min(high - always, n)
    if low > high:
        return FALSE
    if low == 0 and high == n:
        return TRUE
    if low == n:
        return _chain("and", kept)
    if high == 0:
        return _chain("and", [_negative(part) for part in kept])
    if (low, high) == (1, n):
        return _chain("or", kept)
    if (low, high) == (0, n - 1):
        return _chain("or", [_negative(part) for part in kept])
    if (low, high, n) == (1, 1, 2):
        return _parity(kept, is_odd=True)
    return Formula("card", kept, low=low, high=high)


def _not_card(parts: Sequence[Formula], *, low: int, high: int | None) -> Formula:
    n = len(parts)
    if low <= 0:
        return FALSE if high is None else _card(parts, low=high + 1, high=None)
    if high is None or high >= n:
        return _card(parts, low=0, high=low - 1)
    counted = _card(parts, low=low, high=high)
    return negation(counted) if counted.op in ("card", "true", "false") else _negative(counted)
