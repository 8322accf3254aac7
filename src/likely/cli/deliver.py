"""The last step of every command: the result goes to the screen, to a file, or to both."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from likely._version import __version__
from likely.cli.failures import say
from likely.cli.flags import ModelChoice, Output
from likely.cli.progress import waiting
from likely.core.jsonio import dumps
from likely.core.model import LanguageModel
from likely.runs.identity import model_facts
from likely.runs.naming import file_stem
from likely.runs.store import ROW_SUFFIXES, Columns, Row, check_writable, write_bytes, write_rows

SUFFIXES = (".json", *ROW_SUFFIXES)
"""The endings of ``--out`` for results that are rows and a document."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What a command found.

    Attributes:
        document: All of it, for strict JSON.
        lines: For a person.
        rows: The part that is a table, for JSONL and Parquet.
        columns: Of the rows.
    """

    document: Mapping[str, object]
    lines: Sequence[str]
    rows: Sequence[Row] = ()
    columns: Columns | None = None


def out_path(output: Output, *, name: str, suffixes: Sequence[str] = SUFFIXES) -> Path | None:
    """Return where the result goes, tested; call it before the work starts.

    Args:
        output: With ``--out``; a folder gets a file named after ``name``.
        name: True name of what the result is about, such as ``score org/model:q4``.
        suffixes: Endings that make sense; the first one is used in a folder.

    Raises:
        InputError: The ending names no format of this command.
        StoreError: The path cannot be written.
    """
    if output.out is None:
        return None
    path = output.out
    if path.is_dir():
        path = path / f"{file_stem(name)}{suffixes[0]}"
    check_writable(path, suffixes=suffixes)
    return path


def document(command: str, output: Output, **parts: object) -> dict[str, object]:
    """Return the JSON document of a command: what made it, then its parts."""
    return {"command": command, "likely": __version__, "seed": output.seed, **parts}


def load_model(choice: ModelChoice, output: Output) -> LanguageModel:
    """Return the model that the flags name; a terminal is told to wait.

    Raises:
        LikelyError: As `likely.load`.
    """
    with waiting(f"loading {choice.model}", quiet=output.quiet):
        from likely.models import load

        return load(choice.model, dtype=choice.dtype, device=choice.device)


def model_part(model: LanguageModel) -> dict[str, object]:
    """Return the facts of a model that stand in every document."""
    return model_facts(model.info)


def show_model(model: LanguageModel) -> str:
    """Return a model's name and numbers in a few words."""
    info = model.info
    return f"{info.name} ({info.dtype}, {info.device})"


def deliver(result: Result, output: Output, path: Path | None, *, is_written: bool = False) -> None:
    """Print a result, and write it if there is a path.

    Args:
        result: What the command found.
        output: How to talk.
        path: As `out_path` returned it.
        is_written: Whether the file at ``path`` is complete already.

    Raises:
        StoreError: The file cannot be written.
    """
    if path is not None and not is_written:
        write(result, path)
    print(dumps(result.document) if output.json else "\n".join(result.lines))
    if path is not None:
        note(f"wrote {path}", output)


def write(result: Result, path: Path) -> None:
    """Write a result in the format of the path's ending.

    Raises:
        StoreError: The file cannot be written.
    """
    if path.suffix in ROW_SUFFIXES and result.columns is not None:
        write_rows(path, result.rows, result.columns)
    else:
        write_bytes(path, (dumps(result.document) + "\n").encode())


def note(line: str, output: Output) -> None:
    """Say something on stderr that a script may do without."""
    if not output.quiet:
        say(line)
