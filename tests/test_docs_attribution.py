"""What the pages on attribution show is what likely says: every block on them runs."""

from collections.abc import Iterator
from itertools import pairwise

import pytest
from doc_blocks import DOCS, blocks, check_examples, compare
from outputs import run

import likely
from likely import attribution

HOWTO = (DOCS / "attribution.md").read_text(encoding="utf-8")
THEORY = (DOCS / "attribution-theory.md").read_text(encoding="utf-8")
REAL = "smollm2"
SKIPPED = "skip"


def shown(*, is_real: bool) -> Iterator[tuple[str, str]]:
    """Yield each block of code on the how-to of one kind, and what the page shows of it, if any."""
    page = [*blocks(HOWTO), ("", "", "")]
    for (language, mark, text), (after, _, printed) in pairwise(page):
        if language == "python" and mark != SKIPPED and (mark == REAL) == is_real:
            yield text, printed if after == "text" else ""


def check(names: dict[str, object], *, is_real: bool) -> int:
    """Require that blocks print what the page shows; return how many print something."""
    found = [(run(text, names), printed) for text, printed in shown(is_real=is_real)]
    for said, printed in found:
        compare(printed, said)
    return sum(bool(printed) for _, printed in found)


def test_every_line_of_the_theory_page_is_true():
    check_examples(THEORY, at_least=20)


def test_every_block_of_the_how_to_says_what_the_page_shows():
    assert check({}, is_real=False) == 13


@pytest.mark.real
def test_every_block_on_the_real_model_says_what_the_page_shows():
    assert check({"likely": likely, "attribution": attribution}, is_real=True) == 4


def test_every_printed_block_of_the_how_to_is_compared():
    n_shown = sum(bool(printed) for real in (False, True) for _, printed in shown(is_real=real))
    assert n_shown == sum(language == "text" for language, _, _ in blocks(HOWTO)) == 17


def test_what_is_skipped_is_a_chat_that_a_table_cannot_read():
    skipped = [text for language, mark, text in blocks(HOWTO) if mark == SKIPPED]
    assert len(skipped) == 1
    with pytest.raises(NameError):
        run(skipped[0], {})
