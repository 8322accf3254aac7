"""Rows of families and models, one under the other, with their numbers at the right. Unit: none."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from likely.report.display import fixed
from likely.report.figures.style import INK, SOFT, shorten

ROW_IN = 0.2
"""Height of a row, inches."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rows:
    """Where the rows of a figure stand, counted downwards.

    Attributes:
        at: Place of each pair of family and model.
        spans: Of each family, from above its first row to below its last.
        heads: Place of each family's name; empty where the rows themselves are named by family.
        n: How many rows high the whole is.
    """

    at: dict[tuple[str, str], float]
    spans: dict[str, tuple[float, float]]
    heads: dict[str, float]
    n: float

    @property
    def height_in(self) -> float:
        """Inches that the rows take."""
        return ROW_IN * self.n

    def places(self, table: pd.DataFrame) -> list[float]:
        """Return where the rows of a table stand, by its ``family`` and ``model``."""
        return [self.at[pair] for pair in _pairs(table)]


def place_rows(pairs: Sequence[tuple[str, str]]) -> Rows:
    """Return places for pairs of family and model, families together and in order.

    >>> rows = place_rows([("colors", "one"), ("colors", "two"), ("dice", "one")])
    >>> rows.at[("colors", "two")], rows.heads["dice"]
    (2.0, 3.25)
    """
    is_single = len({model for _, model in pairs}) == 1
    at: dict[tuple[str, str], float] = {}
    spans: dict[str, tuple[float, float]] = {}
    heads: dict[str, float] = {}
    y = 0.0
    for family in dict.fromkeys(family for family, _ in pairs):
        if not is_single:
            y += 0.25 if heads else 0.0
            heads[family] = y
            y += 1.0
        own = [pair for pair in pairs if pair[0] == family]
        for pair in own:
            at[pair] = y
            y += 1.0
        spans[family] = (y - len(own) - 0.5, y - 0.5)
    return Rows(at=at, spans=spans, heads=heads, n=y)


def rows_of(table: pd.DataFrame) -> Rows:
    """Return places for the rows of a table, by its ``family`` and ``model``."""
    return place_rows(_pairs(table))


def _pairs(table: pd.DataFrame) -> list[tuple[str, str]]:
    return list(zip(table["family"], table["model"], strict=True))


def name_rows(axes: Axes, rows: Rows) -> None:
    """Write the names of the rows at the left of a panel, and of families above theirs."""
    labels = [shorten(model if rows.heads else family) for family, model in rows.at]
    axes.set_yticks(list(rows.at.values()), labels)
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
    axes.set_ylim(rows.n - 0.4, -0.6)
    for family, y in rows.heads.items():
        axes.annotate(
            family,
            (0.0, y),
            xycoords=axes.get_yaxis_transform(),
            xytext=(-4, 0),
            textcoords="offset points",
            ha="right",
            va="center",
            weight="bold",
        )


def write_numbers(
    axes: Axes, ys: Sequence[float], table: pd.DataFrame, *, written: Callable[[pd.Series], str]
) -> None:
    """Write a text at the right of each row of the table, at its height."""
    for y, (_, row) in zip(ys, table.iterrows(), strict=True):
        axes.annotate(
            written(row),
            (1.0, y),
            xycoords=axes.get_yaxis_transform(),
            xytext=(6, 0),
            textcoords="offset points",
            ha="left",
            va="center",
            size=7.5,
            color=INK,
        )


def head_numbers(axes: Axes, text: str) -> None:
    """Write what the numbers at the right are, above the first."""
    axes.annotate(
        text, (1.0, 1.0), xycoords="axes fraction", xytext=(6, 2), textcoords="offset points",
        ha="left", va="bottom", size=7, color=SOFT,
    )  # fmt: skip


def with_interval(row: pd.Series, places: int = 2) -> str:
    """Return a value with its interval, or alone where there is none.

    >>> with_interval(pd.Series({"value": -0.5, "low": -0.6, "high": float("nan")}))
    '−0.50'
    """
    value, low, high = (fixed(float(row[k]), places) for k in ("value", "low", "high"))
    if math.isnan(row["low"]) or math.isnan(row["high"]):
        return value
    return f"{value}  [{low}, {high}]"


def whiskers(axes: Axes, rows: Rows, table: pd.DataFrame) -> None:
    """Draw the intervals of the rows that have one."""
    known = table[table["low"].notna() & table["high"].notna()]
    if len(known):
        axes.hlines(
            rows.places(known),
            known["low"].to_numpy(dtype=np.float64),
            known["high"].to_numpy(dtype=np.float64),
            color=INK,
            linewidth=1.1,
            zorder=4,
        )
