"""Means over some items of a figure, with intervals over what the items were drawn from.

Unit: that of the numbers.
"""

import math

import numpy as np
import pandas as pd
from jaxtyping import Float

from likely.calibration.analyses.units import sampling_units
from likely.stats.pigeonhole import pigeonhole_bootstrap_many


def mean_of(
    values: Float[np.ndarray, " N"],
    items: pd.DataFrame,
    *,
    denominators: Float[np.ndarray, " N"] | None = None,
    highest: float = math.inf,
    seed: int = 0,
) -> tuple[float, float, float]:
    """Return a mean, or a ratio of sums, and the ends of its 95 % interval.

    Args:
        values: One number an item, 0 or more.
        items: The same items; columns of `likely.calibration.analyses.units.UNIT_COLUMNS`.
        denominators: What the sum of the values is divided by the sum of; 1 each by default.
        highest: What the mean is at most; with 0 it is where an interval is cut.
        seed: Of the pigeonhole bootstrap over templates, option sets and sets of numbers.

    Returns:
        Value, low, high. The ends are NaN where the items share a single level of each of these,
        or lie too sparsely on them for resamples.
    """
    below = np.ones_like(values) if denominators is None else denominators
    value = float(values.sum() / below.sum())
    (found,) = pigeonhole_bootstrap_many(
        values[:, None], sampling_units(items), denominators=below[:, None], seed=seed
    )
    if found is None:
        return value, math.nan, math.nan
    return value, max(0.0, found.low), min(highest, found.high)
