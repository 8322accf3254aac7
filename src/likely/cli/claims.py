"""What scores of claims look like on a screen. Units: probability, S, shares of bits."""

import math
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from likely.cli.screen import Column, screen_width, table, width
from likely.core.estimate import Estimate

if TYPE_CHECKING:
    import pandas as pd

    from likely.logic.probct.tables import Line

PAGE = 100
"""Columns that a table keeps to where the output is no terminal."""

LEGEND = (
    "P is the probability that a claim holds; S is P corrected for chance: 1 perfect, 0 chance. "
    "bits is the share of the bits at stake that is earned; kept is the share of items that hold "
    "when each event is decided by its likelier side. Intervals are 95 %, over rows."
)
"""What the columns of `claim_table` mean."""

STARRED = "* is no law but shown for comparison, and left out of totals"


def show_score(value: float | None) -> str:
    """Return a score with its sign and two decimals, as much as intervals leave of it.

    >>> show_score(0.123), show_score(-1.5), show_score(-0.001), show_score(0.0), show_score(None)
    ('+0.12', '-1.50', '-0.00', '0', '')
    """
    if value is None:
        return ""
    if value == 0.0:
        return "0"
    return f"{value:+.2f}" if math.isfinite(value) else f"{value:+}"


def show_span(estimate: Estimate | None) -> str:
    """Return the interval of a score.

    >>> show_span(Estimate(value=0.1, low=-0.5, high=0.25, level=0.95, unit="none", method="x"))
    '-0.50..+0.25'
    """
    if estimate is None:
        return ""
    return f"{show_score(estimate.low)}..{show_score(estimate.high)}"


def show_scored(estimate: Estimate | None) -> str:
    """Return a score with its interval behind it."""
    return "" if estimate is None else f"{show_score(estimate.value)} {show_span(estimate)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimRow:
    """One line of a table of claims.

    Attributes:
        name: Of the claim, or of a rule in it.
        n_items: How many items.
        n_rows: From how many rows.
        prob: Mean probability, or None where items differ in bits.
        score: Mean S.
        span: Its interval, None of fewer than two rows.
        earned: Share of the bits at stake; None where an item is impossible.
        kept: Share of items.
        null_z: Standard deviations above the permutation null.
        n_impossible: Items of probability 0.
    """

    name: str
    n_items: int | None = None
    n_rows: int | None = None
    prob: float | None = None
    score: float | None = None
    span: Estimate | None = None
    earned: float | None = None
    kept: float | None = None
    null_z: float | None = None
    n_impossible: int = 0


def claim_row(line: "Line", items: "pd.DataFrame", *, name: str | None = None) -> ClaimRow:
    """Return a line of results with means also where there are too few rows for an interval.

    Args:
        line: The line.
        items: The items that it rests on, as rows of `likely.logic.probct.tables.item_table`.
        name: What it is called; the claim's name if None.
    """
    bits = float(items["bits"].sum())
    is_possible = not line.n_impossible
    return ClaimRow(
        name=name or line.claim or line.family,
        n_items=line.n_items,
        n_rows=line.n_rows,
        prob=None if line.claim is None else float(items["prob"].mean()),
        score=float(items["chance_corrected"].mean()),
        span=line.chance_corrected,
        earned=float(items["log_ratio_bits"].sum()) / bits if is_possible else None,
        kept=float(items["is_kept"].mean()),
        null_z=line.null_z,
        n_impossible=line.n_impossible,
    )


def claim_table(rows: Sequence[ClaimRow], *, title: str = "claim") -> list[str]:
    """Return the lines of a table of claims; columns that are empty are left out."""
    columns = [
        Column(title=title, gives_way=True),
        Column(title="items", is_number=True),
        Column(title="rows", is_number=True),
        Column(title="P", is_number=True),
        Column(title="S", is_number=True),
        Column(title="interval", is_number=True),
        Column(title="bits", is_number=True),
        Column(title="kept", is_number=True),
        Column(title="z", is_number=True),
    ]
    cells = [
        [
            row.name,
            "" if row.n_items is None else str(row.n_items),
            "" if row.n_rows is None else str(row.n_rows),
            "" if row.prob is None else f"{row.prob:.2f}",
            show_score(row.score),
            show_span(row.span),
            "-inf" if row.n_impossible else show_score(row.earned),
            "" if row.kept is None else f"{row.kept:.2f}",
            "" if row.null_z is None else f"{row.null_z:+.1f}",
        ]
        for row in rows
    ]
    return table(columns, cells)


def rescaling_table(
    rows: Sequence[tuple[str, Mapping[str, Estimate | None]]],
    labels: Sequence[str],
    *,
    title: str,
) -> list[str]:
    """Return S with its interval under each rescaling: side by side if there is room, else below.

    Args:
        rows: Names, each with its estimates by label.
        labels: In order.
        title: What the names are.
    """
    room = screen_width() or PAGE
    shown = [[show_scored(found.get(label)) for label in labels] for _, found in rows]
    heads = [Column(title=label, is_number=True) for label in labels]
    wide = table(
        [Column(title=title), *heads],
        [[name, *cells] for (name, _), cells in zip(rows, shown, strict=True)],
    )
    if max(map(width, wide)) <= room:
        return wide
    return table(
        [Column(title=title), Column(title="under"), Column(title="S", is_number=True)],
        [
            [name if i == 0 else "", label, cell]
            for (name, _), cells in zip(rows, shown, strict=True)
            for i, (label, cell) in enumerate(zip(labels, cells, strict=True))
            if cell
        ],
    )


def folded(text: str, *, indent: str = "") -> list[str]:
    """Return prose as lines that fit the screen."""
    room = screen_width() or PAGE
    return textwrap.wrap(text, room, initial_indent=indent, subsequent_indent=indent)


def hung(lines: Sequence[str]) -> list[str]:
    """Return lines folded at the edge of a terminal, each fold set under its line and further in.

    In a pipe nothing is folded.
    """
    room = screen_width()
    if room is None:
        return list(lines)
    made: list[str] = []
    for line in lines:
        lead = line[: len(line) - len(line.lstrip())]
        made += textwrap.wrap(
            line.strip(), max(room, 40), initial_indent=lead, subsequent_indent=f"{lead}    ",
            break_on_hyphens=False,
        ) or [""]  # fmt: skip
    return made
