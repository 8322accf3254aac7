"""Intervals for a sum of weighted rare hits, of which few or none may have come. Unit: nats."""

import math

from scipy.stats import chi2

from likely.errors import InputError
from likely.stats.intervals import check_level


def gamma_interval(
    value: float, error: float, *, largest: float, level: float = 0.95
) -> tuple[float, float]:
    """Return logs of the ends of an interval for the mean of a weighted count.

    With equal weights it is the exact interval of a Poisson count, so that no hit at all still has
    an upper end, and it stays wide where few hits carry most of the weight.

    Args:
        value: The estimate, at least 0.
        error: Its standard error, at least 0; 0 only where the value is 0.
        largest: What one more hit may add to the value, positive.
        level: Coverage, in (0, 1).

    Returns:
        Both ends, nats; ``-inf`` from below where the value is 0.

    Raises:
        InputError: A number is out of range.

    Sources:
        Fay and Feuer (1997), "Confidence intervals for directly standardized rates: a method based
        on the gamma distribution", equations 5 and 6.

    >>> low, high = gamma_interval(0.03, math.sqrt(0.0003), largest=0.01)  # three hits of 0.01
    >>> round(math.exp(low), 5), round(math.exp(high), 5)
    (0.00619, 0.08767)
    """
    check_level(level)
    if not (value >= 0.0 and error >= 0.0 and 0.0 < largest < math.inf):
        raise InputError(
            "an interval of weighted hits needs value >= 0, error >= 0 and a positive weight of "
            f"one hit, got {value!r}, {error!r}, {largest!r}"
        )
    if value > 0.0 and error == 0.0:
        raise InputError(f"an estimate of {value!r} from hits has an error, got 0")
    tail = (1.0 - level) / 2.0
    low = -math.inf
    if value > 0.0:
        low = _log_end(value, error, float(chi2.ppf(tail, 2.0 * (value / error) ** 2)))
    centre, spread = value + largest, math.hypot(error, largest)
    high = _log_end(centre, spread, float(chi2.isf(tail, 2.0 * (centre / spread) ** 2)))
    return low, high


def _log_end(centre: float, spread: float, quantile: float) -> float:
    """Return the log of a gamma quantile with this mean and standard deviation."""
    scale = math.log(0.5 * spread / centre) + math.log(spread)
    return scale + math.log(quantile) if quantile > 0.0 else -math.inf
