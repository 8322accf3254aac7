"""What numbers and tables look like on a screen; log-probabilities in nats."""

import math
import shutil
import sys
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

from likely.core.estimate import Cost
from likely.core.logspace import prob_text

_LEAST = 6  # columns that a squeezed cell keeps
_BAR = " ▏▎▍▌▋▊▉█"


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A column of a table.

    Attributes:
        title: Its heading.
        is_number: Whether it is set to the right.
        gives_way: Whether its cells may be cut where the screen is narrow.
        keeps_end: Whether a cut leaves the end of the text, not its beginning.
    """

    title: str
    is_number: bool = False
    gives_way: bool = False
    keeps_end: bool = False


def table(columns: Sequence[Column], rows: Sequence[Sequence[str]]) -> list[str]:
    """Return the lines of a table that fits the screen; columns without any text are left out.

    Cells are cut, with an ellipsis, only on a terminal and only in columns that give way.
    """
    kept = [i for i in range(len(columns)) if any(row[i] for row in rows)]
    columns = [columns[i] for i in kept]
    cells = [[column.title for column in columns]] + [[row[i] for i in kept] for row in rows]
    widths = [max(width(line[i]) for line in cells) for i in range(len(columns))]
    room = screen_width()
    if room is not None:
        widths = _squeeze(columns, widths, room)
    return [_line(columns, widths, line) for line in cells]


def screen_width() -> int | None:
    """Return the columns of the terminal, or None where the output is no terminal."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def width(text: str) -> int:
    r"""Return how many terminal columns ``text`` takes.

    >>> width("ab"), width("日本"), width("e\u0301")
    (2, 4, 1)
    """
    wide = sum(unicodedata.east_asian_width(char) in "WF" for char in text)
    marks = sum(unicodedata.combining(char) > 0 for char in text)
    return len(text) + wide - marks


def show_log_prob(log_prob: float | None, *, is_bound: bool = False) -> str:
    """Return nats for a screen; never 0 for what is not 0, and a dash for what is not scored.

    >>> show_log_prob(-2.302585), show_log_prob(-1e-7), show_log_prob(None)
    ('-2.3026', '-1.00e-07', '-')
    """
    if log_prob is None:
        return "-"
    shown = f"{log_prob:.4f}" if abs(log_prob) >= 1e-3 or log_prob == 0 else f"{log_prob:.2e}"
    return f"<= {shown}" if is_bound else shown


def show_prob(log_prob: float | None, *, is_bound: bool = False) -> str:
    """Return a probability for a screen, given in nats; it is 0 only where it is impossible.

    >>> show_prob(math.log(0.25)), show_prob(-14.0), show_prob(-1500.0), show_prob(-math.inf)
    ('0.2500', '8.3e-07', '10^-651.4', '0')
    """
    if log_prob is None:
        return "-"
    is_plain = log_prob >= math.log(1e-3)
    shown = f"{math.exp(log_prob):.4f}" if is_plain else prob_text(log_prob, digits=2)
    return f"<= {shown}" if is_bound else shown


def bar(share: float, *, cells: int = 20) -> str:
    """Return a bar of ``share`` of ``cells`` columns, to an eighth of a column.

    >>> bar(0.5, cells=3)
    '█▌'
    """
    eighths = round(max(0.0, min(1.0, share)) * cells * 8)
    return ("█" * (eighths // 8) + _BAR[eighths % 8]).rstrip()


def show_cost(cost: Cost) -> str:
    """Return a cost in one line."""
    parts = [
        f"{cost.token_evaluations} token evaluations",
        f"{cost.model_calls} model call{'s' if cost.model_calls != 1 else ''}",
        f"{cost.seconds:.2f} s",
    ]
    if cost.cached:
        parts.append(f"{cost.cached} from the cache")
    return "cost: " + ", ".join(parts)


def show_cut(n_shown: int, n_all: int) -> list[str]:
    """Return the line that says how many rows are not on the screen, if any are not."""
    if n_shown >= n_all:
        return []
    return [f"... {n_all - n_shown} more rows; --limit 0 shows all, --out FILE keeps them"]


def _squeeze(columns: Sequence[Column], widths: list[int], room: int) -> list[int]:
    """Return widths that fit ``room``, if the columns that give way can make it so."""
    widths = list(widths)
    excess = sum(widths) + 2 * (len(widths) - 1) - room
    while excess > 0:
        able = [i for i, c in enumerate(columns) if c.gives_way and widths[i] > _LEAST]
        if not able:
            break
        widest = max(able, key=lambda i: widths[i])
        widths[widest] -= 1
        excess -= 1
    return widths


def _line(columns: Sequence[Column], widths: Sequence[int], cells: Sequence[str]) -> str:
    parts = []
    for column, room, cell in zip(columns, widths, cells, strict=True):
        text = _cut(cell, room, keeps_end=column.keeps_end)
        pad = " " * (room - width(text))
        parts.append(pad + text if column.is_number else text + pad)
    return "  ".join(parts).rstrip()


def _cut(text: str, room: int, *, keeps_end: bool) -> str:
    if width(text) <= room:
        return text
    while width(text) > room - 1:
        text = text[1:] if keeps_end else text[:-1]
    return "…" + text if keeps_end else text + "…"
