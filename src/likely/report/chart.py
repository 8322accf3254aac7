"""Charts by position as paths in a box of 1000 by 100 that the page stretches to its width.

Lines keep their thickness and labels are HTML, so one drawing serves a phone and a wide screen.
Unit: whatever the values have.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

WIDTH, HEIGHT = 1000.0, 100.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Tick:
    """A label and its place.

    Attributes:
        percent: Of the box, from the left or from the bottom.
        value: What stands there.
        label: How it is written.
    """

    percent: float
    value: float
    label: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """A chart's box: ``n`` positions from left to right, values from 0 at the bottom to ``top``.

    Attributes:
        n: Positions, at least 1.
        top: A multiple of ``step``.
        step: From tick to tick.
    """

    n: int
    top: float
    step: float

    @classmethod
    def around(cls, *series: Sequence[float | None]) -> "Frame":
        """Return the frame that holds every finite value, its top a round number.

        >>> Frame.around([1.0, None, 13.2], [float("inf")])
        Frame(n=3, top=15.0, step=5.0)
        """
        finite = [x for values in series for x in values if x is not None and math.isfinite(x)]
        highest = max(finite, default=1.0)
        step = round_step(highest)
        top = step * max(1, math.ceil(highest / step))
        return cls(n=max(len(values) for values in series), top=top, step=step)

    def x(self, index: int) -> float:
        """Return the middle of a position, in box units."""
        return WIDTH * (index + 0.5) / self.n

    def y(self, value: float) -> float:
        """Return the height of a value in box units, 0 at the top; what lies above is cut."""
        return HEIGHT * (1.0 - min(value, self.top) / self.top)

    def percent(self, index: int) -> float:
        """Return the middle of a position in percent of the width."""
        return 100.0 * (index + 0.5) / self.n

    def value_ticks(self) -> tuple[Tick, ...]:
        """Return ticks from 0 to the top at round numbers."""
        parts = round(self.top / self.step)
        return tuple(
            Tick(percent=100.0 * i / parts, value=i * self.step, label=f"{i * self.step:g}")
            for i in range(parts + 1)
        )

    def position_ticks(self) -> tuple[Tick, ...]:
        """Return ticks at round positions, counted from 1, as many as a phone has room for."""
        step = max(1, math.ceil(round_step(float(self.n))))
        places = sorted({1, *range(step, self.n + 1, step)})
        return tuple(
            Tick(percent=self.percent(place - 1), value=float(place), label=str(place))
            for place in places
        )


def round_step(top: float) -> float:
    """Return a step of 1, 2 or 5 times a power of ten that divides 0 to ``top`` in 3 to 6 parts.

    >>> round_step(13.0), round_step(171.0), round_step(0.7)
    (5.0, 50.0, 0.2)
    """
    rough = max(top, 1e-9) / 4.5
    power = 10.0 ** math.floor(math.log10(rough))
    best = next(m for m in (1.0, 2.0, 5.0, 10.0) if m * power >= rough * 0.999)
    return float(f"{best * power:.6g}")


def spread(ticks: Sequence[Tick], *, least: float = 3.0) -> tuple[float, ...]:
    """Return places in percent for the labels of ``ticks``, moved apart where they would overlap.

    They are moved as little as least squares allows: an isotonic regression of the places, each
    less its share of ``least``, by pooling neighbours.

    >>> at = [Tick(percent=p, value=0.0, label="") for p in (10.0, 11.0, 60.0)]
    >>> spread(at)
    (9.0, 12.0, 60.0)
    """
    pools: list[tuple[float, int]] = []
    for i, tick in enumerate(ticks):
        pools.append((tick.percent - i * least, 1))
        while len(pools) > 1 and pools[-2][0] > pools[-1][0]:
            (one, n), (other, m) = pools[-2:]
            pools[-2:] = [((one * n + other * m) / (n + m), n + m)]
    bases = [base for base, n in pools for _ in range(n)]
    return tuple(base + i * least for i, base in enumerate(bases))


def stems(values: Sequence[float | None], frame: Frame) -> str:
    """Return the path of one upright line for each value; None leaves a gap."""
    return "".join(
        f"M{frame.x(i):.2f} {HEIGHT:.0f}V{frame.y(value):.2f}"
        for i, value in enumerate(values)
        if value is not None
    )


def steps(values: Sequence[float | None], frame: Frame) -> str:
    """Return the path of a stair through the values; None breaks it."""
    parts = []
    width = WIDTH / frame.n
    before: Sequence[float | None] = (None, *values)
    for i, (last, value) in enumerate(pairwise(before)):
        if value is None:
            continue
        start = "V" if last is not None else f"M{i * width:.2f} "
        parts.append(f"{start}{frame.y(value):.2f}H{(i + 1) * width:.2f}")
    return "".join(parts)
