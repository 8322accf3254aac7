"""Families of ProbCT on a model, as much of them as a report shows. Units: S, shares of bits."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from likely.core.estimate import Cost, Estimate
from likely.core.model import LanguageModel
from likely.core.streams import generator
from likely.errors import CapabilityError
from likely.logic.account import Account, explain, worst_items
from likely.logic.evaluation import evaluate_all
from likely.logic.probct.suites import load_family
from likely.logic.probct.tables import Line, interval, item_table, lines
from likely.logic.results import Evaluation
from likely.logic.theory import Theory
from likely.report.section import Job

READINGS = (("duel", "minp", "identity", "closed"), ("identity", "closed"), ("identity",))
"""What is asked of a model, the headline first; the next choice where it cannot give one."""

CLOSED = "closed"
N_RESAMPLES = 2000


@dataclass(frozen=True, slots=True, kw_only=True)
class Gap:
    """The same items read against the whole vocabulary and among declared answers alone.

    Attributes:
        n_items: How many items have both readings.
        opened: Mean S under the headline.
        closed: Mean S among the declared answers.
        difference: Closed less open, item by item.
    """

    n_items: int
    opened: Estimate
    closed: Estimate
    difference: Estimate

    def to_dict(self) -> dict[str, object]:
        """Return the fields as a mapping for strict JSON."""
        return {
            "n_items": self.n_items,
            "opened": self.opened.to_dict(),
            "closed": self.closed.to_dict(),
            "difference": self.difference.to_dict(),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """One family on a model.

    Attributes:
        name: Of the family.
        about: What it tests.
        n_rows_all: How many rows the whole family has.
        evaluation: Every item.
        lines: Each claim under each rescaling, and all of them together.
        gap: Open against closed; None where no item has both.
        worst: The item that the model breaks worst, explained.
    """

    name: str
    about: str
    n_rows_all: int
    evaluation: Evaluation
    lines: tuple[Line, ...]
    gap: Gap | None
    worst: Account

    @property
    def whole(self) -> Mapping[str, Line]:
        """All claims together, by rescaling."""
        return {line.rescaling: line for line in self.lines if line.claim is None}


@dataclass(frozen=True, slots=True, kw_only=True)
class Beliefs:
    """What a report shows of ProbCT.

    Attributes:
        rescalings: Labels, the headline first.
        families: In the order of the suite.
        gap: Open against closed over all families; None where no item has both.
        n_intervals: Events that the model tells only by an interval, whose middle is taken.
        n_events: How many events there are.
        cost: Of the one pass over the model.
    """

    rescalings: tuple[str, ...]
    families: tuple[Family, ...]
    gap: Gap | None
    n_intervals: int
    n_events: int
    cost: Cost

    @property
    def n_items(self) -> int:
        """How many claims there are over all rows and packs."""
        return sum(len(family.evaluation.items) for family in self.families)

    def to_dict(self) -> dict[str, object]:
        """Return what the page shows as a mapping for strict JSON."""
        return {
            "rescalings": self.rescalings,
            "n_items": self.n_items,
            "n_events": self.n_events,
            "n_intervals": self.n_intervals,
            "families": [
                {
                    "name": family.name,
                    "digest": family.evaluation.digest,
                    "lines": [line.to_dict() for line in family.lines],
                    "gap": None if family.gap is None else family.gap.to_dict(),
                    "worst": family.worst.to_dict(),
                }
                for family in self.families
            ],
            "gap": None if self.gap is None else self.gap.to_dict(),
        }


def choose_rows(theory: Theory, n: int | None, *, seed: int) -> Theory:
    """Return the theory with ``n`` of its rows, drawn at random and left in order; all if None."""
    if n is None or n >= len(theory.rows):
        return theory
    rng = generator(seed, "logic", theory.name)
    kept = np.sort(rng.choice(len(theory.rows), size=n, replace=False))
    return replace(theory, rows=tuple(theory.rows[i] for i in kept))


def read_beliefs(
    model: LanguageModel, names: Sequence[str], job: Job, *, n_rows: int | None
) -> Beliefs:
    """Return how families of ProbCT do on a model.

    Args:
        model: Any model.
        names: Of the families.
        job: With seed, cache and meter.
        n_rows: How many rows of each are read; None for all.

    Raises:
        CapabilityError: The model gives nothing that events could be read from.
        InputError: Its tokenizer cannot spell the sentences.
    """
    whole = [load_family(name) for name in names]
    theories = [choose_rows(theory, n_rows, seed=job.seed) for theory in whole]
    evaluations = _evaluate(model, theories, job)
    tables = [
        item_table(evaluation, family=evaluation.theory, control="none")
        for evaluation in evaluations
    ]
    headline = evaluations[0].rescalings[0]
    families = tuple(
        Family(
            name=theory.name,
            about=theory.about,
            n_rows_all=len(theory.rows),
            evaluation=evaluation,
            lines=lines(table, {}, n_resamples=N_RESAMPLES, seed=job.seed),
            gap=_gap(table, headline, job),
            worst=explain(evaluation, worst_items(evaluation, 1)[0].id),
        )
        for theory, evaluation, table in zip(whole, evaluations, tables, strict=True)
    )
    events = [
        e for evaluation in evaluations for es in evaluation.events.values() for e in es.values()
    ]
    return Beliefs(
        rescalings=evaluations[0].rescalings,
        families=families,
        gap=_gap(pd.concat(tables, ignore_index=True), headline, job),
        n_intervals=sum("interval" in event.flags for event in events),
        n_events=len(events),
        cost=evaluations[0].cost,
    )


def _evaluate(model: LanguageModel, theories: Sequence[Theory], job: Job) -> tuple[Evaluation, ...]:
    refusal = CapabilityError("no reading was asked for")
    for headline, *also in READINGS:
        try:
            return evaluate_all(
                model, theories, rescaling=headline, also=also, cache=job.cache, meter=job.meter
            )
        except CapabilityError as error:
            refusal = error
    raise refusal


def _laws(table: pd.DataFrame) -> pd.DataFrame:
    return table[~table["is_comparison"].astype(bool)]


def _gap(table: pd.DataFrame, headline: str, job: Job) -> Gap | None:
    laws = _laws(table).set_index("item")
    opened = laws[laws["rescaling"] == headline]
    closed = laws[laws["rescaling"] == CLOSED]["chance_corrected"].dropna()
    if headline == CLOSED or not len(closed):
        return None
    opened = opened.loc[closed.index]
    clusters = (opened["family"] + "/" + opened["row"]).tolist()
    one = opened["chance_corrected"].to_numpy(dtype=np.float64)
    other = closed.to_numpy(dtype=np.float64)
    found = [
        interval(values, clusters, n_resamples=N_RESAMPLES, seed=job.seed)
        for values in (one, other, other - one)
    ]
    first, second, third = found
    if first is None or second is None or third is None:
        return None
    return Gap(n_items=len(one), opened=first, closed=second, difference=third)
