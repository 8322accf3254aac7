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


UNIT_COLUMNS = ("family", "template", "option_set", "scale", "number_pair")
"""Columns of a table of items that say what each was drawn from; see `sampling_units`."""


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
    families, scales, notations and orders are fixed. A factor that is nested in another, as the
    options of a word problem are in its template, comes with the levels of that one and is not
    drawn besides: the same chance would count twice.

    Args:
        frame: With `UNIT_COLUMNS`.

    Returns:
        The level of each item by factor: of ``template``, ``option_set`` and ``number_pair``
        those that are not nested in another; of two that part the items alike, the last.
    """
    within = {"template": "family", "option_set": "family", "number_pair": "scale"}
    found = {name: codes(frame, [home, name]) for name, home in within.items()}
    for name in ("option_set", "number_pair", "template"):
        others = [other for other in found if other != name]
        if any(_is_nested(found[name], found[other]) for other in others):
            del found[name]
    return found


def number_codes(frame: pd.DataFrame) -> Int[np.ndarray, " N"]:
    """Return a number for each set of numbers of a scale: the clusters of analyses by number."""
    return codes(frame, ["scale", "number_pair"])


def _is_nested(inner: Int[np.ndarray, " N"], outer: Int[np.ndarray, " N"]) -> bool:
    """Return whether each level of a factor lies in one level of another, which has several."""
    pairs = np.unique(np.stack([inner, outer], axis=1), axis=0)
    return len(pairs) == len(np.unique(inner)) and len(np.unique(outer)) > 1


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
