"""Sums and differences of independent estimates, with intervals from theirs. Unit: that of them."""

import math
from collections.abc import Sequence

from likely.core.estimate import Cost, Estimate
from likely.errors import InputError


def weighted_sum(
    estimates: Sequence[Estimate], weights: Sequence[float], *, method: str
) -> Estimate:
    """Return a weighted sum of independent estimates.

    The distance from the value to each end is the root of the summed squares of the distances of
    the parts, each on the side that moves the sum that way: intervals that lean to one side are
    kept, and for symmetrical ones it is the usual rule for standard errors.

    Args:
        estimates: At least one, of one unit; those with an interval all of one level.
        weights: One for each, finite.
        method: How the sum came to be.

    Raises:
        InputError: None are given, or units, levels or numbers do not go together.

    Sources:
        Zou and Donner (2008), "Construction of confidence limits about effect measures: a general
        approach", for sums and differences; Donner and Zou (2012) for weights.

    >>> wide = Estimate(value=2.0, low=-1.0, high=3.0, level=.95, unit="nats", method="a")
    >>> narrow = Estimate(value=1.0, low=0.0, high=5.0, level=.95, unit="nats", method="b")
    >>> found = weighted_sum([wide, narrow], [1.0, -1.0], method="difference")
    >>> found.value, found.low, round(found.high, 4)
    (1.0, -4.0, 2.4142)
    """
    if not estimates or len(estimates) != len(weights):
        raise InputError(
            f"a sum has estimates with a weight each, got {len(estimates)} and {len(weights)}"
        )
    units = {one.unit for one in estimates}
    levels = {one.level for one in estimates if not one.is_exact}
    if len(units) > 1 or len(levels) > 1:
        raise InputError(
            f"estimates in a sum share unit and level, got {sorted(units)} and {sorted(levels)}"
        )
    parts = [weight * one.value for one, weight in zip(estimates, weights, strict=True)]
    if not all(map(math.isfinite, parts)):
        raise InputError(f"a sum is of finite numbers, got {parts!r}")
    down, up = [], []
    for one, weight in zip(estimates, weights, strict=True):
        if weight == 0.0:
            continue
        below, above = abs(weight) * (one.value - one.low), abs(weight) * (one.high - one.value)
        down.append(below if weight > 0.0 else above)
        up.append(above if weight > 0.0 else below)
    value = math.fsum(parts)
    return Estimate(
        value=value, low=value - math.hypot(*down), high=value + math.hypot(*up),
        level=levels.pop() if levels else 1.0, unit=estimates[0].unit, method=method,
        cost=sum((one.cost for one in estimates), start=Cost()),
    )  # fmt: skip
