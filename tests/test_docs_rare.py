"""What the pages on rare outputs show is what likely says: every block on them runs."""

from itertools import pairwise

from doc_blocks import DOCS, blocks, check_examples, compare, run

from likely import rare

HOWTO = (DOCS / "rare.md").read_text(encoding="utf-8")
THEORY = (DOCS / "rare-theory.md").read_text(encoding="utf-8")


def test_every_line_of_the_theory_page_is_true():
    check_examples(THEORY, at_least=12)


def test_every_block_of_the_how_to_says_what_the_page_shows():
    page = [*blocks(HOWTO), ("", "", "")]
    names: dict[str, object] = {}
    shown = 0
    for (language, _, text), (after, _, printed) in pairwise(page):
        if language == "python":
            said = run(text, names)
            if after == "text":
                compare(printed, said)
                shown += 1
    assert shown == 1


def test_every_method_and_law_stands_on_the_page():
    for name in (*rare.METHODS.names(), *rare.DISTRIBUTIONS.names()):
        assert f"`{name}`" in HOWTO
