"""Dots with their intervals, in a box of 1000 by 100 that the page stretches to its width.

Dots are the round caps of lines without length, so that they stay round however wide the box is.
Unit: whatever the values have.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from likely.core.estimate import Estimate
from likely.report.chart import HEIGHT, WIDTH, Tick, round_step


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """Values from left to right.

    Attributes:
        low: A multiple of ``step``, at the left.
        high: A multiple of ``step``, at the right.
        step: From tick to tick.
    """

    low: float
    high: float
    step: float

    @classmethod
    def around(cls, values: Sequence[float]) -> "Scale":
        """Return the scale that holds 0 and every value, its ends round numbers.

        >>> Scale.around([-0.31, 0.2])
        Scale(low=-0.4, high=0.2, step=0.2)
        """
        low, high = min(0.0, *values), max(0.0, *values)
        step = round_step(high - low)
        ends = math.floor(low / step + 1e-9), max(math.ceil(high / step - 1e-9), 1)
        return cls(low=round(ends[0] * step, 9), high=round(ends[1] * step, 9), step=step)

    def percent(self, value: float) -> float:
        """Return the place of a value in percent of the width."""
        return 100.0 * (value - self.low) / (self.high - self.low)

    def ticks(self) -> tuple[Tick, ...]:
        """Return ticks at round numbers, with a true minus sign."""
        n = round((self.high - self.low) / self.step)
        values = [round(self.low + i * self.step, 9) + 0.0 for i in range(n + 1)]
        return tuple(
            Tick(percent=self.percent(x), value=x, label=f"{x:g}".replace("-", "−")) for x in values
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """One estimate as paths.

    Attributes:
        name: Of its series, a class of the page's style.
        bar: From one end of the interval to the other.
        dot: The value, as a line without length.
    """

    name: str
    bar: str
    dot: str


def marks(series: Sequence[tuple[str, Estimate | None]], scale: Scale) -> tuple[Mark, ...]:
    """Return a mark for each estimate, one under the other; None leaves its place free."""
    made = []
    for i, (name, estimate) in enumerate(series):
        if estimate is None:
            continue
        y = HEIGHT * (i + 1) / (len(series) + 1)
        low, value, high = (
            WIDTH * scale.percent(x) / 100.0 for x in (estimate.low, estimate.value, estimate.high)
        )
        made.append(
            Mark(
                name=name,
                bar=f"M{low:.2f} {y:.2f}H{high:.2f}",
                dot=f"M{value:.2f} {y:.2f}h0",
            )
        )
    return tuple(made)
