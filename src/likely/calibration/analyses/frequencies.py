"""How often numbers occur in text, and the gap in frequency between the two of an item.

Frequencies are counts of a corpus, approximations, or a model of them; which one is kept with them,
since the last two must not be read as the first. Gaps in powers of ten.
"""

import csv
import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
import pandas as pd
from jaxtyping import Float

from likely.errors import InputError, StoreError

Kind = Literal["exact", "approx", "modelled"]

KINDS: tuple[Kind, ...] = ("exact", "approx", "modelled")

_RUN = re.compile(r"\d+")


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberCounts:
    """How often each number occurs.

    Attributes:
        source: Where the counts come from.
        kind: ``exact``: counted; ``approx``: an engine's approximation; ``modelled``: from a law.
        counts: By number, not negative. A number that is not in it is not known.
    """

    source: str
    kind: Kind
    counts: Mapping[int, int | float]

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise InputError(f"the kind of counts is one of {list(KINDS)}, got {self.kind!r}")
        bad = [n for n, c in self.counts.items() if not (math.isfinite(c) and c >= 0.0)]
        if bad:
            raise InputError(f"counts are finite and not negative, got {self.counts[bad[0]]!r} "
                             f"for {bad[0]!r}")  # fmt: skip

    def log10(self, numbers: Float[np.ndarray, " N"]) -> Float[np.ndarray, " N"]:
        """Return the power of ten of each number's count, NaN where it is 0 or not known."""
        known = {n: math.log10(c) for n, c in self.counts.items() if c > 0.0}
        return np.array([known.get(x, math.nan) for x in numbers.tolist()], dtype=np.float64)

    def to_dict(self) -> dict[str, object]:
        """Return the fields as plain values."""
        return {
            "source": self.source,
            "kind": self.kind,
            "counts": {str(n): c for n, c in sorted(self.counts.items())},
        }


def count_numbers(
    texts: Iterable[str], numbers: Iterable[int], *, source: str = "text"
) -> NumberCounts:
    r"""Count how often numbers stand in a text, digits on neither side: ``(?<!\d)n(?!\d)``.

    By this rule "1,000" holds a 1, "3.5" a 3 and a 5, and "007" no 7.

    Args:
        texts: Documents or lines; no number may run on from one to the next.
        numbers: Not negative.
        source: Name of the text.

    >>> count_numbers(["12 men, 2 of them 12 years old", "1,000"], [1, 2, 12]).counts
    {1: 1, 2: 1, 12: 2}
    """
    wanted = {str(n): n for n in numbers}
    found: Counter[str] = Counter()
    for text in texts:
        found.update(run for run in _RUN.findall(text) if run in wanted)
    return NumberCounts(
        source=source, kind="exact", counts={n: found[run] for run, n in wanted.items()}
    )


def read_counts(path: str | Path, *, kind: Kind, source: str | None = None) -> NumberCounts:
    """Read counts from a CSV file with the columns ``number`` and ``count``.

    Args:
        path: Of the file.
        kind: What the counts are; see `NumberCounts`. They cannot say so themselves.
        source: Name of it; the file's name by default.

    Raises:
        StoreError: The file cannot be read, lacks a column, or has a line that is no count.
        InputError: As `NumberCounts`.
    """
    path = Path(path)
    counts: dict[int, float] = {}
    try:
        with path.open(newline="", encoding="utf-8") as file:
            rows = csv.DictReader(file)
            if not {"number", "count"} <= set(rows.fieldnames or ()):
                raise StoreError(
                    f"{path.name!r} needs the columns number and count, got {rows.fieldnames!r}"
                )
            for row in rows:
                counts[int(row["number"])] = float(row["count"])
    except (OSError, UnicodeDecodeError) as error:
        raise StoreError(f"counts cannot be read from {path.name!r}: {error}") from error
    except (ValueError, TypeError) as error:
        raise StoreError(
            f"{path.name}:{len(counts) + 2}: a line is a whole number and its count ({error})"
        ) from error
    return NumberCounts(source=source or path.name, kind=kind, counts=counts)


def zipf_counts(numbers: Iterable[int]) -> NumberCounts:
    """Return the law that a number's frequency falls like 1/n: what a null hypothesis takes.

    Args:
        numbers: At least 1.

    >>> zipf_counts([1, 2, 10]).counts[10]
    0.1
    """
    return NumberCounts(source="1/n", kind="modelled", counts={n: 1.0 / n for n in numbers})


def frequency_gaps(frame: pd.DataFrame, counts: NumberCounts) -> pd.DataFrame:
    """Return how far apart the frequencies of an item's two numbers are.

    Args:
        frame: Items; columns ``n1, n2``.
        counts: Of numbers.

    Returns:
        With the index of the frame, ``gap``: ``|log10 f(n1) - log10 f(n2)|``, and ``signed_gap``:
        ``log10 f(higher number) - log10 f(lower number)``. NaN where a number does not occur or is
        not known; nothing is added to a count of 0.
    """
    n1, n2 = (frame[name].to_numpy(dtype=float) for name in ("n1", "n2"))
    difference = counts.log10(n1) - counts.log10(n2)
    return pd.DataFrame(
        {"gap": np.abs(difference), "signed_gap": np.sign(n1 - n2) * difference}, index=frame.index
    )
