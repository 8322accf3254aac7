"""Natural cubic splines: smooth curves that are straight beyond their outer knots. Unit: none."""

import numpy as np
from jaxtyping import Float

from likely.errors import InputError


def natural_spline(x: Float[np.ndarray, " N"], *, df: int = 4) -> Float[np.ndarray, "N D"]:
    """Return columns that, with a constant, span the natural cubic splines with ``df + 1`` knots.

    The outer knots are the extremes, the others stand at quantiles; knots that coincide count
    once, so that few distinct values give fewer columns.

    Args:
        x: Finite.
        df: Columns, at least 1; one alone is a straight line.

    Raises:
        InputError: A number that is not finite, or a ``df`` below 1.

    >>> natural_spline(np.linspace(0.0, 1.0, 9)).shape
    (9, 4)
    """
    if df < 1 or not len(x) or not np.isfinite(x).all():
        raise InputError(f"a spline needs finite numbers and df >= 1, got {len(x)} and {df!r}")
    spread = float(np.ptp(x))
    if spread == 0.0:
        return np.zeros((len(x), 1))
    unit = (x - x.min()) / spread
    knots = np.unique(np.quantile(unit, np.linspace(0.0, 1.0, df + 1)))
    columns = [unit]
    if len(knots) > 2:
        last = _bend(unit, knots[-2], knots[-1])
        columns += [_bend(unit, knot, knots[-1]) - last for knot in knots[:-2]]
    return np.stack(columns, axis=1)


def _bend(x: Float[np.ndarray, " N"], knot: float, end: float) -> Float[np.ndarray, " N"]:
    cubes = np.maximum(x - knot, 0.0) ** 3 - np.maximum(x - end, 0.0) ** 3
    return np.asarray(cubes / (end - knot))
