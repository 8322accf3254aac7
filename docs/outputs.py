"""Writes what the code of a page prints into the page, below the code.

Usage: python docs/outputs.py docs/rare.md [--check] [--marks smollm2 truth slow]

A block of Python or of commands that is followed by a block of text shows what it prints. The word
after the language says what a block needs: ``smollm2`` the embedded model, ``truth`` the truths
that come with the package, ``slow`` minutes. Blocks of one page share their names. With
``--check`` nothing is written, and the page is stale if another word is printed.
"""

import argparse
import contextlib
import io
import re
import shlex
import sys
import tempfile
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

MARKS = ("smollm2", "truth", "slow")
BLOCK = re.compile(r"```(\w*) ?([^\n]*)\n(.*?)```", flags=re.S)
_SECONDS = re.compile(r"\b[\d.,]+ (s|seconds?|min|minutes?)\b")
_NUMBER = re.compile(r"(?<![\w.])-?\d[\d,]*\.?\d*(?:e[-+]?\d+)?(?![\w])")


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """A block of code, what the page shows of it, and what it prints.

    Attributes:
        code: The block.
        span: Where the text that it prints stands on the page; None if the page shows none.
        shown: That text.
        said: What it prints.
    """

    code: str
    span: tuple[int, int] | None
    shown: str
    said: str


def iter_shown(page: str, marks: Collection[str] = ()) -> Iterator[Shown]:
    """Yield every block that needs nothing, or only what is named, having run it.

    Args:
        page: Its text.
        marks: What there is, of `MARKS`.
    """
    names: dict[str, object] = {}
    found = [*BLOCK.finditer(page), None]
    for block, after in pairwise(found):
        assert block is not None
        language, mark, text = block.groups()
        if language not in ("python", "console") or (mark and mark not in marks):
            continue
        said = run(text, names) if language == "python" else commands(text)
        is_shown = after is not None and after[1] == "text"
        yield Shown(
            code=text,
            span=after.span(3) if is_shown and after is not None else None,
            shown=after[3] if is_shown and after is not None else "",
            said=said,
        )


def refreshed(page: str, marks: Collection[str] = ()) -> str:
    """Return the page with what its blocks print now."""
    parts, place = [], 0
    for one in iter_shown(page, marks):
        if one.span is not None:
            parts += [page[place : one.span[0]], one.said.rstrip() + "\n"]
            place = one.span[1]
    return "".join([*parts, page[place:]])


def differs(shown: str, said: str, *, share: float = 0.2) -> str:
    """Return how two outputs differ, or nothing: seconds may, and numbers a little.

    Args:
        shown: Words and numbers.
        said: Words and numbers.
        share: By which numbers may differ, of the larger.
    """
    one, other = (_SECONDS.sub("# s", text) for text in (shown, said))
    words = [_NUMBER.sub("#", text).split() for text in (one, other)]
    if words[0] != words[1]:
        apart = next((f"{a!r} and {b!r}" for a, b in zip(*words, strict=False) if a != b), "length")
        return f"words differ: {apart}"
    for mine, theirs in zip(_NUMBER.findall(one), _NUMBER.findall(other), strict=True):
        a, b = (float(text.replace(",", "")) for text in (mine, theirs))
        if abs(a - b) > share * max(abs(a), abs(b)):
            return f"numbers differ: {mine} and {theirs}"
    return ""


def run(text: str, names: dict[str, object]) -> str:
    """Return what Python code prints."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(text, names)
    return out.getvalue()


def commands(text: str) -> str:
    """Return what commands of ours print, one a line.

    Raises:
        ValueError: One is not of ours, or fails.
    """
    from typer.testing import CliRunner

    from likely.cli.app import build_app

    said = []
    for line in text.replace("\\\n", " ").splitlines():
        program, *args = shlex.split(line)
        if program != "likely":
            raise ValueError(f"a command on a page is one of likely, got {line!r}")
        done = CliRunner().invoke(build_app(args), args, prog_name="likely")
        if done.exit_code != 0:
            raise ValueError(f"{line!r} failed: {done.output}")
        said.append(done.stdout)
    return "".join(said)


def main() -> None:
    """Write the page, or with ``--check`` exit with a message if it is stale."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("page", type=Path)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--marks", nargs="*", default=MARKS, choices=MARKS)
    asked = parser.parse_args()
    page = asked.page.resolve()
    old = page.read_text("utf-8")
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):  # for what blocks write
        if asked.check:
            shown = [one for one in iter_shown(old, asked.marks) if one.span]
            stale = [differs(one.shown, one.said) for one in shown]
            if any(stale):
                sys.exit(f"{asked.page} is stale ({'; '.join(filter(None, stale))})")
        else:
            page.write_text(refreshed(old, asked.marks), "utf-8")


if __name__ == "__main__":
    main()
