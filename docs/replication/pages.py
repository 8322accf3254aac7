"""What the scripts of the replication pages share: short numbers, tables, filled pages."""

import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path


def short(value: object) -> object:
    """Return an estimate as its three numbers, and numbers with five digits."""
    if isinstance(value, dict):
        return [short(value[key]) for key in ("value", "low", "high")]
    return float(f"{value:.5g}") if isinstance(value, float) else value


def table(head: Sequence[object], rows: Sequence[Sequence[object]]) -> str:
    """Return a table in Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(
        "| " + " | ".join(str(cell).replace("|", "\\|") for cell in line) + " |" for line in lines
    )


def filled(page: str, found: Mapping[str, str]) -> str:
    """Return the page with every table between its marks replaced."""

    def put(match: re.Match[str]) -> str:
        return f"<!-- table {match[1]} -->\n{found[match[1]]}\n<!-- end -->"

    return re.sub(r"<!-- table (\w+) -->\n.*?<!-- end -->", put, page, flags=re.S)


def settle(page: Path, found: Mapping[str, str], arguments: Sequence[str]) -> None:
    """Write the tables into a page, or, with ``--check``, exit with a message if they are stale."""
    script = Path(sys.argv[0]).name
    old = page.read_text("utf-8")
    new = filled(old, found)
    if list(arguments) == ["--check"]:
        if new != old:
            sys.exit(f"{page} is stale; run: python {script}")
    elif arguments:
        sys.exit(f"unknown arguments {list(arguments)}; see the head of {script}")
    else:
        page.write_text(new, "utf-8")
