"""F7, F11 and F12: models and cells as points in a plane. Units: rates, pm, wd, bits."""

import numpy as np
import pandas as pd
from jaxtyping import Shaped
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from likely.calibration.metrics import MASS_GATE
from likely.report.figures.calibration.behaviour_map import BEHAVIOURS, behaviour_of
from likely.report.figures.calibration.tables import (
    Tables,
    check_columns,
    family_distances,
    family_means,
    names_of,
    with_model,
)
from likely.report.figures.drawing import Drawing, Missing
from likely.report.figures.style import (
    INK,
    RULE,
    SOFT,
    colour,
    head_panel,
    marker,
    panel_sheet,
    put_legend,
    sheet,
    shorten,
    styled,
)

CORNERS = {
    "Pick Higher": (1.0, 0.0),
    "Pick First": (1.0, 1.0),
    "Pick Second": (0.0, 0.0),
    "Pick Lower": (0.0, 1.0),
    "coin-like": (0.5, 0.5),
}
"""Where the pure behaviours stand in the plane of F7."""

_NO_ITEM = "no item of the frame has these metrics; score some items first"


@styled()
def plane(tables: Tables) -> Drawing | Missing:
    """Draw F7: how often the first option is picked when it is higher (a) and when not (b).

    Returns:
        Data: ``model, option_pair, a, b, dominant, n``, a row a dot.
    """
    name, title = "F07-plane", "F7  Order or number: where each pair of options stands"
    if tables.cells is None:
        reason = tables.reasons.get("cells", "no cells were given; classify the items first")
        return Missing(name=name, reason=reason)
    needed = ("option_pair", "a", "b", "dominant", "n")
    check_columns(tables.cells, needed, what="the table of cells")
    cells = with_model(tables.cells, tables)
    n_asked = cells["model"].value_counts()
    cells = cells[cells["a"].notna() & cells["b"].notna()]
    if not len(cells):
        return Missing(name=name, reason="no cell has both a and b; their items have no mass")
    models = names_of(cells, "model")
    figure, panels = panel_sheet(
        title,
        "A dot is an ordered pair of options, a larger one several (×). Right: the "
        "first-mentioned is picked when it has the larger number; up: also when it has the "
        "smaller. In the lower right the number decides, along the diagonal order does."
        + ("" if tables.null_pm else " Shares alone count, however small the mass."),
        len(models),
        each_in=4.9 if len(models) == 1 else 3.5,
        foot_in=0.3,
        shared_x="a, share picking first when the first is higher (0 to 1)",
        shared_y="b, share picking first\nwhen the second is higher (0 to 1)",
    )
    for axes, model in zip(panels, models, strict=True):
        _corners(axes)
        own = cells[cells["model"] == model]
        kinds = np.array([behaviour_of(str(x)) for x in own["dominant"]])
        _spots(axes, own, kinds)
        n_left = int(n_asked[model]) - len(own)
        left = f"{n_left:,} of {n_asked[model]:,} pairs have too little mass to stand anywhere"
        head_panel(axes, model, left if n_left else "")
    put_legend(figure, panels, n_columns=5)
    columns = ["model", *(["family"] if "family" in cells.columns else []), *needed]
    data = cells[columns].reset_index(drop=True)
    return Drawing(name=name, title=title, figure=figure, data=data)


@styled()
def mass_distance(tables: Tables) -> Drawing | Missing:
    """Draw F11: mass against distance, a point a model and family; hollow where mass is too low.

    Small points are the templates of a family.

    Returns:
        Data: ``model, family, template, pm, wd, metric, is_gated``; ``template`` is ``all`` for
        the family.
    """
    name, title = "F11-mass-distance", "F11  Mass and distance together"
    check_columns(tables.frame, ("pm", "wd01", "wd_line_norm", "template"), what="the frame")
    means = family_distances(tables)
    if not len(means):
        return Missing(name=name, reason=_NO_ITEM)
    metric_of = dict(zip(means["family"], means["metric"], strict=True))
    frame = tables.frame
    is_line = frame["family"].map(metric_of) == "wd_line_norm"
    frame = frame.assign(wd=frame["wd_line_norm"].where(is_line, frame["wd01"]))
    frame = frame[frame["wd"].notna()]
    keys = ["model", "family", "template"]
    small = frame.groupby(keys, sort=False, as_index=False)[["pm", "wd"]].mean()
    large = _family_points(tables, means, frame)
    data = pd.concat([large, small], ignore_index=True)
    data["metric"] = data["family"].map(metric_of)
    data["is_gated"] = data["pm"] >= MASS_GATE
    figure, [[axes]] = sheet(
        title,
        "Mean PM and mean distance; small points are templates. Hollow points have a mass below "
        "0.75, so that their distance speaks of little. Best is the lower right.",
        height_in=4.4,
    )
    models, families = names_of(data, "model"), names_of(data, "family")
    for i, model in enumerate(models):
        for j, family in enumerate(families):
            own = data[(data["model"] == model) & (data["family"] == family)]
            _gated_points(axes, own, colour(i), marker(j))
    axes.axvline(MASS_GATE, color=SOFT, linewidth=0.9, linestyle=(0.0, (4.0, 2.0)))
    axes.set_xlim(0.0, 1.0)
    axes.set_ylim(0.0, max(0.1, float(data["wd"].max()) * 1.08))
    axes.grid(color=RULE)
    axes.set_xlabel("PM, probability (0 to 1)")
    axes.set_ylabel("names: wd01, |π − p|; numbers: wd_line_norm (0 to 1)")
    _key_of(figure, models, families)
    return Drawing(name=name, title=title, figure=figure, data=data)


@styled()
def tuning(tables: Tables) -> Drawing | Missing:
    """Draw F12: what instruction tuning does, as an arrow from base model to instruct model.

    Returns:
        Data: ``base, instruct, family, metric, entropy_gap_base, wd_base, entropy_gap_instruct,
        wd_instruct``.
    """
    name, title = "F12-tuning", "F12  From base model to instruct model"
    present = set(names_of(tables.frame, "model"))
    pairs = [pair for pair in tables.pairs if set(pair) <= present]
    if not pairs:
        reason = "no base model and its instruct model are both in the frame; name them as a pair"
        return Missing(name=name, reason=reason)
    data = _arrows(tables, pairs)
    if not len(data):
        return Missing(name=name, reason=_NO_ITEM)
    families = names_of(data, "family")
    figure, panels = panel_sheet(
        title,
        "An arrow goes from the base model (hollow) to the instruct model (filled). To the left: "
        "tuning takes entropy away; down: it brings the law nearer to the numbers.",
        len(families),
        each_in=4.0 if len(families) == 1 else 3.2,
        foot_in=0.4,
        n_columns=3,
    )
    for axes, family in zip(panels, families, strict=True):
        own = data[data["family"] == family]
        for _, row in own.iterrows():
            _arrow(axes, row, index=pairs.index((row["base"], row["instruct"])))
        axes.axvline(0.0, color=SOFT, linewidth=0.8)
        axes.margins(0.12)
        axes.set_ylim(0.0, 1.15 * max(own["wd_base"].max(), own["wd_instruct"].max(), 0.05))
        axes.grid(color=RULE)
        axes.set_title(family)
        axes.set_xlabel("entropy_gap, bits")
        axes.set_ylabel(_DISTANCE[str(own["metric"].iloc[0])])
    put_legend(figure, panels, n_columns=2)
    return Drawing(name=name, title=title, figure=figure, data=data)


_DISTANCE = {"wd01": "wd01, |π − p|", "wd_line_norm": "wd_line_norm (0 to 1)"}

_SHAPES = {
    "calibrated": "o", "higher": "^", "lower": "v", "first": "<", "second": ">", "uniform": "D",
    "null": "X", "mixed": "s", "other": "s",
}  # fmt: skip


def _corners(axes: Axes) -> None:
    """Mark the pure behaviours; their names stand outside the square, where no dot can be."""
    axes.plot([0, 1], [0, 1], color=SOFT, linewidth=0.8, linestyle=(0.0, (4.0, 2.0)), zorder=1)
    axes.plot([0, 1, 1, 0, 0], [0, 0, 1, 1, 0], color=SOFT, linewidth=0.8, zorder=1)
    for label, (a, b) in CORNERS.items():
        axes.scatter([a], [b], marker="+", s=70, color=INK, linewidths=1.1, zorder=2)
        x, y = _OUTWARD[a], _OUTWARD[b]
        shift = (x * 5 if x else 7, y * 10 if y else -8)
        axes.annotate(
            label, (a, b), xytext=shift, textcoords="offset points", va="center",
            ha={-1: "left", 0: "left", 1: "right"}[x], size=7.5,
        )  # fmt: skip
    axes.set_xlim(-0.1, 1.1)
    axes.set_ylim(-0.1, 1.1)
    axes.set_aspect("equal")
    axes.set_xticks(np.linspace(0, 1, 5))
    axes.set_yticks(np.linspace(0, 1, 5))
    axes.grid(color=RULE)


def _spots(axes: Axes, own: pd.DataFrame, kinds: Shaped[np.ndarray, " K"]) -> None:
    """Draw the cells of a model, those of one behaviour at one place as one mark."""
    places = own[["a", "b"]].round(9).assign(kind=kinds)
    spots = places.value_counts(sort=False).rename("n").reset_index()
    for key, (label, letter, hue) in BEHAVIOURS.items():
        some = spots[spots["kind"] == key]
        if len(some):
            axes.scatter(
                some["a"], some["b"], s=30.0 + 12.0 * (some["n"].clip(upper=_MOST) - 1), color=hue,
                alpha=0.75, linewidths=0.5, edgecolors="white", marker=_SHAPES[key],
                zorder=5.0 - some["n"].max() / (len(own) + 1.0),
            )  # fmt: skip
            axes.scatter(
                [], [], s=30.0, color=hue, marker=_SHAPES[key], label=f"{label} ({letter})"
            )
    counts = spots.groupby(["a", "b"], as_index=False)["n"].sum()
    for a, b, n in zip(counts["a"], counts["b"], counts["n"], strict=True):
        if n > 1:
            axes.annotate(
                f"×{n}", (a, b), xytext=(9 if a < 1.0 else -9, -11 if b > 0.0 else 11),
                textcoords="offset points", size=7, va="center",
                ha="left" if a < 1.0 else "right", zorder=6,
            )  # fmt: skip


_MOST = 12
"""From this many cells at a place on, a mark grows no more."""

_OUTWARD = {0.0: -1, 0.5: 0, 1.0: 1}


def _family_points(tables: Tables, means: pd.DataFrame, frame: pd.DataFrame) -> pd.DataFrame:
    pm = family_means(tables, "pm").set_index(["model", "family"])["value"]
    pairs = [(m, f) for m, f in zip(means["model"], means["family"], strict=True)]
    order = {pair: i for i, pair in enumerate(
        frame[["model", "family"]].drop_duplicates().itertuples(index=False, name=None)
    )}  # fmt: skip
    points = means.rename(columns={"value": "wd"}).assign(
        template="all",
        pm=[float(pm.loc[pair]) for pair in pairs],
        _order=[order[pair] for pair in pairs],
    )
    ordered = points.sort_values("_order", ignore_index=True)
    return ordered[["model", "family", "template", "pm", "wd"]]


def _gated_points(axes: Axes, own: pd.DataFrame, shade: str, shape: str) -> None:
    for is_whole in (False, True):
        some = own[(own["template"] == "all") == is_whole]
        for is_gated in (False, True):
            dots = some[some["is_gated"] == is_gated]
            axes.scatter(
                dots["pm"], dots["wd"], marker=shape, s=64 if is_whole else 16,
                facecolors=shade if is_gated else "white", edgecolors=shade,
                linewidths=1.4 if is_whole else 0.8, alpha=1.0 if is_whole else 0.6,
                zorder=5 if is_whole else 3, clip_on=False,
            )  # fmt: skip


def _key_of(figure: Figure, models: list[str], families: list[str]) -> None:
    handles = [
        Line2D([], [], marker="o", linestyle="", color=colour(i), label=shorten(model))
        for i, model in enumerate(models)
    ]
    handles += [
        Line2D([], [], marker=marker(j), linestyle="", color=SOFT, label=family)
        for j, family in enumerate(families)
    ]
    handles.append(
        Line2D([], [], marker="o", linestyle="", color=SOFT, markerfacecolor="white",
               label="PM below 0.75")
    )  # fmt: skip
    n_columns = len(handles) if len(handles) <= _KEYS else 4
    figure.legend(handles=handles, loc="outside lower center", ncols=n_columns)


_KEYS = 6
"""Up to this many marks are explained in one line."""


def _arrows(tables: Tables, pairs: list[tuple[str, str]]) -> pd.DataFrame:
    gaps = family_means(tables, "entropy_gap").set_index(["model", "family"])["value"]
    wd = family_distances(tables)
    found = {
        (str(m), str(f)): (str(kind), float(value))
        for m, f, kind, value in wd[["model", "family", "metric", "value"]].itertuples(index=False)
    }
    rows = []
    for family in names_of(tables.frame, "family"):
        for base, instruct in pairs:
            ends = ((base, family), (instruct, family))
            if all(end in gaps.index and end in found for end in ends):
                numbers = [x for end in ends for x in (float(gaps.loc[end]), found[end][1])]
                rows.append((base, instruct, family, found[ends[0]][0], *numbers))
    return pd.DataFrame(
        rows,
        columns=[
            "base", "instruct", "family", "metric", "entropy_gap_base", "wd_base",
            "entropy_gap_instruct", "wd_instruct",
        ],
    )  # fmt: skip


def _arrow(axes: Axes, row: pd.Series, *, index: int) -> None:
    start = (row["entropy_gap_base"], row["wd_base"])
    end = (row["entropy_gap_instruct"], row["wd_instruct"])
    shade = colour(index)
    label = f"{shorten(row['base'])} → {shorten(row['instruct'])}"
    axes.scatter(
        *start, s=36, marker=marker(index), facecolors="white", edgecolors=shade, linewidths=1.4,
        zorder=4, label=label,
    )  # fmt: skip
    axes.scatter(*end, s=12, color=shade, zorder=2)
    axes.annotate(
        "", end, xytext=start, zorder=3,
        arrowprops={"arrowstyle": "-|>", "color": shade, "linewidth": 1.6, "shrinkA": 4,
                    "shrinkB": 0, "mutation_scale": 12},
    )  # fmt: skip
