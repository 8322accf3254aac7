"""R3: how far off each method is on the whole, and how far its estimates scatter. Unit: decades."""

import math
from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from likely.rare.bench.running import Row
from likely.rare.bench.summary import errors_by_target
from likely.rare.loss.data_set import median_of
from likely.report.chart import round_step
from likely.report.display import fixed, signed
from likely.report.figures.drawing import Drawing
from likely.report.figures.rare.tables import NAMES, names_in_order, table_of
from likely.report.figures.style import (
    INK,
    RULE,
    SOFT,
    colour,
    lighten,
    marker,
    put_legend,
    sheet,
    styled,
)

_ROW_IN = 0.36


@styled()
def bias_and_spread(rows: Sequence[Row], arm: str = "calls") -> Drawing:
    """Draw R3: bias and spread of each target, and their medians over targets.

    Args:
        rows: Of a comparison.
        arm: Which budget was equal.

    Returns:
        Data: ``method, model, distribution, token, bias, spread`` in decades, a row a target; a
        bias of ``-inf`` where all estimates are 0, no spread where less than two are above 0.

    Raises:
        InputError: The arm has no row.
    """
    title = f"R3  Bias and spread, {NAMES[arm]}"
    table = table_of(rows, arm)
    methods, models = names_in_order(table, "method"), names_in_order(table, "model")
    data = _errors([row for row in rows if row["arm"] == arm])
    figure, [[left, right]] = sheet(
        title,
        "A small mark a target, the large one their median. Bias: log10 of the mean of the "
        "estimates, zeros among them, over the truth. Spread: standard deviation of log10 of the "
        "estimates above 0. On the grey rail: targets that no estimate finds.",
        height_in=_ROW_IN * len(methods) + 0.85,
        n_columns=2,
        share_y=True,
    )
    rail = _rail(left, data)
    for i, method in enumerate(methods):
        own = data[data["method"] == method]
        for k, model in enumerate(models):
            part = own[own["model"] == model]
            y = i + 0.5 * (k - 0.5 * (len(models) - 1)) / max(1, len(models) - 1)
            at = part["bias"].where(part["bias"] > -np.inf, rail)
            label = model if not i else None
            _marks(left, at, y, k, label)
            _marks(right, part["spread"].dropna(), y, k, None)
        _median(left, own["bias"], i, rail=rail, written=signed)
        _median(right, own["spread"].dropna(), i, rail=math.nan, written=fixed)
    left.axvline(0.0, color=SOFT, linewidth=0.9, linestyle=(0.0, (4.0, 2.0)))
    left.set_xlabel("bias, decades (0 is right, 1 ten times too large)")
    right.set_xlabel("spread, decades")
    right.set_xlim(left=0.0)
    left.set_yticks(range(len(methods)), methods)
    left.set_ylim(len(methods) - 0.5, -0.5)
    for axes in (left, right):
        axes.tick_params(axis="y", length=0)
        axes.grid(axis="x", color=RULE)
    put_legend(figure, [left], n_columns=5)
    return Drawing(name=f"R3-bias-spread-{arm}", title=title, figure=figure, data=data)


def _errors(rows: Sequence[Row]) -> pd.DataFrame:
    records = []
    for method in dict.fromkeys(str(row["method"]) for row in rows):
        own = [row for row in rows if row["method"] == method]
        for (model, law, token), (bias, spread) in errors_by_target(own).items():
            records.append(
                (method, model, law, token, bias, math.nan if spread is None else spread)
            )
    return pd.DataFrame(
        records, columns=["method", "model", "distribution", "token", "bias", "spread"]
    )


def _rail(axes: Axes, data: pd.DataFrame) -> float:
    """Draw the rail of targets that were never found, if there are some; return its place."""
    finite = data["bias"][data["bias"] > -np.inf]
    low, high = (float(finite.min()), float(finite.max())) if len(finite) else (0.0, 0.0)
    low, high = min(low, -0.5), max(high, 0.5)
    pad = 0.06 * (high - low)
    step = round_step(high - low)
    axes.set_xticks([step * k for k in range(math.ceil(low / step), math.floor(high / step) + 1)])
    if not np.isneginf(data["bias"]).any():
        axes.set_xlim(low - pad, high + pad)
        return math.nan
    left = low - 4.0 * pad
    axes.axvspan(left, left + 2.0 * pad, color=lighten(SOFT, 0.13), linewidth=0)
    axes.set_xlim(left, high + pad)
    axes.annotate(
        "all 0", (left + pad, 1.0), xycoords=axes.get_xaxis_transform(), xytext=(0, 3),
        textcoords="offset points", ha="center", size=7, color=SOFT,
    )  # fmt: skip
    return left + pad


def _marks(axes: Axes, at: pd.Series, y: float, index: int, label: str | None) -> None:
    axes.scatter(
        at, np.full(len(at), y), s=11, marker=marker(index), color=colour(index), alpha=0.55,
        linewidths=0, label=label,
    )  # fmt: skip


def _median(
    axes: Axes, values: pd.Series, row: int, *, rail: float, written: Callable[[float], str]
) -> None:
    """Draw the median of a row, and write it at the right."""
    middle = median_of(values.tolist()) if len(values) else math.nan
    at = rail if middle == -math.inf else middle
    axes.scatter(
        [at], [row], s=52, marker="D", facecolors="none", edgecolors=INK, linewidths=1.3, zorder=5
    )
    axes.annotate(
        written(middle) if len(values) else "–", (1.0, row),
        xycoords=axes.get_yaxis_transform(), xytext=(4, 0), textcoords="offset points",
        va="center", size=7.5,
    )  # fmt: skip
