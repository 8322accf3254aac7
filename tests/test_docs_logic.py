"""What the pages on constraints show is what likely says: every block on them runs."""

import re
import subprocess
import sys
import warnings
from pathlib import Path

import pytest
from doc_blocks import DOCS, blocks, check_examples, compare
from outputs import commands, run

import likely
from likely import logic
from likely.errors import InputError

HOWTO = (DOCS / "logic.md").read_text(encoding="utf-8")
THEORY = (DOCS / "logic-theory.md").read_text(encoding="utf-8")
THEORIES = {name: text for language, name, text in blocks(HOWTO) if language == "yaml"}


@pytest.mark.parametrize("name", THEORIES)
def test_every_theory_on_the_page_loads_and_has_no_error(name):
    found = logic.validate(logic.Theory.from_text(THEORIES[name]))
    assert found.is_usable, found.problems
    assert found.n_items > 0


def test_blocks_that_need_no_model_run_as_they_stand(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = {"logic": logic}
    ran = [text for language, _, text in blocks(HOWTO) if language == "python"]
    free = [text for text in ran if not re.search(r"\b(model|theory|animals)\b", text)]
    assert len(free) >= 2
    for text in free:
        exec(text, names)


@pytest.mark.real
def test_the_page_says_what_the_model_says(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LIKELY_CACHE", str(tmp_path / "cache"))
    for name, text in THEORIES.items():
        Path(name).write_text(text, encoding="utf-8")
    names: dict[str, object] = {}
    said = None
    n_compared = 0
    for language, _, text in blocks(HOWTO):
        if language == "python":
            said = run(text, names)
        elif language == "console":
            said = commands(text)
        elif language == "text":
            compare(text, said)
            n_compared += 1
    assert n_compared >= 2


@pytest.mark.real
def test_the_examples_on_the_front_page_run():
    page = (DOCS.parent / "README.md").read_text(encoding="utf-8")
    names: dict[str, object] = {}
    said = [run(text, names) for language, _, text in blocks(page) if language == "python"]
    assert any("A bat cannot [fly]" in text for text in said)
    assert any("coin_bias wd01" in text for text in said)
    assert any("' Rome'" in text for text in said)
    assert "' of' under 'hex' (tiny-2l, itgis)" in said[-1]


def test_every_line_of_the_theory_page_is_true():
    check_examples(THEORY, at_least=41)


def test_the_table_of_rescalings_is_the_registry():
    rows = re.findall(r"^\| (R\d+s?) \| `(\w+)` \|", HOWTO, flags=re.M)
    assert rows == [(logic.rescaling(name).id, name) for name in logic.RESCALINGS]


BASE = """
name: t
rows:
  - {id: r, animal: bat, list: one}
events:
  a: {context: "A {animal} can", answer: fly}
  b: {context: "A {animal} can", answer: swim}
rules: {r: "a & b"}
"""
ANIMALS = likely.TableModel(
    ["A bat can", " fly", " Fly", " swim", " Swim"],
    lambda context: {" fly": 0.4, " Fly": 0.1, " swim": 0.3, " Swim": 0.2},
)
MISTAKES = {
    "YAML reads the bare words yes, true or on as a truth value": (
        ": fly",
        ": yes",
    ),
    "no such key; did you mean 'answer'?": ("answer: fly", "anwser: fly"),
    "declares the event 'b', which no rule or query uses": ("a & b", "a"),
    "no event named 'fly'": ("a & b", "a & b & fly"),
    "fits no row": ("A {animal} can", "A {beast} can"),
    "is the text 'one', not a list": ("a & b", "a & exactly_one(b for x in list)"),
    "always holds": ("a & b", "a & b | !a | !b"),
    "can never hold": ("a & b", "a & b & !a"),
    "has a space at its end": ("can", "can "),
    "are the same tokens": ("swim", "Fly"),
    "holds where an odd number of its 3 parts do": ("a & b", "a ^ b ^ a"),
}


@pytest.mark.parametrize("message", MISTAKES)
def test_the_messages_on_the_page_are_those_that_come(message):
    assert f"`{message}`" in HOWTO
    old, new = MISTAKES[message]
    assert old in BASE
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        try:
            found = logic.validate(logic.Theory.from_text(BASE.replace(old, new)), ANIMALS)
            told = [problem.message for problem in found.problems if problem.level == "error"]
        except InputError as error:
            told = [str(error)]
    told += [str(warning.message) for warning in heard]
    assert any(message in text for text in told), told


def test_the_rescaling_that_needs_a_neutral_context_says_so():
    assert "`needs a neutral context`" in HOWTO
    with pytest.raises(InputError, match="needs a neutral context"):
        logic.evaluate(ANIMALS, logic.Theory.from_text(BASE), rescaling="pmi", also=[])


def test_the_tables_of_the_replication_page_are_those_of_the_saved_results():
    script = DOCS / "replication" / "logic_tables.py"
    command = [sys.executable, str(script), "--check"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
