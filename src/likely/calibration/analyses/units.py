"""What the analyses share: their table, the units that items are sampled from, and log-odds.

Unit: log-odds in nats.
"""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from jaxtyping import Float, Int

from likely.errors import InputError

CLIP = 1e-9
"""Probabilities nearer than this to 0 or 1 count as this far in log-odds; they are counted."""


def check_frame(frame: pd.DataFrame, columns: Sequence[str]) -> None:
    """Raise unless a table of items has these columns and holds one model.

    Raises:
        InputError: A column is missing, there are no items, or several models.
    """
    missing = [name for name in columns if name not in frame.columns]
    if missing or not len(frame):
        raise InputError(
            f"the table needs items with the columns {list(columns)}, got {len(frame)} items "
            f"without {missing}"
        )
    if "model" in frame.columns and frame["model"].nunique() > 1:
        raise InputError(
            f"this analysis takes one model at a time, got {sorted(frame['model'].unique())!r}; "
            "call it for each group of frame.groupby('model')"
        )


def sampling_units(frame: pd.DataFrame) -> dict[str, Int[np.ndarray, " N"]]:
    """Return the random factors of items: what another study would draw anew.

    Templates and sets of options count within their family, pairs of numbers within their scale;
    families, scales, notations and orders are fixed. Where the numbers or the template name the
    options, as with ranges of integers, an option set is not drawn besides: drawing the same units
    twice would make an interval wider by the square root of 3.

    Args:
        frame: Columns ``family, template, option_set, scale, number_pair``.

    Returns:
        ``template``, ``option_set`` and ``number_pair``: the level of each item. There is no
        ``option_set`` if it parts the items just as one of the others does.
    """
    within = {"template": "family", "option_set": "family", "number_pair": "scale"}
    found = {name: codes(frame, [home, name]) for name, home in within.items()}
    options = found["option_set"]
    if any(_is_same(options, found[name]) for name in ("template", "number_pair")):
        del found["option_set"]
    return found


def _is_same(one: Int[np.ndarray, " N"], other: Int[np.ndarray, " N"]) -> bool:
    """Return whether two factors part the items alike, into more than one part."""
    n_parts = len(np.unique(one))
    both = np.unique(np.stack([one, other], axis=1), axis=0)
    return n_parts == len(np.unique(other)) == len(both) > 1


def codes(frame: pd.DataFrame, columns: Sequence[str]) -> Int[np.ndarray, " N"]:
    """Return a number for each combination of columns, the same for items that share it."""
    grouped = frame.groupby(list(columns), sort=True, dropna=False)
    return np.asarray(grouped.ngroup(), dtype=np.int64)


def clipped_log_odds(
    probs: Float[np.ndarray, " N"], *, clip: float = CLIP
) -> tuple[Float[np.ndarray, " N"], int]:
    """Return log-odds, and how many probabilities were moved off 0 or 1 for them.

    Args:
        probs: In [0, 1].
        clip: The least distance from 0 and 1.

    >>> clipped_log_odds(np.array([0.5, 1.0]))[1]
    1
    """
    near = (probs < clip) | (probs > 1.0 - clip)
    kept = np.clip(probs, clip, 1.0 - clip)
    return np.log(kept) - np.log1p(-kept), int(near.sum())
