"""What else than its value a number brings into a question: roundness, digits, tokens.

Unit: counts.
"""

from collections.abc import Callable

import numpy as np
import pandas as pd
from jaxtyping import Float

from likely.errors import InputError

FEATURES = ("n_round5", "n_round10", "n_repeated", "digit_difference")
"""The covariates that every pair of numbers has."""


def number_features(
    frame: pd.DataFrame, *, count_tokens: Callable[[int], int] | None = None
) -> pd.DataFrame:
    """Return what the two numbers of an item look like.

    Args:
        frame: Items; columns ``n1, n2``.
        count_tokens: How many tokens a number takes; the columns of tokens are left out without.

    Returns:
        With the index of the frame: how many of the two are multiples of 5 and of 10 (``n_round5``,
        ``n_round10``), how many repeat one digit (``n_repeated``: 77, 333), by how many digits they
        differ in length (``digit_difference``), the last digit of the larger and of the smaller
        (``last_high``, ``last_low``), and their tokens together and apart (``n_tokens``,
        ``token_difference``: larger less smaller). NaN where a number is missing or not whole.
    """
    numbers = frame[["n1", "n2"]].to_numpy(dtype=float)
    whole = np.isfinite(numbers).all(axis=1)
    whole &= (np.where(np.isfinite(numbers), numbers, 0.5) % 1.0 == 0.0).all(axis=1)
    known = numbers[whole].astype(np.int64)
    high, low = known.max(axis=1), known.min(axis=1)
    unique = np.unique(known)
    columns: dict[str, Float[np.ndarray, " M"]] = {
        "n_round5": (known % 5 == 0).sum(axis=1).astype(np.float64),
        "n_round10": (known % 10 == 0).sum(axis=1).astype(np.float64),
        "n_repeated": _each(unique, known, _is_repeated).sum(axis=1),
        "digit_difference": np.abs(np.diff(_each(unique, known, _n_digits), axis=1))[:, 0],
        "last_high": (high % 10).astype(np.float64),
        "last_low": (low % 10).astype(np.float64),
    }
    if count_tokens is not None:
        pair = np.stack([high, low], axis=1)
        tokens = _each(unique, pair, count_tokens)
        columns["n_tokens"] = tokens.sum(axis=1)
        columns["token_difference"] = tokens[:, 0] - tokens[:, 1]
    found = pd.DataFrame(np.nan, index=frame.index, columns=list(columns))
    found.loc[whole] = np.stack(list(columns.values()), axis=1)
    return found


def varying(features: pd.DataFrame) -> pd.DataFrame:
    """Return the columns that differ between items: the others explain nothing.

    Raises:
        InputError: None does.
    """
    kept = [name for name in features.columns if features[name].nunique() > 1]
    if not kept:
        raise InputError(f"none of the features {list(features.columns)!r} varies between items")
    return features[kept]


def _each(
    unique: np.ndarray, numbers: np.ndarray, function: Callable[[int], int]
) -> Float[np.ndarray, "M 2"]:
    table = np.array([function(int(n)) for n in unique], dtype=np.float64)
    return np.asarray(table[np.searchsorted(unique, numbers)]) if len(unique) else np.empty((0, 2))


def _is_repeated(number: int) -> int:
    digits = str(number)
    return int(len(digits) > 1 and len(set(digits)) == 1)


def _n_digits(number: int) -> int:
    return len(str(abs(number)))
