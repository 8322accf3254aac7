"""``likely logic``: a theory put to a model, in tables and in words; or looked at without one."""

import difflib
import math
from collections.abc import Iterable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from likely.cli.claims import (
    LEGEND,
    STARRED,
    ClaimRow,
    claim_row,
    claim_table,
    folded,
    hung,
    rescaling_table,
    show_score,
)
from likely.cli.deliver import (
    Result,
    deliver,
    document,
    load_model,
    model_part,
    out_path,
    show_model,
)
from likely.cli.failures import FAILED
from likely.cli.flags import ModelChoice, Output
from likely.cli.progress import TokenMeter
from likely.cli.screen import Column, show_cost, show_prob, table
from likely.core.estimate import Estimate
from likely.core.model import LanguageModel
from likely.errors import UnknownNameError
from likely.runs.paths import open_score_cache
from likely.runs.store import Columns, Row

if TYPE_CHECKING:
    import pandas as pd

    from likely.logic.account import Account
    from likely.logic.probct.tables import Line
    from likely.logic.results import Evaluation
    from likely.logic.theory import Theory

COLUMNS: Columns = {
    "id": "text", "pack": "text", "row": "text", "claim": "text", "formula": "text",
    "rescaling": "text", "n_events": "int", "bits": "float", "prob": "float",
    "chance_corrected": "float", "log_ratio_bits": "float", "normalised_log_ratio": "float",
    "is_kept": "bool", "flags": "text",
}  # fmt: skip

ITEM_LEGEND = (
    "P is the probability that a claim holds, chance what it were if every event had one half; S "
    "is P corrected for chance: 1 perfect, 0 chance. bits are those earned, of those at stake; "
    "kept is whether it holds when each event is decided by its likelier side."
)
"""What the columns mean where there is one item a claim."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """Which theory, and on which model, if on any."""

    model: Annotated[
        str | None,
        typer.Argument(
            metavar="MODEL",
            help="smollm2, hf:FOLDER_OR_ID, gguf:FILE, server:URL#NAME or table:FILE; see "
            "`likely models`. Left out with --info and --validate.",
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
    multi: Annotated[
        Literal["conj", "geo", "min", "first", "seq_ratio"],
        typer.Option("--multi", help="How an answer of several tokens becomes one event."),
    ] = "conj"
    bos: Annotated[
        Literal["auto", "always", "never"],
        typer.Option("--bos", help="Beginning-of-sequence token; auto as the tokenizer has it."),
    ] = "auto"
    cache: Annotated[
        bool, typer.Option("--cache/--no-cache", help="Look up and keep known scores.")
    ] = True


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


def logic(subject: Subject, reading: Reading, showing: Showing, output: Output) -> None:
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
        _show_evaluation(subject, reading, showing, output)


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


def _show_evaluation(subject: Subject, reading: Reading, showing: Showing, output: Output) -> None:
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
        open_score_cache() if reading.cache else nullcontext() as cache,
        TokenMeter(theory.name, quiet=output.quiet) as meter,
    ):
        found = evaluate(
            model, theory, rescaling=headline, also=also, multi=reading.multi, bos=reading.bos,
            cache=cache, meter=meter,
        )  # fmt: skip
    parts = {**found.to_dict(), "model": model_part(model), "bos": reading.bos}
    if asked is not None:
        account = explain(found, asked)
        lines = [show_model(model), *hung(account.summary().splitlines()), show_cost(found.cost)]
        parts["account"] = account.to_dict()
    else:
        scored = _scored(found, output.seed)
        accounts = [explain(found, item.id) for item in worst_items(found, showing.worst)]
        lines = _lines(model, theory, found, scored, accounts)
        parts["lines"] = [line.to_dict() for line, _ in scored]
        parts["worst"] = [account.to_dict() for account in accounts]
    result = Result(
        document=document("logic", output, **parts), lines=lines, rows=_rows(found), columns=COLUMNS
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


def _scored(found: "Evaluation", seed: int) -> list[tuple["Line", "pd.DataFrame"]]:
    """Return every claim under every rescaling, and all claims together, with their items."""
    from likely.logic.probct.tables import item_table, lines

    items = item_table(found, family=found.theory, control="none")
    scored = []
    for line in lines(items, {}, n_resamples=2000, seed=seed):
        own = items[items["rescaling"] == line.rescaling]
        if line.claim is None:
            own = own[~own["is_comparison"].astype(bool)]
        else:
            own = own[own["claim"] == line.claim]
        scored.append((line, own))
    return scored


def _lines(
    model: LanguageModel,
    theory: "Theory",
    found: "Evaluation",
    scored: Sequence[tuple["Line", "pd.DataFrame"]],
    accounts: Sequence["Account"],
) -> list[str]:
    headline, *others = found.rescalings
    beside = f", and beside it {', '.join(others)}" if others else ""
    lines = [
        show_model(model),
        f"{theory.name}: {len(found.items)} items on {len(theory.rows)} "
        f"row{'s' if len(theory.rows) != 1 else ''}, under {headline}{beside}",
        "",
    ]
    is_single = len({item.instance for item in found.items}) == 1
    lines += _item_table(found) if is_single else _claim_lines(theory, found, scored)
    legend = ITEM_LEGEND if is_single else LEGEND
    lines += ["", *folded(legend), *_notes(found, scored)]
    if others and not is_single:
        lines += _rescalings(found, scored)
    lines += _asked_beside(found)
    for i, account in enumerate(accounts, start=1):
        lines += ["", f"worst item {i} of {len(found.items)}"]
        lines += hung(account.summary().splitlines())
    return [*lines, "", show_cost(found.cost)]


def _item_table(found: "Evaluation") -> list[str]:
    """Return a line a claim, and one for each of its rules: of a theory of a single row."""
    label, *others = found.rescalings
    others = [name for name in others if any(name in item.readings for item in found.items)]
    columns = [
        Column(title="claim"),
        Column(title="P", is_number=True),
        Column(title="chance", is_number=True),
        Column(title="S", is_number=True),
        Column(title="bits", is_number=True),
        Column(title="of", is_number=True),
        Column(title="kept"),
        *(Column(title=f"S {name}", is_number=True) for name in others),
        Column(title="formula", gives_way=True),
    ]
    cells = []
    for item in found.items:
        reading = item.readings.get(label)
        if reading is None:
            continue
        scores = reading.scores
        given = f" given {item.evidence}" if item.evidence else ""
        cells.append(
            [
                item.claim + ("*" if item.is_comparison else ""),
                show_prob(scores.log_prob),
                show_prob(scores.log_chance),
                show_score(scores.chance_corrected),
                show_score(scores.log_ratio_bits),
                f"{scores.bits:.2f}",
                "yes" if reading.is_kept else "no",
                *(
                    show_score(item.readings[name].scores.chance_corrected)
                    if name in item.readings
                    else "-"
                    for name in others
                ),
                f"{item.formula}{given}",
            ]
        )
        if len(reading.rules) > 1:
            blank = [""] * (len(columns) - 2)
            cells += [[f"  {n}", show_prob(x), *blank] for n, x in reading.rules.items()]
    return table(columns, cells)


def _claim_lines(
    theory: "Theory", found: "Evaluation", scored: Sequence[tuple["Line", "pd.DataFrame"]]
) -> list[str]:
    """Return a line a claim and one for each of its rules, and one for all claims together."""
    rows: list[ClaimRow] = []
    whole: list[ClaimRow] = []
    starred = {claim.name for claim in theory.claims if claim.is_comparison}
    for line, items in scored:
        if line.rescaling != found.rescalings[0]:
            continue
        if line.claim is None:
            whole = [claim_row(line, items, name="all claims")] if line.n_items else []
            continue
        star = "*" if line.claim in starred else ""
        rows.append(claim_row(line, items, name=f"{line.claim}{star}"))
        rows += _rule_rows(found, line.claim)
    return claim_table([*rows, *(whole if len(rows) > 1 else [])])


def _rule_rows(found: "Evaluation", claim: str) -> list[ClaimRow]:
    rules: dict[str, list[float]] = {}
    for item in found.items:
        reading = item.readings.get(found.rescalings[0])
        if item.claim == claim and reading is not None:
            for name, log_prob in reading.rules.items():
                rules.setdefault(name, []).append(math.exp(log_prob))
    if len(rules) < 2:
        return []
    return [ClaimRow(name=f"  {name}", prob=sum(x) / len(x)) for name, x in rules.items()]


def _notes(found: "Evaluation", scored: Sequence[tuple["Line", "pd.DataFrame"]]) -> list[str]:
    label = found.rescalings[0]
    notes = []
    if any(item.is_comparison for item in found.items):
        notes.append(STARRED)
    impossible = sum(
        line.n_impossible
        for line, _ in scored
        if line.claim is not None and line.rescaling == label
    )
    if impossible:
        notes.append(f"probability 0: {impossible} items, whose bits are infinite")
    if found.clamped.get(label):
        notes.append(f"clamped off 0 and 1 under {label}: {found.clamped[label]} events")
    loose = sum("interval" in e.flags for events in found.events.values() for e in events.values())
    if loose:
        notes.append(
            f"known only by an interval, whose middle is taken: {loose} events; --json has bounds"
        )
    return notes


def _rescalings(found: "Evaluation", scored: Sequence[tuple["Line", "pd.DataFrame"]]) -> list[str]:
    rows: dict[str, dict[str, Estimate | None]] = {}
    for line, _ in scored:
        if line.claim is not None:
            rows.setdefault(line.claim, {})[line.rescaling] = line.chance_corrected
    if len(rows) > 1:
        rows["all claims"] = {
            line.rescaling: line.chance_corrected for line, _ in scored if line.claim is None
        }
    if not any(estimate for row in rows.values() for estimate in row.values()):
        return []
    return ["", *rescaling_table(list(rows.items()), found.rescalings, title="S of")]


def _asked_beside(found: "Evaluation") -> list[str]:
    """Return what the theory asks beside its claims, each as a mean over rows and packs."""
    label = found.rescalings[0]
    lines = []
    for name in dict.fromkeys(score.name for score in found.conditionals):
        told = [c for c in found.conditionals if c.name == name and label in c.vacuity]
        broken = _mean(c.violation[label] for c in told if label in c.violation)
        lines.append(
            f"{name}: broken with probability {broken} where it applies; "
            f"does not apply with {_mean(c.vacuity[label] for c in told)}"
        )
    for name in dict.fromkeys(score.name for score in found.orderings):
        ratios = [o.log_ratio for o in found.orderings if o.name == name]
        lines.append(
            f"{name}: the event that should be likelier is so in {sum(x > 0.0 for x in ratios)} "
            f"of {len(ratios)}"
        )
    for name in dict.fromkeys(score.name for score in found.queries):
        told_of = [q for q in found.queries if q.name == name and label in q.prob]
        claims = dict.fromkeys(claim for q in told_of for claim in q.given.get(label, {}))
        given = [
            f"{claim} {_mean(q.given[label][claim] for q in told_of if claim in q.given[label])}"
            for claim in claims
        ]
        lines.append(
            f"{name}: probability {_mean(q.prob[label] for q in told_of)}"
            + (f"; given {', '.join(given)}" if given else "")
        )
    folds = [fold for line in lines for fold in folded(line)]
    return ["", f"asked beside, means under {label}", *folds] if folds else []


def _mean(values: Iterable[float]) -> str:
    numbers = list(values)
    return f"{sum(numbers) / len(numbers):.2f}" if numbers else "-"


def _rows(found: "Evaluation") -> list[Row]:
    columns = [name for name in COLUMNS if name not in ("n_events", "is_kept")]
    return [
        {
            **{name: _plain(row[name]) for name in columns},
            "n_events": int(row["n_events"]),
            "is_kept": bool(row["is_kept"]),
        }
        for row in found.to_frame().to_dict("records")
    ]


def _plain(value: object) -> object:
    """Return a cell of a data frame, with None for what is not there."""
    return None if isinstance(value, float) and math.isnan(value) else value
