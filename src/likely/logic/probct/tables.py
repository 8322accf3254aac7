"""Items as rows of one table, and what is read off it with intervals. Units: prob, bits, shares."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from jaxtyping import Float

from likely.core.estimate import Estimate, Unit
from likely.logic.batches import Bound, shapes
from likely.logic.formula import Formula
from likely.logic.nulls import permutation_null
from likely.logic.parser import parse_quietly
from likely.logic.results import Evaluation, ItemScore
from likely.stats.bootstrap import cluster_bootstrap

COLUMNS = (
    "family", "control", "instance", "pack", "row", "claim", "is_comparison", "item",
    "rescaling", "bits", "prob",
    "chance_corrected", "log_ratio_bits", "is_kept",
)  # fmt: skip


def item_table(evaluation: Evaluation, *, family: str, control: str) -> pd.DataFrame:
    """Return one row for each item and rescaling under which it is defined."""
    return pd.DataFrame(
        [
            (
                family, control, item.instance, item.pack, item.row or "*", item.claim,
                item.is_comparison, item.id, label,
                reading.scores.bits, reading.scores.prob, reading.scores.chance_corrected,
                reading.scores.log_ratio_bits, reading.is_kept,
            )
            for item in evaluation.items
            for label, reading in item.readings.items()
        ],
        columns=list(COLUMNS),
    )  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One line of the results: a claim of a family, or a whole family, under one rescaling.

    Attributes:
        family: Its name.
        control: ``none``, ``shuffled`` or ``nonsense``.
        claim: Its name, or None for all claims of the family together, comparisons left out.
        rescaling: Its label.
        n_items: How many items it rests on.
        n_rows: How many rows, the clusters of the intervals.
        prob: Mean satisfaction; only of a single claim, since others differ in bits.
        chance_corrected: Mean of S over the items: 1 perfect, 0 chance.
        earned: Bits earned over bits at stake: 1 perfect, 0 chance.
        kept: Share of items that hold when every event is decided by the side of one half.
        null_z: How many standard deviations mean satisfaction is above that of items whose events
            changed rows at random; None where that changes nothing.
        n_impossible: Items of satisfaction 0, whose log-ratio is infinite; they leave ``earned``
            undefined.
    """

    family: str
    control: str
    claim: str | None
    rescaling: str
    n_items: int
    n_rows: int
    prob: Estimate | None
    chance_corrected: Estimate | None
    earned: Estimate | None
    kept: Estimate | None
    null_z: float | None
    n_impossible: int

    def to_dict(self) -> dict[str, object]:
        """Return the fields as a mapping for strict JSON."""
        return {
            "family": self.family,
            "control": self.control,
            "claim": self.claim,
            "rescaling": self.rescaling,
            "n_items": self.n_items,
            "n_rows": self.n_rows,
            **{
                name: None if value is None else value.to_dict()
                for name, value in (
                    ("prob", self.prob),
                    ("chance_corrected", self.chance_corrected),
                    ("earned", self.earned),
                    ("kept", self.kept),
                )
            },
            "null_z": self.null_z,
            "n_impossible": self.n_impossible,
        }


def lines(
    table: pd.DataFrame,
    nulls: Mapping[tuple[str, str, str, str], float | None],
    *,
    n_resamples: int,
    seed: int,
) -> tuple[Line, ...]:
    """Return a line for each family, control, claim and rescaling, and one for all claims.

    Args:
        table: As `item_table` gives it, families and controls stacked.
        nulls: Scores against the permutation null by family, control, claim and rescaling.
        n_resamples: Of the bootstrap over rows.
        seed: Of its streams.
    """
    made = []
    keys = ["family", "control", "rescaling"]
    for key, whole in table.groupby(keys, sort=False):
        family, control, label = (str(part) for part in key)
        laws = whole[~whole["is_comparison"].astype(bool)]
        parts: list[tuple[str | None, pd.DataFrame]] = [(None, laws)]
        parts += [(str(claim), part) for claim, part in whole.groupby("claim", sort=False)]
        for claim, part in parts:
            z = None if claim is None else nulls.get((family, control, claim, label))
            made.append(
                _line(
                    part, family=family, control=control, claim=claim, rescaling=label,
                    null_z=z, n_resamples=n_resamples, seed=seed,
                )
            )  # fmt: skip
    return tuple(made)


def _line(
    part: pd.DataFrame,
    *,
    family: str,
    control: str,
    claim: str | None,
    rescaling: str,
    null_z: float | None,
    n_resamples: int,
    seed: int,
) -> Line:
    clusters = part["row"].tolist()
    impossible = int(np.isneginf(part["log_ratio_bits"]).sum())

    def mean(column: str, unit: Unit, below: str | None = None) -> Estimate | None:
        return interval(
            part[column].to_numpy(dtype=np.float64), clusters,
            below=None if below is None else part[below].to_numpy(dtype=np.float64),
            unit=unit, n_resamples=n_resamples, seed=seed,
        )  # fmt: skip

    return Line(
        family=family,
        control=control,
        claim=claim,
        rescaling=rescaling,
        n_items=len(part),
        n_rows=len(set(clusters)),
        prob=None if claim is None else mean("prob", "prob"),
        chance_corrected=mean("chance_corrected", "none"),
        earned=None if impossible else mean("log_ratio_bits", "none", "bits"),
        kept=mean("is_kept", "prob"),
        null_z=null_z,
        n_impossible=impossible,
    )


def interval(
    values: np.ndarray,
    clusters: Sequence[str],
    *,
    below: np.ndarray | None = None,
    unit: Unit = "none",
    n_resamples: int,
    seed: int,
) -> Estimate | None:
    """Return a mean, or a ratio of sums, with its interval over rows; None of fewer than two."""
    if len(set(clusters)) < 2:
        return None
    return cluster_bootstrap(
        values, list(clusters), denominators=below, unit=unit, n_resamples=n_resamples, seed=seed,
    )  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimNull:
    """What is left of a claim's satisfaction when its events change rows at random.

    Attributes:
        claim: Its name.
        rescaling: Its label.
        z_score: Standard deviations of mean satisfaction above the shuffled one; None where
            shuffling changes nothing, as for a single event.
        chances: Mean probability of each item over the permutations; empty without a z-score.
    """

    claim: str
    rescaling: str
    z_score: float | None
    chances: Mapping[str, float]


def claim_nulls(evaluation: Evaluation, *, n_permutations: int, seed: int) -> tuple[ClaimNull, ...]:
    """Return how far each claim's mean satisfaction is above that of shuffled events.

    Events change rows among rows that are read in the same packs and give the same shape, and they
    do so in the same order in each pack: a row's packs resemble one another and are no independent
    evidence. Groups of other rows are independent, so that their variances add. Claims that are no
    plain formulas are left out.

    Args:
        evaluation: Of one theory.
        n_permutations: Of each group.
        seed: Of the streams.
    """
    claims: dict[tuple[str, str], list[_Group]] = {}
    for group in _groups(evaluation):
        claims.setdefault((group.claim, group.rescaling), []).append(group)
    return tuple(
        _claim_null(claim, label, groups, n_permutations=n_permutations, seed=seed)
        for (claim, label), groups in claims.items()
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Group:
    """Items of one claim, pack and shape under one rescaling, as rows of log-odds."""

    claim: str
    rescaling: str
    items: tuple[ItemScore, ...]
    formula: Formula
    log_odds: Float[np.ndarray, "N n"]


def _claim_null(
    claim: str, label: str, groups: Sequence[_Group], *, n_permutations: int, seed: int
) -> ClaimNull:
    n_items = sum(len(group.items) for group in groups)
    gap = 0.0
    drawn: dict[tuple[object, ...], Float[np.ndarray, " P"]] = {}
    chances: dict[str, float] = {}
    for group in groups:
        null = permutation_null(
            group.formula, group.log_odds, n_permutations=n_permutations, seed=seed
        )
        weight = len(group.items) / n_items
        gap += weight * (null.observed - null.mean)
        if null.z_score is not None:
            # One formula over equally many rows is permuted in the same orders: packs go together.
            packs = (tuple(item.row for item in group.items), group.formula)
            drawn[packs] = drawn.get(packs, 0.0) + weight * null.means
            own = zip(group.items, null.item_means.tolist(), strict=True)
            chances |= {item.id: mean for item, mean in own}
    variance = sum(float(means.var()) for means in drawn.values())
    z = gap / math.sqrt(variance) if variance > 0.0 else None
    return ClaimNull(claim=claim, rescaling=label, z_score=z, chances=chances)


def _groups(evaluation: Evaluation) -> Iterator[_Group]:
    told: dict[tuple[str, str], list[ItemScore]] = {}
    for item in evaluation.items:
        if item.info is not None:
            for label in item.readings:
                told.setdefault((item.claim, label), []).append(item)
    for (claim, label), items in told.items():
        packs: dict[str | None, tuple[str, ...]] = {}
        for item in items:
            packs[item.row] = (*packs.get(item.row, ()), item.pack)
        cells: dict[tuple[str, tuple[str, ...]], list[ItemScore]] = {}
        for item in items:
            cells.setdefault((item.pack, packs[item.row]), []).append(item)
        for cell in cells.values():
            for members, formula, table in item_shapes(evaluation, cell, label):
                yield _Group(
                    claim=claim, rescaling=label, items=members, formula=formula, log_odds=table
                )


def item_shapes(
    evaluation: Evaluation, items: Sequence[ItemScore], label: str
) -> Iterator[tuple[tuple[ItemScore, ...], Formula, Float[np.ndarray, "N n"]]]:
    """Yield the items of each shape, the shape, and the log-odds of their events.

    Columns are the events of an item's formula in order of first appearance.

    Args:
        evaluation: Of one theory.
        items: Whose claims are plain formulas.
        label: A rescaling under which they are defined.
    """
    bound = [
        Bound(
            formula=parse_quietly(item.formula),
            columns={key: at for at, key in enumerate(item.events)},
        )
        for item in items
    ]
    for shape in shapes(bound):
        members = [items[member] for member in shape.members]
        table = [
            [evaluation.events[i.instance][i.events[at]].log_odds[label] for at in columns]
            for i, columns in zip(members, shape.columns, strict=True)
        ]
        if shape.names:
            yield tuple(members), shape.formula, np.array(table)
