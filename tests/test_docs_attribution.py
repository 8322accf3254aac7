"""What the pages on attribution show is what likely says: every block on them runs."""

import pytest
from doc_blocks import DOCS, blocks, check_examples, compare, run

HOWTO = (DOCS / "attribution.md").read_text(encoding="utf-8")
THEORY = (DOCS / "attribution-theory.md").read_text(encoding="utf-8")


def test_every_line_of_the_theory_page_is_true():
    check_examples(THEORY, at_least=20)


def test_every_block_of_the_how_to_says_what_the_page_shows():
    names: dict[str, object] = {}
    said, n_compared = "", 0
    for language, mark, text in blocks(HOWTO):
        if language == "python" and mark != "skip":
            said = run(text, names)
        elif language == "text":
            compare(text, said)
            n_compared += 1
    assert n_compared == 4


def test_what_is_skipped_is_a_chat_that_a_table_cannot_read():
    skipped = [text for language, mark, text in blocks(HOWTO) if mark == "skip"]
    assert len(skipped) == 1
    with pytest.raises(NameError):
        run(skipped[0], {})
