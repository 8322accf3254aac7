"""F5 and F6: model against ideal probability, item by item and in bins. Unit: probability."""

import numpy as np
import pandas as pd
from jaxtyping import Float
from matplotlib.axes import Axes

from likely.calibration.analyses.units import UNIT_COLUMNS
from likely.report.figures.calibration.intervals import mean_of
from likely.report.figures.calibration.tables import Tables, check_columns, names_of, two_options
from likely.report.figures.drawing import Drawing, Missing
from likely.report.figures.style import (
    PALETTE,
    RULE,
    SOFT,
    Dash,
    head_panel,
    lighten,
    panel_sheet,
    put_legend,
    styled,
)

BAND = 0.10
"""Half the width of the band inside which an item counts as calibrated."""

MOST_POINTS = 2000
"""Up to this many items a model each is a dot; more are counted in squares of `SQUARE`."""

SQUARE = 0.02
"""Side of the squares."""

_NO_ITEM = "no item has two options and any mass on them; score items of such a family"
_IDEAL = "p₁, ideal probability (0 to 1)"
_ORDERS: dict[str, tuple[str, str, str, Dash]] = {
    "forward": ("options in the alphabet's order", PALETTE[0], "o", "-"),
    "reversed": ("the other way round", PALETTE[1], "s", (0.0, (4.0, 1.5))),
    "none": ("items without a twin", PALETTE[2], "^", (0.0, (1.0, 1.0))),
}


@styled()
def reliability(tables: Tables) -> Drawing | Missing:
    """Draw F5: the model's probability of the first option against the ideal one.

    The band is ±0.10 around the ideal; in the shaded quadrants the model prefers the wrong option.

    Returns:
        Data: ``model, p1, pi1, n``: an item a row, or a square with its middle where a model has
        more than 2,000 items.
    """
    name, title = "F05-reliability", "F5  Model against ideal probability"
    frame = two_options(tables.frame)
    if not len(frame):
        return Missing(name=name, reason=_NO_ITEM)
    check_columns(frame, ("pm", "is_direction_right"), what="the frame")
    models = names_of(frame, "model")
    figure, panels = panel_sheet(
        title,
        "The first-mentioned of two options. On the diagonal the model is calibrated, in the blue "
        "band it is within 0.10; in the grey quadrants it prefers the option that has the smaller "
        "number. The less PM, the mass on both, the less it all weighs.",
        len(models),
        each_in=4.9 if len(models) == 1 else 3.4,
        foot_in=0.3,
        shared_x=_IDEAL,
        shared_y="π₁, model probability (0 to 1)",
    )
    data = []
    for axes, model in zip(panels, models, strict=True):
        own = frame[frame["model"] == model]
        points = _points(own)
        _ground(axes)
        _dots(axes, points, largest=len(own) > MOST_POINTS)
        head_panel(axes, model, f"{_shares(own)}\n{_counted(own)}")
        data.append(points.assign(model=model)[["model", "p1", "pi1", "n"]])
    put_legend(figure, panels[:1])
    table = pd.concat(data, ignore_index=True)
    return Drawing(name=name, title=title, figure=figure, data=table)


@styled()
def slope(tables: Tables, *, n_bins: int = 10, seed: int = 0) -> Drawing | Missing:
    """Draw F6: mean probability of the first option in bins of the ideal one, for each order.

    Args:
        tables: Of the frame, ``order`` and the design of items are read.
        n_bins: Of equal width over 0 to 1; the last is closed.
        seed: Of the intervals, over the templates, option sets and sets of numbers in a bin.

    Returns:
        Data: ``model, order, p1, value, low, high, n``; ``p1`` and ``value`` are means of the bin,
        the ends NaN where a bin holds too few of these.
    """
    name, title = "F06-slope", "F6  Does the probability follow the number?"
    frame = two_options(tables.frame)
    if not len(frame):
        return Missing(name=name, reason=_NO_ITEM)
    check_columns(frame, ("order", "pm", *UNIT_COLUMNS), what="the frame")
    models = names_of(frame, "model")
    parts = [
        _binned(own, n_bins, seed).assign(model=str(model), order=str(order))
        for (model, order), own in frame.groupby(["model", "order"], sort=False)
    ]
    columns = ["model", "order", "p1", "value", "low", "high", "n"]
    table = pd.concat(parts, ignore_index=True)[columns]
    figure, panels = panel_sheet(
        title,
        "Mean π of the first-mentioned option in bins of its ideal probability; shades: 95 % "
        "intervals over wordings, options and numbers. Steeper than the diagonal: too sure of the "
        "larger number; flatter: deaf to it. Above ½ at ½: drawn to what is named first. Curves "
        "apart: drawn to a name.",
        len(models),
        each_in=4.6 if len(models) == 1 else 3.2,
        foot_in=0.3,
        shared_x=_IDEAL,
        shared_y="mean π₁, model probability (0 to 1)",
    )
    for axes, model in zip(panels, models, strict=True):
        _diagonal(axes)
        for order, look in _ORDERS.items():
            own = table[(table["model"] == model) & (table["order"] == order)]
            if len(own):
                _curve(axes, own, look)
        head_panel(axes, model, _counted(frame[frame["model"] == model]))
    put_legend(figure, panels[:1])
    return Drawing(name=name, title=title, figure=figure, data=table)


def _points(own: pd.DataFrame) -> pd.DataFrame:
    p = own["p1"].to_numpy(dtype=np.float64)
    pi = own["pi1"].to_numpy(dtype=np.float64)
    if len(own) <= MOST_POINTS:
        return pd.DataFrame({"p1": p, "pi1": pi, "n": 1})
    last = round(1.0 / SQUARE) - 1
    squares = pd.DataFrame(
        {
            "p1": np.minimum(np.floor(p / SQUARE), last),
            "pi1": np.minimum(np.floor(pi / SQUARE), last),
        }
    )
    counted = squares.value_counts(sort=False).rename("n").reset_index()
    counted[["p1", "pi1"]] = (counted[["p1", "pi1"]] + 0.5) * SQUARE
    return counted.sort_values(["p1", "pi1"], ignore_index=True)


def _ground(axes: Axes) -> None:
    for x, y in ((0.0, 0.5), (0.5, 0.0)):
        axes.fill_between([x, x + 0.5], y, y + 0.5, color=lighten(SOFT, 0.14), linewidth=0)
    axes.fill_between([], [], color=lighten(SOFT, 0.14), label="wrong option preferred")
    ends = np.array([0.0, 1.0])
    axes.fill_between(
        ends, ends - BAND, ends + BAND, color=lighten(PALETTE[4], 0.45), linewidth=0,
        label="±0.10 of the ideal",
    )  # fmt: skip
    _diagonal(axes)


def _diagonal(axes: Axes) -> None:
    axes.plot(
        [0, 1], [0, 1], color=SOFT, linewidth=0.9, linestyle=(0.0, (4.0, 2.0)), label="calibrated"
    )
    axes.set_xlim(0, 1)
    axes.set_ylim(0, 1)
    axes.set_aspect("equal")
    axes.set_xticks(np.linspace(0, 1, 5))
    axes.set_yticks(np.linspace(0, 1, 5))
    axes.grid(color=RULE)


def _dots(axes: Axes, points: pd.DataFrame, *, largest: bool) -> None:
    n = points["n"].to_numpy(dtype=np.float64)
    size = 2.0 + 26.0 * n / n.max() if largest else np.full(len(n), 16.0)
    label = "items, area by how many" if largest else "one item"
    axes.scatter(
        points["p1"], points["pi1"], s=size, color=PALETTE[0], alpha=0.75 if largest else 0.5,
        linewidths=0, zorder=4, label=label, clip_on=False,
    )  # fmt: skip


def _shares(own: pd.DataFrame) -> str:
    """Return in words how many items are in a right quadrant, and how many inside the band.

    Where the numbers prefer no option there is no right quadrant.
    """
    p, pi = own["p1"].to_numpy(dtype=np.float64), own["pi1"].to_numpy(dtype=np.float64)
    near = f"within ±0.10: {np.mean(np.abs(pi - p) <= BAND):.0%}"
    right = own["is_direction_right"].mean()
    return near if np.isnan(right) else f"right option preferred: {right:.0%};  {near}"


def _counted(own: pd.DataFrame) -> str:
    return f"{len(own):,} items, mean PM {own['pm'].mean():.2f}"


def _binned(own: pd.DataFrame, n_bins: int, seed: int) -> pd.DataFrame:
    p = own["p1"].to_numpy(dtype=np.float64)
    which = np.minimum((p * n_bins).astype(np.int64), n_bins - 1)
    rows = []
    for k in np.unique(which):
        inside = own[which == k]
        pi: Float[np.ndarray, " K"] = inside["pi1"].to_numpy(dtype=np.float64)
        ends = mean_of(pi, inside, highest=1.0, seed=seed)
        rows.append((float(p[which == k].mean()), *ends, len(inside)))
    return pd.DataFrame(rows, columns=["p1", "value", "low", "high", "n"])


def _curve(axes: Axes, own: pd.DataFrame, look: tuple[str, str, str, Dash]) -> None:
    label, shade, shape, dash = look
    axes.fill_between(
        own["p1"], own["low"], own["high"], color=shade, alpha=0.2, linewidth=0, zorder=3
    )
    axes.plot(
        own["p1"], own["value"], color=shade, marker=shape, linestyle=dash, label=label, zorder=4,
        clip_on=False,
    )  # fmt: skip
