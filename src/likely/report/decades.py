"""Probabilities on an axis of powers of ten, in a box of 1000 by 100 that the page stretches.

An end that lies beyond the axis, as that of an interval from 0 always does, is drawn to the edge
and marked with an arrow, so that nothing is cut in silence. Unit: nats.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from likely.core.estimate import Estimate
from likely.report.chart import WIDTH, Tick
from likely.report.display import power_of_ten

_LOG_10 = math.log(10.0)
_STEPS = (1, 2, 3, 6, 12, 30, 60, 120, 300, 600)
_MOST_TICKS = 7
_HANGING = 3  # decades below all values that the low end of an interval may draw the axis out
_NAMES = {0: "always", -3: "a thousand", -6: "a million", -9: "a billion", -12: "a trillion"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Decades:
    """Powers of ten from left to right, or from the bottom to the top.

    Attributes:
        low: The exponent at the left, a multiple of ``step``.
        high: The exponent at the right.
        step: Decades from tick to tick.
    """

    low: int
    high: int
    step: int

    @classmethod
    def around(cls, inside: Sequence[float], hanging: Sequence[float] = ()) -> "Decades":
        """Return the axis that holds log-probabilities.

        Args:
            inside: Nats; all finite ones are on the axis.
            hanging: Nats; they are on the axis only if they lie at most 3 decades below those.

        >>> Decades.around([math.log(2e-9), math.log(3e-7)], [-math.inf])
        Decades(low=-9, high=-6, step=1)
        """
        powers = [x / _LOG_10 for x in inside if math.isfinite(x)] or [0.0]
        least = min(powers) - _HANGING
        powers += [x / _LOG_10 for x in hanging if x / _LOG_10 >= least]
        high = math.ceil(max(powers) - 1e-9)
        low = min(math.floor(min(powers) + 1e-9), high - 1)
        step = next((s for s in _STEPS if (high - low) / s < _MOST_TICKS), -(-(high - low) // 6))
        return cls(low=step * (low // step), high=high, step=step)

    def percent(self, log_prob: float) -> float:
        """Return the place of a log-probability in percent of the width; 0 or 100 beyond it."""
        if log_prob == -math.inf:
            return 0.0
        share = (log_prob / _LOG_10 - self.low) / (self.high - self.low)
        return 100.0 * min(max(share, 0.0), 1.0)

    def x(self, log_prob: float) -> float:
        """Return that place in box units."""
        return WIDTH * self.percent(log_prob) / 100.0

    def is_below(self, log_prob: float) -> bool:
        """Return whether it lies to the left of the axis."""
        return log_prob < self.low * _LOG_10 - 1e-9

    def ticks(self) -> tuple[Tick, ...]:
        """Return ticks at powers of ten."""
        exponents = range(self.low, self.high + 1, self.step)
        return tuple(
            Tick(percent=self._percent(k), value=float(k), label=power_of_ten(k)) for k in exponents
        )

    def names(self) -> tuple[Tick, ...]:
        """Return ticks that say once in how many, where there are words and room for them."""
        apart = next((n for n in (3, 6, 12) if (self.high - self.low) <= 4 * n), None)
        return tuple(
            Tick(percent=self._percent(k), value=float(k), label=name)
            for k, name in _NAMES.items()
            if apart is not None and k % apart == 0 and self.low <= k <= self.high
        )

    def _percent(self, exponent: int) -> float:
        return 100.0 * (exponent - self.low) / (self.high - self.low)


@dataclass(frozen=True, slots=True, kw_only=True)
class Strip:
    """One estimate on an axis, as paths.

    Attributes:
        interval: From end to end.
        limit: An upright stroke at the upper end of an estimate of 0; else empty.
        dot: The value, as a line without length; empty if it is 0.
        runs: A short stroke for each independent run on the axis.
        truth: An upright line where the truth is; empty if it is not known, or never seen.
        band: The truth's own interval, as an area; empty if it is exact or not known.
        leaves: Whether the interval goes on to the left of the axis.
        truth_leaves: Whether the truth's interval does.
    """

    interval: str
    limit: str
    dot: str
    runs: str
    truth: str
    band: str
    leaves: bool
    truth_leaves: bool


def strip(
    log_prob: Estimate, axis: Decades, *, truth: Estimate | None, runs: Sequence[float] = ()
) -> Strip:
    """Return how an estimate is drawn.

    Args:
        log_prob: Nats.
        axis: Where to.
        truth: What is known of the truth, nats.
        runs: Independent estimates, nats.
    """
    low, high = axis.x(log_prob.low), axis.x(log_prob.high)
    is_zero = log_prob.value == -math.inf
    shown = [x for x in runs if not axis.is_below(x)]
    line, band, truth_leaves = "", "", False
    if truth is not None:
        left, right = axis.x(truth.low), axis.x(truth.high)
        line = "" if truth.value == -math.inf else f"M{axis.x(truth.value):.2f} 6V94"
        band = "" if truth.is_exact else f"M{left:.2f} 6H{right:.2f}V94H{left:.2f}Z"
        truth_leaves = axis.is_below(truth.low)
    return Strip(
        interval=f"M{low:.2f} 42H{high:.2f}",
        limit=f"M{high:.2f} 24V60" if is_zero else "",
        dot="" if is_zero else f"M{axis.x(log_prob.value):.2f} 42h0",
        runs="".join(f"M{axis.x(x):.2f} 68V84" for x in shown),
        truth=line,
        band=band,
        leaves=axis.is_below(log_prob.low),
        truth_leaves=truth_leaves,
    )
