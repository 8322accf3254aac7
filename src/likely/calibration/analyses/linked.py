"""Items that differ in one thing that should not matter: how far do probabilities move?

Items of one ``link`` tell the same draw, and ``variant`` says how they differ: by a factor on the
counts, by a number that has nothing to do with it, by their language or notation, by the order
of the draws that they show. Each is compared to the item of its link that has the reference
variant. Unit: probability of the option mentioned first.
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from jaxtyping import Float

from likely.core.estimate import Estimate
from likely.errors import InputError
from likely.stats.bootstrap import cluster_bootstrap

ALL = "all"
"""Name of the row over all variants."""

_COLUMNS = ("model", "link", "variant", "higher", "pi1")


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkedShift:
    """How far one variant moves the probabilities of one model.

    Attributes:
        model: Its name.
        variant: Which variant, or `ALL`.
        reference: What it is compared to.
        n_items: Items of the variant that have a probability and whose reference has one.
        n_undefined: Items left out, since one of both has no mass on its options.
        size: Mean of ``|pi1 - pi1 of the reference|``: 0 for a model that the difference leaves
            alone.
        to_first: Mean of the difference itself: positive if the first option gains.
        to_higher: Mean of the difference towards the likelier option, ties left out; None if
            fewer than two clusters have one.
    """

    model: str
    variant: str
    reference: str
    n_items: int
    n_undefined: int
    size: Estimate
    to_first: Estimate
    to_higher: Estimate | None

    def to_dict(self) -> dict[str, object]:
        """Return the fields as a JSON-ready mapping."""
        return {
            "model": self.model,
            "variant": self.variant,
            "reference": self.reference,
            "n_items": self.n_items,
            "n_undefined": self.n_undefined,
            "size": self.size.to_dict(),
            "to_first": self.to_first.to_dict(),
            "to_higher": None if self.to_higher is None else self.to_higher.to_dict(),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkedShifts:
    """The shifts of each variant and model; the last row of a model is over all variants."""

    rows: tuple[LinkedShift, ...]

    def row(self, variant: str = ALL, *, model: str | None = None) -> LinkedShift:
        """Return the row of a variant.

        Args:
            variant: As in the items, or `ALL`.
            model: Needed only where there are several.

        Raises:
            InputError: No such row, or rows of several models.
        """
        found = [r for r in self.rows if r.variant == variant and model in (None, r.model)]
        if len(found) != 1:
            names = [(r.model, r.variant) for r in self.rows]
            raise InputError(
                f"one row is asked for, variant {variant!r} of model {model!r} has {len(found)} "
                f"among {names!r}"
            )
        return found[0]

    def to_frame(self) -> pd.DataFrame:
        """Return a row a shift, with the ends of the intervals as ``*_low`` and ``*_high``."""
        table = []
        for row in self.rows:
            record: dict[str, object] = {
                "model": row.model, "variant": row.variant, "reference": row.reference,
                "n_items": row.n_items, "n_undefined": row.n_undefined,
            }  # fmt: skip
            for name in ("size", "to_first", "to_higher"):
                estimate: Estimate | None = getattr(row, name)
                for end in ("value", "low", "high"):
                    key = name if end == "value" else f"{name}_{end}"
                    record[key] = np.nan if estimate is None else getattr(estimate, end)
            table.append(record)
        return pd.DataFrame(table)

    def summary(self) -> str:
        """Return one line a row."""
        return "\n".join(
            f"{row.model} {row.variant} against {row.reference}: {row.size.summary()}, "
            f"{row.n_items} items"
            for row in self.rows
        )

    def to_dict(self) -> dict[str, object]:
        """Return the rows as a JSON-ready mapping."""
        return {"rows": [row.to_dict() for row in self.rows]}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Resampling:
    clusters: str
    n_resamples: int
    level: float
    seed: int

    def estimate(self, values: Float[np.ndarray, " N"], rows: pd.DataFrame) -> Estimate:
        return cluster_bootstrap(
            values, [str(name) for name in rows[self.clusters]], n_resamples=self.n_resamples,
            level=self.level, unit="prob", seed=self.seed,
        )  # fmt: skip


def linked_shifts(
    frame: pd.DataFrame,
    *,
    reference: str,
    clusters: str = "number_pair",
    n_resamples: int = 2000,
    level: float = 0.95,
    seed: int = 0,
) -> LinkedShifts:
    """Compare each item with the reference item of its link.

    Args:
        frame: A row an item and model, with the columns ``model``, ``link``, ``variant``,
            ``higher``, ``pi1`` and that of the clusters; items of two options.
        reference: The variant to compare with; one item of each link and model has it.
        clusters: The column whose values are drawn in the bootstrap: items that share one are
            not independent.
        n_resamples: Of the bootstrap.
        level: Of the intervals.
        seed: Of the random stream.

    Returns:
        A row for each variant of each model, in the order of the frame, then one for all of them.

    Raises:
        InputError: A column is missing; a link has no item, or two, of the reference variant;
            there is nothing to compare; fewer than 2 clusters have defined shifts.
    """
    joined = _joined(frame, reference, clusters)
    how = _Resampling(clusters=clusters, n_resamples=n_resamples, level=level, seed=seed)
    rows = []
    for model, part in joined.groupby("model", sort=False):
        rows += [
            _shift(some, str(model), str(variant), reference, how)
            for variant, some in part.groupby("variant", sort=False)
        ]
        rows.append(_shift(part, str(model), ALL, reference, how))
    return LinkedShifts(rows=tuple(rows))


def scale_error(frame: pd.DataFrame, *, level: float = 0.95, seed: int = 0) -> LinkedShifts:
    """Return how far a factor on both counts moves probabilities: 0 if they are scale-invariant.

    Args:
        frame: Rows of the family ``scaled`` among others, as in `linked_shifts`.
        level: Of the intervals.
        seed: Of the random stream.

    Raises:
        InputError: As `linked_shifts`.
    """
    return linked_shifts(_family(frame, "scaled"), reference="x1", level=level, seed=seed)


def distractor_shift(frame: pd.DataFrame, *, level: float = 0.95, seed: int = 0) -> LinkedShifts:
    """Return how far a number that does not matter moves probabilities, by its place in the text.

    Args:
        frame: Rows of the family ``distractor`` among others, as in `linked_shifts`.
        level: Of the intervals.
        seed: Of the random stream.

    Raises:
        InputError: As `linked_shifts`.
    """
    return linked_shifts(_family(frame, "distractor"), reference="clean", level=level, seed=seed)


def _family(frame: pd.DataFrame, name: str) -> pd.DataFrame:
    if "family" not in frame.columns or not (frame["family"] == name).any():
        raise InputError(f"items of the family {name!r} are needed, the frame has none; build them")
    return frame[frame["family"] == name]


def _joined(frame: pd.DataFrame, reference: str, clusters: str) -> pd.DataFrame:
    """Return the items that are no reference, with their ``shift`` from it."""
    missing = [name for name in (*_COLUMNS, clusters) if name not in frame.columns]
    if missing:
        raise InputError(f"linked items need the columns {missing}, got {list(frame.columns)}")
    is_reference = frame["variant"] == reference
    base = frame.loc[is_reference, ["model", "link", "pi1"]]
    doubled = base.duplicated(["model", "link"])
    if doubled.any():
        raise InputError(
            f"one item of a link has the variant {reference!r}, got several in "
            f"{base.loc[doubled, 'link'].iloc[0]!r}"
        )
    joined = frame.loc[~is_reference].merge(
        base, on=["model", "link"], how="left", suffixes=("", "_reference"), indicator=True
    )
    if joined.empty:
        raise InputError(f"there is nothing to compare: every item has the variant {reference!r}")
    alone = joined["_merge"] == "left_only"
    if alone.any():
        raise InputError(
            f"a link needs an item of the variant {reference!r}, got none in "
            f"{joined.loc[alone, 'link'].iloc[0]!r}"
        )
    return joined.assign(shift=joined["pi1"] - joined["pi1_reference"])


def _shift(
    rows: pd.DataFrame, model: str, variant: str, reference: str, how: _Resampling
) -> LinkedShift:
    defined = rows[rows["shift"].notna()]
    shift = defined["shift"].to_numpy(dtype=np.float64)
    apart = defined[defined["higher"].isin(["first", "second"])]
    to_higher = None
    if apart[how.clusters].nunique() > 1:
        sign = np.where(apart["higher"] == "first", 1.0, -1.0)
        to_higher = how.estimate(sign * apart["shift"].to_numpy(dtype=np.float64), apart)
    return LinkedShift(
        model=model,
        variant=variant,
        reference=reference,
        n_items=len(defined),
        n_undefined=len(rows) - len(defined),
        size=how.estimate(np.abs(shift), defined),
        to_first=how.estimate(shift, defined),
        to_higher=to_higher,
    )
