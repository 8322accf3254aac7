"""Intervals for an unknown probability from counts, and for a number from its standard error."""

from collections.abc import Mapping

from scipy.stats import beta
from scipy.stats import t as student

from likely.core.estimate import Estimate, Unit
from likely.errors import InputError


def student_estimate(
    value: float,
    error: float,
    *,
    df: int,
    level: float,
    method: str,
    unit: Unit = "none",
    diagnostics: Mapping[str, float | int | str] | None = None,
) -> Estimate:
    """Return a number with Student's interval.

    Args:
        value: The number.
        error: Its standard error.
        df: Degrees of freedom of the error.
        level: Coverage, in (0, 1).
        method: How value and error were found.
        unit: Of the number.
        diagnostics: Of the estimate.

    >>> found = student_estimate(2.0, 1.0, df=1, level=0.95, method="two numbers")
    >>> round(found.low, 3), round(found.high, 3)
    (-10.706, 14.706)
    """
    half = error * float(student.isf((1.0 - level) / 2.0, df))
    return Estimate(
        value=value, low=value - half, high=value + half, level=level, unit=unit, method=method,
        diagnostics=dict(diagnostics or {}),
    )  # fmt: skip


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
    check_level(level)
    tail = (1.0 - level) / 2.0
    misses = n_trials - hits
    low = 0.0 if hits == 0 else float(beta.ppf(tail, hits, misses + 1))
    high = 1.0 if misses == 0 else float(beta.isf(tail, hits + 1, misses))
    return low, high


def check_level(level: float) -> None:
    """Raise unless an interval can have this coverage.

    Raises:
        InputError: It is not in (0, 1).
    """
    if not 0.0 < level < 1.0:
        raise InputError(f"the level of an interval lies in (0, 1), got {level!r}")
