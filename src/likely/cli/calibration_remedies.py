"""Remedies of calibration on a screen: each family before and after. Units: as the metrics."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from likely.cli.claims import folded
from likely.cli.intervals import show, span
from likely.cli.screen import Column, table
from likely.core.engine import Meter, Store
from likely.core.model import LanguageModel
from likely.errors import InputError

if TYPE_CHECKING:
    from likely.calibration.evaluation import Evaluation
    from likely.calibration.remedies.comparison import RemedyReport


def remedy_reports(
    model: LanguageModel,
    found: "Evaluation",
    families: Sequence[str],
    *,
    cache: Store | None,
    meter: Meter,
) -> "Mapping[str, RemedyReport | str]":
    """Return by family what remedies do to it, or why they cannot be tried.

    Args:
        model: That was evaluated.
        found: What it gave.
        families: Of items with two named options.
        cache: Of scores.
        meter: Of tokens.
    """
    from likely.calibration.remedies.comparison import try_remedies

    reports: dict[str, RemedyReport | str] = {}
    for family in families:
        places = np.flatnonzero((found.frame["family"] == family).to_numpy(dtype=bool))
        try:
            reports[family] = try_remedies(
                model, [found.items[int(i)] for i in places], scored=found.scored.take(places),
                n_resamples=found.n_resamples, level=found.level, seed=found.seed, cache=cache,
                meter=meter,
            )  # fmt: skip
        except InputError as error:  # too few sets of numbers to learn from one and judge another
            reports[family] = str(error)
    return reports


def remedy_lines(found: "Evaluation", reports: "Mapping[str, RemedyReport | str]") -> list[str]:
    """Return the tables of remedies, with what equal shares would score beside them."""
    columns = [Column(title="remedies, on unseen numbers"), Column(title="")]
    titles = ("items", "wd before", "after", "difference", "", "RE after", "KL after", "passes")
    columns += [Column(title=title, is_number=True) for title in titles]
    columns += [Column(title="", gives_way=True)]
    rows, notes = [], []
    for family, report in reports.items():
        if isinstance(report, str):
            notes += folded(f"{family}: no remedies: {report}")
            continue
        for result in report.results:
            change = result.changes.get("wd01")
            after = {name: x.after.value for name, x in result.changes.items()}
            rows.append(
                [
                    family,
                    result.name.replace("_", " "),
                    str(result.n_items - result.n_undefined),
                    "" if change is None else show(change.before.value),
                    "" if change is None else show(change.after.value),
                    "" if change is None else show(change.difference.value, sign=True),
                    "" if change is None else span(change.difference, sign=True),
                    show(after.get("entropy_gap"), sign=True),
                    show(after.get("kl")),
                    f"{result.passes:.2f}",
                    "" if result.status == "ok" else result.status,
                ]
            )
        equal = found.baseline(family, "uniform", "wd01")
        notes += folded(f"{family}: equal shares would score {show(equal)}")
    return [*(table(columns, rows) if rows else []), *notes]
