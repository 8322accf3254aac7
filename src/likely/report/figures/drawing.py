"""A figure with its data beside it, and how both become files. Unit: none of its own."""

import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
from matplotlib.figure import Figure

from likely.errors import InputError
from likely.report.figures.style import styled
from likely.runs.store import write_bytes

FORMATS = ("svg", "png")
"""What a figure can be written as."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Drawing:
    """A finished figure.

    Attributes:
        name: What its files are called, such as ``F04-behaviours``.
        title: Its heading.
        figure: Of matplotlib, unknown to pyplot.
        data: What it shows, a row a mark.
    """

    name: str
    title: str
    figure: Figure
    data: pd.DataFrame


@dataclass(frozen=True, slots=True, kw_only=True)
class Missing:
    """A figure that was not drawn since there is nothing to show.

    Attributes:
        name: What its files would be called.
        reason: What is not there, and what would bring it.
    """

    name: str
    reason: str


def save(
    drawing: Drawing, folder: str | Path, *, formats: Sequence[str] = FORMATS
) -> tuple[Path, ...]:
    """Write a figure and its data: ``NAME.svg``, ``NAME.png`` and ``NAME.csv``.

    The same figure gives the same bytes: no dates, no versions, and ids that follow from the
    content. Text of an SVG stays text.

    Args:
        drawing: What to write.
        folder: Where to; it is made if it is not there.
        formats: Some of `FORMATS`.

    Returns:
        The files, the data last.

    Raises:
        InputError: A format that is none of these.
        StoreError: A file cannot be written.
    """
    unknown = sorted(set(formats) - set(FORMATS))
    if unknown:
        raise InputError(f"a figure is written as one of {list(FORMATS)}, got {unknown!r}")
    home = Path(folder)
    home.mkdir(parents=True, exist_ok=True)
    written = []
    for suffix in formats:
        path = home / f"{drawing.name}.{suffix}"
        write_bytes(path, image(drawing, suffix))
        written.append(path)
    path = home / f"{drawing.name}.csv"
    write_bytes(path, drawing.data.to_csv(index=False, lineterminator="\n").encode())
    return (*written, path)


INDEX = "figures.txt"
"""What the list of a folder's figures is called."""


def save_all(
    drawings: Sequence[Drawing | Missing],
    folder: str | Path,
    *,
    formats: Sequence[str] = FORMATS,
) -> tuple[Path, ...]:
    """Write figures with their data, and a list that says what each is or why it is missing.

    Args:
        drawings: As they come from drawing.
        folder: Where to; it is made if it is not there.
        formats: Some of `FORMATS`.

    Returns:
        The files, the list (`INDEX`) last.

    Raises:
        InputError, StoreError: As `save`.
    """
    written: list[Path] = []
    lines = []
    for one in drawings:
        if isinstance(one, Missing):
            lines.append(f"{one.name}: not drawn; {one.reason}")
            continue
        written += save(one, folder, formats=formats)
        lines.append(f"{one.name}: {one.title}")
    home = Path(folder)
    home.mkdir(parents=True, exist_ok=True)
    write_bytes(home / INDEX, "".join(f"{line}\n" for line in lines).encode())
    return (*written, home / INDEX)


def image(drawing: Drawing, suffix: str) -> bytes:
    """Return a figure as the bytes of a file of one of `FORMATS`; the same bytes each time."""
    anonymous = {"svg": {"Date": None, "Creator": None}, "png": {"Software": None}}[suffix]
    buffer = io.BytesIO()
    with styled():
        drawing.figure.savefig(
            buffer, format=suffix, metadata={"Title": drawing.title, **anonymous}
        )
    return buffer.getvalue()
