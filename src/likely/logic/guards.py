"""Guards: conditions on the columns of data set rows, read as Python and never run as such."""

import ast
from collections.abc import Callable, Mapping

from likely.errors import InputError

Value = str | int | float | bool | None
"""What a guard computes with; columns that hold lists stand to the right of ``in``."""

# Values that cannot be compared raise a TypeError, which `_compare` turns into a message.
_COMPARE: Mapping[type[ast.cmpop], Callable[..., bool]] = {
    ast.Eq: lambda left, right: left == right,
    ast.NotEq: lambda left, right: left != right,
    ast.Lt: lambda left, right: left < right,
    ast.LtE: lambda left, right: left <= right,
    ast.Gt: lambda left, right: left > right,
    ast.GtE: lambda left, right: left >= right,
    ast.In: lambda left, right: left in right,
    ast.NotIn: lambda left, right: left not in right,
}


def normal_guard(text: str) -> str:
    """Return a guard in its one normal spelling.

    A guard is built of columns (``lang``, or ``r.lang`` for the bound row ``r``), texts, numbers,
    ``True``, ``False`` and ``None``, lists of these, comparisons, ``in``, ``and``, ``or``, ``not``.

    Raises:
        InputError: Anything else stands in it.

    >>> normal_guard('r.lang=="en" and r.id<s.id')
    "r.lang == 'en' and r.id < s.id"
    """
    return ast.unparse(_read(text))


def guard_holds(text: str, scope: Mapping[str, object]) -> bool:
    """Return whether a guard holds for the columns and rows in ``scope``.

    Args:
        text: The guard.
        scope: Column values by name; a bound row is a mapping of its columns.

    Raises:
        InputError: A column is missing, or values cannot be compared.

    >>> guard_holds("kind in ['safe', 'odd'] and not n > 3", {"kind": "safe", "n": 2})
    True
    """
    value = _value(_read(text).body, text, scope)
    if not isinstance(value, bool):
        raise InputError(f"the guard {text!r} is a condition, got the value {value!r}; compare it")
    return value


def _read(text: str) -> ast.Expression:
    try:
        tree = ast.parse(text.strip(), mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise InputError(f"the guard {text!r} cannot be read: {error}") from None
    for node in ast.walk(tree):
        if not isinstance(node, _ALLOWED):
            raise InputError(
                f"a guard compares columns and constants (== != < <= > >= in, and, or, not); "
                f"{text!r} holds {ast.unparse(node) or type(node).__name__!r}"
            )
    return tree


_ALLOWED = (
    ast.Expression, ast.BoolOp, ast.And, ast.Or, ast.UnaryOp, ast.Not, ast.USub, ast.Compare,
    *_COMPARE, ast.Name, ast.Load, ast.Attribute, ast.Constant, ast.List, ast.Tuple,
)  # fmt: skip


def _value(node: ast.expr, text: str, scope: Mapping[str, object]) -> object:
    match node:
        case ast.Constant(value=value):
            return value
        case ast.Name(id=name):
            return _lookup(scope, name, text)
        case ast.Attribute(value=owner, attr=name):
            row = _value(owner, text, scope)
            if not isinstance(row, Mapping):
                raise InputError(f"the guard {text!r}: {ast.unparse(owner)!r} is not a bound row")
            return _lookup(row, name, text)
        case ast.List(elts=parts) | ast.Tuple(elts=parts):
            return [_value(part, text, scope) for part in parts]
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return not _truth(operand, text, scope)
        case ast.UnaryOp(operand=ast.Constant(value=int() | float() as number)):
            return -number
        case ast.BoolOp(op=ast.And(), values=parts):
            return all(_truth(part, text, scope) for part in parts)
        case ast.BoolOp(values=parts):
            return any(_truth(part, text, scope) for part in parts)
        case ast.Compare():
            return _compare(node, text, scope)
    raise InputError(f"the guard {text!r} holds {ast.unparse(node)!r}, which is not a condition")


def _truth(node: ast.expr, text: str, scope: Mapping[str, object]) -> bool:
    value = _value(node, text, scope)
    if not isinstance(value, bool):
        raise InputError(
            f"the guard {text!r}: {ast.unparse(node)!r} is {value!r}, not a condition; compare it"
        )
    return value


def _compare(node: ast.Compare, text: str, scope: Mapping[str, object]) -> bool:
    left = _value(node.left, text, scope)
    for sign, part in zip(node.ops, node.comparators, strict=True):
        right = _value(part, text, scope)
        try:
            is_true = _COMPARE[type(sign)](left, right)
        except TypeError:
            raise InputError(f"the guard {text!r} cannot compare {left!r} with {right!r}") from None
        if not is_true:
            return False
        left = right
    return True


def _lookup(scope: Mapping[str, object], name: str, text: str) -> object:
    if name not in scope:
        raise InputError(f"the guard {text!r} names {name!r}; there are {sorted(scope)}")
    return scope[name]
