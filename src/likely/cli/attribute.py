"""``likely attribute``: which tokens of a prompt made a response likely?"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from likely.cli.deliver import (
    Result,
    deliver,
    document,
    load_model,
    model_part,
    out_path,
)
from likely.cli.flags import ModelChoice, Output
from likely.cli.heat_map import has_colour
from likely.cli.logic import split_names
from likely.cli.progress import TokenMeter
from likely.core.model import LanguageModel
from likely.errors import InputError
from likely.runs.items import check_text, read_text
from likely.runs.store import Columns, Kind, write_bytes, write_rows

if TYPE_CHECKING:
    from likely.attribution.case import Case, Prompt
    from likely.attribution.result import Attribution

SUFFIXES = (".json", ".html", ".npz", ".tex", ".csv", ".parquet", ".jsonl")
_MOST = 10**6  # no prompt and no vocabulary is longer


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """What is attributed: a prompt, one of three ways, and its response, one of two."""

    prompt: Annotated[
        str | None, typer.Option("--prompt", metavar="TEXT", help="The prompt itself.")
    ] = None
    prompt_file: Annotated[
        Path | None,
        typer.Option("--prompt-file", metavar="FILE", help="A UTF-8 file, read to the letter."),
    ] = None
    chat: Annotated[
        Path | None,
        typer.Option(
            "--chat",
            metavar="FILE.json",
            help='A list of messages, each {"role": ..., "content": ...}.',
        ),
    ] = None
    response: Annotated[
        str | None,
        typer.Option("--response", metavar="TEXT", help="What was answered, to the letter."),
    ] = None
    generate: Annotated[
        int | None,
        typer.Option(
            "--generate", metavar="N", min=1, help="Take the likeliest answer of N tokens instead."
        ),
    ] = None
    context: Annotated[
        str | None,
        typer.Option(
            "--context",
            metavar="TEXT",
            help="What stands before the prompt and stays; the BOS alone if unset.",
        ),
    ] = None
    positions: Annotated[
        str | None,
        typer.Option(
            "--positions",
            metavar="LIST",
            help="Prompt tokens to attribute, from 0, such as 3,4,7-9; all if unset.",
        ),
    ] = None
    roles: Annotated[
        str,
        typer.Option(
            "--roles", metavar="NAMES", help="With --chat: whose words, such as user,system."
        ),
    ] = "user"


@dataclass(frozen=True, slots=True, kw_only=True)
class Effort:
    """How it is found, and how well."""

    method: Annotated[
        Literal["adaptive", "exact"],
        typer.Option(
            "--method",
            help="exact evaluates every token of the vocabulary in every place; adaptive as many "
            "as the tolerance takes.",
        ),
    ] = "adaptive"
    tolerance: Annotated[
        float,
        typer.Option("--tolerance", metavar="NATS", help="Half the width of a score's interval."),
    ] = 0.02
    level: Annotated[
        float, typer.Option("--level", metavar="P", help="Coverage of the intervals.")
    ] = 0.95
    budget: Annotated[
        float | None,
        typer.Option(
            "--budget",
            metavar="N",
            min=1,
            help="Token evaluations at most, with adaptive; if unset a small part of what the "
            "authors' procedure takes.",
        ),
    ] = None
    exclude: Annotated[
        str | None,
        typer.Option(
            "--exclude", metavar="LIST", help="Ids that are no candidates, such as 0,5-9."
        ),
    ] = None
    kept: Annotated[
        int,
        typer.Option(
            "--kept", metavar="N", min=0, help="Candidates that files keep of a place; 0 for all."
        ),
    ] = 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Showing:
    """What is shown of it."""

    matrix: Annotated[
        bool,
        typer.Option(
            "--matrix", help="Also how much of each score comes from each response token."
        ),
    ] = False
    limit: Annotated[
        int,
        typer.Option(
            "--limit",
            metavar="N",
            min=0,
            help="Rows of the tables on the screen, the strongest tokens; 0 for all.",
        ),
    ] = 40
    color: Annotated[
        Literal["auto", "always", "never"],
        typer.Option("--color", help="Colours on the screen; auto where it is a terminal."),
    ] = "auto"


def attribute(
    subject: Subject, effort: Effort, showing: Showing, model: ModelChoice, output: Output
) -> None:
    """Ask which tokens of a prompt made a response likely, by Bayes' rule.

    The score of a token is how many nats likelier the response is with it than with a hole in its
    place, where the model's own law given all the rest of the prompt says what might stand there.
    Give the prompt with --prompt, --prompt-file or --chat, the response with --response or
    --generate. --out writes .json, .npz (both read back by likely.attribution), .html, .tex, or
    the table as .csv, .parquet or .jsonl.
    """
    _check_usage(subject)
    positions = _numbers(subject.positions, "--positions")
    exclude = _numbers(effort.exclude, "--exclude") or ()
    path = out_path(output, name=f"attribute {model.model}", suffixes=SUFFIXES)
    prompt = _prompt(subject)
    from likely.attribution.case import frame_case
    from likely.attribution.question import attribute_case
    from likely.cli.attribution_screen import screen_lines

    loaded = load_model(model, output)
    case = frame_case(
        loaded, prompt, _text(subject.response, "response"), generate=subject.generate,
        positions=positions, roles=(*split_names(subject.roles), "text"),
        context=_text(subject.context, "context"),
    )  # fmt: skip
    with TokenMeter("attributing", quiet=output.quiet) as meter:
        meter.expect(_expected(loaded, case, effort))
        found = attribute_case(
            loaded, case, method=effort.method, tolerance=effort.tolerance, level=effort.level,
            seed=output.seed, budget=effort.budget, exclude=exclude,
            kept=effort.kept or None, meter=meter,
        )  # fmt: skip
    if path is not None and path.suffix != ".json":
        _write(found, path)
    result = Result(
        document=document(
            "attribute", output, model=model_part(loaded), attribution=found.to_dict()
        ),
        lines=screen_lines(
            loaded, found, limit=showing.limit, is_coloured=has_colour(showing.color),
            has_matrix=showing.matrix,
        ),
    )  # fmt: skip
    deliver(result, output, path, is_written=path is not None and path.suffix != ".json")


def _check_usage(subject: Subject) -> None:
    prompts = [x for x in (subject.prompt, subject.prompt_file, subject.chat) if x is not None]
    if len(prompts) != 1:
        raise typer.BadParameter(
            f"give one of --prompt, --prompt-file and --chat; got {len(prompts)} of them"
        )
    responses = [x for x in (subject.response, subject.generate) if x is not None]
    if len(responses) != 1:
        raise typer.BadParameter(f"give --response or --generate; got {len(responses)} of them")
    if subject.chat is None and subject.roles != "user":
        raise typer.BadParameter("--roles goes with --chat")


def _numbers(text: str | None, flag: str) -> tuple[int, ...] | None:
    """Return the numbers of a list such as 3,4,7-9."""
    if text is None:
        return None
    found: list[int] = []
    for part in split_names(text):
        first, dash, last = (piece.strip() for piece in part.partition("-"))
        ends = [first, last] if dash else [first]
        if not all(end.isascii() and end.isdigit() for end in ends):
            raise typer.BadParameter(f"is numbers such as 3,4,7-9, got {part!r}", param_hint=flag)
        low, high = int(ends[0]), int(ends[-1])
        if low > high or high >= _MOST:
            raise typer.BadParameter(
                f"is numbers from low to high, below {_MOST}, got {part!r}", param_hint=flag
            )
        found += range(low, high + 1)
    if not found:
        raise typer.BadParameter(f"is numbers such as 3,4,7-9, got {text!r}", param_hint=flag)
    return tuple(found)


def _text(text: str | None, what: str) -> str | None:
    return None if text is None else check_text(text, what=what)


def _prompt(subject: Subject) -> "Prompt":
    if subject.chat is not None:
        return _messages(subject.chat)
    if subject.prompt_file is not None:
        return read_text(subject.prompt_file)
    return check_text(subject.prompt or "", what="prompt")


def _messages(path: Path) -> list[dict[str, str]]:
    """Return the messages of a chat from a JSON file.

    Raises:
        InputError: It holds something else.
    """
    try:
        data = json.loads(read_text(path))
    except json.JSONDecodeError as error:
        raise InputError(f"{str(path)!r} is no JSON: {error}") from error
    if not isinstance(data, list) or not all(
        isinstance(one, dict) and all(isinstance(value, str) for value in one.values())
        for one in data
    ):
        raise InputError(
            f"{str(path)!r} is a list of messages, each an object with the texts 'role' and "
            f"'content'; got {str(data)[:60]!r}"
        )
    return data


def _expected(model: LanguageModel, case: "Case", effort: Effort) -> int:
    """Return how many token evaluations it takes at most of a model that keeps what it read."""
    from likely.attribution.gathering import default_budget

    n = model.info.n_tokens
    exact = sum(n * max(1, len(case.suffix(position))) for position in case.positions)
    whole = exact + len(case.stem)
    if effort.method == "exact":
        return whole
    budget = effort.budget if effort.budget is not None else default_budget(n, case)
    return min(whole, int(budget))


def _write(found: "Attribution", path: Path) -> None:
    """Write what was found in the format of the path's ending, but for JSON."""
    if path.suffix == ".npz":
        found.to_npz(path)
    elif path.suffix == ".html":
        page = import_module("likely.report.attribution_page")
        write_bytes(path, str(page.attribution_page(found)).encode())
    elif path.suffix == ".tex":
        write_bytes(path, found.to_latex(standalone=True).encode())
    elif path.suffix == ".csv":
        write_bytes(path, found.to_frame().to_csv(index=False, lineterminator="\n").encode())
    else:
        rows = found.to_frame().to_dict("records")
        write_rows(path, [{str(k): v for k, v in row.items()} for row in rows], columns(rows))


def columns(rows: Sequence[dict[object, object]]) -> Columns:
    """Return the columns of the table in files, after its first row."""
    kinds: dict[type, Kind] = {str: "text", bool: "bool", int: "int", float: "float"}
    return {str(name): kinds[type(value)] for name, value in rows[0].items()}
