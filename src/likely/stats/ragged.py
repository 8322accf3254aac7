"""Many laws of different lengths, end to end in one array: sums over each of them.

``offsets`` tells where the laws begin and where the last one ends, as in
``likely.calibration.tables``; None stands for one law that fills the array. Unit: that of the
terms.
"""

import numpy as np
from jaxtyping import Bool, Float, Int

from likely.errors import InputError, NumericalError, ShapeError

SUM_TOLERANCE = 1e-6
"""How far from 1 the probabilities of a law may sum: what a model in float32 gives."""


def check_offsets(offsets: Int[np.ndarray, "N1"] | None, n: int) -> Int[np.ndarray, "N1"]:
    """Return where ``n`` entries are parted into laws.

    Args:
        offsets: Shape ``(N + 1,)``, ascending from 0 to ``n``; None for one law.
        n: Entries of all laws together.

    Raises:
        ShapeError: The offsets do not part ``n`` entries into laws of at least one entry.

    >>> check_offsets(None, 3)
    array([0, 3])
    """
    if offsets is None:
        offsets = np.array([0, n], dtype=np.int64)
    if len(offsets) < 2 or offsets[0] != 0 or offsets[-1] != n or np.diff(offsets).min() < 1:
        raise ShapeError(
            f"offsets ascend from 0 to the number of entries, {n}, and no law is empty; "
            f"got {len(offsets)} offsets, {offsets[:3].tolist()}...{offsets[-3:].tolist()}"
        )
    return offsets


def law_of(offsets: Int[np.ndarray, "N1"]) -> Int[np.ndarray, "M"]:
    """Return the law of each entry.

    >>> law_of(np.array([0, 2, 3]))
    array([0, 0, 1])
    """
    return np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))


def place_in_law(offsets: Int[np.ndarray, "N1"]) -> Int[np.ndarray, "M"]:
    """Return the place of each entry in its law, from 0.

    >>> place_in_law(np.array([0, 2, 3]))
    array([0, 1, 0])
    """
    return np.asarray(np.arange(int(offsets[-1])) - offsets[law_of(offsets)])


def has_nan(
    values: Float[np.ndarray, "M"], offsets: Int[np.ndarray, "N1"]
) -> Bool[np.ndarray, "N"]:
    """Return which laws have an entry that is NaN.

    >>> has_nan(np.array([np.nan, 0.0, 1.0]), np.array([0, 2, 3]))
    array([ True, False])
    """
    return np.asarray(np.logical_or.reduceat(np.isnan(values), offsets[:-1]))


def taken(
    offsets: Int[np.ndarray, "N1"], places: Int[np.ndarray, "_"]
) -> tuple[Int[np.ndarray, "M"], Int[np.ndarray, "K1"]]:
    """Return where the entries of some laws stand, and the offsets of those laws alone.

    Args:
        offsets: Of all laws.
        places: Of those that are taken, in the order that is wanted.

    >>> taken(np.array([0, 2, 3, 6]), np.array([2, 0]))
    (array([3, 4, 5, 0, 1]), array([0, 3, 5]))
    """
    lengths = np.diff(offsets)[places]
    own = np.concatenate([[0], np.cumsum(lengths)])
    index = np.repeat(offsets[:-1][places] - own[:-1], lengths) + np.arange(own[-1])
    return index, own


def sums(terms: Float[np.ndarray, "M"], offsets: Int[np.ndarray, "N1"]) -> Float[np.ndarray, "N"]:
    """Return the sum over each law.

    >>> sums(np.array([1.0, 2.0, 4.0]), np.array([0, 2, 3]))
    array([3., 4.])
    """
    return np.asarray(np.add.reduceat(terms, offsets[:-1]))


def log_sums(
    log_terms: Float[np.ndarray, "M"], offsets: Int[np.ndarray, "N1"]
) -> Float[np.ndarray, "N"]:
    """Return the log of the sum over each law, without overflow or underflow.

    Args:
        log_terms: Nats, below ``+inf``; ``-inf`` is allowed.
        offsets: As above.

    Returns:
        Nats; ``-inf`` where every entry is.

    Raises:
        NumericalError: An entry is NaN or ``+inf``.

    >>> log_sums(np.array([-800.0, -800.0, 0.0]), np.array([0, 2, 3])).round(6)
    array([-799.306853,    0.      ])
    """
    top = np.maximum.reduceat(log_terms, offsets[:-1])
    if not np.all(top < np.inf):
        law = int(np.flatnonzero(~(top < np.inf))[0])
        raise NumericalError(
            f"law {law}: log-probabilities are below inf, got a maximum of {float(top[law])!r}; "
            "check the model (likely self-check)"
        )
    shift = np.where(np.isneginf(top), 0.0, top)
    total = sums(np.exp(log_terms - shift[law_of(offsets)]), offsets)
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(total) + shift)


def partial_sums(
    terms: Float[np.ndarray, "M"], offsets: Int[np.ndarray, "N1"]
) -> Float[np.ndarray, "M"]:
    """Return the sum up to and with each entry, begun anew in each law.

    The rounding of one law does not reach the next where each law's terms sum to about 0, as the
    differences of two laws do.

    >>> partial_sums(np.array([0.5, -0.5, 0.25, -0.25]), np.array([0, 2, 4]))
    array([0.5 , 0.  , 0.25, 0.  ])
    """
    running = np.cumsum(terms)
    before = np.concatenate([[0.0], running[offsets[1:-1] - 1]])
    return np.asarray(running - before[law_of(offsets)])


def check_laws(probs: Float[np.ndarray, "M"], offsets: Int[np.ndarray, "N1"], *, what: str) -> None:
    """Raise unless every law has probabilities that sum to 1, within `SUM_TOLERANCE`.

    Raises:
        InputError: An entry is negative or NaN, or a sum is off.
    """
    if not np.all(probs >= 0.0):
        bad = int(np.flatnonzero(~(probs >= 0.0))[0])
        raise InputError(f"{what}: entry {bad} is no probability, got {float(probs[bad])!r}")
    totals = sums(probs, offsets)
    off = ~(np.abs(totals - 1.0) <= SUM_TOLERANCE)
    if off.any():
        bad = int(np.flatnonzero(off)[0])
        raise InputError(
            f"{what}: law {bad} must sum to 1, got {float(totals[bad])!r}; renormalise it, and "
            "report the mass that it lacked"
        )


def check_pair(
    p: Float[np.ndarray, "M"], q: Float[np.ndarray, "K"], offsets: Int[np.ndarray, "N1"] | None
) -> Int[np.ndarray, "N2"]:
    """Return where two laws over the same outcomes are parted, once both are checked.

    Raises:
        InputError: As `check_laws`.
        ShapeError: Arrays of different lengths, or as `check_offsets`.
    """
    if len(p) != len(q):
        raise ShapeError(f"both laws have the same outcomes, got {len(p)} and {len(q)}")
    offsets = check_offsets(offsets, len(p))
    check_laws(p, offsets, what="p")
    check_laws(q, offsets, what="q")
    return offsets
