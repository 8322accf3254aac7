"""F4: which reference behaviour each ordered pair of options shows. Units: rates, wd_paper."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch, Rectangle
from scipy.cluster.hierarchy import leaves_list, linkage, optimal_leaf_ordering
from scipy.spatial.distance import pdist

from likely.errors import InputError
from likely.report.figures.calibration.tables import (
    Tables,
    best_crossed,
    check_columns,
    names_of,
    with_model,
)
from likely.report.figures.drawing import Drawing, Missing
from likely.report.figures.style import (
    INK,
    RULE,
    SOFT,
    ink_on,
    lighten,
    panel_sheet,
    shorten,
    styled,
)

BEHAVIOURS = {
    "calibrated": ("Calibrated", "C", "#b8860b"),
    "higher": ("Pick Higher", "H", "#00588f"),
    "lower": ("Pick Lower", "L", "#aa4499"),
    "first": ("Pick First", "F", "#d55e00"),
    "second": ("Pick Second", "S", "#009e73"),
    "uniform": ("Uniform", "U", "#8c6d46"),
    "null": ("Null", "N", "#33373f"),
    "mixed": ("mixed", "M", "#8a8f99"),
    "other": ("other", "O", "#8a8f99"),
}
"""Name to label, letter and hue."""

_PREFIXES = ("pref_", "pick_", "pick ")


def behaviour_of(name: str) -> str:
    """Return the key of a behaviour, however a table spells it.

    Raises:
        InputError: No such behaviour.

    >>> behaviour_of("Pick Higher"), behaviour_of("pref_first")
    ('higher', 'first')
    """
    key = name.lower()
    for prefix in _PREFIXES:
        key = key.removeprefix(prefix)
    if key not in BEHAVIOURS:
        raise InputError(f"a behaviour is one of {list(BEHAVIOURS)}, got {name!r}")
    return key


@styled()
def behaviours(tables: Tables, *, with_distance: bool = True) -> Drawing | Missing:
    """Draw F4: a map of the behaviours, columns the option mentioned first, rows the second.

    Hue and letter are the behaviour, depth of colour its rate. Options stand in an order that puts
    those side by side whose cells are alike, the same for all models.

    Args:
        tables: With ``cells``, templates pooled. Of several families the one is drawn whose
            options are best crossed.
        with_distance: Whether a second line gives the mean wd_paper of each cell.

    Returns:
        Data: the cells with ``first, second, behaviour``, in the order of the map.

    Raises:
        InputError: A cell comes twice, as it does when templates are not pooled.
    """
    name, title = "F04-behaviours", "F4  Behaviour by ordered pair of options"
    if tables.cells is None:
        reason = tables.reasons.get("cells", "no cells were given; classify the items first")
        return Missing(name=name, reason=reason)
    cells = _read_cells(tables)
    family = best_crossed(cells)
    cells = cells[cells["family"] == family]
    if family is None:
        reason = "no option has more than one partner, so there is no map; score more pairs"
        return Missing(name=name, reason=reason)
    options = seriate(cells)
    models = names_of(cells, "model")
    is_null = (cells["behaviour"] == "null").any()
    is_sparse = cells["option_pair"].nunique() < len(options) * (len(options) - 1)
    figure, panels = panel_sheet(
        title,
        (f"Items of {family}. " if family else "")
        + "Columns: the option mentioned first; rows: the second. "
        + ("Below the rate stands the mean wd_paper, √2 units. " if with_distance else "")
        + "The deeper the colour, the more items behave so. F in a cell and in its mirror image: "
        "the order of mention decides. F in one, S in the other: the name does."
        + (f" N: mass below {tables.null_pm:g} on both, too little to tell." if is_null else "")
        + ("" if tables.null_pm else " Shares alone count, however small the mass.")
        + (" Empty: not asked." if is_sparse else ""),
        len(models),
        each_in=6.2 if len(models) == 1 else 3.55,
        foot_in=0.35,
    )
    for axes, model in zip(panels, models, strict=True):
        own = cells[cells["model"] == model]
        _draw_map(axes, own, options, size=7.5 if len(models) == 1 else 5.3, second=with_distance)
        axes.set_title(shorten(model, 60 if len(models) == 1 else 40))
    _put_key(figure, cells)
    rank = {option: i for i, option in enumerate(options)}
    by_place = cells.assign(_m=cells["model"].map({m: i for i, m in enumerate(models)}))
    by_place = by_place.assign(_r=cells["second"].map(rank), _c=cells["first"].map(rank))
    data = by_place.sort_values(["_m", "_r", "_c"], ignore_index=True)
    return Drawing(
        name=name, title=title, figure=figure, data=data.drop(columns=["_m", "_r", "_c"])
    )


def seriate(cells: pd.DataFrame) -> list[str]:
    """Return the options so that neighbours have like cells, by clustering of their rates.

    An option's features are, model by model, the signed rates of all cells in which it is
    mentioned first and of those in which it is second; missing cells count as 0.
    """
    options = sorted({*cells["first"], *cells["second"]})
    if len(options) < 3:
        return options
    place = {option: i for i, option in enumerate(options)}
    blocks = []
    for _, own in cells.groupby(["model", "behaviour"], sort=True):
        block = np.zeros((len(options), len(options)))
        rows, columns = own["second"].map(place), own["first"].map(place)
        block[rows.to_numpy(), columns.to_numpy()] = own["dominant_rate"].to_numpy()
        blocks += [block, block.T]
    distances: Float[np.ndarray, " K"] = pdist(np.concatenate(blocks, axis=1))
    if not distances.any():
        return options
    tree = optimal_leaf_ordering(linkage(distances, "average"), distances)
    return [options[i] for i in leaves_list(tree)]


def _read_cells(tables: Tables) -> pd.DataFrame:
    cells = tables.cells if tables.cells is not None else pd.DataFrame()
    needed = ("option_pair", "dominant", "dominant_rate", "avg_wd")
    check_columns(cells, needed, what="the table of cells")
    cells = with_model(cells, tables)
    if "family" not in cells.columns:
        cells = cells.assign(family="")
    twice = cells.duplicated(["model", "family", "option_pair"])
    if twice.any():
        raise InputError(
            f"a map has one cell an ordered pair, got {cells.loc[twice, 'option_pair'].iloc[0]!r} "
            "twice for one model; pool the templates first"
        )
    halves = cells["option_pair"].str.split("/", n=1, expand=True)
    return cells.assign(
        first=halves[0],
        second=halves[1],
        behaviour=[behaviour_of(str(x)) for x in cells["dominant"]],
    )


def _draw_map(
    axes: Axes, cells: pd.DataFrame, options: Sequence[str], *, size: float, second: bool
) -> None:
    place = {option: i for i, option in enumerate(options)}
    for _, cell in cells.iterrows():
        x, y = place[cell["first"]], place[cell["second"]]
        _, letter, hue = BEHAVIOURS[cell["behaviour"]]
        rate = float(cell["dominant_rate"])
        ground = lighten(hue, depth(rate))
        axes.add_patch(Rectangle((x - 0.5, y - 0.5), 1, 1, facecolor=ground, edgecolor="white"))
        text = f"{letter} {_bare(rate)}"
        if second and np.isfinite(cell["avg_wd"]):
            text += f"\n{_bare(float(cell['avg_wd']))}"
        axes.text(
            x, y, text, ha="center", va="center", size=size, color=ink_on(ground), linespacing=1.3
        )
    for i in range(len(options)):
        axes.add_patch(Rectangle((i - 0.5, i - 0.5), 1, 1, facecolor=RULE, edgecolor="white"))
    axes.set_xlim(-0.5, len(options) - 0.5)
    axes.set_ylim(len(options) - 0.5, -0.5)
    axes.set_aspect("equal")
    axes.set_xticks(range(len(options)), options, rotation=45, ha="right", rotation_mode="anchor")
    axes.set_yticks(range(len(options)), options)
    axes.tick_params(length=0, labelsize=7.5 if size > 6 else 6.5)
    axes.set_xlabel("mentioned first")
    axes.set_ylabel("mentioned second")
    for spine in axes.spines.values():
        spine.set_visible(False)


def _bare(value: float) -> str:
    """Return three characters at most, as a small cell has room for: ``.90``, ``1.0``."""
    return f"{value:.2f}".removeprefix("0")[:3]


def depth(rate: float) -> float:
    """Return how deep a cell's colour is: from 0.25 at a rate of one half (or below) to 1.

    >>> depth(0.3), depth(0.5), depth(1.0)
    (0.25, 0.25, 1.0)
    """
    return 0.25 + 0.75 * min(1.0, max(0.0, 2.0 * rate - 1.0))


def _put_key(figure: Figure, cells: pd.DataFrame) -> None:
    present = set(cells["behaviour"])
    shown = [key for key in BEHAVIOURS if key in present]
    handles = [Patch(facecolor=BEHAVIOURS[key][2]) for key in shown]
    labels = [f"{BEHAVIOURS[key][1]}  {BEHAVIOURS[key][0]}" for key in shown]
    for rate in (0.5, 0.75, 1.0):
        handles.append(Patch(facecolor=lighten(INK, depth(rate)), edgecolor=SOFT, linewidth=0.4))
        labels.append(f"rate {rate:g}" + (" or less" if rate == 0.5 else ""))
    figure.legend(
        handles, labels, loc="outside lower center", ncols=min(len(handles), 6), handlelength=1.0
    )
