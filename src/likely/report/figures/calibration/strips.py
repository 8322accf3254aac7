"""F8 and F13: one row an option or an item, with its interval. Units: logit (nats), probability."""

import numpy as np
import pandas as pd
from jaxtyping import Float
from matplotlib.axes import Axes

from likely.report.figures.calibration.layout import with_interval, write_numbers
from likely.report.figures.calibration.tables import (
    Tables,
    check_columns,
    names_of,
    with_model,
)
from likely.report.figures.drawing import Drawing, Missing
from likely.report.figures.style import (
    INK,
    PALETTE,
    RULE,
    SOFT,
    colour,
    marker,
    panel_sheet,
    put_legend,
    sheet,
    shorten,
    styled,
)

RESOLVED = 0.01
"""Up to this width an interval is as good as a number."""

N_ITEMS = 24
"""How many items a model F13 shows."""


@styled()
def strengths(tables: Tables) -> Drawing | Missing:
    """Draw F8: how strongly a model is drawn to each option, whatever its number and place.

    Returns:
        Data: ``model, option, strength, low, high``, from the strongest mean over models down.
    """
    name, title = "F08-strengths", "F8  Drawn to a name: strength of each option"
    if tables.strengths is None or not len(tables.strengths):
        reason = "no strengths were given; fit them on items of two options first"
        return Missing(name=name, reason=tables.reasons.get("strengths", reason))
    needed = ("option", "strength", "low", "high")
    check_columns(tables.strengths, needed, what="the table of strengths")
    table = with_model(tables.strengths, tables)[["model", *needed]]
    families = " and ".join(
        names_of(tables.strengths, "family") if "family" in tables.strengths.columns else ()
    )
    means = table.groupby("option", sort=True)["strength"].mean()
    options = list(means.sort_values(ascending=False, kind="stable").index)
    models = names_of(table, "model")
    place = {option: float(i) for i, option in enumerate(options)}
    step = 0.7 / len(models)
    figure, [[axes]] = sheet(
        title,
        (f"Items of {families}. " if families else "")
        + "The log-odds that the option's name adds to it, with its interval over sets of numbers; "
        "strengths of a model sum to 0. A calibrated model has 0 everywhere.",
        height_in=0.7 + len(options) * max(0.22, 0.11 * len(models)) + 0.2 * (len(models) > 1),
    )
    for i, model in enumerate(models):
        own = table[table["model"] == model]
        ys = own["option"].map(place).to_numpy(dtype=np.float64)
        _strength_rows(axes, own, ys + (i - (len(models) - 1) / 2.0) * step, index=i)
        if len(models) == 1:
            told = own.rename(columns={"strength": "value"})
            write_numbers(axes, ys.tolist(), told, written=with_interval)
    axes.axvline(0.0, color=SOFT, linewidth=0.9)
    axes.set_yticks(range(len(options)), [shorten(option) for option in options])
    axes.set_ylim(len(options) - 0.4, -0.6)
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
    axes.grid(axis="x", color=RULE)
    if len(models) > 1:
        for y in range(len(options) - 1):
            axes.axhline(y + 0.5, color=RULE, linewidth=0.6)
        put_legend(figure, [axes])
    axes.set_xlabel("strength s, logit units (nats)")
    rank = {option: i for i, option in enumerate(options)}
    data = table.sort_values("option", key=lambda s: s.map(rank), kind="stable", ignore_index=True)
    return Drawing(name=name, title=title, figure=figure, data=data)


@styled()
def bounds(tables: Tables, *, n_items: int = N_ITEMS) -> Drawing | Missing:
    """Draw F13: what is known of π₁ when a server tells only its likeliest tokens.

    Args:
        tables: The frame has ``pi1_low`` and ``pi1_high`` for items that are known by bounds.
        n_items: How many a model are shown: evenly spread over all of them, in the order of their
            ideal probability.

    Returns:
        Data: ``model, id, label1, label2, n1, n2, p1, pi1_low, pi1_high, width``.
    """
    name, title = "F13-bounds", "F13  What a server's likeliest tokens leave open"
    frame = tables.frame
    has_bounds = {"pi1_low", "pi1_high"} <= set(frame.columns)
    known = _bounded(frame) if has_bounds else frame.iloc[:0]
    if not (len(known) and (known["pi1_high"] > known["pi1_low"]).any()):
        reason = "every probability is exact, so there are no bounds; they come with models behind "
        return Missing(name=name, reason=reason + "a server that tells only its likeliest tokens")
    is_open = known["pi1_high"] > known["pi1_low"]
    models = names_of(known[is_open], "model")
    chosen = [_spread(known[known["model"] == model], n_items) for model in models]
    figure, panels = panel_sheet(
        title,
        "Whiskers: every π₁ that agrees with what was told. Rows: items from the smallest ideal "
        "probability to the largest, evenly spread over all. An interval that holds the ideal "
        "mark leaves it open whether the model is calibrated there.",
        len(models),
        each_in=0.18 * max(len(part) for part in chosen) + 0.6,
        foot_in=0.3,
        shared_x="π₁, model probability (0 to 1)",
    )
    for axes, model, own in zip(panels, models, chosen, strict=True):
        _bound_rows(axes, own)
        axes.tick_params(axis="y", labelsize=7 if len(models) == 1 else 6)
        axes.set_title(shorten(model, 44 if len(models) == 1 else 34))
    put_legend(figure, panels)
    data = pd.concat(chosen, ignore_index=True)
    return Drawing(name=name, title=title, figure=figure, data=data)


def _bounded(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the items of two names whose share is known, if only between two ends."""
    is_number = frame["wd_line"].notna()
    if "wd_line_norm_low" in frame.columns:
        is_number |= frame["wd_line_norm_low"].notna()
    has_ends = frame["pi1_low"].notna() & frame["pi1_high"].notna()
    return frame[frame["p1"].notna() & has_ends & ~is_number]


def _strength_rows(
    axes: Axes, own: pd.DataFrame, ys: Float[np.ndarray, " K"], *, index: int
) -> None:
    axes.hlines(ys, own["low"], own["high"], color=colour(index), linewidth=1.3)
    axes.scatter(
        own["strength"], ys, color=colour(index), marker=marker(index), s=22, zorder=3,
        label=shorten(str(own["model"].iloc[0])),
    )  # fmt: skip


def _bound_rows(axes: Axes, own: pd.DataFrame) -> None:
    ys = np.arange(len(own))
    is_loose = own["width"].to_numpy(dtype=np.float64) > RESOLVED
    for mask, shade, label in (
        (~is_loose, PALETTE[0], f"known within {RESOLVED:g}"),
        (is_loose, PALETTE[1], f"wider than {RESOLVED:g}"),
    ):
        some = own[mask]
        low, high = (some[name].to_numpy(dtype=np.float64) for name in ("pi1_low", "pi1_high"))
        axes.hlines(ys[mask], low, high, color=shade, linewidth=2.2, zorder=3)
        axes.scatter(
            np.concatenate([low, high]), np.tile(ys[mask], 2), marker="|", s=34, color=shade,
            zorder=3, label=label, clip_on=False,
        )  # fmt: skip
    axes.scatter(
        own["p1"], ys, marker="D", s=12, facecolors="white", edgecolors=INK, linewidths=0.9,
        zorder=4, label="ideal p₁",
    )  # fmt: skip
    axes.set_yticks(ys, [_item_name(row) for _, row in own.iterrows()])
    axes.tick_params(axis="y", length=0)
    axes.set_ylim(len(own) - 0.4, -0.6)
    axes.set_xlim(0.0, 1.0)
    axes.grid(axis="x", color=RULE)


def _spread(own: pd.DataFrame, n_items: int) -> pd.DataFrame:
    ordered = own.sort_values(["p1", "id"], kind="stable", ignore_index=True)
    places = np.unique(np.linspace(0, len(ordered) - 1, min(n_items, len(ordered))).round())
    kept = ordered.iloc[places.astype(np.int64)]
    kept = kept.assign(width=kept["pi1_high"] - kept["pi1_low"])
    columns = ["model", "id", "label1", "label2", "n1", "n2", "p1", "pi1_low", "pi1_high", "width"]
    return kept[columns].reset_index(drop=True)


def _item_name(row: pd.Series) -> str:
    """Return the options with their numbers, or with the ideal where they have none."""
    if np.isfinite(row["n1"]) and np.isfinite(row["n2"]):
        return f"{row['n1']:g} {row['label1']}, {row['n2']:g} {row['label2']}"
    return f"{row['label1']} {row['p1']:.2f}, {row['label2']}"
