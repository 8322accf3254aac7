"""Truth of a formula under many assignments at once, as the bits of one Python integer."""

from collections.abc import Mapping, Sequence

import numpy as np
from jaxtyping import Bool

from likely.errors import InputError
from likely.logic.formula import Formula, Op

MAX_VARIABLES = 20
"""Beyond 2 ** 20 assignments a table no longer pays."""


def truth(formula: Formula, columns: Mapping[str, int], *, one: int) -> int:
    """Return the assignments, as bits, under which a ground formula holds.

    Args:
        formula: Without quantifiers.
        columns: For each variable the assignments in which it is true, as bits.
        one: All assignments: as many ones as there are.

    Raises:
        InputError: A variable has no column, or the formula ranges over rows.

    >>> from likely.logic.parser import parse
    >>> bin(truth(parse("a ^ b"), {"a": 0b1010, "b": 0b1100}, one=0b1111))
    '0b110'
    """
    if formula.domain is not None:
        raise InputError(f"{str(formula)!r} ranges over rows; ground it on a data set first")
    if formula.op == "var":
        if formula.key not in columns:
            raise InputError(f"there are no truth values of {formula.key!r}")
        return columns[formula.key]
    parts = [truth(part, columns, one=one) for part in formula.operands]
    if formula.op == "card":
        return _count(parts, low=formula.low, high=formula.high, one=one)
    return _combine(formula.op, parts, one)


def truth_of_rows(
    formula: Formula, samples: Bool[np.ndarray, "S n"], *, names: Sequence[str]
) -> Bool[np.ndarray, "S"]:
    """Return whether a ground formula holds in each row of a matrix of truth values.

    Args:
        formula: Without quantifiers.
        samples: One assignment a row.
        names: The variable of each column.

    Raises:
        InputError: As for `truth`.
    """
    n_rows = len(samples)
    one = (1 << n_rows) - 1
    found = truth(formula, dict(zip(names, pack(samples.T), strict=True)), one=one)
    return unpack(found, n_rows)


def pack(columns: Bool[np.ndarray, "n S"]) -> list[int]:
    """Return each row of a matrix as the bits of an integer, the first entry the lowest."""
    packed = np.packbits(columns, axis=1, bitorder="little")
    return [int.from_bytes(row.tobytes(), "little") for row in packed]


def unpack(bits: int, n_bits: int) -> Bool[np.ndarray, "S"]:
    """Return the bits of an integer as an array, the lowest first."""
    raw = np.frombuffer(bits.to_bytes((n_bits + 7) // 8, "little"), dtype=np.uint8)
    return np.unpackbits(raw, count=n_bits, bitorder="little").astype(np.bool_)


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
    # one / (2^(2^i) + 1) has 2^i ones, then as many zeros, again and again: where bit i is 0.
    columns = {name: one ^ (one // ((1 << (1 << i)) + 1)) for i, name in enumerate(names)}
    return truth(formula, columns, one=one)


def models(table: int, n: int) -> Bool[np.ndarray, "m n"]:
    """Return the assignments in which a truth table holds, one a row, in counting order."""
    ids = np.flatnonzero(unpack(table, 1 << n))
    return np.asarray((ids[:, None] >> np.arange(n)) & 1 == 1)


def _count(parts: Sequence[int], *, low: int, high: int | None, one: int) -> int:
    top = low if high is None else max(low, high + 1)
    # at_least[j]: where at least j of the parts so far are true.
    at_least = [one, *[0] * top]
    for part in parts:
        for j in range(top, 0, -1):
            at_least[j] |= at_least[j - 1] & part
    return at_least[low] if high is None else at_least[low] & ~at_least[high + 1]


def _combine(op: Op, parts: Sequence[int], one: int) -> int:
    every, some, odd = one, 0, 0
    for part in parts:
        every, some, odd = every & part, some | part, odd ^ part
    if op in ("and", "true"):
        return every
    if op in ("or", "false"):
        return some
    if op == "implies":
        return (parts[0] ^ one) | parts[1]
    if op == "all_equal":
        return every | (some ^ one)
    # What is left asks for the count modulo 2: not, iff and even for 0, xor and odd for 1.
    return odd if op in ("xor", "odd") else odd ^ one
