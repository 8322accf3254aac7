"""The command line as a function, and the files that it is given."""

import json

from typer.testing import CliRunner

from likely.cli.app import build_app


def write_table(path, **extra):
    """Write a law over A, B and a space in which A B is likely and a space impossible."""
    rows = [
        {"after": [], "probs": {"A": 0.25, "B": 0.5, "C": 0.25}},
        {"after": ["A"], "probs": {"B": 0.9, "A": 0.05, "C": 0.05}},
    ]
    data = {"tokens": ["A", "B", "C", " "], "bos": "<s>", "rows": rows, **extra}
    path.write_text(json.dumps(data))
    return f"table:{path}"


def run(*args, input=None):
    """Run the command line in this process and return what came out."""
    words = [str(arg) for arg in args]
    return CliRunner().invoke(build_app(words), words, input=input, prog_name="likely")


def run_json(*args, input=None):
    """Run with --json and return the parsed document; anything that is not strict JSON fails."""
    done = run(*args, "--json", input=input)
    assert done.exit_code == 0, done.stderr

    def refuse(name):
        raise AssertionError(f"{name} is no JSON")

    return json.loads(done.stdout, parse_constant=refuse)


def write_items(path, pairs):
    """Write a file of items."""
    lines = [json.dumps({"context": c, "continuation": t}) for c, t in pairs]
    path.write_text("\n".join(lines) + "\n")
    return path
