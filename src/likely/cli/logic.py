"""``likely logic``: a theory put to a model, in tables and in words; or looked at without one."""

import difflib
from contextlib import nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from likely.cli.claims import hung
from likely.cli.deliver import (
    Result,
    deliver,
    document,
    load_model,
    model_part,
    out_path,
    show_model,
)
from likely.cli.evaluations import COLUMNS, evaluation_lines, evaluation_rows, score_claims
from likely.cli.failures import FAILED
from likely.cli.flags import EventScoring, ModelChoice, Output
from likely.cli.progress import TokenMeter
from likely.cli.screen import show_cost
from likely.core.model import LanguageModel
from likely.errors import UnknownNameError
from likely.runs.paths import open_score_cache

if TYPE_CHECKING:
    from likely.logic.theory import Theory


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """Which theory, and on which model, if on any."""

    model: Annotated[
        str | None,
        typer.Argument(
            metavar="MODEL",
            help="smollm2, tiny-2l, hf:FOLDER_OR_ID, gguf:FILE, server:URL#NAME or "
            "table:FILE; see `likely models`. Left out with --info and --validate.",
        ),
    ] = None
    theory: Annotated[
        str | None,
        typer.Argument(
            metavar="THEORY", help="A YAML file, or a family of ProbCT such as negation."
        ),
    ] = None
    info: Annotated[
        bool, typer.Option("--info", help="Say how much each claim of THEORY says; no model.")
    ] = False
    validate: Annotated[
        bool,
        typer.Option(
            "--validate",
            help="Say what is wrong with THEORY, or with all families of ProbCT; no model.",
        ),
    ] = False
    tokenizer: Annotated[
        str | None,
        typer.Option(
            "--tokenizer",
            metavar="MODEL",
            help="With --validate: also what this model's tokenizer makes of the answers.",
        ),
    ] = None
    dtype: Annotated[
        Literal["float32", "bfloat16", "float16", "float64"],
        typer.Option("--dtype", help="Of the weights; never the checkpoint's own choice."),
    ] = "float32"
    device: Annotated[
        str, typer.Option("--device", metavar="NAME", help="auto, cpu, cuda, cuda:1, mps, ...")
    ] = "auto"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """How token probabilities become events."""

    rescaling: Annotated[
        str,
        typer.Option(
            "--rescaling", metavar="NAME", help="From token probabilities to events: the headline."
        ),
    ] = "duel"
    also: Annotated[
        str,
        typer.Option(
            "--also", metavar="NAMES", help='Others shown beside it, with commas; "" for none.'
        ),
    ] = "minp,identity,closed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Showing:
    """What is shown of it."""

    explain: Annotated[
        str | None,
        typer.Option(
            "--explain",
            metavar="ITEM",
            help="Explain one item in words and show nothing else: theory/pack/row/claim, or the "
            "end of it.",
        ),
    ] = None
    worst: Annotated[
        int,
        typer.Option("--worst", metavar="N", min=0, help="How many of the worst items to explain."),
    ] = 3
    limit: Annotated[
        int,
        typer.Option(
            "--limit",
            metavar="N",
            min=0,
            help="With --info and --validate: problems on the screen; 0 for all.",
        ),
    ] = 20


def logic(
    subject: Subject, reading: Reading, scoring: EventScoring, showing: Showing, output: Output
) -> None:
    """Put a theory to a model: which claims its probabilities keep, beyond chance.

    Shows every claim with its score, then the items that it breaks worst, in words. With --info
    or --validate the theory alone is looked at, and no model is given: `likely logic --info
    THEORY`. Exit code 1 if --validate finds an error.
    """
    _check_usage(subject, showing)
    if subject.info:
        _show_info(subject.model or "", showing, output)
    elif subject.validate:
        _show_validation(subject, showing, output)
    else:
        _show_evaluation(subject, reading, scoring, showing, output)


def _check_usage(subject: Subject, showing: Showing) -> None:
    if subject.info and subject.validate:
        raise typer.BadParameter("give --info or --validate, not both")
    if subject.tokenizer is not None and not subject.validate:
        raise typer.BadParameter("--tokenizer goes with --validate")
    if subject.info or subject.validate:
        flag = "--info" if subject.info else "--validate"
        if subject.theory is not None:
            raise typer.BadParameter(
                f"with {flag} give THEORY alone, without MODEL; "
                f"got {subject.model!r} and {subject.theory!r}"
            )
        if showing.explain is not None:
            raise typer.BadParameter(f"--explain needs MODEL and THEORY, and no {flag}")
        if subject.info and subject.model is None:
            raise typer.BadParameter("--info needs a THEORY")
    elif subject.model is None or subject.theory is None:
        raise typer.BadParameter(
            "give MODEL and THEORY, or --info or --validate with THEORY; "
            f"got {1 if subject.model else 0} of them"
        )


def _show_info(theory: str, showing: Showing, output: Output) -> None:
    from likely.cli.theories import INFO_COLUMNS, info_lines, info_rows, load_theory
    from likely.logic.overview import overview

    path = out_path(output, name=f"logic info {theory}")
    found = overview(load_theory(theory))
    result = Result(
        document=document("logic --info", output, **found.to_dict()),
        lines=info_lines(found, showing.limit),
        rows=info_rows(found),
        columns=INFO_COLUMNS,
    )
    deliver(result, output, path)


def _show_validation(subject: Subject, showing: Showing, output: Output) -> None:
    from likely.cli.theories import PROBLEM_COLUMNS, load_theory, problem_rows, validation_lines
    from likely.logic.probct.suites import FAMILIES
    from likely.logic.validation import validate

    path = out_path(output, name=f"logic validate {subject.model or 'probct'}")
    theories = [load_theory(name) for name in ([subject.model] if subject.model else FAMILIES)]
    model = None if subject.tokenizer is None else _load(subject, subject.tokenizer, output)
    found = [validate(theory, model) for theory in theories]
    is_usable = all(one.is_usable for one in found)
    result = Result(
        document=document(
            "logic --validate", output, tokenizer=None if model is None else model_part(model),
            is_usable=is_usable, theories=[one.to_dict() for one in found],
        ),
        lines=validation_lines(found, showing.limit),
        rows=problem_rows(found),
        columns=PROBLEM_COLUMNS,
    )  # fmt: skip
    deliver(result, output, path)
    if not is_usable:
        raise typer.Exit(FAILED)


def _show_evaluation(
    subject: Subject, reading: Reading, scoring: EventScoring, showing: Showing, output: Output
) -> None:
    from likely.cli.theories import load_theory
    from likely.logic.account import explain, worst_items
    from likely.logic.evaluation import evaluate
    from likely.logic.events import rescaling

    path = out_path(output, name=f"logic {subject.theory} {subject.model}")
    theory = load_theory(subject.theory or "")
    asked = None if showing.explain is None else find_item(theory, showing.explain)
    also = [rescaling(name) for name in split_names(reading.also)]
    headline = rescaling(reading.rescaling)
    model = _load(subject, subject.model or "", output)
    with (
        open_score_cache() if scoring.cache else nullcontext() as cache,
        TokenMeter(theory.name, quiet=output.quiet) as meter,
    ):
        found = evaluate(
            model, theory, rescaling=headline, also=also, multi=scoring.multi, bos=scoring.bos,
            cache=cache, meter=meter,
        )  # fmt: skip
    parts = {**found.to_dict(), "model": model_part(model), "bos": scoring.bos}
    if asked is not None:
        account = explain(found, asked)
        lines = [show_model(model), *hung(account.summary().splitlines()), show_cost(found.cost)]
        parts["account"] = account.to_dict()
    else:
        scored = score_claims(found, output.seed)
        accounts = [explain(found, item.id) for item in worst_items(found, showing.worst)]
        lines = evaluation_lines(model, theory, found, scored, accounts)
        parts["lines"] = [line.to_dict() for line, _ in scored]
        parts["worst"] = [account.to_dict() for account in accounts]
    result = Result(
        document=document("logic", output, **parts),
        lines=lines,
        rows=evaluation_rows(found),
        columns=COLUMNS,
    )
    deliver(result, output, path)


def split_names(text: str) -> list[str]:
    """Return names that stand with commas between them.

    >>> split_names("minp, closed,")
    ['minp', 'closed']
    """
    return [name.strip() for name in text.split(",") if name.strip()]


def find_item(theory: "Theory", name: str) -> str:
    """Return the id of the item of that name, before any model is asked.

    Raises:
        UnknownNameError: No item, or several, have it.
    """
    from likely.logic.evaluation import claim_id
    from likely.logic.instances import instances

    ids = [claim_id(instance, claim) for instance in instances(theory) for claim in instance.claims]
    found = [known for known in ids if known == name or known.endswith(f"/{name}")]
    if len(found) == 1 or name in found:
        return name if name in found else found[0]
    tails = {known.split("/", 1)[1]: known for known in ids}
    close = found[:3] or [
        tails.get(match, match) for match in difflib.get_close_matches(name, [*ids, *tails], n=3)
    ]
    hint = f"did you mean {close}?" if close else f"items are named like {ids[0]!r}"
    what = f"{len(found)} items are" if found else "no item is"
    raise UnknownNameError(f"{what} named {name!r}; {hint}")


def _load(subject: Subject, name: str, output: Output) -> LanguageModel:
    choice = ModelChoice(model=name, dtype=subject.dtype, device=subject.device)
    return load_model(choice, output)
