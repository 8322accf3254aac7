"""Flags that commands share, as dataclasses, and the step from a function to its flags."""

import inspect
from collections.abc import Callable
from dataclasses import MISSING, dataclass, fields, is_dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, get_type_hints

import typer

from likely.cli.failures import told_in_one_line

BosFlag = Annotated[
    Literal["auto", "always", "never"],
    typer.Option("--bos", help="Beginning-of-sequence token; auto as the tokenizer has it."),
]
"""Of every command that turns text into ids."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Output:
    """What every command takes: where its result goes, and how it talks."""

    json: Annotated[
        bool, typer.Option("--json", help="Print one strict JSON document, not a table.")
    ] = False
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            metavar="FILE",
            help="Write the result here; the ending decides the format. The path is tested first.",
        ),
    ] = None
    seed: Annotated[
        int,
        typer.Option("--seed", metavar="N", help="Seed of everything random; kept in the result."),
    ] = 0
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="No progress bar and no notes on stderr.")
    ] = False
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelChoice:
    """Which model, in which numbers, and where."""

    model: Annotated[
        str,
        typer.Argument(
            metavar="MODEL",
            help="smollm2, tiny-2l, hf:FOLDER_OR_ID, gguf:FILE, server:URL#NAME or "
            "table:FILE; see `likely models`.",
        ),
    ]
    dtype: Annotated[
        Literal["float32", "bfloat16", "float16", "float64"],
        typer.Option("--dtype", help="Of the weights; never the checkpoint's own choice."),
    ] = "float32"
    device: Annotated[
        str, typer.Option("--device", metavar="NAME", help="auto, cpu, cuda, cuda:1, mps, ...")
    ] = "auto"


@dataclass(frozen=True, slots=True, kw_only=True)
class EventScoring:
    """How answers become events, and whether known scores are looked up."""

    multi: Annotated[
        Literal["conj", "geo", "min", "first", "seq_ratio"],
        typer.Option("--multi", help="How an answer of several tokens becomes one event."),
    ] = "conj"
    bos: BosFlag = "auto"
    cache: Annotated[
        bool, typer.Option("--cache/--no-cache", help="Look up and keep known scores.")
    ] = True


def as_flags(function: Callable[..., None]) -> Callable[..., None]:
    """Return a function that typer can read, whose flags are the fields of the dataclasses.

    Args:
        function: Each parameter is a dataclass; together they hold `Output`. Errors that it raises
            are told in one line.
    """
    groups = {
        name: hint
        for name, hint in get_type_hints(function).items()
        if isinstance(hint, type) and is_dataclass(hint)
    }
    parameters = [p for group in groups.values() for p in _parameters(group)]

    def run(**values: object) -> None:
        arguments = {
            name: group(**{field.name: values[field.name] for field in fields(group)})
            for name, group in groups.items()
        }
        with told_in_one_line(debug=bool(values["debug"])):
            function(**arguments)

    parameters.sort(key=lambda p: p.default is not inspect.Parameter.empty)
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]  # typer reads it
    run.__annotations__ = {p.name: p.annotation for p in parameters}
    run.__doc__ = function.__doc__
    return run


def _parameters(group: type[Any]) -> list[inspect.Parameter]:
    hints = get_type_hints(group, include_extras=True)
    return [
        inspect.Parameter(
            field.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=inspect.Parameter.empty if field.default is MISSING else field.default,
            annotation=hints[field.name],
        )
        for field in fields(group)
    ]
