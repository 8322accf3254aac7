"""``likely calibrate``: do a model's probabilities follow the numbers in the context?"""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, cast

import typer

from likely.cli.deliver import (
    Result,
    deliver,
    document,
    load_model,
    model_part,
    note,
    out_path,
)
from likely.cli.flags import BosFlag, ModelChoice, Output
from likely.cli.logic import split_names
from likely.cli.progress import TokenMeter
from likely.cli.screen import show_cost
from likely.core.model import LanguageModel
from likely.errors import InputError
from likely.runs.paths import open_score_cache
from likely.runs.store import ROW_SUFFIXES, Columns, Row, check_writable, read_rows, write_rows

if TYPE_CHECKING:
    from likely.calibration.analyses.frequencies import NumberCounts
    from likely.calibration.comparison import Difference
    from likely.calibration.data_sets.items import Item
    from likely.calibration.evaluation import Evaluation


@dataclass(frozen=True, slots=True, kw_only=True)
class Questions:
    """Which items are put to the model."""

    preset: Annotated[
        Literal["smoke", "lite", "full"],
        typer.Option(
            "--preset",
            help="How many items: smoke, lite or full; of the three families of the paper 320, "
            "9,320 or 203,400 (as many as the paper has).",
        ),
    ] = "lite"
    families: Annotated[
        str,
        typer.Option(
            "--families",
            metavar="NAMES",
            help="With commas, such as colors,coin_bias; paper is the three of the paper, all "
            "every one.",
        ),
    ] = "paper"
    design: Annotated[
        Literal["balanced", "ties", "grid"],
        typer.Option(
            "--design",
            help="ties: equal numbers alone; grid: every pair of 1 to 10; of colors, wordproblems.",
        ),
    ] = "balanced"


@dataclass(frozen=True, slots=True, kw_only=True)
class Asking:
    """How items are put to the model, and what counts as an answer."""

    chat: Annotated[
        Literal["none", "answer", "prefill"],
        typer.Option(
            "--chat",
            help="answer: the text is the user's turn; prefill: it opens the assistant's turn.",
        ),
    ] = "none"
    wrapper: Annotated[
        str | None,
        typer.Option(
            "--wrapper",
            metavar="NAME",
            help="Instruction to a chat model: finish, last_word, missing, in_proportion.",
        ),
    ] = None
    level: Annotated[
        Literal["exact", "paper", "wide"],
        typer.Option("--level", help="Which spellings of an option are added up."),
    ] = "paper"
    word_end: Annotated[
        Literal["auto", "always", "never"],
        typer.Option("--word-end", help="Whether an option counts only as far as its word ends."),
    ] = "auto"
    bos: BosFlag = "auto"
    cache: Annotated[
        bool,
        typer.Option(
            "--cache/--no-cache",
            help="Keep scores as they come: a run that is broken off goes on from there.",
        ),
    ] = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Judging:
    """What is made of the scores, and what else is written."""

    resamples: Annotated[
        int,
        typer.Option(
            "--resamples", metavar="N", min=100, help="Of the bootstrap over templates and pairs."
        ),
    ] = 2000
    remedies: Annotated[
        bool,
        typer.Option(
            "--remedies", help="Also try temperature, priors, order averaging, ...: before, after."
        ),
    ] = False
    counts: Annotated[
        Path | None,
        typer.Option(
            "--counts",
            metavar="FILE.csv",
            help="How often numbers occur in some text (columns number and count): does wd go with "
            "how common the numbers are? Without them the document has the law 1/n, which is no "
            "count.",
        ),
    ] = None
    counts_kind: Annotated[
        Literal["exact", "approx", "modelled"] | None,
        typer.Option(
            "--counts-kind",
            help="What --counts holds: counts, approximations, or what a law says; approx unless "
            "told.",
        ),
    ] = None
    compare: Annotated[
        Path | None,
        typer.Option(
            "--compare",
            metavar="ROWS",
            help="Compare with another model: the rows that its run wrote with --items.",
        ),
    ] = None
    from_base: Annotated[
        bool,
        typer.Option(
            "--from-base", help="This model was tuned from the compared one: draw the step."
        ),
    ] = False
    items: Annotated[
        Path | None,
        typer.Option(
            "--items", metavar="FILE", help="Write a row an item here, .parquet or .jsonl."
        ),
    ] = None
    figures: Annotated[
        Path | None,
        typer.Option(
            "--figures", metavar="FOLDER", help="Draw the figures here, each with its data."
        ),
    ] = None
    lint: Annotated[
        bool,
        typer.Option("--lint", help="Only check the items against the model's tokenizer."),
    ] = False


def calibrate(
    questions: Questions, asking: Asking, judging: Judging, model: ModelChoice, output: Output
) -> None:
    """Ask whether a model's probabilities follow the numbers in the context.

    "A jar holds 98 blue beads and 99 red beads": a calibrated model gives red 99/197. Each metric
    has a 95 % interval over templates, options and numbers, and stands beside what simple rules
    score on the same items. Scores are kept as they come, so that a long run can be broken off.
    """
    path = out_path(output, name=f"calibrate {model.model}", suffixes=(".json",))
    names = _families(questions)
    _check_outputs(judging)
    counts = _counts(judging)
    _check_wrapper(asking)
    theirs = None if judging.compare is None else _read(judging.compare)
    design = None if questions.design == "balanced" else questions.design
    from likely.calibration.analysis import analyse
    from likely.calibration.comparison import compare_models
    from likely.calibration.data_sets.family import build_all
    from likely.calibration.evaluation import evaluate
    from likely.calibration.rows import COLUMNS, frames_of, iter_rows
    from likely.cli.calibration_remedies import remedy_lines, remedy_reports
    from likely.cli.calibration_tables import screen_lines

    items = build_all(names, preset=questions.preset, seed=output.seed, design=design)
    if theirs is not None:
        _check_shared(items, theirs, judging.compare)
    loaded = load_model(model, output)
    if judging.lint:
        _lint(loaded, items, output, path)
        return
    with (
        open_score_cache() if asking.cache else nullcontext() as cache,
        TokenMeter("calibration", quiet=output.quiet) as meter,
    ):
        found = evaluate(
            loaded, items, level=asking.level, word_end=asking.word_end, chat=asking.chat,
            wrapper=asking.wrapper, bos=asking.bos, cache=cache, meter=meter,
            n_resamples=judging.resamples, seed=output.seed,
        )  # fmt: skip
        analyses = analyse(
            found.frame, counts=counts, n_resamples=judging.resamples, seed=output.seed
        )
        named = [one.family for one in analyses] if judging.remedies else []
        reports = remedy_reports(loaded, found, named, cache=cache, meter=meter)
    differences: Sequence[Difference] = ()
    if theirs is not None:
        differences = compare_models(
            found.frame, frames_of(theirs)[0], n_resamples=judging.resamples, seed=output.seed
        )
    parts: dict[str, object] = {
        "model": model_part(loaded),
        "items": {"families": names, "preset": questions.preset, "design": questions.design},
        "evaluation": found.to_dict(),
        "analyses": [one.to_dict() for one in analyses],
        "differences": [one.to_dict() for one in differences],
        "remedies": {
            family: {"skipped": report} if isinstance(report, str) else report.to_dict()
            for family, report in reports.items()
        },
    }
    other = None if theirs is None else _other_name(theirs, found)
    lines = screen_lines(
        loaded, found, analyses, differences, sets=_sets(questions),
        has_counts=counts is not None, other=other,
    )  # fmt: skip
    if reports:
        lines += ["", *remedy_lines(found, reports)]
    if judging.items is not None:
        write_rows(judging.items, iter_rows(found), cast(Columns, COLUMNS))
        note(f"wrote {judging.items}", output)
    if judging.figures is not None:
        missing = _draw(
            judging.figures, found, theirs, other, counts, output, is_base=judging.from_base
        )
        lines += ["", *missing] if missing else []
    costs = [report.cost for report in reports.values() if not isinstance(report, str)]
    lines += ["", show_cost(sum(costs, start=found.cost))]
    deliver(Result(document=document("calibrate", output, **parts), lines=lines), output, path)


def _draw(
    folder: Path,
    found: "Evaluation",
    theirs: Sequence[Mapping[str, object]] | None,
    other: str | None,
    counts: "NumberCounts | None",
    output: Output,
    *,
    is_base: bool,
) -> list[str]:
    """Draw the figures, and return a line for each that could not be drawn."""
    from likely.calibration.assigners import Rules
    from likely.calibration.rows import evaluation_of
    from likely.report.figures import Missing, save_all
    from likely.report.figures.calibration import draw_all
    from likely.report.figures.calibration.from_evaluations import tables_of

    shown: list[Evaluation] = [found]
    pairs: list[tuple[str, str]] = []
    beside = None if theirs is None else evaluation_of(theirs, found)
    if beside is not None and other is not None:
        shown = [replace(beside, model=other), found]
        pairs = [(other, found.model)] if is_base else []
    elif theirs is not None:
        note("figures show one model: the other's rows are of other items", output)
    rules = Rules()
    if not any(bool((one.frame["pm"] >= rules.null_pm).any()) for one in shown):
        rules = Rules(null_pm=0.0)
    drawings = draw_all(tables_of(shown, pairs=pairs, counts=counts, rules=rules))
    save_all(drawings, folder)
    note(f"wrote the figures to {folder}", output)
    missing = [one for one in drawings if isinstance(one, Missing)]
    return [f"no figure {one.name}: {one.reason}" for one in missing]


def _other_name(theirs: Sequence[Mapping[str, object]], found: "Evaluation") -> str:
    """Return what the other model is called beside ours, which may be the same one."""
    other, policy = str(theirs[0]["model"]), str(theirs[0]["policy"])
    if policy != found.scored.policy.label:
        return f"{other}, {policy}"
    return f"{other} (compared)" if other == found.model else other


def _families(questions: Questions) -> list[str]:
    """Return the families that are asked for, checked before the model is loaded.

    Raises:
        UnknownNameError: No such family.
        InputError: A family does not have the design.
    """
    from likely.calibration.data_sets.family import FAMILIES, PAPER

    groups = {"paper": PAPER, "all": FAMILIES.names()}
    asked = split_names(questions.families)
    if not asked:
        raise typer.BadParameter("give at least one name", param_hint="--families")
    names = list(dict.fromkeys(name for one in asked for name in groups.get(one, (one,))))
    for name in names:
        designs = FAMILIES.load(name).designs
        if questions.design != "balanced" and questions.design not in designs:
            raise InputError(
                f"the family {name!r} has no design {questions.design!r}, it has {list(designs)}; "
                "name other families (--families)"
            )
    return names


def _check_outputs(judging: Judging) -> None:
    if judging.items is not None:
        check_writable(judging.items, suffixes=ROW_SUFFIXES)
    if judging.figures is not None and judging.figures.exists() and not judging.figures.is_dir():
        raise InputError(f"figures go to a folder, {str(judging.figures)!r} is a file")


def _check_wrapper(asking: Asking) -> None:
    from likely.calibration.chats import wrapper_name

    wrapper_name(asking.chat, asking.wrapper)


def _sets(questions: Questions) -> str:
    design = "" if questions.design == "balanced" else f", design {questions.design}"
    return f"preset {questions.preset}{design}"


def _counts(judging: Judging) -> "NumberCounts | None":
    if judging.counts is None:
        if judging.counts_kind is not None:
            raise typer.BadParameter("is of --counts; give both", param_hint="--counts-kind")
        return None
    from likely.calibration.analyses.frequencies import read_counts

    return read_counts(judging.counts, kind=judging.counts_kind or "approx")


def _read(path: Path) -> list[dict[str, object]]:
    from likely.calibration.rows import COLUMNS

    rows = read_rows(path, cast(Columns, COLUMNS))
    if not rows:
        raise InputError(f"{str(path)!r} has no rows; make it with: likely calibrate --items FILE")
    return rows


def _check_shared(items: "Iterable[Item]", theirs: Sequence[Row], path: Path | None) -> None:
    """Raise if another model's rows are of other items, before hours of scoring show it."""
    known = {row["id"] for row in theirs}
    if known.isdisjoint(item.id for item in items):
        raise InputError(
            f"{str(path)!r} has none of these items; make it with the same --preset, --families, "
            "--design and --seed"
        )


def _lint(model: LanguageModel, items: "Sequence[Item]", output: Output, path: Path | None) -> None:
    from likely.calibration.data_sets.linting import lint

    found = lint(model, items)
    parts: dict[str, object] = {"model": model_part(model), "lint": found.to_dict()}
    lines = found.summary().splitlines()
    deliver(Result(document=document("calibrate", output, **parts), lines=lines), output, path)
    found.check()
