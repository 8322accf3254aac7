"""Documents of several runs of ProbCT, read and put side by side, item by item. Unit: S."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
import pandas as pd
from jaxtyping import Float

from likely.core.jsonio import number
from likely.errors import InputError

NUMBERS = ("prob", "chance_corrected", "log_ratio_bits", "null_prob")
"""What a document tells of each item under each rescaling."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """One document, read.

    Attributes:
        model: Name of the model.
        rescalings: Labels, the headline first.
        digests: By family.
        table: One row an item and rescaling.
    """

    model: str
    rescalings: tuple[str, ...]
    digests: Mapping[str, str]
    table: pd.DataFrame

    @classmethod
    def read(cls, given: Mapping[str, object]) -> "Side":
        """Return a document as a table.

        Raises:
            InputError: It is no result of ProbCT with its items.
        """
        try:
            model = given["model"]
            families = cast(Mapping[str, Mapping[str, object]], given["items"])
            tables = [_table(str(family), part) for family, part in families.items()]
            return cls(
                model=str(model["name"]) if isinstance(model, Mapping) else str(model),
                rescalings=tuple(cast(Sequence[str], given["rescalings"])),
                digests=dict(cast(Mapping[str, str], given["digests"])),
                table=pd.concat(tables, ignore_index=True),
            )
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise InputError(
                "this is no result of ProbCT with its items "
                f"({type(error).__name__}: {error}); make one with: likely probct MODEL --out "
                "FILE.json"
            ) from None


def _table(family: str, part: Mapping[str, object]) -> pd.DataFrame:
    facts = {name: part[name] for name in ("id", "row", "claim", "is_comparison")}
    readings = cast(Mapping[str, Mapping[str, Sequence[object]]], part["readings"])
    tables = [
        pd.DataFrame(
            {
                "family": family,
                **facts,
                "rescaling": label,
                **{
                    name: np.array([number(x) for x in columns[name]], dtype=np.float64)
                    for name in NUMBERS
                },
            }
        )
        for label, columns in readings.items()
    ]
    return pd.concat(tables, ignore_index=True).dropna(subset="chance_corrected")


def paired(sides: Sequence[Side]) -> list[Side]:
    """Return documents with the rescalings that all have, after checking that the suite is one.

    Raises:
        InputError: A family of another version; no family or no rescaling in common.
    """
    first = sides[0]
    for other in sides[1:]:
        for family in first.digests.keys() & other.digests.keys():
            if first.digests[family] != other.digests[family]:
                raise InputError(
                    f"the family {family!r} is of another version in the result of "
                    f"{other.model!r} ({other.digests[family]}) than in that of {first.model!r} "
                    f"({first.digests[family]}); run both with the same version of likely"
                )
    families = set.intersection(*(set(side.digests) for side in sides))
    labels = [x for x in first.rescalings if all(x in side.rescalings for side in sides)]
    for kind, shared, own in (
        ("family", families, [sorted(side.digests) for side in sides]),
        ("rescaling", labels, [list(side.rescalings) for side in sides]),
    ):
        if not shared:
            raise InputError(f"the results have no {kind} in common: {own}")
    return [
        Side(
            model=side.model, rescalings=tuple(labels), digests=side.digests,
            table=side.table[
                side.table["family"].isin(families) & side.table["rescaling"].isin(labels)
            ],
        )
        for side in sides
    ]  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """The items of one claim, or family, under one rescaling, summed up by row.

    Attributes:
        family: Its name.
        claim: Its name, or None.
        rescaling: Its label.
        rows: Names of the rows, the clusters.
        counts: Items of each row, shape ``(G,)``.
        tops: Sum of S over the items of each row, by model, shape ``(G, M)``.
        null_tops: Sum of P less the null's chance, over items that have one.
        null_bottoms: Sum of 1 less that chance; 0 where a row has no such item.
    """

    family: str
    claim: str | None
    rescaling: str
    rows: tuple[str, ...]
    counts: Float[np.ndarray, " G"]
    tops: Float[np.ndarray, "G M"]
    null_tops: Float[np.ndarray, "G M"]
    null_bottoms: Float[np.ndarray, "G M"]


def iter_cells(sides: Sequence[Side]) -> Iterator[Cell]:
    """Yield whole families and their claims, with the items that all sides have."""
    keys = ["family", "rescaling", "id"]
    merged = sides[0].table
    for i, side in enumerate(sides[1:], start=1):
        merged = merged.merge(side.table[[*keys, *NUMBERS]], on=keys, suffixes=("", f"_{i}"))
    for (family, label), whole in merged.groupby(["family", "rescaling"], sort=False):
        laws = whole[~whole["is_comparison"].astype(bool)]
        parts: list[tuple[str | None, pd.DataFrame]] = [(None, laws)] if len(laws) else []
        parts += [(str(claim), part) for claim, part in whole.groupby("claim", sort=False)]
        for claim, part in parts:
            yield _cell(part, str(family), claim, str(label), len(sides))


def _cell(part: pd.DataFrame, family: str, claim: str | None, label: str, n_sides: int) -> Cell:
    rows, members = np.unique(part["row"].to_numpy(dtype=str), return_inverse=True)

    def by_row(values: Float[np.ndarray, "N M"]) -> Float[np.ndarray, "G M"]:
        return np.stack([np.bincount(members, x, len(rows)) for x in values.T], axis=1)

    def of(name: str) -> Float[np.ndarray, "N M"]:
        names = [name, *(f"{name}_{i}" for i in range(1, n_sides))]
        return part[names].to_numpy(dtype=np.float64)

    probs, chances = of("prob"), of("null_prob")
    # Where shuffling leaves nothing to earn, or says nothing for some model, an item has no part.
    told = (chances < 1.0).all(1, keepdims=True)
    return Cell(
        family=family,
        claim=claim,
        rescaling=label,
        rows=tuple(rows.tolist()),
        counts=np.bincount(members, minlength=len(rows)).astype(np.float64),
        tops=by_row(of("chance_corrected")),
        null_tops=by_row(np.where(told, probs - chances, 0.0)),
        null_bottoms=by_row(np.where(told, 1.0 - chances, 0.0)),
    )
