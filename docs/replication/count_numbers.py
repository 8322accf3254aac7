"""Count the numbers 1 to 999 in the sources of Python's standard library: number-counts.csv.

    python docs/replication/count_numbers.py

Only Python's own ``.py`` files (PSF licence) are read, none that were installed later; the counts
are facts of them. They depend on the Python version, which is printed.
"""

import csv
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path

from likely import calibration

OUT = Path(__file__).with_name("number-counts.csv")


def texts() -> Iterator[str]:
    """Yield each source file as text."""
    home = Path(sysconfig.get_path("stdlib"))
    for path in sorted(home.rglob("*.py")):
        if not {"site-packages", "dist-packages", "__pycache__"} & set(path.parts):
            yield path.read_text(encoding="utf-8", errors="replace")


if __name__ == "__main__":
    found = calibration.count_numbers(texts(), range(1, 1000), source="Python's standard library")
    with OUT.open("w", newline="") as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(["number", "count"])
        rows.writerows(sorted(found.counts.items()))
    sys.stdout.write(f"Python {sys.version.split()[0]}: {sum(found.counts.values())} numbers\n")
