"""Columns of regressions on items of two options: strengths of options, effects of templates.

Unit: none.
"""

import numpy as np
import pandas as pd
from jaxtyping import Float, Int
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components

from likely.calibration.analyses.units import check_frame
from likely.errors import InputError

_COLUMNS = (
    "family", "template", "scale", "higher", "number_pair", "option_pair", "option_set", "label1",
    "label2", "p1", "pi1",
)  # fmt: skip


def two_option_items(frame: pd.DataFrame) -> tuple[pd.DataFrame, int]:
    """Return the items of two options with defined probabilities, and how many have none.

    Args:
        frame: One model's items; columns ``family, template, scale, higher, number_pair,
            option_pair, option_set, label1, label2, p1, pi1``.

    Raises:
        InputError: A column is missing, several models, or no such items.
    """
    check_frame(frame, _COLUMNS)
    two = frame[frame["p1"].notna()]
    used = two[two["pi1"].notna()]
    if not len(used):
        raise InputError(f"no item of two options has a defined probability, of {len(frame)}")
    return used, len(two) - len(used)


def option_differences(
    used: pd.DataFrame,
) -> tuple[list[str], Float[np.ndarray, "N O"], Int[np.ndarray, " O"]]:
    """Return the options, a column each, and which of them can be compared.

    Args:
        used: Items of two options; columns ``label1, label2``.

    Returns:
        The options in the alphabet's order; +1 where an item has one as its first and -1 where as
        its second; and a number for each set of options that meet, directly or through others.
    """
    both = np.unique(used[["label1", "label2"]].to_numpy(dtype=str), return_inverse=True)
    options = [str(name) for name in both[0]]
    pair = both[1].reshape(-1, 2)
    rows = np.arange(len(used))
    differences = np.zeros((len(used), len(options)))
    differences[rows, pair[:, 0]] += 1.0
    differences[rows, pair[:, 1]] -= 1.0
    meet = coo_matrix((np.ones(len(pair)), (pair[:, 0], pair[:, 1])), (len(options),) * 2)
    groups = connected_components(meet, directed=False)[1]
    return options, differences, np.asarray(groups, dtype=np.int64)


def balanced_columns(
    columns: Float[np.ndarray, "N O"], groups: Int[np.ndarray, " O"]
) -> tuple[Float[np.ndarray, "N E"], Float[np.ndarray, "O E"]]:
    """Return columns whose coefficients sum to 0 in each group: effect coding.

    Args:
        columns: A column an option.
        groups: The group of each.

    Returns:
        One column fewer a group, and the matrix that takes their coefficients to those of all.
    """
    back = np.zeros((len(groups), 0))
    for group in np.unique(groups):
        members = np.flatnonzero(groups == group)
        part = np.zeros((len(groups), len(members) - 1))
        part[members[:-1], np.arange(len(members) - 1)] = 1.0
        part[members[-1]] = -1.0
        back = np.hstack([back, part])
    return columns @ back, back


def template_columns(
    used: pd.DataFrame,
) -> tuple[list[str], Float[np.ndarray, "N E"], Float[np.ndarray, "O E"]]:
    """Return the templates, their effect-coded columns, and the way back to an effect each."""
    names, which = np.unique(used["template"].to_numpy(dtype=str), return_inverse=True)
    indicator = np.eye(len(names))[which]
    columns, back = balanced_columns(indicator, np.zeros(len(names), dtype=np.int64))
    return [str(name) for name in names], columns, back
