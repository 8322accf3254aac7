"""Intervals for a sum of weighted rare hits, of which few or none may have come. Unit: nats."""

import math

from scipy.stats import chi2

from likely.errors import InputError
from likely.stats.intervals import check_level


def gamma_interval(
    value: float, variance: float, *, largest: float, level: float = 0.95
) -> tuple[float, float]:
    """Return logs of the ends of an interval for the mean of a weighted count.

    With equal weights it is the exact interval of a Poisson count, so that no hit at all still has
    an upper end, and it stays wide where few hits carry most of the weight.

    Args:
        value: The estimate, at least 0.
        variance: Of the estimate, at least 0; 0 only where the value is 0.
        largest: What one more hit may add to the value, positive.
        level: Coverage, in (0, 1).

    Returns:
        Both ends, nats; ``-inf`` from below where the value is 0.

    Raises:
        InputError: A number is out of range.

    Sources:
        Fay and Feuer (1997), "Confidence intervals for directly standardized rates: a method based
        on the gamma distribution", equations 5 and 6.

    >>> low, high = gamma_interval(0.03, 0.0003, largest=0.01)  # three hits of weight 0.01
    >>> round(math.exp(low), 5), round(math.exp(high), 5)
    (0.00619, 0.08767)
    """
    check_level(level)
    if not (value >= 0.0 and variance >= 0.0 and 0.0 < largest < math.inf):
        raise InputError(
            "an interval of weighted hits needs value >= 0, variance >= 0 and a positive weight of "
            f"one hit, got {value!r}, {variance!r}, {largest!r}"
        )
    if value > 0.0 and variance == 0.0:
        raise InputError(f"an estimate of {value!r} from hits has a variance, got 0")
    tail = (1.0 - level) / 2.0
    low = -math.inf
    if value > 0.0:
        quantile = float(chi2.ppf(tail, 2.0 * value / variance * value))
        if quantile > 0.0:
            low = math.log(variance) - math.log(2.0 * value) + math.log(quantile)
    spread, centre = variance + largest**2, value + largest
    high = (
        math.log(spread) - math.log(2.0 * centre)
        + math.log(float(chi2.isf(tail, 2.0 * centre / spread * centre)))
    )  # fmt: skip
    return low, high
