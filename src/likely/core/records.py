"""Frozen dataclasses as plain records and back, led by their annotations. Unit: none.

A record has the fields of its dataclass by name and nothing else, so that a field that is added
to a result is written and read without another line. Arrays are lists or, where a place for them
is given, stay arrays under the path of their field, such as ``places.0.measures.matrix``.
"""

import math
import types
from collections.abc import Mapping, MutableMapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from typing import Any, Literal, TypeVar, Union, cast, get_args, get_origin, get_type_hints

import numpy as np
from jaxtyping import AbstractArray, Bool, Int

from likely.core.jsonio import number
from likely.errors import InputError

Arrays = MutableMapping[str, np.ndarray]
T = TypeVar("T")

_EMPTY_SHAPE = "shape_of_nothing"  # an empty array of several axes, whose lists would lose some


def to_record(value: object, *, arrays: Arrays | None = None) -> dict[str, object]:
    """Return a dataclass as mappings, lists and scalars; `likely.core.jsonio` writes them.

    Args:
        value: A dataclass.
        arrays: If given, takes the arrays by path; null then stands in their place.
    """
    return _record(value, arrays, "")


def from_record(
    kind: type[T], record: object, *, arrays: Mapping[str, np.ndarray] | None = None
) -> T:
    """Return the dataclass that `to_record` took apart.

    Args:
        kind: The dataclass.
        record: As written, from strict JSON or not.
        arrays: Arrays by path, if they were kept apart.

    Raises:
        InputError: A field is missing, unknown, or of another type or shape, named by its path.
    """
    return cast(T, _read(kind, record, arrays, ""))


def _record(value: object, arrays: Arrays | None, path: str) -> dict[str, object]:
    return {
        field.name: _plain(getattr(value, field.name), arrays, _below(path, field.name))
        for field in fields(value)  # type: ignore[arg-type]  # what is passed is a dataclass
    }


def _plain(value: object, arrays: Arrays | None, path: str) -> object:
    if is_dataclass(value):
        return _record(value, arrays, path)
    if isinstance(value, np.ndarray):
        if arrays is not None:
            arrays[path] = value
            return None
        if value.size == 0 and value.ndim > 1:
            return {_EMPTY_SHAPE: list(value.shape)}
        return value.tolist()
    if isinstance(value, Mapping):
        return {str(key): _plain(x, arrays, _below(path, str(key))) for key, x in value.items()}
    if isinstance(value, AbstractSet):
        return sorted(value)
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_plain(x, arrays, _below(path, str(i))) for i, x in enumerate(value)]
    return value


def _below(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


# Hints are types and special forms, of which the typing module has no common type but Any.
def _read(hint: Any, record: object, arrays: Mapping[str, np.ndarray] | None, path: str) -> object:  # noqa: ANN401
    if isinstance(hint, type) and is_dataclass(hint):
        return _dataclass(hint, record, arrays, path)
    if isinstance(hint, type) and issubclass(hint, AbstractArray):
        return _array(hint, record, arrays, path)
    origin = get_origin(hint)
    if origin is Literal:
        if record not in get_args(hint):
            raise _odd(path, f"one of {list(get_args(hint))}", record)
        return record
    if origin in (Union, types.UnionType):
        return _one_of(get_args(hint), record, arrays, path)
    if origin is tuple:
        return _tuple(get_args(hint), record, arrays, path)
    if origin is frozenset:
        return frozenset(_items(get_args(hint)[0], record, arrays, path))
    if origin is not None and issubclass(origin, Mapping):
        if not isinstance(record, Mapping):
            raise _odd(path, "an object", record)
        of_key, inner = get_args(hint)
        return {
            _key(of_key, key, path): _read(inner, item, arrays, _below(path, str(key)))
            for key, item in record.items()
        }
    return _scalar(hint, record, path)


def _key(kind: type, key: object, path: str) -> object:
    """Return a name of an object as what it was: JSON has texts alone."""
    if kind is not int:
        return str(key)
    text = str(key)
    if not (text.isascii() and text.removeprefix("-").isdigit()):
        raise _odd(path, "an object whose names are whole numbers", text)
    return int(text)


def _dataclass(
    kind: type, record: object, arrays: Mapping[str, np.ndarray] | None, path: str
) -> object:
    if not isinstance(record, Mapping):
        raise _odd(path, f"an object with the fields of {kind.__name__}", record)
    hints = _hints(kind)
    known = fields(kind)
    needed = {f.name for f in known if f.default is MISSING and f.default_factory is MISSING}
    odd = [*sorted(needed - set(record)), *sorted(set(record) - {f.name for f in known})]
    if odd:
        what = "missing" if odd[0] in needed else "unknown"
        raise InputError(f"the field {_below(path, odd[0])!r} is {what} in this record")
    values = {name: _read(hints[name], record[name], arrays, _below(path, name)) for name in record}
    _check_shapes(hints, values, path)
    return kind(**values)


@cache
def _hints(kind: type) -> dict[str, Any]:
    return get_type_hints(kind)


def _check_shapes(hints: Mapping[str, Any], values: Mapping[str, object], path: str) -> None:
    """Raise unless axes of one name are of one length in all arrays of a record."""
    lengths: dict[str, int] = {}
    for name, value in values.items():
        if isinstance(value, np.ndarray):
            for axis, length in zip(_axes(hints[name]), value.shape, strict=True):
                if lengths.setdefault(axis, length) != length:
                    raise _odd(_below(path, name), f"{lengths[axis]} along {axis!r}", length)


def _axes(hint: Any) -> list[str]:  # noqa: ANN401
    return str(hint.dim_str).split()


def _array(
    hint: Any, record: object, arrays: Mapping[str, np.ndarray] | None, path: str  # noqa: ANN401
) -> np.ndarray:  # fmt: skip
    dtype = np.int64 if hint.dtype is Int else np.bool_ if hint.dtype is Bool else np.float64
    n_axes = len(_axes(hint))
    if arrays is not None:
        found = arrays.get(path)
        if found is None or found.dtype != dtype:
            raise _odd(path, f"an array of {np.dtype(dtype)}", found)
    elif isinstance(record, Mapping):
        found = np.empty(_items(int, record.get(_EMPTY_SHAPE), None, path), dtype=dtype)
    else:
        inner: Any = {np.int64: int, np.bool_: bool, np.float64: float}[dtype]
        for _ in range(n_axes):
            inner = tuple[inner, ...]
        try:
            found = np.array(_read(inner, record, None, path), dtype=dtype)
        except ValueError as error:
            if isinstance(error, InputError):
                raise
            raise _odd(path, "rows of one length", record) from error
        if n_axes == 1 and not found.size:
            found = found.reshape(0)
    if found.ndim != n_axes:
        raise _odd(path, f"{n_axes} axes", found.shape)
    if dtype is np.float64 and np.isnan(found).any():
        raise _odd(path, "numbers", "NaN")
    return found


def _one_of(
    kinds: Sequence[Any], record: object, arrays: Mapping[str, np.ndarray] | None, path: str
) -> object:
    """Return a value as the first of several types that fits; the text "inf" is a number."""
    if record is None and type(None) in kinds:
        return None
    exact = [kind for kind in kinds if isinstance(kind, type) and type(record) is kind]
    is_infinite = record in ("inf", "-inf") and float in kinds
    for kind in [float] if is_infinite else [*exact, *kinds]:
        try:
            return _read(kind, record, arrays, path)
        except InputError:
            continue
    raise _odd(path, f"one of {[getattr(kind, '__name__', str(kind)) for kind in kinds]}", record)


def _tuple(
    kinds: Sequence[Any], record: object, arrays: Mapping[str, np.ndarray] | None, path: str
) -> tuple[object, ...]:
    if len(kinds) == 2 and kinds[1] is Ellipsis:
        return tuple(_items(kinds[0], record, arrays, path))
    if not isinstance(record, list | tuple) or len(record) != len(kinds):
        raise _odd(path, f"a list of {len(kinds)}", record)
    return tuple(
        _read(kind, item, arrays, _below(path, str(i)))
        for i, (kind, item) in enumerate(zip(kinds, record, strict=True))
    )


def _items(
    kind: Any, record: object, arrays: Mapping[str, np.ndarray] | None, path: str  # noqa: ANN401
) -> list[Any]:  # fmt: skip
    if not isinstance(record, list | tuple):
        raise _odd(path, "a list", record)
    return [_read(kind, item, arrays, _below(path, str(i))) for i, item in enumerate(record)]


def _scalar(kind: Any, record: object, path: str) -> object:  # noqa: ANN401
    if kind is float:
        try:
            value = number(record)
        except InputError as error:
            raise _odd(path, "a number", record) from error
        if value is None or math.isnan(value):
            raise _odd(path, "a number", record)
        return value
    if type(record) is not kind:  # a bool is no int here
        raise _odd(path, f"a value of type {getattr(kind, '__name__', kind)}", record)
    return record


def _odd(path: str, wanted: str, record: object) -> InputError:
    return InputError(f"the field {path!r} is {wanted}, got {str(record)[:60]!r}")
