"""``likely probct``: seven families of consistency tests, as tables for a person."""

import json
import math
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from likely.cli.claims import (
    LEGEND,
    STARRED,
    claim_row,
    claim_table,
    folded,
    rescaling_table,
    show_score,
    show_span,
)
from likely.cli.deliver import (
    Result,
    deliver,
    document,
    load_model,
    model_part,
    note,
    out_path,
    show_model,
)
from likely.cli.flags import EventScoring, ModelChoice, Output
from likely.cli.logic import split_names
from likely.cli.progress import TokenMeter
from likely.cli.screen import Column, show_cost, table
from likely.core.estimate import Estimate
from likely.core.model import LanguageModel
from likely.errors import InputError
from likely.runs.paths import open_score_cache
from likely.runs.store import (
    ROW_SUFFIXES,
    Columns,
    Row,
    check_writable,
    read_bytes,
    write_rows,
)

if TYPE_CHECKING:
    import pandas as pd

    from likely.logic.probct.comparison import Difference
    from likely.logic.probct.diagnoses import Diagnosis
    from likely.logic.probct.hypotheses import Finding
    from likely.logic.probct.run import ProbCT

COLUMNS: Columns = {
    "family": "text", "control": "text", "instance": "text", "pack": "text", "row": "text",
    "claim": "text", "is_comparison": "bool", "item": "text", "rescaling": "text",
    "bits": "float", "prob": "float", "chance_corrected": "float", "log_ratio_bits": "float",
    "is_kept": "bool", "null_prob": "float",
}  # fmt: skip
"""Of the file of items."""

_INDENT = " " * 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Asking:
    """What is run."""

    families: Annotated[
        str,
        typer.Option(
            "--families", metavar="NAMES", help="With commas: negation,partition; or all."
        ),
    ] = "all"
    rescalings: Annotated[
        str,
        typer.Option(
            "--rescalings",
            metavar="NAMES",
            help="From token probabilities to events, the headline first.",
        ),
    ] = "duel,minp,identity,closed"
    controls: Annotated[
        bool,
        typer.Option(
            "--controls/--no-controls",
            help="Also run each family with answers of other rows, and with made-up words.",
        ),
    ] = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Judging:
    """How it is judged, and what else is written."""

    permutations: Annotated[
        int,
        typer.Option(
            "--permutations", metavar="N", min=2, help="Of the null in which events change rows."
        ),
    ] = 100
    resamples: Annotated[
        int,
        typer.Option("--resamples", metavar="N", min=100, help="Of the bootstrap over rows."),
    ] = 2000
    against: Annotated[
        Path | None,
        typer.Option(
            "--against",
            metavar="RESULT.json",
            help="Compare with another model: what its run wrote with --out.",
        ),
    ] = None
    items: Annotated[
        Path | None,
        typer.Option(
            "--items",
            metavar="FILE",
            help="Also write a row an item and rescaling here, .jsonl or .parquet.",
        ),
    ] = None


def probct(
    asking: Asking, scoring: EventScoring, judging: Judging, model: ModelChoice, output: Output
) -> None:
    """Run ProbCT: do a model's probabilities for related sentences hang together?

    Seven families of short sentences (negation, exclusivity, paraphrase, implication, relations,
    partition, antonyms), about 5,500 items; with controls some 100,000 token evaluations. Every
    score is corrected for chance and shown under several rescalings, with 95 % intervals over rows.
    """
    path = out_path(output, name=f"probct {model.model}", suffixes=(".json",))
    if judging.items is not None:
        check_writable(judging.items, suffixes=ROW_SUFFIXES)
    families, rescalings = _names(asking)
    theirs = None if judging.against is None else _read_result(judging.against)
    loaded = load_model(model, output)
    from likely.logic.probct.comparison import compare
    from likely.logic.probct.comparison import document as results_document
    from likely.logic.probct.controls import CONTROLS
    from likely.logic.probct.run import run

    with (
        open_score_cache() if scoring.cache else nullcontext() as cache,
        TokenMeter("ProbCT", quiet=output.quiet) as meter,
    ):
        found = run(
            loaded, families=families, controls=tuple(CONTROLS) if asking.controls else (),
            rescaling=rescalings[0], also=rescalings[1:], multi=scoring.multi, bos=scoring.bos,
            n_permutations=judging.permutations, n_resamples=judging.resamples, seed=output.seed,
            cache=cache, meter=meter,
        )  # fmt: skip
    made = results_document(found)
    settings = {
        "multi": scoring.multi, "bos": scoring.bos, "permutations": judging.permutations,
        "resamples": judging.resamples,
    }  # fmt: skip
    parts: dict[str, object] = {**made, "model": model_part(loaded), "settings": settings}
    lines = _lines(loaded, found)
    if theirs is not None:
        differences = compare(made, theirs, n_resamples=judging.resamples, seed=output.seed)
        parts["against"] = {
            "model": theirs["model"], "differences": [one.to_dict() for one in differences]
        }  # fmt: skip
        lines += ["", *_comparison(differences, found, theirs)]
    if judging.items is not None:
        write_rows(judging.items, _item_rows(found.to_frame()), COLUMNS)
        note(f"wrote {judging.items}", output)
    lines += ["", show_cost(found.cost)]
    deliver(Result(document=document("probct", output, **parts), lines=lines), output, path)


def _names(asking: Asking) -> tuple[list[str], list[str]]:
    """Return families and rescalings, checked before the model is loaded.

    Raises:
        UnknownNameError: No such family or rescaling.
    """
    from likely.logic.events import rescaling
    from likely.logic.probct.suites import FAMILIES, load_family

    families = split_names(asking.families)
    rescalings = split_names(asking.rescalings)
    for flag, names in (("--families", families), ("--rescalings", rescalings)):
        if not names:
            raise typer.BadParameter(
                f"give at least one name, got {', '.join(names)!r}", param_hint=flag
            )
    if families == ["all"]:
        families = list(FAMILIES)
    for name in families:
        load_family(name)
    for name in rescalings:
        rescaling(name)
    return families, rescalings


def _read_result(path: Path) -> Mapping[str, object]:
    try:
        read = json.loads(read_bytes(path))
    except ValueError as error:
        raise InputError(f"{str(path)!r} is no JSON: {error}") from None
    if not isinstance(read, dict) or not {"model", "items", "rescalings", "digests"} <= set(read):
        raise InputError(
            f"{str(path)!r} is no result of ProbCT; make one with: likely probct MODEL --out FILE"
        )
    return read


def _lines(model: LanguageModel, found: "ProbCT") -> list[str]:
    families = list(dict.fromkeys(family for family, _ in found.evaluations))
    frame = found.to_frame()
    return [
        show_model(model),
        f"ProbCT: {found.n_items} items in {len(families)} "
        f"famil{'ies' if len(families) > 1 else 'y'}, under {found.rescalings[0]}",
        "",
        *_family_table(found, families),
        "",
        *folded(LEGEND),
        *folded(_control_legend(found)),
        *_impossible(found),
        "",
        *_rescalings(found, families),
        "",
        *_claims(found, frame, families),
        "",
        *_orderings(found),
        "",
        *_implications(found),
        "",
        *_hypotheses(found),
    ]


def _family_table(found: "ProbCT", families: Sequence[str]) -> list[str]:
    controls = list(dict.fromkeys(control for _, control in found.evaluations))[1:]
    columns = [
        Column(title="family"),
        Column(title="items", is_number=True),
        Column(title="rows", is_number=True),
        Column(title="S", is_number=True),
        Column(title="interval", is_number=True),
        Column(title="bits", is_number=True),
        Column(title="kept", is_number=True),
        *(Column(title=control, is_number=True) for control in controls),
    ]
    rows = []
    for family in families:
        line = found.line(family)
        rows.append(
            [
                family,
                str(line.n_items),
                str(line.n_rows),
                show_score(_value(line.chance_corrected)),
                show_span(line.chance_corrected),
                "-inf" if line.n_impossible else show_score(_value(line.earned)),
                "" if line.kept is None else f"{line.kept.value:.2f}",
                *(
                    show_score(_value(found.line(family, control=control).chance_corrected))
                    for control in controls
                ),
            ]
        )
    return table(columns, rows)


def _control_legend(found: "ProbCT") -> str:
    if all(control == "none" for _, control in found.evaluations):
        return ""
    return (
        "shuffled is S with the answers of other rows, nonsense S with made-up words: what a score "
        "is worth without knowledge."
    )


def _impossible(found: "ProbCT") -> list[str]:
    label = found.rescalings[0]
    n = sum(
        line.n_impossible
        for line in found.lines
        if line.rescaling == label and line.control == "none" and line.claim is None
    )
    return [f"probability 0: {n} items, whose bits are infinite"] if n else []


def _rescalings(found: "ProbCT", families: Sequence[str]) -> list[str]:
    estimates: dict[str, dict[str, Estimate | None]] = {family: {} for family in families}
    for line in found.lines:
        if line.claim is None and line.control == "none":
            estimates[line.family][line.rescaling] = line.chance_corrected
    return rescaling_table(list(estimates.items()), found.rescalings, title="S of")


def _claims(found: "ProbCT", frame: "pd.DataFrame", families: Sequence[str]) -> list[str]:
    label = found.rescalings[0]
    items = frame[(frame["control"] == "none") & (frame["rescaling"] == label)]
    comparisons = set(items.loc[items["is_comparison"].astype(bool), "claim"])
    rows = []
    for family in families:
        for line in found.lines:
            if (line.family, line.control, line.rescaling) != (family, "none", label):
                continue
            own = items[items["family"] == family]
            if line.claim is None:
                rows.append(claim_row(line, own[~own["is_comparison"].astype(bool)]))
                continue
            star = "*" if line.claim in comparisons else ""
            own = own[own["claim"] == line.claim]
            rows.append(claim_row(line, own, name=f"  {line.claim}{star}"))
    return [
        *claim_table(rows, title=f"claim, under {label}"),
        *folded(
            "z is how many standard deviations P is above that of items whose events changed rows "
            "at random; blank where that changes nothing."
        ),
        *([STARRED] if comparisons else []),
    ]


def _orderings(found: "ProbCT") -> list[str]:
    told = [d for d in found.diagnoses if d.kind == "ordering"]
    rows = [
        [d.family, d.name, str(d.n_items), "" if d.mean is None else f"{d.mean.value:.2f}",
         show_span(d.mean)]
        for d in told
    ]  # fmt: skip
    if not rows:
        return []
    columns = [
        Column(title="ordering, by raw probability"),
        Column(title=""),
        Column(title="items", is_number=True),
        Column(title="right", is_number=True),
        Column(title="interval", is_number=True),
    ]
    return table(columns, rows)


def _implications(found: "ProbCT") -> list[str]:
    label = found.rescalings[0]
    told = {(d.kind, d.family, d.name): d for d in found.diagnoses if d.rescaling == label}
    rows = []
    for kind, family, name in told:
        if kind != "vacuity":
            continue
        broken, vacuous = told.get(("violation", family, name)), told[kind, family, name]
        rows.append([family, name, _mean_of(broken), _mean_of(vacuous)])
    if not rows:
        return []
    columns = [
        Column(title=f"implication, under {label}"),
        Column(title=""),
        Column(title="broken where it applies", is_number=True),
        Column(title="does not apply", is_number=True),
    ]
    return table(columns, rows)


def _mean_of(diagnosis: "Diagnosis | None") -> str:
    return "" if diagnosis is None or diagnosis.mean is None else f"{diagnosis.mean.value:.2f}"


def _hypotheses(found: "ProbCT") -> list[str]:
    """Return each hypothesis with its verdict under each rescaling, and what it says."""
    by_name: dict[str, dict[str | None, Finding]] = {}
    for finding in found.findings:
        by_name.setdefault(finding.name, {})[finding.rescaling] = finding
    tested = {name: told for name, told in by_name.items() if None not in told}
    head, *rows = table(
        [Column(title="    "), *(Column(title=label) for label in found.rescalings)],
        [
            [name, *(_verdict(told.get(label)) for label in found.rescalings)]
            for name, told in tested.items()
        ],
    )
    lines = ["hypotheses", head] if tested else ["hypotheses"]
    for told, row in zip(tested.values(), rows, strict=True):
        one = next(iter(told.values()))
        lines += [row, *folded(f"{one.statement} ({one.quantity})", indent=_INDENT)]
    for name, told in by_name.items():
        if None in told:
            lines += [f"{name:<{len(_INDENT)}}{told[None].verdict}"]
            lines += folded(told[None].statement, indent=_INDENT)
    return lines


def _verdict(finding: "Finding | None") -> str:
    if finding is None:
        return "-"
    return f"{finding.verdict} {show_score(_value(finding.estimate))}"


def _comparison(
    differences: Sequence["Difference"], found: "ProbCT", theirs: Mapping[str, object]
) -> list[str]:
    model = theirs["model"]
    name = str(model["name"]) if isinstance(model, Mapping) else str(model)
    families: dict[str, dict[str, Estimate | None]] = {}
    for one in differences:
        if one.claim is None:
            families.setdefault(one.family, {})[one.rescaling] = one.difference
    return [
        *folded(f"S of {found.model} less S of {name}, item by item"),
        *rescaling_table(list(families.items()), found.rescalings, title="family"),
    ]


def _value(estimate: Estimate | None) -> float | None:
    return None if estimate is None else estimate.value


def _item_rows(frame: "pd.DataFrame") -> list[Row]:
    rows = []
    for row in frame.to_dict("records"):
        plain = {name: row[name] for name in COLUMNS}
        rows.append(
            {
                name: None if isinstance(value, float) and math.isnan(value) else value
                for name, value in plain.items()
            }
        )
    return cast("list[Row]", rows)
