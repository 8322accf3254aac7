"""What the pages on rare outputs show is what likely says: every block on them runs."""

import re

import outputs
import pytest
from doc_blocks import DOCS, blocks, check_examples

import likely
from likely import rare

HOWTO = (DOCS / "rare.md").read_text(encoding="utf-8")
THEORY = (DOCS / "rare-theory.md").read_text(encoding="utf-8")
WITHOUT_TRUTH = 9
"""Blocks of the how-to that show what they print and need no stored truth."""


@pytest.fixture(scope="module")
def has_truth() -> bool:
    """Whether the truth that the page shows comes with this package."""
    model = likely.load("tiny-2l")
    return rare.stored_truth(model, rare.distribution("camel", model)) is not None


def test_every_line_of_the_theory_page_is_true():
    check_examples(THEORY, at_least=15)


def test_every_block_of_the_how_to_says_what_the_page_shows(tmp_path, monkeypatch, has_truth):
    monkeypatch.chdir(tmp_path)
    compared = 0
    for one in outputs.iter_shown(HOWTO, ("truth",) if has_truth else ()):
        if one.span is not None:
            assert outputs.differs(one.shown, one.said) == "", one.code
            compared += 1
    truths = sum(mark == "truth" for _, mark, _ in blocks(HOWTO))
    assert compared == WITHOUT_TRUTH + (truths if has_truth else 0)


def test_no_block_of_the_how_to_is_left_out():
    marks = [mark for language, mark, _ in blocks(HOWTO) if language in ("python", "console")]
    assert set(marks) <= {"", *outputs.MARKS}
    assert marks.count("slow") <= 1
    shown = sum(language == "text" for language, _, _ in blocks(HOWTO))
    assert shown == WITHOUT_TRUTH + sum(mark != "" for mark in marks)


def test_every_method_and_law_stands_on_the_page():
    for name in (*rare.METHODS.names(), *rare.DISTRIBUTIONS.names()):
        assert f"`{name}`" in HOWTO


def test_every_method_that_takes_continuations_is_named_so():
    named = re.search(r"Continuations of several tokens work with (.*?)\.", HOWTO)
    assert named is not None
    table = likely.TableModel(["a", "b"], lambda before: {"a": 0.6, "b": 0.4})
    law = rare.independent([{"a": 1, "b": 1}] * 2, table)
    said = set(re.findall(r"`([\w-]+)`", named[1]))
    for method in ("naive", "forecast", "amls-inputs"):
        assert method in said
        rare.estimate(table, law, rare.continuation("aa", table), method=method, budget=4820)


def test_figures_of_the_page_are_there():
    for name in re.findall(r"\]\((images/[^)]+)\)", HOWTO):
        assert (DOCS / name).stat().st_size > 10_000


# How outputs are compared.


def test_outputs_may_differ_by_seconds_and_a_little():
    shown = "1 in 2.1 million (2.0e-07 to 5e-06 at 95%; 12.5 s)"
    assert outputs.differs(shown, shown.replace("12.5 s", "3 s").replace("2.1", "2.3")) == ""
    assert "numbers" in outputs.differs(shown, shown.replace("2.1", "3.1"))
    assert "numbers" in outputs.differs(shown, shown.replace("2.0e-07", "9.0e-07"))
    assert "words" in outputs.differs(shown, shown.replace("million", "billion"))
    assert "words" in outputs.differs("", "warning")


def test_a_page_is_filled_with_what_its_blocks_print():
    page = (
        "```python\nn = 2\n```\n\n```python\nprint(n)\n```\n\n```text\nold\n```\n"
        "```python slow\nprint(n + 1)\n```\n\n```text\nkept\n```\n"
    )
    assert outputs.refreshed(page) == page.replace("old", "2")
    assert outputs.refreshed(page, ("slow",)) == page.replace("old", "2").replace("kept", "3")
