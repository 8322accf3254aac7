"""A prompt on a terminal, coloured by what its tokens did to the response. Unit: nats.

With colours a cell is blue where its token made the response less likely, orange where likelier.
All shades are about equally light, so that they show on a light screen as on a dark one; what
grows with the score is how colourful they are. Without colours bars stand above or below the text.
"""

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal, TypeAlias

from likely.attribution.cells import EDGES_NATS, Cell, shade
from likely.cli.claims import PAGE, folded
from likely.cli.screen import screen_width, width
from likely.report.display import flowing

Colour: TypeAlias = Literal["auto", "always", "never"]

STYLES: Final[Mapping[int, tuple[int, int, bool]]] = {
    -4: (27, 231, True), -3: (33, 16, False), -2: (68, 16, False), -1: (67, 16, False),
    1: (137, 16, False), 2: (172, 16, False), 3: (208, 16, False), 4: (202, 16, True),
}  # fmt: skip
"""For each shade, ground and text of the 256 colours of terminals, and whether it is bold."""

_BARS = " ░▒▓█"
_RESET = "\x1b[0m"
_DIM = "\x1b[2m"
_INDENT = "  "
_LEAST = 0.005  # a share of a matrix that would be shown as 0.00


@dataclass(frozen=True, slots=True, kw_only=True)
class _Piece:
    """A part of a line: text that is painted alike."""

    text: str
    shade: int | None
    is_converged: bool = True


def has_colour(colour: Colour) -> bool:
    """Return whether to paint: as told, or where the output is a terminal that takes colours.

    The environment says no with ``NO_COLOR`` (https://no-color.org) or ``TERM=dumb``.
    """
    if colour != "auto":
        return colour == "always"
    is_refused = bool(os.environ.get("NO_COLOR")) or os.environ.get("TERM") == "dumb"
    return sys.stdout.isatty() and not is_refused


def heat_map(cells: Sequence[Cell], *, is_coloured: bool) -> list[str]:
    """Return the lines of a prompt, indented, that fit the screen, or a page where there is none.

    Args:
        cells: In order.
        is_coloured: Whether to paint; else bars stand above and below the text.
    """
    room = (screen_width() or PAGE) - len(_INDENT)
    rows = _rows([piece for cell in cells for piece in _pieces(cell)], max(room, 10))
    lines = []
    for row in rows:
        if is_coloured:
            lines.append(_painted(row))
        else:  # an empty line says to which row the bars between two rows belong
            lines += [*([""] if lines else []), *_barred(row)]
    return [(_INDENT + line).rstrip() for line in lines]


@dataclass(frozen=True, slots=True, kw_only=True)
class Wording:
    """What a heat map shows, in words.

    Attributes:
        number: Whose shades they are.
        above: What is above 0.
        below: What is below.
    """

    number: str = "score"
    above: str = "likelier"
    below: str = "less likely"


def legend(
    cells: Sequence[Cell], *, is_coloured: bool, wording: Wording | None = None
) -> list[str]:
    """Return what the shades mean, for the prompt that was shown.

    Args:
        cells: As shown.
        is_coloured: Whether they are painted.
        wording: What the numbers are; scores if None.
    """
    words = wording or Wording()
    edges = [f"{edge:g}" for edge in EDGES_NATS]
    if is_coloured:
        below = [paint(f" -{edge} ", -i) for i, edge in reversed([*enumerate(edges, 1)])]
        above = [paint(f" +{edge} ", i) for i, edge in enumerate(edges, 1)]
        lines = [f"{words.number} in nats: {''.join(below)} 0 {''.join(above)}"]
    else:
        bars = "  ".join(f"{_BARS[i]} {edge}" for i, edge in enumerate(edges, 1))
        lines = folded(
            f"{words.number} in nats, from: {bars}; above the text {words.above}, below it "
            f"{words.below}"
        )
    notes = []
    if is_coloured and wording is not None:  # of a score the sign says it
        notes.append(f"+ {wording.above}, - {wording.below}")
    if is_coloured and any(cell.shade is None for cell in cells):
        notes.append(f"{paint('dim', None)}: not attributed")
    if is_coloured and not all(cell.is_converged for cell in cells):
        notes.append(f"{paint('underlined', 0, is_converged=False)}: not known to the tolerance")
    return [*lines, *(["; ".join(notes)] if notes else [])]


def paint(text: str, depth: int | None, *, is_converged: bool = True) -> str:
    """Return text in the colours of a shade; None is what was not attributed."""
    if depth is None:
        return f"{_DIM}{text}{_RESET}"
    codes = [] if is_converged else ["4"]
    if depth:
        ground, ink, is_bold = STYLES[depth]
        codes += [*(["1"] if is_bold else []), f"38;5;{ink}", f"48;5;{ground}"]
    return f"\x1b[{';'.join(codes)}m{text}{_RESET}" if codes else text


def number_cell(value: float, *, room: int, is_coloured: bool) -> str:
    """Return a number of a matrix, set to the right of ``room`` columns and painted.

    >>> number_cell(-0.514, room=6, is_coloured=False), number_cell(1e-9, room=3, is_coloured=True)
    (' -0.51', '  .')
    """
    shown = ("." if abs(value) < _LEAST else f"{value:+.2f}").rjust(room)
    return paint(shown, shade(value)) if is_coloured else shown


def _pieces(cell: Cell) -> Iterator[_Piece]:
    """Yield a cell's text in pieces without line breaks inside; a break ends its own piece.

    The spaces that a token begins with are not painted, unless they are all of it.
    """
    for line in flowing(cell.text).splitlines(keepends=True):
        body = line.lstrip(" ")
        if body.rstrip("\n") and body != line:
            yield _Piece(text=line[: len(line) - len(body)], shade=0)
        else:
            body = line
        yield _Piece(text=body, shade=cell.shade, is_converged=cell.is_converged)


def _rows(pieces: Sequence[_Piece], room: int) -> list[list[_Piece]]:
    """Return pieces as the rows of a screen; what is longer than a row is cut."""
    rows: list[list[_Piece]] = [[]]
    left = room
    for piece in pieces:
        text = piece.text.rstrip("\n")
        if width(text) > left and rows[-1]:
            rows.append([])
            left = room
        while width(text) > left:
            n = _fitting(text, left)
            rows[-1].append(replace(piece, text=text[:n]))
            rows.append([])
            text, left = text[n:], room
        rows[-1].append(replace(piece, text=text))
        left -= width(text)
        if piece.text.endswith("\n"):
            rows.append([])
            left = room
    return rows if rows[-1] else rows[:-1]


def _fitting(text: str, room: int) -> int:
    """Return how many characters fit, at least one."""
    n = max(1, min(len(text), room))
    while n > 1 and width(text[:n]) > room:
        n -= 1
    return n


def _painted(row: Sequence[_Piece]) -> str:
    return "".join(paint(p.text, p.shade, is_converged=p.is_converged) for p in row)


def _barred(row: Sequence[_Piece]) -> list[str]:
    """Return a row with bars above and below it, those lines left out that would be empty."""
    above = "".join(_BARS[max(0, p.shade or 0)] * width(p.text) for p in row)
    below = "".join(_BARS[max(0, -(p.shade or 0))] * width(p.text) for p in row)
    text = "".join(p.text for p in row)
    return [*([above] if above.strip() else []), text, *([below] if below.strip() else [])]
