r"""An attribution for a paper: the prompt as coloured boxes with a scale, and a table. Unit: nats.

What is written needs ``\usepackage{xcolor}`` and ``\usepackage[T1]{fontenc}``. Scripts that pdfTeX
has no letters for need LuaLaTeX or XeLaTeX and a font that has them.
"""

import re
import unicodedata
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from likely.attribution.cells import (
    EDGES_NATS,
    Cell,
    cells,
    farthest,
    scored_cells,
    strongest,
)
from likely.attribution.result import Attribution, Place
from likely.core.estimate import Estimate
from likely.core.text.spans import name_positions

if TYPE_CHECKING:
    from likely.attribution.contrasts import Contrast, ContrastPlace

COLOURS: Final[Mapping[int, str]] = {
    -4: "285E9F", -3: "6B97CB", -2: "A9C6E6", -1: "DCE9F6",
    1: "FBE6D4", 2: "F6C499", 3: "E58A4A", 4: "B4490F",
}  # fmt: skip
"""Of each shade: blue where the token made the response less likely, orange where likelier."""

_LIGHT_TEXT = (-4, 4)  # shades so dark that text on them is white

_SPECIAL: Final[Mapping[str, str]] = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "#": r"\#",
    "_": r"\_", "%": r"\%", "^": r"\textasciicircum{}", "~": r"\textasciitilde{}",
    "<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}", '"': r"\textquotedbl{}",
    "'": r"\textquotesingle{}", "`": r"\textasciigrave{}", "-": "{-}", ",": "{,}", "?": "{?}",
    "!": "{!}", "\u00a0": "~",
}  # fmt: skip
"""What stands for a character that TeX would read as something else, alone or in a ligature."""

_HIDDEN = ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp")  # categories without a shape of their own
_DOUBT = r"\textsuperscript{?}"  # behind a score that is not known to the tolerance
_BREAK = r"\ensuremath{\hookleftarrow}"
_TAB = r"\ensuremath{\rightarrow}"
_NEEDS = r"% Needs \usepackage{xcolor} and \usepackage[T1]{fontenc}."


def escape(text: str, *, is_space_shown: bool = False) -> str:
    r"""Return text that TeX sets as it is: nothing in it is a command, a ligature or a break.

    Args:
        text: Any text. Line breaks and tabs become arrows, other control characters their number.
        is_space_shown: Whether spaces are shown as marks; else each is as wide as a space.

    >>> print(escape("50% of $x_i$"))
    50\%\ of\ \$x\_i\$
    """
    return "".join(_escaped(char, is_space_shown=is_space_shown) for char in text)


def _escaped(char: str, *, is_space_shown: bool) -> str:
    if char == " ":
        return r"\textvisiblespace{}" if is_space_shown else "\\ "
    if char in _SPECIAL:
        return _SPECIAL[char]
    if char in "\n\t":
        return _BREAK if char == "\n" else _TAB
    if unicodedata.category(char) in _HIDDEN or char == "\ufffd":
        return rf"\textless{{}}U+{ord(char):04X}\textgreater{{}}"
    return char


def to_latex(found: Attribution, *, limit: int, standalone: bool) -> str:
    """Return LaTeX as `Attribution.to_latex` says."""
    places = strongest(found, limit)
    titles = ("score", "interval", "context entropy", "surprisal")
    rows = [_row(place) for place in places]
    parts = [
        _head(found, "Attribution scores"),
        _colours(),
        _prompt(cells(found)),
        _scale("Score"),
        _table(titles, rows, n_left=len(found.places) - len(places)),
    ]
    return _whole(parts, standalone=standalone)


def contrast_to_latex(found: "Contrast", *, limit: int, standalone: bool) -> str:
    """Return LaTeX as `Contrast.to_latex` says."""
    case, values = found.first.case, found.differences.tolist()
    chosen = farthest(values, limit)
    titles = ("difference", "interval", "score", "of the other")
    parts = [
        _head(found.first, "Differences of attribution scores"),
        _colours(),
        _prompt(scored_cells(case, found.places, values)),
        _scale("Difference"),
        _table(
            titles, [_contrast_row(found, i) for i in chosen], n_left=len(values) - len(chosen)
        ),
    ]  # fmt: skip
    return _whole(parts, standalone=standalone)


def _whole(parts: Sequence[str], *, standalone: bool) -> str:
    body = "\n".join(parts)
    if not standalone:
        return body + "\n"
    return "\n".join(
        [
            r"\documentclass{article}", r"\usepackage[T1]{fontenc}", r"\usepackage{xcolor}",
            r"\begin{document}", body, r"\end{document}", "",
        ]
    )  # fmt: skip


def _head(found: Attribution, what: str) -> str:
    """Return comments; what came from outside is on one line of plain letters."""
    name = re.sub(r"[^ -~]", "?", found.model.name)
    return f"% {what} by likely {found.model.likely}, model {name}.\n{_NEEDS}"


def _colours() -> str:
    return "\n".join(
        rf"\definecolor{{{_colour(shade)}}}{{HTML}}{{{code}}}" for shade, code in COLOURS.items()
    )


def _colour(shade: int) -> str:
    return f"likely{'lower' if shade < 0 else 'raise'}{'abcd'[abs(shade) - 1]}"


def _boxed(text: str, shade: int) -> str:
    if shade == 0:
        return text
    ink = "white" if shade in _LIGHT_TEXT else "black"
    return rf"\colorbox{{{_colour(shade)}}}{{\strut\textcolor{{{ink}}}{{{text}}}}}"


def _prompt(shown: Sequence[Cell]) -> str:
    lines = [r"\begingroup\raggedright\setlength{\fboxsep}{1pt}\noindent"]
    lines += [_cell(cell) for cell in shown]
    return "\n".join([*lines, r"\par\endgroup"])


def _cell(cell: Cell) -> str:
    """Return the boxes of a cell, one a line of it, behind the spaces that it begins with."""
    body = cell.text.lstrip(" ")
    if not body:
        return _ended(_box(escape(cell.text, is_space_shown=True), cell), cell, r"\allowbreak{}")
    n_spaces = len(cell.text) - len(body)
    # TeX drops the spaces that a line begins with, but none behind an empty box.
    lead = (r"\mbox{}" if n_spaces > 1 else "") + escape(" ") * n_spaces
    *before, last = re.findall(r"[^\n]*\n+|[^\n]+", body)
    made = "".join(f"{_box(escape(part), cell)}\\\\%\n" for part in before)
    end = r"\\" if last.endswith("\n") else r"\allowbreak{}"
    return lead + made + _ended(_box(escape(last), cell), cell, end)


def _box(text: str, cell: Cell) -> str:
    return rf"\textcolor{{gray}}{{{text}}}" if cell.shade is None else _boxed(text, cell.shade)


def _ended(made: str, cell: Cell, end: str) -> str:
    """Return a cell with its end; the percent sign keeps the line's end from becoming a space."""
    return f"{made}{'' if cell.is_converged else _DOUBT}{end}%"


def _scale(what: str) -> str:
    """Return the scale: a box for each shade, with the number that it begins at."""
    low, *_ = EDGES_NATS
    boxes = [
        *(_boxed(rf"$\leq {-edge:g}$", -i) for i, edge in reversed([*enumerate(EDGES_NATS, 1)])),
        rf" within $\pm {low:g}$ ",
        *(_boxed(rf"$\geq {edge:g}$", i) for i, edge in enumerate(EDGES_NATS, 1)),
    ]
    return "\n".join(
        [
            r"\par\smallskip\begingroup\small\setlength{\fboxsep}{2pt}\noindent "
            f"{what} in nats:",
            *(f"{box}%" for box in boxes),
            r"\par\endgroup\smallskip",
        ]
    )


def _table(titles: Sequence[str], rows: Sequence[str], *, n_left: int) -> str:
    """Return rows of position, token, a number with its interval and two more numbers."""
    note = rf"\multicolumn{{6}}{{l}}{{{n_left} more with {titles[0]}s nearer 0}} \\"
    left = [note] if n_left else []
    return "\n".join(
        [
            r"\noindent\begin{tabular}{rlrlrr}", r"\hline",
            rf"position & token & {' & '.join(titles)} \\", r"\hline",
            *rows, *left, r"\hline", r"\end{tabular}",
        ]
    )  # fmt: skip


def _row(place: Place) -> str:
    measures = place.measures
    return _entries(
        place, measures.score,
        _number(measures.context_entropy.value, sign=""),
        _number(measures.surprisal.value, sign=""),
    )  # fmt: skip


def _contrast_row(found: "Contrast", i: int) -> str:
    scores = [one.places[i].measures.score.value for one in (found.first, found.second)]
    return _entries(found.places[i], found.places[i].difference, *map(_number, scores))


def _entries(place: "Place | ContrastPlace", number: Estimate, *more: str) -> str:
    entries = (
        name_positions(place.positions).replace("-", "--").replace(",", ", "),
        rf"\texttt{{{escape(place.text, is_space_shown=True)}}}",
        _number(number.value) + ("" if place.converged else _DOUBT),
        _interval(number),
        *more,
    )
    return " & ".join(entries) + r" \\"


def _interval(estimate: Estimate) -> str:
    if estimate.is_exact:
        return "exact"
    return f"[{_number(estimate.low)}, {_number(estimate.high)}]"


def _number(value: float, *, sign: str = "+") -> str:
    if value == float("inf"):
        return r"$\infty$"
    if value == float("-inf"):
        return r"$-\infty$"
    return f"${value:{sign}z.3f}$"
