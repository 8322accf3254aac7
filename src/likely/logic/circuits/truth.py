"""Truth of a formula over many assignments at once: bits of one integer, or columns of a matrix."""

from collections.abc import Mapping, Sequence
from typing import Protocol, Self, TypeVar

import numpy as np
from jaxtyping import Bool, UInt8

from likely.errors import InputError
from likely.logic.formula import Formula, Op

MAX_VARIABLES = 20
"""Beyond 2 ** 20 assignments a table no longer pays, and no longer fits."""


class Bits(Protocol):
    """What truth is computed with: ``&``, ``|`` and ``^`` act on many assignments at once."""

    def __and__(self, other: Self, /) -> Self: ...
    def __or__(self, other: Self, /) -> Self: ...
    def __xor__(self, other: Self, /) -> Self: ...


B = TypeVar("B", bound=Bits)


def truth(formula: Formula, columns: Mapping[str, B], *, one: B) -> B:
    """Return where a ground formula holds, for many assignments at once.

    Args:
        formula: Without quantifiers.
        columns: For each variable, where it is true: Python integers used as rows of bits, or
            numpy arrays of bool.
        one: The value of a formula that holds everywhere.

    Returns:
        Of the type of ``one``.

    Raises:
        InputError: A variable has no column, or the formula ranges over rows.

    >>> bin(truth(Formula("xor", (Formula("var", name="a"), Formula("var", name="b"))),
    ...     {"a": 0b1010, "b": 0b1100}, one=0b1111))
    '0b110'
    """
    if formula.domain is not None:
        raise InputError(f"{str(formula)!r} ranges over rows; ground it on a data set first")
    if formula.op == "var":
        if formula.key not in columns:
            raise InputError(f"there are no truth values of {formula.key!r}")
        return columns[formula.key]
    zero = one ^ one
    if formula.op in ("true", "false"):
        return one if formula.op == "true" else zero
    parts = [truth(part, columns, one=one) for part in formula.operands]
    if formula.op == "card":
        return _count(parts, low=formula.low, high=formula.high, one=one)
    return _combine(formula.op, parts, one)


def _all(parts: Sequence[B], one: B) -> B:
    result = one
    for part in parts:
        result = result & part
    return result


def _any(parts: Sequence[B], one: B) -> B:
    result = one ^ one
    for part in parts:
        result = result | part
    return result


def _odd(parts: Sequence[B], one: B) -> B:
    result = one ^ one
    for part in parts:
        result = result ^ part
    return result


def _count(parts: Sequence[B], *, low: int, high: int | None, one: B) -> B:
    zero = one ^ one
    top = low if high is None else max(low, high + 1)
    # at_least[j]: at least j of the parts seen so far are true.
    at_least = [one, *[zero] * top]
    for part in parts:
        for j in range(top, 0, -1):
            at_least[j] = at_least[j] | (at_least[j - 1] & part)
    if high is None:
        return at_least[low]
    return at_least[low] & (at_least[high + 1] ^ one)


def _combine(op: Op, parts: Sequence[B], one: B) -> B:
    if op == "and":
        return _all(parts, one)
    if op == "or":
        return _any(parts, one)
    if op == "implies":
        return (parts[0] ^ one) | parts[1]
    if op == "all_equal":
        return _all(parts, one) | (_any(parts, one) ^ one)
    # What is left counts the parts modulo 2; of these, not, iff and even hold where that is 0.
    odd = _odd(parts, one)
    return odd if op in ("xor", "odd") else odd ^ one


def truth_table(formula: Formula, names: Sequence[str]) -> int:
    """Return the truth of a formula under all assignments, as the bits of one integer.

    Bit ``a`` is the truth under the assignment in which variable ``i`` is bit ``i`` of ``a``.

    Raises:
        InputError: More variables than `MAX_VARIABLES`.
    """
    n = len(names)
    if n > MAX_VARIABLES:
        raise InputError(f"a truth table has at most {MAX_VARIABLES} variables, got {n}")
    one = (1 << (1 << n)) - 1
    # Below 2^i zeros and then as many ones, again and again: one / (2^(2^i) + 1) marks the zeros.
    columns = {name: one ^ (one // ((1 << (1 << i)) + 1)) for i, name in enumerate(names)}
    return truth(formula, columns, one=one)


def models(table: int, n: int) -> Bool[np.ndarray, "m n"]:
    """Return the assignments in which a truth table holds, one a row, in counting order."""
    raw = np.frombuffer(table.to_bytes(max(1, (1 << n) // 8), "little"), dtype=np.uint8)
    where: UInt8[np.ndarray, "a"] = np.unpackbits(raw, bitorder="little")[: 1 << n]
    ids = np.flatnonzero(where)
    return np.asarray((ids[:, None] >> np.arange(n)) & 1 == 1)
