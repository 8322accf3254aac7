"""Strict JSON in which infinities survive: ``-inf`` is the string ``"-inf"``; NaN is refused."""

import json
import math
from collections.abc import Mapping, Sequence

import numpy as np

from likely.errors import InputError, NumericalError

_INFINITIES = {"-inf": -math.inf, "inf": math.inf}


def encode(value: object) -> object:
    """Return ``value`` as plain JSON types, with infinities as ``"-inf"`` and ``"inf"``.

    Raises:
        NumericalError: A number is NaN.
        InputError: A value of a type that JSON does not have.

    >>> encode({"log_prob": float("-inf"), "tokens": (1, 2)})
    {'log_prob': '-inf', 'tokens': [1, 2]}
    """
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        if math.isnan(value):
            raise NumericalError("NaN has no place in a result; find where it came from")
        return value if math.isfinite(value) else ("inf" if value > 0 else "-inf")
    if isinstance(value, np.ndarray):
        return encode(value.tolist())
    if isinstance(value, Mapping):
        return {str(key): encode(item) for key, item in value.items()}
    if isinstance(value, frozenset | set):
        return [encode(item) for item in sorted(value)]
    if isinstance(value, Sequence):
        return [encode(item) for item in value]
    raise InputError(f"cannot write {type(value).__name__} as JSON: {value!r}")


def dumps(value: object, *, indent: int | None = None) -> str:
    """Return strict JSON text of ``value``.

    >>> dumps([0.5, float("-inf"), None])
    '[0.5, "-inf", null]'
    """
    return json.dumps(encode(value), allow_nan=False, ensure_ascii=False, indent=indent)


def number(value: object) -> float | None:
    """Return a number that `encode` wrote: a float, an infinity, or None for null.

    Raises:
        InputError: Anything else.

    >>> number("-inf")
    -inf
    """
    if value is None:
        return None
    if isinstance(value, str) and value in _INFINITIES:
        return _INFINITIES[value]
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float(value)
    raise InputError(f"expected a number, null, 'inf' or '-inf', got {value!r}")
