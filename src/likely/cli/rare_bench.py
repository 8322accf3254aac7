"""``likely rare-bench``: which methods find how rare an output is, at an equal budget?"""

import hashlib
import itertools
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass, replace
from functools import cache
from pathlib import Path
from typing import Annotated, Literal, cast

import typer

from likely._version import __version__
from likely.cli.deliver import Result, deliver, document, note, out_path
from likely.cli.flags import Output
from likely.cli.logic import split_names
from likely.cli.progress import TokenMeter
from likely.cli.rare_bench_screen import bench_lines
from likely.core.estimate import Cost
from likely.core.model import LanguageModel
from likely.errors import InputError
from likely.rare.bench.plan import ARMS, MODELS, Arm, BenchConfig, preset
from likely.rare.bench.running import Row, bench_keys, check_budget, iter_bench
from likely.rare.bench.summary import MethodSummary, summarise, summarise_decades
from likely.rare.ground_truth import Truth
from likely.rare.inputs import InputDistribution
from likely.rare.named import DISTRIBUTIONS
from likely.rare.stored_truths import stored_digest, stored_truth
from likely.runs.journal import Batch, Journal, journal_path
from likely.runs.store import Columns, write_bytes, write_rows

_ARMS: dict[str, tuple[Arm, ...]] = {"calls": ("calls",), "both": ARMS}
SUFFIXES = (".json", ".html", ".csv", ".parquet", ".jsonl")

_TEXTS = ("arm", "model", "distribution", "method", "text", "quantity", "warnings", "levels")
_COUNTS = (
    "seed", "token", "stems", "budget", "n_targets", "forwards", "gradients", "scores",
    "token_evaluations",
)  # fmt: skip
_NUMBERS = ("truth", "low", "high", "log_prob", "log_low", "log_high", "seconds")
COLUMNS: Columns = {
    **dict.fromkeys(_TEXTS, "text"),
    **dict.fromkeys(_COUNTS, "int"),
    **dict.fromkeys(_NUMBERS, "float"),
}
"""Of the rows: an estimate each."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """What is compared; what is unset is as the preset has it."""

    preset: Annotated[
        Literal["smoke", "lite", "full"],
        typer.Option("--preset", help="smoke takes minutes, lite hours, full days."),
    ] = "smoke"
    models: Annotated[
        str | None, typer.Option("--models", metavar="NAMES", help="Such as tiny-1l,tiny-2l.")
    ] = None
    distributions: Annotated[
        str | None, typer.Option("--distributions", metavar="NAMES", help="Such as hex,camel.")
    ] = None
    methods: Annotated[
        str | None, typer.Option("--methods", metavar="NAMES", help="Such as naive,qld,ga-amls.")
    ] = None
    budget: Annotated[
        int | None,
        typer.Option("--budget", metavar="CALLS", min=1, help="Model calls for each target."),
    ] = None
    seeds: Annotated[
        int | None,
        typer.Option("--seeds", metavar="N", min=1, help="How often each estimate is made."),
    ] = None
    arm: Annotated[
        Literal["calls", "both"] | None,
        typer.Option("--arm", help="What is equal: model calls, or calls and then seconds."),
    ] = None
    resume: Annotated[
        bool,
        typer.Option("--resume/--no-resume", help="Go on with an unfinished run of this --out."),
    ] = True


def rare_bench(comparison: Comparison, output: Output) -> None:
    """Compare estimators of rare events with the truth, at an equal budget.

    Models, laws of inputs and targets of every decade whose truth comes with the package; every
    method, at least five times each; bias, spread, zeros, coverage and losses. --out writes .json,
    .html, or the estimates as .csv, .parquet or .jsonl, and keeps a journal beside it until done.
    """
    config = _config(comparison)
    path = out_path(output, name=f"rare-bench {comparison.preset}", suffixes=SUFFIXES)
    journal = None
    if path is not None:
        journal = Journal(
            journal_path(path), configuration=_identity(config, output), columns=COLUMNS,
            resume=comparison.resume,
        )  # fmt: skip
    with journal or nullcontext():
        rows = _rows(config, output, journal)
        summaries = summarise(rows) if rows else []
        if path is not None and path.suffix != ".json":
            _write(rows, summaries, config, path)
        result = Result(
            document=document(
                "rare-bench", output, preset=comparison.preset, comparison=asdict(config),
                estimates=rows,
                summaries=[summary_part(one) for one in summaries],
                decades=[asdict(one) for one in summarise_decades(rows, config.decades)],
            ),
            lines=bench_lines(rows, summaries, config),
        )  # fmt: skip
        deliver(result, output, path, is_written=path is not None and path.suffix != ".json")
        if journal is not None:
            journal.discard()


def _config(comparison: Comparison) -> BenchConfig:
    config = preset(comparison.preset)
    names = {
        "models": comparison.models,
        "distributions": comparison.distributions,
        "methods": comparison.methods,
    }
    given = {name: tuple(split_names(text)) for name, text in names.items() if text is not None}
    methods = given.get("methods", config.methods)
    chosen = replace(
        config,
        models=given.get("models", config.models),
        distributions=given.get("distributions", config.distributions),
        methods=methods,
        options=tuple(one for one in config.options if one[0] in methods),
        arms=config.arms if comparison.arm is None else _ARMS[comparison.arm],
        budget=comparison.budget or config.budget,
        seeds=comparison.seeds or config.seeds,
        reference=config.reference if config.reference in methods else (*methods, "")[0],
    )
    check_budget(chosen)
    for model, law in itertools.product(chosen.models, chosen.distributions):
        _check_truth(model, law)
    return chosen


def _check_truth(model_name: str, law_name: str) -> None:
    """Raise unless a truth of them comes with the package.

    Raises:
        UnknownNameError: No law has that name.
        InputError: There is no truth.
    """
    DISTRIBUTIONS.load(law_name)
    if stored_digest(model_name, law_name) is None:
        raise no_truth(model_name, law_name)


def no_truth(model_name: str, law_name: str) -> InputError:
    """Return the error that no truth of a model under a law comes with the package."""
    return InputError(
        f"no truth of {model_name!r} under {law_name!r} comes with likely; compare some of "
        f"{', '.join(MODELS)} under named distributions"
    )


def _identity(config: BenchConfig, output: Output) -> dict[str, str]:
    """Return all that the numbers depend on: a journal of anything else is not gone on from."""
    truths = [
        f"{model} {law} {stored_digest(model, law)}"
        for model in config.models
        for law in config.distributions
    ]
    digest = hashlib.sha256("\n".join(truths).encode()).hexdigest()
    return {
        "config": repr(config), "seed": str(output.seed), "truths": digest, "likely": __version__,
    }  # fmt: skip


def _rows(config: BenchConfig, output: Output, journal: Journal | None) -> list[Row]:
    keys = bench_keys(config)
    number = {key: i for i, key in enumerate(keys)}
    kept = {} if journal is None else journal.batches
    found = {keys[i]: [_row(one) for one in batch.rows] for i, batch in kept.items()}
    with TokenMeter("comparing", quiet=output.quiet, unit="run") as bar:
        bar.expect(len(keys) - len(found))
        for key, rows in iter_bench(config, open_setting, seed=output.seed, done=dict(found)):
            if journal is not None:
                journal.append(number[key], Batch(rows=tuple(rows), cost=Cost()))
            found[key] = rows
            bar.advance(1)
    for model, law in sorted({key[1:3] for key, rows in found.items() if not rows}):
        note(f"no target of the wanted decades for {model} under {law}", output)
    return [row for key in keys for row in found[key]]


def _row(record: Mapping[str, object]) -> Row:
    return cast(Row, dict(record))


@cache
def _model(name: str) -> LanguageModel:
    from likely.models import load

    return load(name)


def open_setting(model_name: str, law_name: str) -> tuple[LanguageModel, InputDistribution, Truth]:
    """Return a model, a law of inputs, and the truth that comes with the package.

    Raises:
        InputError: No truth of them comes with the package.
    """
    from likely.rare.named import distribution

    model = _model(model_name)
    law = distribution(law_name, model)
    truth = stored_truth(model, law)
    if truth is None:
        raise no_truth(model_name, law_name)
    return model, law, truth


def summary_part(one: MethodSummary) -> dict[str, object]:
    """Return a summary as a mapping for strict JSON."""
    part = asdict(one)
    return {
        **{f"{name}_decades": part.pop(name) for name in ("bias", "spread")}, **part,
        "models": list(one.models),
        "losses": {name: loss.to_dict() for name, loss in one.losses.items()},
    }  # fmt: skip


def _write(
    rows: list[Row], summaries: Sequence[MethodSummary], config: BenchConfig, path: Path
) -> None:
    if path.suffix == ".html":
        from likely.report.rare_bench_page import bench_page

        write_bytes(path, bench_page(rows, summaries, config).encode())
    elif path.suffix == ".csv":
        import pandas as pd

        table = pd.DataFrame(rows, columns=list(COLUMNS))
        write_bytes(path, table.to_csv(index=False, lineterminator="\n").encode())
    else:
        write_rows(path, rows, COLUMNS)
