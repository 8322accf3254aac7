"""The page on the command line is what the commands themselves say."""

import subprocess
import sys
from pathlib import Path

from likely.cli.commands import COMMANDS

DOCS = Path(__file__).parent.parent / "docs"


def generate(*args, script=DOCS / "generate.py"):
    command = [sys.executable, str(script), *args]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_the_page_is_fresh():
    done = generate("--check")
    assert (done.returncode, done.stderr) == (0, "")


def test_every_command_has_a_section_with_its_help():
    text = (DOCS / "cli.md").read_text(encoding="utf-8")
    for name in COMMANDS:
        _, _, section = text.partition(f"## likely {name}\n")
        assert section.lstrip().startswith(f"```text\nUsage: likely {name} ")


def test_a_stale_page_is_told_and_then_mended(tmp_path):
    script = tmp_path / "generate.py"
    script.write_text((DOCS / "generate.py").read_text(encoding="utf-8"))
    (tmp_path / "cli.md").write_text("old")
    stale = generate("--check", script=script)
    assert stale.returncode == 1
    assert "is stale; run" in stale.stderr
    assert generate(script=script).returncode == 0
    assert generate("--check", script=script).returncode == 0
