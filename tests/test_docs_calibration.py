"""What the pages on calibration show is what likely says: every block on them runs."""

import re
import subprocess
import sys

from doc_blocks import DOCS, check_examples

from likely import calibration

THEORY = (DOCS / "calibration-theory.md").read_text(encoding="utf-8")


def test_every_line_of_the_theory_page_is_true():
    check_examples(THEORY, at_least=60)


def test_the_table_of_metrics_is_the_registry():
    section = THEORY.partition("## The metrics, one by one\n")[2].partition("\n## ")[0]
    assert re.findall(r"^\| `(\w+)`", section, flags=re.M) == list(calibration.METRICS)


def test_every_test_that_the_page_names_is_there():
    named = set(re.findall(r"`(test_\w+)`", THEORY))
    tests = DOCS.parent / "tests"
    text = "\n".join(path.read_text(encoding="utf-8") for path in tests.rglob("test_*.py"))
    known = set(re.findall(r"^def (test_\w+)\(", text, flags=re.M))
    assert named
    assert named <= known, named - known


def test_the_tables_of_the_replication_page_are_those_of_the_saved_results():
    script = DOCS / "replication" / "calibration_tables.py"
    command = [sys.executable, str(script), "--check"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
