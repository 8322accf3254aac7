"""R1: every estimate against its truth, a panel a method. Unit: probability, in decades."""

import math
from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from likely.rare.bench.running import Row
from likely.report.figures.drawing import Drawing
from likely.report.figures.rare.tables import NAMES, decade_ticks, names_in_order, table_of
from likely.report.figures.style import (
    RULE,
    SOFT,
    colour,
    head_panel,
    lighten,
    marker,
    panel_sheet,
    put_legend,
    styled,
)

BELOW = 3
"""Decades below the rarest truth that a panel shows; lower estimates are marked and counted."""

_RAIL = 1.0  # height of the rail of zeros, decades
_COLUMNS = (
    "method", "model", "distribution", "token", "seed", "q", "q_low", "q_high", "p", "p_low",
    "p_high", "place",
)  # fmt: skip


@styled()
def estimate_against_truth(rows: Sequence[Row], arm: str = "calls") -> Drawing:
    """Draw R1: estimates with their intervals against the truth with its own.

    Estimates of 0 stand on a rail below the axis, with their upper limits above them; those that
    lie below the panel stand at its lower edge, as triangles. Both are counted.

    Args:
        rows: Of a comparison.
        arm: Which budget was equal.

    Returns:
        Data: ``q, q_low, q_high, p, p_low, p_high`` in decades, a row an estimate, and ``place``:
        ``panel``, ``zero`` or ``below``.

    Raises:
        InputError: The arm has no row.
    """
    title = f"R1  Estimate against truth, {NAMES[arm]}"
    table = table_of(rows, arm)
    span = _span(table)
    floor = span[2]
    zero, below = np.isneginf(table["p"]), table["p"] < floor
    table["place"] = np.where(zero, "zero", np.where(below, "below", "panel"))
    methods = names_in_order(table, "method")
    figure, panels = panel_sheet(
        title,
        "A dot an estimate, with its interval upright and that of the truth across; on the line "
        "both are equal, in the band within a factor of ten. On the grey rail: estimates of 0, "
        "each with its upper limit. Triangles: estimates below the panel. A star: of a law fitted "
        "to activations, whose misfit no interval covers.",
        len(methods),
        each_in=2.35,
        foot_in=0.3,
        n_columns=3,
        shared_x="truth",
        shared_y="estimate",
    )
    models = names_in_order(table, "model")
    for axes, method in zip(panels, methods, strict=True):
        own = table[table["method"] == method]
        _ground(axes, span)
        for i, model in enumerate(models):
            _points(axes, own[own["model"] == model], model, i, floor)
        is_fit = (own["quantity"] == "activations").all()
        head_panel(axes, f"{method} *" if is_fit else method, _told(own))
    put_legend(figure, panels, n_columns=5)
    return Drawing(
        name=f"R1-against-truth-{arm}", title=title, figure=figure,
        data=table[list(_COLUMNS)].reset_index(drop=True),
    )  # fmt: skip


def _span(table: pd.DataFrame) -> tuple[int, int, int, int]:
    """Return the exponents where the panels begin and end: across, then upright."""
    left, right = math.floor(_least(table["q_low"])), math.ceil(float(table["q_high"].max()))
    highest = float(table["p_high"].where(np.isneginf(table["p"]), table["p"]).max())
    top = math.floor(highest) + 1
    return left, right, left - BELOW, max(right, top if highest > 0.0 else min(top, 0))


def _least(values: pd.Series) -> float:
    return float(values[values > -np.inf].min())


def _ground(axes: Axes, span: tuple[int, int, int, int]) -> None:
    left, right, floor, top = span
    ends = np.array([left, right], dtype=np.float64)
    axes.fill_between(ends, ends - 1, ends + 1, color=lighten(SOFT, 0.13), linewidth=0)
    axes.plot(
        ends, ends, color=SOFT, linewidth=0.9, linestyle=(0.0, (4.0, 2.0)), label="equal",
    )  # fmt: skip
    axes.axhspan(floor - _RAIL, floor, color=lighten(SOFT, 0.13), linewidth=0)
    axes.set_xlim(left, right)
    axes.set_ylim(floor - _RAIL, top)
    decade_ticks(axes.xaxis, left, right, most=6)
    decade_ticks(axes.yaxis, floor, top, zero_at=floor - 0.5 * _RAIL)
    axes.grid(color=RULE)


def _points(axes: Axes, own: pd.DataFrame, model: str, index: int, floor: int) -> None:
    """Draw the estimates of a model."""
    shade = colour(index)
    pale = min(0.45, max(0.12, 12.0 / max(1, len(own))))
    inside, zero, below = (own[own["place"] == name] for name in ("panel", "zero", "below"))
    bottom = floor - _RAIL
    axes.vlines(
        inside["q"], np.maximum(inside["p_low"], floor), inside["p_high"], color=shade,
        linewidth=0.8, alpha=pale,
    )  # fmt: skip
    axes.hlines(
        inside["p"], np.maximum(inside["q_low"], floor), inside["q_high"], color=shade,
        linewidth=0.8, alpha=pale,
    )  # fmt: skip
    axes.scatter(
        inside["q"], inside["p"], s=9, marker=marker(index), color=shade, alpha=0.75,
        linewidths=0, zorder=4, label=model,
    )  # fmt: skip
    axes.vlines(
        zero["q"], floor, zero["p_high"], color=shade, linewidth=0.6, alpha=0.6 * pale,
        linestyle=(0.0, (1.0, 2.0)),
    )  # fmt: skip
    axes.scatter(
        zero["q"], zero["p_high"], s=18, marker="_", color=shade, alpha=0.5, linewidths=0.9
    )
    axes.scatter(
        zero["q"], np.full(len(zero), bottom + 0.5 * _RAIL), s=12, marker=marker(index),
        facecolors="none", edgecolors=shade, alpha=0.6, linewidths=0.8, zorder=4,
    )  # fmt: skip
    axes.scatter(
        below["q"], np.full(len(below), floor + 0.15), s=16, marker="v", color=shade, alpha=0.75,
        linewidths=0, zorder=4,
    )  # fmt: skip


def _told(own: pd.DataFrame) -> str:
    """Return in words how many estimates are 0 or below, and how often intervals hold the truth."""
    n = len(own)
    holds = (own["p_low"] <= own["q"]) & (own["q"] <= own["p_high"])
    n_zero, n_below = (int((own["place"] == name).sum()) for name in ("zero", "below"))
    told = [f"0: {n_zero:,} of {n:,}" if n_zero else f"{n:,} estimates, none 0"]
    if n_below:
        told.append(f"below: {n_below:,}")
    return ";  ".join(told) + f"\ninterval holds the truth: {holds.mean():.0%}"
