"""F9 and F10: distance by how often numbers are written, and integers by place and digit.

Units: log10 of counts, wd01, multiples of the ideal probability.
"""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from jaxtyping import Float, Int
from matplotlib.axes import Axes

from likely.calibration.analyses.units import UNIT_COLUMNS
from likely.report.figures.calibration.bars import BASELINES
from likely.report.figures.calibration.intervals import mean_of
from likely.report.figures.calibration.tables import (
    NULL,
    Tables,
    check_columns,
    names_of,
    with_model,
)
from likely.report.figures.drawing import Drawing, Missing
from likely.report.figures.style import (
    PALETTE,
    RULE,
    SOFT,
    Dash,
    colour,
    lighten,
    marker,
    put_legend,
    sheet,
    shorten,
    styled,
)

_NULLS = {f"{NULL}{name}": BASELINES[name] for name in ("pick_higher", "higher_0.7", "uniform")}
_MORE_NULLS: tuple[tuple[str, Dash], ...] = (
    (PALETTE[5], (0.0, (4.0, 1.0, 1.0, 1.0))),
    (PALETTE[6], (0.0, (3.0, 1.0))),
)


@styled()
def frequency(tables: Tables) -> Drawing | Missing:
    """Draw F9: distance against the gap in frequency of the two numbers, with the null curves.

    The gap follows from the ideal law itself, so that a policy that has never seen a corpus also
    has a curve here; only what departs from such a curve can be due to frequency.

    Returns:
        Data: the table as given, by model, scale and gap.
    """
    name, title = "F09-frequency", "F9  Frequency of the numbers, and what any policy would show"
    if tables.frequency is None or not len(tables.frequency):
        reason = "no table of frequencies was given; count numbers first"
        return Missing(name=name, reason=tables.reasons.get("frequency", reason))
    check_columns(tables.frequency, ("scale", "gap", "wd"), what="the table of frequencies")
    table = with_model(tables.frequency, tables)
    table = table[table["gap"].notna() & table["wd"].notna()]
    source = f" Frequencies: {table['source'].iloc[0]}." if "source" in table.columns else ""
    nulls = [str(c) for c in table.columns if str(c).startswith(NULL)]
    models, scales = names_of(table, "model"), names_of(table, "scale")
    figure, panels = sheet(
        title,
        "A point is a pair of numbers, its distance a mean over items; lines: what policies would "
        "have on the same pairs, though none knows any frequency. Rings: the model's own levels "
        "for words and order and its slope, blind to frequency. Look for points off them."
        f"{source}",
        height_in=(2.7 if len(models) == 1 else 2.1) * len(models) + 0.6,
        n_rows=len(models),
        n_columns=len(scales),
        share_x=True,
        share_y=True,
    )
    for row, model in zip(panels, models, strict=True):
        for axes, scale in zip(row, scales, strict=True):
            own = table[(table["model"] == model) & (table["scale"] == scale)]
            axes.scatter(
                own["gap"], own["wd"], s=16, color=PALETTE[0], alpha=0.8, linewidths=0, zorder=4,
                label="the model", clip_on=False,
            )  # fmt: skip
            _null_curves(axes, own, nulls)
            axes.grid(color=RULE)
            over = shorten(model, 70) if scale == scales[0] else ""
            axes.set_title(f"numbers {scale}" if len(models) == 1 else f"{over}\nnumbers {scale}")
        row[0].set_ylabel("mean wd01, |π − p|")
    panels[0][0].set_ylim(bottom=0.0)
    panels[0][0].set_xlim(left=0.0)
    for axes in panels[-1]:
        axes.set_xlabel("frequency gap, log₁₀ units")
    put_legend(figure, [axes for row in panels for axes in row])
    data = table.sort_values(["model", "scale", "gap"], kind="stable", ignore_index=True)
    return Drawing(name=name, title=title, figure=figure, data=data)


@styled()
def profile(tables: Tables, *, n_bins: int = 10, seed: int = 0) -> Drawing | Missing:
    """Draw F10: which integers of a range a model prefers, by their place in it and last digit.

    A value is the sum of π over options of that place or digit, over the sum of their ideal
    probabilities: 1 is fair.

    Args:
        tables: With ``options``.
        n_bins: Of the relative place, 0 the smallest integer and 1 the largest.
        seed: Of the intervals, over templates and sets of numbers.

    Returns:
        Data: ``model, by, at, value, low, high, n``; ``by`` is ``position`` or ``digit``. An item
        that the frame does not have counts in the value; the ends are then NaN.
    """
    name, title = "F10-profile", "F10  Which integers it prefers"
    if tables.options is None or not len(tables.options):
        reason = "no options that are numbers were given; score the distributions first"
        return Missing(name=name, reason=tables.reasons.get("options", reason))
    needed = ("id", "value", "ideal", "pi")
    check_columns(tables.options, needed, what="the table of options")
    options = with_model(tables.options, tables)
    options = options[options["value"].notna() & options["pi"].notna()]
    if not len(options):
        return Missing(name=name, reason="no option has a probability; none was given any mass")
    models = names_of(options, "model")
    check_columns(tables.frame, ("model", "id", *UNIT_COLUMNS), what="the frame")
    design = tables.frame.drop_duplicates("id").set_index("id")[list(UNIT_COLUMNS)]
    data = pd.concat(
        [
            _profile(options[options["model"] == m], design, n_bins, seed).assign(model=m)
            for m in models
        ],
        ignore_index=True,
    )[["model", "by", "at", "value", "low", "high", "n"]]
    figure, panels = sheet(
        title,
        "Probability given to integers over the probability that they should have; 1 is fair. "
        "Left: by place between the smallest and the largest of the range. Right: by last digit. "
        "Bars: 95 % intervals over wordings and ranges. With few ranges, a digit that many of them "
        "begin with takes part in what the smallest place has.",
        height_in=3.0 + 0.2 * (len(models) > 1),
        n_columns=2,
        share_y=True,
    )
    [[places, digits]] = panels
    for axes, by, width in ((places, "position", 1.0 / n_bins), (digits, "digit", 1.0)):
        axes.axhline(1.0, color=SOFT, linewidth=1.0, linestyle=(0.0, (4.0, 2.0)), label="uniform")
        for i, model in enumerate(models):
            own = data[(data["model"] == model) & (data["by"] == by)]
            shift = (i - (len(models) - 1) / 2.0) * width * 0.6 / max(len(models), 1)
            _series(axes, own, shift, index=i, label=shorten(model))
        axes.grid(axis="y", color=RULE)
    places.set_ylim(bottom=0.0)
    places.set_xlim(-0.02, 1.02)
    places.set_xlabel("place in the range (0 smallest, 1 largest)")
    places.set_ylabel("probability, multiples of the ideal")
    digits.set_xticks(range(10))
    digits.set_xlabel("last digit of the integer")
    put_legend(figure, [places])
    return Drawing(name=name, title=title, figure=figure, data=data)


def _null_curves(axes: Axes, own: pd.DataFrame, nulls: Sequence[str]) -> None:
    ordered = own.sort_values("gap", kind="stable")
    others = [name for name in nulls if name not in _NULLS]
    for name in nulls:
        if name in _NULLS:
            label, shade, dash = _NULLS[name]
        else:
            shade, dash = _MORE_NULLS[others.index(name) % len(_MORE_NULLS)]
            label = name.removeprefix(NULL).replace("_", " ")
        known = ordered[ordered[name].notna()]
        if name == f"{NULL}itself":
            axes.scatter(
                known["gap"], known[name], s=44, facecolors="none", edgecolors=PALETTE[0],
                linewidths=1.0, zorder=4, label="the model, made blind to frequency", clip_on=False,
            )  # fmt: skip
            continue
        axes.plot(
            known["gap"], known[name], color=shade, linestyle=dash, linewidth=1.3, label=label,
            marker=".", markersize=4, zorder=3,
        )  # fmt: skip


def _series(axes: Axes, own: pd.DataFrame, shift: float, *, index: int, label: str) -> None:
    x = own["at"].to_numpy(dtype=np.float64) + shift
    axes.vlines(x, own["low"], own["high"], color=colour(index), linewidth=1.2, zorder=3)
    axes.plot(x, own["value"], color=lighten(colour(index), 0.5), linewidth=0.8, zorder=2)
    axes.scatter(
        x, own["value"], color=colour(index), marker=marker(index), s=20, zorder=4, label=label
    )


def _profile(options: pd.DataFrame, design: pd.DataFrame, n_bins: int, seed: int) -> pd.DataFrame:
    by_item = options.groupby("id")["value"]
    low, high = by_item.transform("min"), by_item.transform("max")
    place = ((options["value"] - low) / (high - low)).to_numpy(dtype=np.float64)
    bins = np.minimum((place * n_bins).astype(np.int64), n_bins - 1)
    value = options["value"].to_numpy(dtype=np.float64)
    is_whole = value == np.floor(value)
    digit = np.where(is_whole, np.mod(np.abs(value), 10.0), -1.0).astype(np.int64)
    rows = _ratios(options, bins, design, seed).assign(by="position")
    rows["at"] = (rows["at"] + 0.5) / n_bins
    digits = _ratios(options[is_whole], digit[is_whole], design, seed).assign(by="digit")
    return pd.concat([part for part in (rows, digits) if len(part)], ignore_index=True)


def _ratios(
    options: pd.DataFrame, which: Int[np.ndarray, " K"], design: pd.DataFrame, seed: int
) -> pd.DataFrame:
    rows = []
    for k in np.unique(which):
        own = options[which == k]
        sums = own.groupby("id", sort=False)[["pi", "ideal"]].sum()
        pi: Float[np.ndarray, " J"] = sums["pi"].to_numpy(dtype=np.float64)
        ideal: Float[np.ndarray, " J"] = sums["ideal"].to_numpy(dtype=np.float64)
        items = design.reindex(sums.index)
        rows.append((float(k), *mean_of(pi, items, denominators=ideal, seed=seed), len(own)))
    return pd.DataFrame(rows, columns=["at", "value", "low", "high", "n"])
