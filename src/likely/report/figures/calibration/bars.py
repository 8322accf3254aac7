"""F1 to F3: mass, distance and entropy by family and model. Units: probability, wd, bits."""

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from likely.calibration.metrics import MASS_GATE
from likely.errors import InputError
from likely.report.display import fixed
from likely.report.figures.calibration.layout import (
    Rows,
    head_numbers,
    name_rows,
    rows_of,
    whiskers,
    with_interval,
    write_numbers,
)
from likely.report.figures.calibration.tables import (
    Tables,
    baseline_values,
    family_distances,
    family_means,
)
from likely.report.figures.drawing import Drawing, Missing
from likely.report.figures.style import (
    INK,
    PALETTE,
    SOFT,
    Dash,
    lighten,
    put_legend,
    sheet,
    styled,
)

_BAR = lighten(PALETTE[0], 0.45)
_NO_ITEM = "no item of the frame has this metric; score some items first"

DISTANCES = {
    "wd01": "wd01, |π − p| (0 to 1)",
    "wd_paper": "wd_paper, √2 units (0 to √2)",
    "wd_line_norm": "wd_line_norm, share of the range (0 to 1)",
}
"""Metrics of distance and how an axis calls them."""

BASELINES: dict[str, tuple[str, str, Dash]] = {
    "pick_higher": ("Pick Higher", PALETTE[1], "-"),
    "higher_0.7": ("Higher_0.7", PALETTE[2], (0.0, (5.0, 1.5))),
    "uniform": ("Uniform", PALETTE[3], (0.0, (1.0, 1.0))),
    "random_1": ("Random, τ = 1", PALETTE[5], (0.0, (4.0, 1.0, 1.0, 1.0))),
    "pick_first": ("Pick First", PALETTE[4], (0.0, (3.0, 1.0))),
    "best_constant": ("best constant", INK, "-"),
}
"""Name to label, colour and dash of the baselines that F2 draws, in the order of its legend."""


@styled()
def mass(tables: Tables) -> Drawing | Missing:
    """Draw F1: the mean probability mass of the options, with the line from which it is enough.

    Returns:
        Data: `family_means` of ``pm`` and ``share_gated``, the share of items at 0.75 or above.
    """
    name, title = "F01-mass", "F1  Probability mass on the options"
    table = family_means(tables, "pm")
    if not len(table):
        return Missing(name=name, reason=_NO_ITEM)
    frame = tables.frame
    frame = frame[frame["pm"].notna()]
    table["share_gated"] = [
        float(np.mean(frame.loc[(frame["family"] == f) & (frame["model"] == m), "pm"] >= MASS_GATE))
        for f, m in zip(table["family"], table["model"], strict=True)
    ]
    rows = rows_of(table)
    figure, [[axes]] = sheet(
        title,
        "Mean over items of PM, the share of the next-word probability that falls on the item's "
        "own options; below 0.75 a calibration score is hardly worth reading.",
        height_in=rows.height_in + 0.75,
    )
    _bars(axes, rows, table)
    axes.axvline(
        MASS_GATE, color=PALETTE[1], linestyle=(0.0, (4.0, 2.0)), label="0.75, the gate", zorder=3
    )
    axes.set_xlim(0.0, 1.0)
    axes.set_xlabel("PM, probability (0 to 1)")
    head_numbers(axes, "mean [interval]  ·  items ≥ 0.75")
    write_numbers(
        axes,
        rows.places(table),
        table,
        written=lambda r: f"{with_interval(r)}  ·  {r['share_gated']:.0%}",
    )
    put_legend(figure, [axes])
    return Drawing(name=name, title=title, figure=figure, data=table)


@styled()
def distance(tables: Tables, *, unit: str = "wd01") -> Drawing | Missing:
    """Draw F2: the mean distance from the ideal law, with the baselines on the same items.

    Args:
        tables: With ``baselines`` for the lines.
        unit: ``wd01`` or ``wd_paper``, for options that are names; families whose options are
            numbers have a panel of their own in ``wd_line_norm``.

    Returns:
        Data: `family_distances`, and a row each baseline with its name as ``model``.

    Raises:
        InputError: Another unit.
    """
    if unit not in ("wd01", "wd_paper"):
        raise InputError(f"the unit is 'wd01' or 'wd_paper', got {unit!r}")
    name, title = "F02-distance", "F2  Distance from the ideal law, and what simple policies score"
    means = family_distances(tables, unit).assign(kind="model")
    if not len(means):
        return Missing(name=name, reason=_NO_ITEM)
    parts = [part for _, part in means.groupby("metric", sort=False)]
    placed = [rows_of(part) for part in parts]
    figure, panels = sheet(
        title,
        "Mean over items; 0 is calibrated. A line is what a policy scores on the same items that "
        "knows only which number is higher, or nothing at all.",
        height_in=sum(rows.height_in + 0.6 for rows in placed) + 0.3,
        n_rows=len(parts),
        heights=[rows.n + 1.0 for rows in placed],
    )
    data = []
    for [axes], rows, part in zip(panels, placed, parts, strict=True):
        metric = str(part["metric"].iloc[0])
        _bars(axes, rows, part)
        lines = _baselines(axes, rows, tables, metric)
        axes.set_xlim(0.0, _round_up(max(part[["value", "high"]].max().max(), *lines["value"], 0)))
        axes.set_xlabel(DISTANCES[metric])
        head_numbers(axes, "mean [interval]")
        write_numbers(axes, rows.places(part), part, written=with_interval)
        data += [part, lines]
    put_legend(figure, [axes for [axes] in panels], n_columns=6)
    table = pd.concat([part for part in data if len(part)], ignore_index=True)
    return Drawing(name=name, title=title, figure=figure, data=table)


@styled()
def entropy(tables: Tables) -> Drawing | Missing:
    """Draw F3: entropy of the model less that of the ideal law, over the floor of a one-hot law.

    Returns:
        Data: `family_means` of ``entropy_gap``, with ``floor``, the mean of −H(P), and
        ``ceiling``, the mean of log n − H(P), over the same items.
    """
    name, title = "F03-entropy", "F3  Too sure or not sure enough: the entropy gap"
    table = family_means(tables, "entropy_gap")
    if not len(table):
        return Missing(name=name, reason=_NO_ITEM)
    frame = tables.frame[tables.frame["entropy_gap"].notna()]
    ends = [
        _entropy_ends(frame[(frame["family"] == f) & (frame["model"] == m)])
        for f, m in zip(table["family"], table["model"], strict=True)
    ]
    table["floor"], table["ceiling"] = [low for low, _ in ends], [high for _, high in ends]
    rows = rows_of(table)
    figure, [[axes]] = sheet(
        title,
        "Mean over items of RE = H(Π) − H(P). Below 0 the model is surer than the numbers allow; "
        "at the floor −H(P) it is certain each time. At 0 the entropy is right, the law need not "
        "be.",
        height_in=rows.height_in + 0.75,
    )
    ys = rows.places(table)
    axes.hlines(ys, table["floor"], table["ceiling"], color=RANGE, linewidth=7, zorder=1)
    axes.scatter(
        table["floor"], ys, marker="|", s=60, color=PALETTE[1], zorder=3, label="floor, −H(P)"
    )
    axes.scatter(
        table["ceiling"], ys, marker="|", s=60, color=PALETTE[2], zorder=3,
        label="ceiling, log₂ n − H(P)",
    )  # fmt: skip
    whiskers(axes, rows, table)
    axes.scatter(table["value"], ys, s=26, color=PALETTE[0], zorder=5, label="mean entropy gap")
    axes.axvline(0.0, color=SOFT, linewidth=0.8, zorder=2)
    name_rows(axes, rows)
    axes.grid(axis="x")
    axes.set_xlabel("entropy_gap, RE = H(Π) − H(P), bits")
    head_numbers(axes, "mean [interval]  ·  floor")
    write_numbers(axes, ys, table, written=lambda r: f"{with_interval(r)}  ·  {fixed(r['floor'])}")
    put_legend(figure, [axes])
    return Drawing(name=name, title=title, figure=figure, data=table)


RANGE = lighten(SOFT, 0.18)
"""Shade of the range that a number can have."""


def _bars(axes: Axes, rows: Rows, table: pd.DataFrame) -> None:
    axes.barh(rows.places(table), table["value"], height=0.68, color=_BAR, zorder=2)
    whiskers(axes, rows, table)
    name_rows(axes, rows)
    axes.grid(axis="x")


def _baselines(axes: Axes, rows: Rows, tables: Tables, metric: str) -> pd.DataFrame:
    """Draw the baselines of each family over its rows; return them as rows of data."""
    found = []
    for family, (top, bottom) in rows.spans.items():
        values = baseline_values(tables, metric, family)
        for key, (label, shade, dash) in BASELINES.items():
            if key not in values:
                continue
            axes.vlines(
                values[key], top, bottom, color=shade, linestyle=dash, linewidth=1.5, zorder=3,
                label=label, clip_on=False,
            )  # fmt: skip
            found.append((key, family, values[key], metric, "baseline"))
    return pd.DataFrame(found, columns=["model", "family", "value", "metric", "kind"])


def _entropy_ends(items: pd.DataFrame) -> tuple[float, float]:
    ideal = items["entropy_ideal"].to_numpy(dtype=np.float64)
    largest = np.log2(items["n_options"].to_numpy(dtype=np.float64))
    return 0.0 - float(np.mean(ideal)), float(np.mean(largest - ideal))


def _round_up(value: float) -> float:
    return max(0.1, float(np.ceil(value * 10.0 - 1e-9) / 10.0)) if np.isfinite(value) else 1.0
