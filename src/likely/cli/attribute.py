"""``likely attribute``: which tokens of a prompt made a response likely?"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import typer

from likely.attribution.adaptive import Method
from likely.attribution.case import Prompt
from likely.attribution.contrasts import Contrast
from likely.attribution.eligible import Rule
from likely.attribution.groups import UNITS, Unit
from likely.attribution.result import Attribution
from likely.cli.attribution_question import Question, answer, frame, most_tokens
from likely.cli.attribution_screen import screen_lines
from likely.cli.contrast_screen import contrast_lines
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
from likely.cli.lists import number_groups, numbers
from likely.cli.logic import split_names
from likely.cli.progress import TokenMeter
from likely.core.model import LanguageModel
from likely.errors import InputError
from likely.runs.items import check_text, read_text
from likely.runs.store import Columns, Kind, write_bytes, write_rows

SUFFIXES = (".json", ".html", ".npz", ".tex", ".csv", ".parquet", ".jsonl")
CONTRAST_SUFFIXES = tuple(suffix for suffix in SUFFIXES if suffix != ".npz")


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
    contrast: Annotated[
        str | None,
        typer.Option(
            "--contrast",
            metavar="TEXT",
            help="Another response: ask what spoke for the first one rather than for this.",
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
    boundary: Annotated[
        Literal["joint", "separate", "error"],
        typer.Option(
            "--boundary",
            help="Where prompt and response meet: split together, apart, or refuse a token that "
            "spans the join.",
        ),
    ] = "joint"
    positions: Annotated[
        str | None,
        typer.Option(
            "--positions",
            metavar="LIST",
            help="Prompt tokens to attribute, from 0, such as 3,4,7-9; all if unset.",
        ),
    ] = None
    groups: Annotated[
        str,
        typer.Option(
            "--groups",
            metavar="UNIT|LIST",
            help="What is taken together: tokens, words, sentences, the turns of a chat, or groups "
            "of positions such as 0-2;5,7.",
        ),
    ] = "tokens"
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
        Method,
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
            help="Token evaluations to spend, with adaptive; if unset a small part of what the "
            "authors' procedure takes.",
        ),
    ] = None
    candidates: Annotated[
        Rule,
        typer.Option(
            "--candidates",
            help="Which tokens may stand in a place: all; those with which the text is split into "
            "the same tokens again; or those that begin a word if the actual one does.",
        ),
    ] = "all"
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
    --generate. With --contrast the numbers are differences: score for that response less score for
    the other. --out writes .json, .npz (both read back by likely.attribution; .npz not of a
    contrast), .html, .tex, or the table as .csv, .parquet or .jsonl.
    """
    question = _question(subject, effort, output)
    is_contrast = question.other is not None
    path = out_path(
        output, name=f"attribute {model.model}",
        suffixes=CONTRAST_SUFFIXES if is_contrast else SUFFIXES,
    )  # fmt: skip
    prompt = _prompt(subject)
    loaded = load_model(model, output)
    cases = frame(loaded, prompt, question)
    with TokenMeter("attributing", quiet=output.quiet) as meter:
        meter.expect(most_tokens(loaded, cases, question))
        found = answer(loaded, cases, question, meter)
    if path is not None and path.suffix != ".json":
        _write(found, path)
    name = "contrast" if is_contrast else "attribution"
    result = Result(
        document=document(
            "attribute", output, model=model_part(loaded), **{name: found.to_dict()}
        ),
        lines=_lines(loaded, found, showing),
    )  # fmt: skip
    deliver(result, output, path, is_written=path is not None and path.suffix != ".json")


def _lines(model: LanguageModel, found: Attribution | Contrast, showing: Showing) -> list[str]:
    if isinstance(found, Attribution):
        return screen_lines(
            model, found, limit=showing.limit, is_coloured=has_colour(showing.color),
            has_matrix=showing.matrix,
        )  # fmt: skip
    return contrast_lines(
        model, found, limit=showing.limit, is_coloured=has_colour(showing.color),
        has_matrix=showing.matrix,
    )  # fmt: skip


def _question(subject: Subject, effort: Effort, output: Output) -> Question:
    """Return what the flags ask, before any model is loaded."""
    listed = number_groups(subject.groups, "--groups")
    _check_usage(subject, is_listed=listed is not None)
    return Question(
        response=_text(subject.response, "response"), generate=subject.generate,
        other=_text(subject.contrast, "contrast"),
        positions=numbers(subject.positions, "--positions"),
        roles=_roles(subject), context=_text(subject.context, "context"), boundary=subject.boundary,
        groups=listed or _unit(subject.groups), method=effort.method, tolerance=effort.tolerance,
        level=effort.level, seed=output.seed, budget=effort.budget, candidates=effort.candidates,
        exclude=numbers(effort.exclude, "--exclude") or (), kept=effort.kept or None,
    )  # fmt: skip


def _roles(subject: Subject) -> tuple[str, ...] | None:
    """Return whose words are attributed, or None where positions say it."""
    return None if subject.positions is not None else (*split_names(subject.roles), "text")


def _unit(text: str) -> Unit:
    for unit in UNITS:
        if text == unit:
            return unit
    raise typer.BadParameter(
        f"is {', '.join(UNITS)} or groups of positions such as 0-2;5,7, got {text!r}",
        param_hint="--groups",
    )


def _check_usage(subject: Subject, *, is_listed: bool) -> None:
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
    if subject.positions is not None and subject.roles != "user":
        raise typer.BadParameter("give --positions or --roles, one of them")
    if is_listed and (subject.positions is not None or subject.roles != "user"):
        raise typer.BadParameter(
            f"--groups {subject.groups} names its positions itself: leave out --positions and "
            "--roles, or name a unit such as words"
        )


def _text(text: str | None, what: str) -> str | None:
    return None if text is None else check_text(text, what=what)


def _prompt(subject: Subject) -> Prompt:
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


def _page(found: Attribution | Contrast) -> str:
    if isinstance(found, Attribution):
        from likely.report.attribution_page import attribution_page

        return attribution_page(found)
    from likely.report.contrast_page import contrast_page

    return contrast_page(found)


def _write(found: Attribution | Contrast, path: Path) -> None:
    """Write what was found in the format of the path's ending, but for JSON."""
    if path.suffix == ".npz" and isinstance(found, Attribution):
        found.to_npz(path)
    elif path.suffix == ".html":
        write_bytes(path, _page(found).encode())
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
