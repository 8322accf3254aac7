"""How the blocks of the pages are read, run, and compared with what the pages show."""

import doctest
import io
import re
from pathlib import Path

import pytest
from outputs import BLOCK

DOCS = Path(__file__).parent.parent / "docs"
NUMBER = re.compile(r"-?\d*\.\d+(?:e-?\d+)?")


def blocks(page: str) -> list[tuple[str, str, str]]:
    """Return language, name and text of each block of a page."""
    return [match.groups() for match in BLOCK.finditer(page)]


def compare(shown: str, said: str) -> None:
    """Require the same words, and numbers that differ in the second place; costs may vary."""
    shown, said = (re.sub(r"^cost: .*$", "", text, flags=re.M) for text in (shown, said))
    assert NUMBER.sub("#", shown).split() == NUMBER.sub("#", said).split()
    pairs = zip(NUMBER.findall(shown), NUMBER.findall(said), strict=True)
    for mine, theirs in pairs:
        assert float(mine) == pytest.approx(float(theirs), abs=0.02)


def check_examples(page: str, *, at_least: int) -> None:
    """Run all lines of a page that show Python at work, one after another.

    Args:
        page: Its text.
        at_least: Examples that it must have, so that a page that cannot be read is no success.
    """
    text = "\n".join(body for language, _, body in blocks(page) if language == "pycon")
    examples = doctest.DocTestParser().get_doctest(text, {}, "page", None, 0)
    assert len(examples.examples) >= at_least
    out = io.StringIO()
    failed, _ = doctest.DocTestRunner().run(examples, out=out.write)
    assert failed == 0, out.getvalue()
