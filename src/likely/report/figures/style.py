"""How every figure looks: one style, colours that colour-blind readers can tell apart. Unit: none.

Figures are made without pyplot, so that nothing global holds them and nothing has to be closed.
"""

import math
import textwrap
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TypeAlias, cast

import matplotlib as mpl
from cycler import cycler
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure

Dash: TypeAlias = str | tuple[float, tuple[float, ...]]
"""A line style as matplotlib knows it."""

WIDTH_IN = 7.2
"""Width of every figure, inches: a column of text, where its 8 points stay readable."""

INK, SOFT, RULE = "#16181d", "#565b66", "#d9d9d2"

PALETTE = (
    "#0072b2", "#d55e00", "#009e73", "#aa4499", "#56b4e9", "#e69f00", "#555555", "#882255",
)  # fmt: skip
"""Colours of series, after Okabe and Ito's set, without the yellow that is lost on white paper."""

MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
"""Shapes of series, so that nothing hangs on colour."""

_LINE_IN, _TITLE_IN, _PAD_IN = 0.165, 0.27, 0.06
_CHARACTERS = 122

_STYLE: dict[str, object] = {
    "figure.facecolor": "white",
    "figure.dpi": 100.0,
    "savefig.dpi": 160.0,
    "font.family": "DejaVu Sans",
    "font.size": 8.0,
    "axes.titlesize": 8.5,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.labelsize": 8.0,
    "axes.edgecolor": SOFT,
    "axes.labelcolor": INK,
    "axes.linewidth": 0.7,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "axes.unicode_minus": True,
    "axes.prop_cycle": cycler(color=PALETTE),
    "grid.color": RULE,
    "grid.linewidth": 0.6,
    "xtick.color": SOFT,
    "ytick.color": SOFT,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "xtick.labelsize": 7.5,
    "ytick.labelsize": 7.5,
    "text.color": INK,
    "legend.frameon": False,
    "legend.fontsize": 7.5,
    "legend.handlelength": 1.8,
    "lines.linewidth": 1.4,
    "lines.markersize": 4.5,
    "svg.fonttype": "none",
    "svg.hashsalt": "likely",
}


@contextmanager
def styled() -> Iterator[None]:
    """Put the style in place of whatever the machine's own configuration says, for a while.

    Also a decorator: ``@styled()`` before a function that draws.
    """
    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams.update(cast("dict[mpl.typing.RcKeyType, object]", _STYLE))
        yield


def colour(index: int) -> str:
    """Return the colour of a series; after the last one they begin again."""
    return PALETTE[index % len(PALETTE)]


def marker(index: int) -> str:
    """Return the shape of a series; after all colours, the next shapes come to the same colours.

    >>> marker(0), marker(8)
    ('o', 's')
    """
    return MARKERS[(index + index // len(PALETTE)) % len(MARKERS)]


def lighten(shade: str, share: float) -> tuple[float, float, float]:
    """Return a colour mixed with white: ``share`` 1 is the colour itself, 0 is white.

    >>> lighten("#000000", 0.25)
    (0.75, 0.75, 0.75)
    """
    channels = [int(shade[i : i + 2], 16) / 255.0 for i in (1, 3, 5)]
    red, green, blue = (1.0 - share * (1.0 - c) for c in channels)
    return red, green, blue


def ink_on(ground: tuple[float, float, float]) -> str:
    """Return our black or white, whichever stands out more on a colour.

    Sources:
        WCAG 2, relative luminance; both have the same contrast at a luminance of 0.2.

    >>> ink_on((1.0, 1.0, 1.0)), ink_on((0.0, 0.2, 0.5))
    ('#16181d', '#ffffff')
    """
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in ground]
    luminance = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
    return INK if luminance > 0.2 else "#ffffff"


def sheet(
    title: str,
    note: str,
    *,
    height_in: float,
    n_rows: int = 1,
    n_columns: int = 1,
    share_x: bool = False,
    share_y: bool = False,
    heights: Sequence[float] | None = None,
) -> tuple[Figure, list[list[Axes]]]:
    """Return an empty figure with its heading, and its panels row by row.

    Args:
        title: What the figure is, with its number.
        note: How to read it; broken into lines.
        height_in: Of the panels together, without the heading, inches.
        n_rows: Of panels.
        n_columns: Of panels.
        share_x: Whether all panels have one horizontal axis.
        share_y: Whether all panels have one vertical axis.
        heights: Of the rows, as shares.
    """
    lines = textwrap.wrap(note, _CHARACTERS)
    head = _TITLE_IN + _LINE_IN * len(lines) + _PAD_IN
    total = height_in + head
    figure = Figure(figsize=(WIDTH_IN, total), layout="constrained")
    engine = figure.get_layout_engine()
    if engine is not None:
        engine.set(rect=(0.0, 0.0, 1.0, height_in / total), w_pad=0.08, hspace=0.05, wspace=0.04)  # type: ignore[call-arg]  # the base class of engines takes none
    left = 0.06 / WIDTH_IN
    figure.text(left, 1 - 0.06 / total, title, va="top", ha="left", size=10, weight="bold")
    for i, line in enumerate(lines):
        top = 1 - (_TITLE_IN + _LINE_IN * i) / total
        figure.text(left, top, line, va="top", ha="left", size=7.5, color=SOFT)
    panels = figure.subplots(
        n_rows, n_columns, squeeze=False, sharex=share_x, sharey=share_y, height_ratios=heights
    )
    return figure, [list(row) for row in panels]


def grid_of(n: int, *, n_columns: int = 2) -> tuple[int, int]:
    """Return rows and columns that hold ``n`` panels, at most ``n_columns`` in a row.

    >>> grid_of(1), grid_of(4), grid_of(5, n_columns=3)
    ((1, 1), (2, 2), (2, 3))
    """
    columns = min(n, n_columns)
    return math.ceil(n / columns), columns


def panel_sheet(
    title: str,
    note: str,
    n: int,
    *,
    each_in: float,
    foot_in: float,
    n_columns: int = 2,
    shared_x: str = "",
    shared_y: str = "",
) -> tuple[Figure, list[Axes]]:
    """Return an empty figure with its heading, and its ``n`` panels one after the other.

    Args:
        title: What the figure is, with its number.
        note: How to read it; broken into lines.
        n: Of panels; what is left of the last row stays empty.
        each_in: Height of a row of panels, inches.
        foot_in: What stands below them all, such as a legend, inches.
        n_columns: Of panels, at most.
        shared_x: Name of the horizontal axis that all panels have, written below the lowest; by
            default each has its own.
        shared_y: The same of the vertical axis, written at the left.
    """
    n_rows, n_columns = grid_of(n, n_columns=n_columns)
    figure, rows = sheet(
        title,
        note,
        height_in=each_in * n_rows + foot_in,
        n_rows=n_rows,
        n_columns=n_columns,
        share_x=bool(shared_x),
        share_y=bool(shared_y),
    )
    flat = [axes for row in rows for axes in row]
    for axes in flat[n:]:
        axes.set_axis_off()
    for axes in flat[::n_columns]:
        axes.set_ylabel(shared_y)
    panels = flat[:n]
    for axes in panels[-n_columns:]:  # those with none below them; the last row may be short
        axes.set_xlabel(shared_x)
        axes.tick_params(labelbottom=True)
    return figure, panels


def shorten(name: str, width: int = 36) -> str:
    """Return a name that is not longer than ``width``: its middle gives way.

    >>> shorten("hf:someone/a-model-with-a-long-name", 20)
    'hf:someone…long-name'
    """
    if len(name) <= width:
        return name
    tail = width // 2 - 1
    return f"{name[: width - tail - 1]}…{name[-tail:]}"


def head_panel(axes: Axes, name: str, told: str = "") -> None:
    """Write a panel's name, and small below it the lines that tell what is in the panel."""
    axes.set_title(shorten(name, 44), pad=17 + 11 * told.count("\n") if told else None)
    if told:
        axes.annotate(
            told, (0.0, 1.0), xycoords="axes fraction", xytext=(0, 5), textcoords="offset points",
            size=7, color=SOFT,
        )  # fmt: skip


def put_legend(figure: Figure, panels: Sequence[Axes], *, n_columns: int = 4) -> None:
    """Put one legend of all panels below them; each label comes once."""
    found: dict[str, Artist] = {}
    for panel in panels:
        for handle, label in zip(*panel.get_legend_handles_labels(), strict=True):
            found.setdefault(str(label), handle)
    if found:
        figure.legend(
            list(found.values()),
            list(found),
            loc="outside lower center",
            ncols=min(n_columns, len(found)),
        )
