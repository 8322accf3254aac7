"""From evaluations of models to the tables that the figures are drawn from. Unit: as named."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from likely.calibration.analyses.frequencies import NumberCounts, frequency_gaps, zipf_counts
from likely.calibration.analyses.frequency_effects import blind_distances
from likely.calibration.analyses.identities import option_strengths
from likely.calibration.assigners import Rules
from likely.calibration.baselines import measure_baseline
from likely.calibration.evaluation import Evaluation
from likely.errors import InputError
from likely.report.evaluated import balanced_items, baseline_rows, cells_of, estimate_rows
from likely.report.figures.calibration.tables import NULL, Tables, best_crossed

NULLS = ("pick_higher", "higher_0.7", "uniform")
"""Policies whose distance stands beside the model's against frequency, and beside that of the model
itself made blind to frequency (`blind_distances`); `Tables.frequency`."""


def tables_of(
    evaluations: Sequence[Evaluation],
    *,
    pairs: Sequence[tuple[str, str]] = (),
    counts: NumberCounts | None = None,
    rules: Rules | None = None,
) -> Tables:
    """Return everything that the figures need, from evaluations of the same items.

    Args:
        evaluations: One a model, each with a name of its own; give one another with
            ``dataclasses.replace(evaluation, model=...)``.
        pairs: Names of a base model and of the one made from it by instruction tuning.
        counts: How often numbers are written; by default the law 1/n, which is no count.
        rules: Thresholds of cells. With ``Rules(null_pm=0.0)`` cells are labelled and placed by
            shares alone, however little mass the options have, and the figures say so.

    Returns:
        The tables. Cells are those of the families in which every cell is balanced. Strengths are
        of the one of them whose options are best crossed. Frequencies are of items of two names
        whose law is that of their two numbers, drawn on a scale. Options are numbers that are
        equally likely. What there is nothing of is None, with the reason in ``reasons``.

    Raises:
        InputError: No evaluation, a name twice, other items, or a pair that names no evaluation.
    """
    _check(evaluations, pairs)
    first, reasons = evaluations[0], dict[str, str]()
    cells = pd.concat([cells_of(one, rules=rules) for one in evaluations], ignore_index=True)
    if not len(cells):
        reasons["cells"] = (
            "no family has balanced cells: items of two names whose masses are known, as many "
            "with the first as with the second likelier; score such items"
        )
    parts = [_strengths(one, reasons) for one in evaluations]
    strengths = pd.concat(parts, ignore_index=True)
    frequency = _frequency(evaluations, counts)
    if not len(frequency):
        reasons["frequency"] = (
            "no item has two names in proportion to two numbers of a scale, with known "
            "frequencies; score such items, or pass counts of their numbers"
        )
    options = pd.concat([_even_numbers(one.option_frame) for one in evaluations], ignore_index=True)
    if not len(options):
        reasons["options"] = (
            "no item has numbers that are equally likely as its options, of known mass"
        )
    return Tables(
        frame=pd.concat([one.frame for one in evaluations], ignore_index=True),
        estimates=pd.concat([estimate_rows(one) for one in evaluations], ignore_index=True),
        baselines=baseline_rows(first),
        cells=_or_none(cells),
        strengths=_or_none(strengths),
        frequency=_or_none(frequency),
        options=_or_none(options),
        pairs=tuple(pairs),
        reasons=reasons,
        null_pm=(rules or Rules()).null_pm,
    )


def _check(evaluations: Sequence[Evaluation], pairs: Sequence[tuple[str, str]]) -> None:
    if not evaluations:
        raise InputError("figures need at least one evaluation, got none; see likely.calibration")
    names = [one.model for one in evaluations]
    if len(set(names)) < len(names):
        raise InputError(
            f"figures tell models apart by name, got {names!r}; rename one with "
            "dataclasses.replace(evaluation, model=...)"
        )
    ids = [item.id for item in evaluations[0].items]
    for one in evaluations[1:]:
        if [item.id for item in one.items] != ids:
            raise InputError(
                f"figures compare models on the same items, got others for {one.model!r} "
                f"({len(one)}) than for {names[0]!r} ({len(ids)}); evaluate both on one list"
            )
    strange = sorted({name for pair in pairs for name in pair} - set(names))
    if strange:
        raise InputError(f"a pair names two of the models {names!r}, got {strange!r}")


def _or_none(table: pd.DataFrame) -> pd.DataFrame | None:
    return table if len(table) else None


_STRENGTHS = ("model", "family", "option", "strength", "low", "high")


def _strengths(evaluation: Evaluation, reasons: dict[str, str]) -> pd.DataFrame:
    """Return the strengths of the options of the best crossed family; none says why."""
    empty = pd.DataFrame(columns=list(_STRENGTHS))
    own = balanced_items(evaluation.frame)
    family = best_crossed(own) if len(own) else None
    if family is None:
        reasons["strengths"] = "no option meets more than one other; score items of crossed options"
        return empty
    try:
        found = option_strengths(own[own["family"] == family])
    except InputError as error:
        reasons["strengths"] = f"strengths of {evaluation.model} cannot be told: {error}"
        return empty
    return found.table().assign(model=evaluation.model, family=family)[list(_STRENGTHS)]


def _frequency(evaluations: Sequence[Evaluation], counts: NumberCounts | None) -> pd.DataFrame:
    """Return gap, distance and the policies' distances by pair of numbers and scale."""
    first = evaluations[0]
    frame = first.frame
    with np.errstate(invalid="ignore"):
        law = frame["n1"] / (frame["n1"] + frame["n2"])
    is_own = (frame["scale"] != "") & frame["wd_line"].isna() & np.isclose(frame["p1"], law)
    own = frame[is_own]
    numbers = own[["n1", "n2"]].to_numpy(dtype=np.float64)
    known = zipf_counts(sorted({int(n) for n in numbers.ravel() if n >= 1 and n == int(n)}))
    keys = [own["scale"], own["number_pair"]]
    used = counts or known
    shared = frequency_gaps(own, used)[["gap"]].assign(
        **{f"{NULL}{name}": measure_baseline(name, first.targets)["wd01"][is_own] for name in NULLS}
    )
    shared = shared.groupby(keys, sort=False).mean()
    parts = []
    for one in evaluations:
        mine = one.frame[is_own]
        given = mine[mine["pi1"].notna()]
        blind = pd.Series(blind_distances(given), index=given.index).reindex(mine.index)
        found = pd.DataFrame({"wd": mine["wd01"], f"{NULL}itself": blind})
        means = found.groupby(keys, sort=False).mean()
        parts.append(shared.join(means).reset_index().assign(model=one.model))
    table = pd.concat(parts, ignore_index=True)
    table = table[table["gap"].notna() & table["wd"].notna()].reset_index(drop=True)
    table["source"] = f"{used.source}, {used.kind}"
    nulls = [f"{NULL}{name}" for name in ("itself", *NULLS)]
    return table[["model", "scale", "number_pair", "gap", "wd", *nulls, "source"]]


def _even_numbers(options: pd.DataFrame) -> pd.DataFrame:
    """Return the options of items whose options are equally likely numbers, of known mass."""
    by_item = options.groupby("id")
    is_even = np.isclose(by_item["ideal"].transform("min"), by_item["ideal"].transform("max"))
    is_number = by_item["value"].transform("count") == by_item["value"].transform("size")
    return options[is_even & is_number & options["pi"].notna()]
