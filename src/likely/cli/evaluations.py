"""What is shown of a theory that was put to a model: tables, and the worst items in words."""

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

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
from likely.cli.deliver import show_model
from likely.cli.screen import Column, show_cost, show_prob, table
from likely.core.estimate import Estimate
from likely.core.model import LanguageModel
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


def score_claims(found: "Evaluation", seed: int) -> list[tuple["Line", "pd.DataFrame"]]:
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


def evaluation_lines(
    model: LanguageModel,
    theory: "Theory",
    found: "Evaluation",
    scored: Sequence[tuple["Line", "pd.DataFrame"]],
    accounts: Sequence["Account"],
) -> list[str]:
    """Return an evaluation for a person: claims, rescalings, what is asked beside, worst items."""
    headline, *others = found.rescalings
    beside = f", and beside it {', '.join(others)}" if others else ""
    lines = [
        show_model(model),
        f"{theory.name}: {len(found.items)} item{'s' if len(found.items) != 1 else ''} "
        f"on {len(theory.rows)} "
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


def evaluation_rows(found: "Evaluation") -> list[Row]:
    """Return a row an item and rescaling."""
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
