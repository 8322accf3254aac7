"""The cost of moving one law onto another: on the line, and where all moves cost the same.

Both are closed forms. Positions and probabilities are arguments of their own, so that neither can
be taken for the other. Many laws may stand end to end, parted by ``offsets``
(`likely.stats.ragged`). Unit: that of the positions.
"""

import numpy as np
from jaxtyping import Float, Int

from likely.errors import InputError, ShapeError
from likely.stats.ragged import check_pair, law_of, partial_sums, sums


def wasserstein_line(
    values: Float[np.ndarray, "M"],
    p: Float[np.ndarray, "K"],
    q: Float[np.ndarray, "L"],
    *,
    offsets: Int[np.ndarray, "N1"] | None = None,
) -> Float[np.ndarray, "N"]:
    """Return the least mean distance over which one law is moved onto the other.

    On the line it is the area between the two distribution functions.

    Args:
        values: Position of each outcome, finite, in any order.
        p: Probability of each outcome under one law.
        q: Under the other.
        offsets: Where each law begins.

    Returns:
        Shape ``(N,)``, between 0 and the range of the values.

    Raises:
        ShapeError: Arrays of different lengths.
        InputError: A value that is not finite, or a law that does not sum to 1.

    >>> places = np.array([0.0, 1.0, 2.0])
    >>> wasserstein_line(places, np.array([0.5, 0.5, 0.0]), np.array([0.2, 0.3, 0.5])).round(9)
    array([0.8])
    """
    offsets = _check(values, p, q, offsets)
    order = np.lexsort((values, law_of(offsets)))
    gaps = partial_sums((p - q)[order], offsets)
    steps = np.diff(values[order], append=0.0)
    steps[offsets[1:] - 1] = 0.0
    return sums(np.abs(gaps) * steps, offsets)


def wasserstein_discrete(
    p: Float[np.ndarray, "M"],
    q: Float[np.ndarray, "K"],
    *,
    offsets: Int[np.ndarray, "N1"] | None = None,
    distance: float = 1.0,
) -> Float[np.ndarray, "N"]:
    """Return the cost of moving one law onto the other where any two outcomes are as far apart.

    It is ``distance`` times the total variation.

    Args:
        p: Probability of each outcome under one law.
        q: Under the other.
        offsets: Where each law begins.
        distance: Between two outcomes: 1, or the square root of 2 for one-hot vectors.

    Raises:
        ShapeError: Arrays of different lengths.
        InputError: A law that does not sum to 1, or a distance that is not positive.

    >>> wasserstein_discrete(np.array([0.5, 0.5]), np.array([0.25, 0.75]))
    array([0.25])
    """
    if not 0.0 < distance < np.inf:
        raise InputError(f"a distance is positive and finite, got {distance!r}")
    offsets = check_pair(p, q, offsets)
    return distance * 0.5 * sums(np.abs(p - q), offsets)


def _check(
    values: Float[np.ndarray, "M"],
    p: Float[np.ndarray, "K"],
    q: Float[np.ndarray, "L"],
    offsets: Int[np.ndarray, "N1"] | None,
) -> Int[np.ndarray, "N2"]:
    if not len(values) == len(p) == len(q):
        raise ShapeError(
            f"values and both laws have one entry an outcome, got lengths {len(values)}, {len(p)} "
            f"and {len(q)}"
        )
    if not np.isfinite(values).all():
        bad = float(values[~np.isfinite(values)][0])
        raise InputError(f"values are places on the line, got {bad!r}")
    return check_pair(p, q, offsets)
