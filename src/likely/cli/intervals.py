"""Numbers with their intervals in tables: beside them where there is room, else below them."""

import math
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass, replace

from likely.cli.claims import PAGE
from likely.cli.screen import Column, screen_width, table, width
from likely.core.estimate import Estimate

_LEAST = 20  # columns that wrapped text keeps, however narrow the screen


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """A cell of a table.

    Attributes:
        text: What it says.
        interval: Of the number that it says, or nothing.
    """

    text: str
    interval: str = ""


def show(value: float | None, *, sign: bool = False) -> str:
    """Return a number with three decimals, or nothing where there is none.

    >>> show(0.12345), show(-0.5, sign=True), show(None), show(1e-5), show(0.0)
    ('.123', '-.500', '', '.000', '0')
    """
    if value is None or math.isnan(value):
        return ""
    if not math.isfinite(value) or value == 0.0:
        return f"{value + 0.0:g}"  # of the zeros the one without a sign
    text = f"{value:+.3f}" if sign else f"{value:.3f}"
    return text.replace("0.", ".", 1) if text.lstrip("+-").startswith("0.") else text


def show_ends(low: float, high: float, *, sign: bool = False) -> str:
    """Return two numbers with what stands between them.

    >>> show_ends(0.05, 0.25), show_ends(-1.5, 0.0, sign=True)
    ('.050-.250', '-1.500..0')
    """
    between = ".." if sign else "-"
    return f"{show(low, sign=sign)}{between}{show(high, sign=sign)}"


def span(estimate: Estimate | None, *, sign: bool = False) -> str:
    """Return the interval of a number.

    >>> span(Estimate(value=0.1, low=0.05, high=0.25, level=0.95, unit="none", method="x"))
    '.050-.250'
    """
    return "" if estimate is None else show_ends(estimate.low, estimate.high, sign=sign)


def spanned(estimate: Estimate | None, *, sign: bool = False) -> Cell:
    """Return the cell of a number with its interval; empty where there is none."""
    if estimate is None:
        return Cell(text="")
    return Cell(text=show(estimate.value, sign=sign), interval=span(estimate, sign=sign))


def interval_table(columns: Sequence[Column], rows: Sequence[Sequence[Cell | str]]) -> list[str]:
    """Return a table that fits the screen, or a page where there is none.

    Intervals stand in columns of their own if that fits, else each below its number.

    Args:
        columns: A title may have a line break; one of a single line then stands on the lower.
        rows: Of cells; columns without any text are left out.
    """
    cells = [[Cell(text=c) if isinstance(c, str) else c for c in row] for row in rows]
    kept = [i for i in range(len(columns)) if any(row[i].text for row in cells)]
    columns, cells = [columns[i] for i in kept], [[row[i] for i in kept] for row in cells]
    beside = _beside(columns, cells)
    room = screen_width() or PAGE
    return beside if max(map(width, beside)) <= room else _below(columns, cells)


def wrapped_table(columns: Sequence[Column], rows: Sequence[Sequence[str]]) -> list[str]:
    """Return a table whose last column is text that is wrapped where the screen ends."""
    sizes = [
        max(width(text) for text in (column.title, *(row[i] for row in rows)))
        for i, column in enumerate(columns[:-1])
    ]
    room = (screen_width() or PAGE) - sum(size + 2 for size in sizes)
    made: list[list[str]] = []
    for row in rows:
        first, *more = textwrap.wrap(row[-1], max(room, _LEAST), break_on_hyphens=False) or [""]
        made += [[*row[:-1], first], *([*([""] * len(sizes)), line] for line in more)]
    return table(columns, made)


def _beside(columns: Sequence[Column], rows: Sequence[Sequence[Cell]]) -> list[str]:
    has_interval = [any(row[i].interval for row in rows) for i in range(len(columns))]
    wide: list[Column] = []
    for column, has in zip(columns, has_interval, strict=True):
        wide += [column, Column(title="", is_number=True)] if has else [column]
    lines = [
        [
            text
            for cell, has in zip(row, has_interval, strict=True)
            for text in ([cell.text, cell.interval] if has else [cell.text])
        ]
        for row in rows
    ]
    return _headed([replace(column, gives_way=False) for column in wide], lines)


def _below(columns: Sequence[Column], rows: Sequence[Sequence[Cell]]) -> list[str]:
    lines: list[list[str]] = []
    for row in rows:
        lines.append([cell.text for cell in row])
        if any(cell.interval for cell in row):
            lines.append([cell.interval for cell in row])
    return _headed(columns, lines)


def _headed(columns: Sequence[Column], lines: Sequence[Sequence[str]]) -> list[str]:
    """Return a table, with a second line of titles if one has a line break."""
    parts = [column.title.rpartition("\n") for column in columns]
    if not any(upper for upper, _, _ in parts):
        return table(columns, lines)
    upper = [replace(c, title=part[0]) for c, part in zip(columns, parts, strict=True)]
    return table(upper, [[lower for _, _, lower in parts], *lines])
