"""Writes docs/cli.md from the commands' own help; ``--check`` only says whether it is stale.

Usage: python docs/generate.py [--check]
"""

import sys
from pathlib import Path

from typer.testing import CliRunner

from likely.cli.app import build_app
from likely.cli.commands import COMMANDS

PAGE = Path(__file__).parent / "cli.md"

INTRODUCTION = """\
# The command line

<!-- Written by docs/generate.py from the commands' own help. Change that, and run it again. -->

Every command prints a table for a person, or with `--json` one strict JSON document (an impossible
event has the log-probability `"-inf"`; what was not scored is `null`). Log-probabilities are in
nats. `--out FILE` also writes the result; the path is tested before the work starts.

Exit codes:

- `0`: done.
- `1`: failed. One line on stderr says what was needed, what came, and what to do; `--debug` shows
  the traceback. A self-check that did not pass ends so too, a theory that `logic --validate` finds
  an error in, and items that `calibrate --lint` finds one in.
- `2`: usage: a flag that is unknown, or that could not be read.
- `130`: interrupted. `141`: the reader of the output left, as `head` does.

Environment: `LIKELY_CACHE` names the folder of the score cache, which `score --items`, `logic`,
`probct`, `calibrate` and `report` use unless told `--no-cache`, and of corpora cut into tokens;
`LIKELY_MODELS` names the folder of pulled models.
"""


def page() -> str:
    """Return the whole page."""
    parts = [INTRODUCTION, _help([])]
    parts += [f"## likely {name}\n\n{_help([name])}" for name in COMMANDS]
    return "\n".join(parts)


def _help(args: list[str]) -> str:
    words = [*args, "--help"]
    done = CliRunner().invoke(
        build_app(words), words, prog_name="likely", env={"COLUMNS": "100"}, terminal_width=100
    )
    return f"```text\n{done.output.rstrip()}\n```\n"


def main() -> None:
    """Write the page, or with ``--check`` exit with 1 if it is stale."""
    fresh = page()
    if sys.argv[1:] == ["--check"]:
        if not PAGE.exists() or PAGE.read_text(encoding="utf-8") != fresh:
            sys.exit(f"{PAGE} is stale; run: python docs/generate.py")
    elif sys.argv[1:]:
        sys.exit(f"unknown arguments {sys.argv[1:]}; usage: python docs/generate.py [--check]")
    else:
        PAGE.write_text(fresh, encoding="utf-8")


if __name__ == "__main__":
    main()
