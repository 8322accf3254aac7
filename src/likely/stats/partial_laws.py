"""What is known about the entropy of a law when only part of its mass has been placed. Nats."""

import math

import numpy as np
from jaxtyping import Float, Int

from likely.errors import InputError

_SLACK = 1e-9  # what rounding may put a sum of masses above 1


def entropy_bounds(
    masses: Float[np.ndarray, "k"], *, rest: float, n_more: int
) -> tuple[float, float]:
    """Return the least and the most entropy of a law that has at least these masses.

    The rest of the mass may lie anywhere: with the k outcomes, or with others. The entropy is
    least where all of it joins the largest mass, which majorises every other way, and most where
    it fills the lowest ones up to one level.

    Args:
        masses: Shape ``(k,)``: known mass of each outcome; may be none.
        rest: Mass that is not placed; with the masses it sums to 1.
        n_more: How many other outcomes there may be.

    Returns:
        Both ends, nats.

    Raises:
        InputError: Masses that do not sum to 1 with the rest, or no outcome that could take it.

    >>> low, high = entropy_bounds(np.array([0.5, 0.25]), rest=0.25, n_more=1)
    >>> round(low, 6), round(high, 6)
    (0.562335, 1.039721)
    """
    total = float(masses.sum()) + rest
    is_law = masses.min(initial=0.0) >= 0.0 and rest >= 0.0 and abs(total - 1.0) <= _SLACK
    if not is_law or n_more < 0:
        raise InputError(
            f"known masses and the rest are parts of a law that sums to 1, got {masses!r}, "
            f"{rest!r} and {n_more!r} other outcomes"
        )
    if rest > _SLACK and not len(masses) + n_more:
        raise InputError(f"a mass of {rest!r} is left and no outcome to take it")
    if rest == 0.0:
        known = _sum_of_terms(masses)
        return known, known
    least = np.sort(masses)
    if not len(least):
        least = np.zeros(1)
    least[-1] += rest
    return _sum_of_terms(least), _most(masses, rest, n_more)


def _most(masses: Float[np.ndarray, "k"], rest: float, n_more: int) -> float:
    levels = np.concatenate([np.zeros(1), np.sort(masses)])
    counts = np.concatenate([[n_more], np.ones(len(masses))])
    n_under = np.cumsum(counts)
    with np.errstate(divide="ignore"):
        filled = (rest + np.cumsum(counts * levels)) / n_under
    # The water stands above the outcomes up to the first whose next one is at least as high.
    above = np.append(levels[1:], np.inf)
    at = int(np.argmax((filled <= above) & (n_under > 0)))
    level = float(filled[at])
    return -float(n_under[at]) * level * math.log(level) + _sum_of_terms(levels[at + 1 :])


def _sum_of_terms(masses: Float[np.ndarray, "k"]) -> float:
    some = masses[masses > 0.0]
    return max(0.0, -float(np.sum(some * np.log(some))))


def entropy_of_counts(counts: Int[np.ndarray, "k"] | Float[np.ndarray, "k"]) -> float:
    """Return the entropy of the frequencies, nats: of draws, on average less than of their law.

    Args:
        counts: How often each outcome came, or its weight; not all 0.

    Raises:
        InputError: A negative count, or none above 0.

    >>> round(entropy_of_counts(np.array([2, 1])), 4)
    0.6365
    """
    total = float(counts.sum())
    if not total > 0.0 or float(counts.min()) < 0.0:
        raise InputError(f"counts are at least 0 and not all 0, got {counts!r}")
    return _sum_of_terms(counts / total)
