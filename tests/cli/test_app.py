"""The app as a whole: light, lazy, and with exit codes that scripts can rely on."""

import json
import os
import signal
import subprocess
import sys
import warnings

import pytest
from command_line import run, write_items

from likely.cli.commands import COMMANDS
from likely.cli.failures import told_in_one_line
from likely.errors import LikelyWarning

HEAVY = ("numpy", "torch", "pandas", "pyarrow", "scipy", "transformers", "tqdm", "pydantic")


def likely(*args, **options):
    """Run the command line in a process of its own."""
    command = [sys.executable, "-m", "likely", *map(str, args)]
    return subprocess.run(command, capture_output=True, text=True, check=False, **options)


def test_help_imports_nothing_heavy_and_names_every_command():
    script = (
        "import sys\nfrom likely.cli import main\ntry:\n    main(['--help'])\n"
        f"finally:\n    print('loaded', [m for m in {HEAVY!r} if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout.endswith("loaded []\n")
    for name, command in COMMANDS.items():
        assert f"\n  {name} " in done.stdout
        assert command.help.split()[0] in done.stdout


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_its_help_and_the_common_flags(name):
    done = run(name, "--help")
    assert done.exit_code == 0
    for flag in ("--json", "--seed", "--out", "--quiet", "--debug"):
        assert flag in done.stdout
    assert ("--dtype" in done.stdout) == ("--device" in done.stdout) == ("MODEL" in done.stdout)


def test_the_version_is_printed():
    assert run("--version").stdout == "likely 0.1.0\n"


@pytest.mark.parametrize(
    "args",
    [
        [],
        ["scores"],
        ["--nonsense"],
        ["score"],
        ["score", "table:x", "--nonsense"],
        ["score", "table:x", "stop=Bob's,temperature=0"],
        ["score", "table:x", "--context", "A", "--continuation", "B", "--dtype", "float8"],
        ["score", "table:x", "--context", "A", "--continuation", "B", "--bos", "maybe"],
        ["next", "table:x", "--context", "A", "-k", "0"],
        ["next", "table:x", "--context", "A", "-k", "three"],
        ["next", "table:x", "--context", "A", "--seed", "1.5"],
        ["logic", "table:x", "t.yaml", "--multi", "all"],
        ["probct", "table:x", "--permutations", "1"],
    ],
)
def test_what_cannot_be_parsed_is_a_usage_error(args):
    done = run(*args)
    assert done.exit_code == 2
    assert done.stdout == ""
    assert "Usage:" in done.stderr


def test_a_mistyped_command_gets_a_suggestion():
    assert "Did you mean 'surprisal'?" in run("suprisal").stderr


def test_an_error_is_one_line_with_a_suggestion_and_exit_code_1():
    done = run("next", "smolm2", "--context", "A")
    assert done.exit_code == 1
    assert done.stdout == ""
    assert done.stderr == "error: no model named 'smolm2'; did you mean ['smollm2']?\n"


def test_debug_shows_the_traceback():
    done = likely("next", "smolm2", "--context", "A", "--debug")
    assert done.returncode == 1
    assert "Traceback" in done.stderr
    assert "UnknownNameError: no model named 'smolm2'" in done.stderr


def test_an_error_in_a_process_has_no_traceback(tmp_path):
    done = likely("next", f"table:{tmp_path}/missing.json", "--context", "A")
    assert done.returncode == 1
    assert done.stderr.startswith("error: cannot read the table")
    assert done.stderr.count("\n") == 1


def test_a_reader_that_leaves_early_is_no_error(table):
    command = f"{sys.executable} -m likely surprisal {table} --text {'AB' * 5000} --limit 0"
    done = subprocess.run(
        ["bash", "-c", f"{command} | head -n 2; exit ${{PIPESTATUS[0]}}"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 141
    assert done.stderr == ""
    assert done.stdout.count("\n") == 2


def _hear_interrupts():
    """Undo what a shell does to jobs in the background: they ignore interrupts, children too."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def test_an_interrupt_is_one_line_and_exit_code_130(tmp_path):
    pipe = tmp_path / "items.jsonl"
    os.mkfifo(pipe)
    child = subprocess.Popen(
        [sys.executable, "-m", "likely", "score", "table:x", "--items", str(pipe)],
        stderr=subprocess.PIPE, text=True, preexec_fn=_hear_interrupts,
    )  # fmt: skip
    with pipe.open("w"):  # opens once the child is reading
        child.send_signal(signal.SIGINT)
        _, stderr = child.communicate(timeout=60)
    assert (child.returncode, stderr) == (130, "interrupted\n")


def test_a_warning_of_ours_is_one_line(capsys):
    with warnings.catch_warnings(), told_in_one_line(debug=False):
        warnings.simplefilter("always")
        warnings.warn("two\nlines", LikelyWarning, stacklevel=1)
    assert capsys.readouterr().err == "warning: two lines\n"


def test_two_hundred_documents_in_a_pipe_give_at_most_25_lines(tmp_path, table):
    items = write_items(tmp_path / "items.jsonl", [("A" * (i % 7 + 1), "B") for i in range(200)])
    done = likely("score", table, "--items", items, env=os.environ)
    assert done.returncode == 0
    assert done.stderr == ""
    assert done.stdout.count("\n") <= 25
    assert "180 more rows" in done.stdout


def test_a_quiet_run_with_a_file_says_nothing_on_stderr(tmp_path, table):
    out = tmp_path / "out.json"
    loud = run("next", table, "--context", "A", "--out", out)
    quiet = run("next", table, "--context", "A", "--out", out, "--quiet")
    assert loud.stderr == f"wrote {out}\n"
    assert quiet.stderr == ""
    assert json.loads(out.read_text())["command"] == "next"


@pytest.mark.parametrize("name", sorted(set(COMMANDS) - {"pull"}))
def test_an_output_that_cannot_be_written_is_told_before_the_work_starts(tmp_path, name):
    needs = {
        "score": ["table:x", "--context", "A", "--continuation", "B"],
        "next": ["table:x", "--context", "A"],
        "surprisal": ["table:x", "--text", "A"],
        "self-check": ["table:x"],
        "report": ["table:x"],
        "logic": ["table:x", "t.yaml"],
        "probct": ["table:x"],
        "calibrate": ["table:x"],
        "attribute": ["table:x", "--prompt", "A", "--response", "B"],
        "rare": ["table:x", "--distribution", "hex", "--target", "B"],
        "rare-bench": [],
        "models": [],
    }
    suffix = "html" if name == "report" else "json"
    done = run(name, *needs[name], "--out", tmp_path / "nowhere" / f"x.{suffix}")
    assert done.exit_code == 1
    assert "cannot write" in done.stderr
    assert "make its folder first" in done.stderr


def test_an_ending_without_a_format_is_told(table):
    done = run("next", table, "--context", "A", "--out", "x.csv")
    assert done.exit_code == 1
    assert "one of ['.json', '.jsonl', '.parquet']; got 'x.csv'" in done.stderr


def test_a_folder_gets_a_file_named_after_the_model(tmp_path, table):
    folder = tmp_path / "results"
    folder.mkdir()
    run("next", table, "--context", "A", "--out", folder)
    [path] = folder.iterdir()
    assert ":" not in path.name
    assert json.loads(path.read_text())["model"]["name"] == table
