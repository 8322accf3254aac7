"""The levels of a splitting run as two charts and a table. Unit: levels and logs in nats."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from likely.report.chart import HEIGHT, Tick, round_step
from likely.report.decades import Decades
from likely.report.display import small
from likely.report.dots import Scale

MOST_ROWS = 60
"""Levels that the table and the charts show of a run, evenly spread over all."""

Level = Mapping[str, float | int]

_FIXED = (
    ("level", "Level", "nats"),
    ("log_prob", "Probability so far", "prob"),
    ("share", "Reached it", "share"),
    ("n_ancestors", "First ancestors", ""),
    ("never_moved", "Never moved", "share"),
    ("score_lag1", "Correlation, one step", ""),
    ("score_kept", "Correlation, all steps", ""),
)  # fmt: skip
_OF_MOVE = (
    ("step", "step", ""),
    ("prior_acceptance", "prior accepts", "share"),
    ("wall_acceptance", "level accepts", "share"),
    ("jump", "jump", "squared"),
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """One chart over levels.

    Attributes:
        title: What is drawn.
        ticks: Of its height, in percent from the bottom.
        lines: Class, path and dots of each line.
    """

    title: str
    ticks: tuple[Tick, ...]
    lines: tuple[tuple[str, str, str], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class LevelCharts:
    """A run, level by level.

    Attributes:
        n_levels: Of the run.
        n_shown: Of these, how many are drawn and in the table.
        scale: Of the levels, from left to right.
        panels: The charts, one below the other.
        keys: Class and meaning of each line of the lower chart.
        columns: Label, unit and whether it is a number, as `parts.data_table` takes them.
        rows: A level each, as text.
    """

    n_levels: int
    n_shown: int
    scale: Scale
    panels: tuple[Panel, ...]
    keys: tuple[tuple[str, str], ...]
    columns: tuple[tuple[str, str, bool], ...]
    rows: tuple[tuple[str, ...], ...]


def chart_levels(levels: Sequence[Level]) -> LevelCharts:
    """Return the charts and the table of a run.

    Args:
        levels: Rows as `likely.rare.splitting.diagnostics.levels_table` makes them, at least one;
            a number that is not known is missing.
    """
    chosen = spread_over(levels)
    drawn = [one for one in chosen if math.isfinite(one["level"])]
    scale = _scale([float(one["level"]) for one in drawn])
    probs = [float(one["log_prob"]) for one in drawn]
    axis = Decades.around([*probs, 0.0])
    keys = _keys(chosen)
    shares = tuple((name, *_line(drawn, column, scale, _percent)) for name, column, _ in keys)
    return LevelCharts(
        n_levels=len(levels),
        n_shown=len(chosen),
        scale=scale,
        panels=(
            Panel(
                title="probability of reaching the level",
                ticks=axis.ticks(),
                lines=(("prob", *_line(drawn, "log_prob", scale, axis.percent)),),
            ),
            Panel(title="share of particles or proposals", ticks=_share_ticks(), lines=shares),
        ),
        keys=tuple((name, label) for name, _, label in keys),
        columns=tuple((label, unit, True) for _, label, unit in _columns(chosen)),
        rows=tuple(tuple(_written(one, name) for name, _, _ in _columns(chosen)) for one in chosen),
    )


def spread_over(levels: Sequence[Level], most: int = MOST_ROWS) -> list[Level]:
    """Return at most so many levels, evenly spread, the first and the last among them.

    >>> [one["level"] for one in spread_over([{"level": i} for i in range(10)], 4)]
    [0, 3, 6, 9]
    """
    if len(levels) <= most:
        return list(levels)
    return [levels[round(i * (len(levels) - 1) / (most - 1))] for i in range(most)]


def moves_of(levels: Sequence[Level]) -> tuple[str, ...]:
    """Return the names of the moves that the levels have columns of, in order."""
    ending = "_prior_acceptance"
    names = (name for one in levels for name in one if name.endswith(ending))
    return tuple(dict.fromkeys(name.removesuffix(ending) for name in names))


def _scale(levels: Sequence[float]) -> Scale:
    """Return the axis of the levels: to the event, which mostly is at 0, and no further."""
    low, high = min([0.0, *levels]), max([0.0, *levels])
    step = round_step(high - low)
    ends = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    if ends[0] == ends[1]:
        ends = (ends[0] - 1, ends[1])
    return Scale(low=round(ends[0] * step, 9), high=round(ends[1] * step, 9), step=step)


def _keys(levels: Sequence[Level]) -> list[tuple[str, str, str]]:
    """Return class, column and meaning of each line of the chart of shares."""
    found = [("alive", "share", "particles that reached the level")]
    for i, move in enumerate(moves_of(levels)):
        found.append((f"prior m{i % 2}", f"{move}_prior_acceptance", f"{move}: prior accepts"))
        found.append((f"wall m{i % 2}", f"{move}_wall_acceptance", f"{move}: level accepts"))
    found.append(("still", "never_moved", "never moved"))
    return [one for one in found if any(one[1] in level for level in levels)]


def _line(
    levels: Sequence[Level], column: str, scale: Scale, percent: Callable[[float], float]
) -> tuple[str, str]:
    """Return a line through the levels that have a column, and its dots."""
    places = [
        (10.0 * scale.percent(float(one["level"])), HEIGHT - percent(float(one[column])))
        for one in levels
        if column in one
    ]
    line = "L".join(f"{x:.2f} {y:.2f}" for x, y in places)
    return f"M{line}" if places else "", "".join(f"M{x:.2f} {y:.2f}h0" for x, y in places)


def _percent(share: float) -> float:
    return 100.0 * share


def _share_ticks() -> tuple[Tick, ...]:
    return tuple(Tick(percent=x, value=x / 100.0, label=f"{x:g} %") for x in (0.0, 50.0, 100.0))


def _columns(levels: Sequence[Level]) -> list[tuple[str, str, str]]:
    """Return name, label and unit of the columns that any level has."""
    names = {name for one in levels for name in one}
    found = [one for one in _FIXED if one[0] in names]
    for move in moves_of(levels):
        found += [(f"{move}_{end}", f"{move}: {label}", unit) for end, label, unit in _OF_MOVE]
    return [one for one in found if one[0] in names]


def _written(level: Level, name: str) -> str:
    if name not in level:
        return "–"
    value = level[name]
    if name == "log_prob":
        return small(float(value))
    return f"{value:,d}" if isinstance(value, int) else f"{value + 0.0:.4g}".replace("-", "−")
