"""Intervals for an unknown probability from counts."""

from scipy.stats import beta

from likely.errors import InputError


def clopper_pearson(hits: int, n_trials: int, *, level: float = 0.95) -> tuple[float, float]:
    """Return the exact interval of a binomial probability.

    The interval covers the true probability in at least ``level`` of all repetitions, whatever it
    is. With no hit it starts at 0, with nothing but hits it ends at 1.

    Args:
        hits: How often the event happened.
        n_trials: Of how many independent trials, at least 1.
        level: Coverage, in (0, 1).

    Returns:
        Both ends, as probabilities.

    Raises:
        InputError: The counts or the level are out of range.

    Sources:
        Clopper and Pearson (1934), "The use of confidence or fiducial limits illustrated in the
        case of the binomial": each tail gets half of ``1 - level``.

    >>> [round(end, 4) for end in clopper_pearson(0, 100)]
    [0.0, 0.0362]
    """
    if n_trials < 1 or not 0 <= hits <= n_trials:
        raise InputError(
            f"an interval needs 0 <= hits <= n_trials and a trial, got {hits!r} of {n_trials!r}"
        )
    if not 0.0 < level < 1.0:
        raise InputError(f"the level of an interval lies in (0, 1), got {level!r}")
    tail = (1.0 - level) / 2.0
    misses = n_trials - hits
    low = 0.0 if hits == 0 else float(beta.ppf(tail, hits, misses + 1))
    high = 1.0 if misses == 0 else float(beta.isf(tail, hits + 1, misses))
    return low, high
