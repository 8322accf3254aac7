"""``likely report``: one HTML page about a model."""

from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import typer

from likely.cli.deliver import Result, deliver, document, load_model, model_part, out_path
from likely.cli.flags import ModelChoice, Output
from likely.cli.progress import TokenMeter
from likely.cli.screen import show_cost
from likely.runs.paths import open_score_cache


@dataclass(frozen=True, slots=True, kw_only=True)
class Making:
    """How the report is made."""

    preset: Annotated[
        Literal["smoke", "full"],
        typer.Option("--preset", help="smoke is read in seconds, full is what one would print."),
    ] = "smoke"
    cache: Annotated[
        bool, typer.Option("--cache/--no-cache", help="Look up and keep known scores.")
    ] = True


def report(making: Making, model: ModelChoice, output: Output) -> None:
    """Write a report on a model as one self-contained HTML page, report.html if --out is not given.

    With --out ending in .json the data of its figures are written, and no page.
    """
    wanted = output.out or Path("report.html")
    path = out_path(Output(out=wanted), name=f"report {model.model}", suffixes=(".html", ".json"))
    loaded = load_model(model, output)
    from likely.report import build

    with (
        open_score_cache() if making.cache else nullcontext() as cache,
        TokenMeter("report", quiet=output.quiet) as meter,
    ):
        made = build(loaded, preset=making.preset, seed=output.seed, cache=cache, meter=meter)
    if path is not None and path.suffix == ".html":
        made.write(path)
    parts = {**made.to_dict(), "model": model_part(loaded)}
    lines = [made.summary(), show_cost(made.cost)]
    deliver(
        Result(document=document("report", output, **parts), lines=lines),
        output, path, is_written=path is not None and path.suffix == ".html",
    )  # fmt: skip
