"""An evaluation as rows of a file, a row an item, and back as the tables that figures need.

Unit: as the columns say; masses in nats.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, cast

import numpy as np
from jaxtyping import Float

from likely.calibration.access.partial import ENDS, KNOWN
from likely.calibration.data_sets.items import Item
from likely.calibration.evaluation import Evaluation
from likely.calibration.frame import option_frame
from likely.calibration.metrics import METRICS
from likely.calibration.tables import Masses, Targets
from likely.core.estimate import Cost

if TYPE_CHECKING:
    import pandas as pd

_DESIGN = (
    "model", "id", "family", "template", "lang", "scale", "notation", "order", "higher",
    "number_pair", "option_pair", "option_set", "link", "variant",
)  # fmt: skip

COLUMNS: dict[str, str] = {
    **dict.fromkeys(_DESIGN, "text"),
    "n_options": "int",
    "weight": "float",
    "n1": "float",
    "n2": "float",
    "label1": "text",
    "label2": "text",
    **dict.fromkeys(("p1", "m1", "m2", "pi1"), "float"),
    **dict.fromkeys(METRICS, "float"),
    **dict.fromkeys(ENDS, "float"),
    **dict.fromkeys(KNOWN, "bool"),
    "policy": "text",
    "context": "text",
    "labels": "texts",
    "values": "floats",
    "ideal": "floats",
    "log_mass": "floats",
    "log_mass_low": "floats",
    "flags": "texts",
}
"""Name and kind of each column, in order; what is not defined is null, as are the ends of metrics
where the model is known exactly. The last ones hold how the item was put to the model, its context,
and a list with an entry for each option."""

_OF_ITEMS = ("policy", "context", "labels", "values", "ideal", "log_mass", "log_mass_low", "flags")
_OF_FRAME = tuple(name for name in COLUMNS if name not in _OF_ITEMS)

_DTYPES = {"float": np.float64, "int": np.int64}


def iter_rows(evaluation: Evaluation, *, chunk: int = 4096) -> Iterator[dict[str, object]]:
    """Yield one row an item with every name of `COLUMNS`, few held at a time.

    Args:
        evaluation: Of a model.
        chunk: Rows that are made together.
    """
    frame, items = evaluation.frame, iter(evaluation.items)
    for start in range(0, len(frame), chunk):
        part = frame.iloc[start : start + chunk]
        known = [
            _plain(part[name].tolist() if name in part else [None] * len(part), kind)
            for name, kind in COLUMNS.items()
            if name not in _OF_ITEMS
        ]
        for place, row in enumerate(zip(*known, strict=True), start):
            yield dict(zip(_OF_FRAME, row, strict=True)) | _of_item(evaluation, place, next(items))


def frames_of(rows: Sequence[Mapping[str, object]]) -> "tuple[pd.DataFrame, pd.DataFrame]":
    """Return the tables of an evaluation from its rows.

    Args:
        rows: As `iter_rows` made them.

    Returns:
        The frame of items, and the frame of options; see `likely.calibration.frame`.
    """
    frame = _items_frame(rows)
    goal, masses = _laws(rows)
    labels = [label for row in rows for label in cast(Sequence[str], row["labels"])]
    return frame, option_frame(frame, labels, goal, masses)


def _items_frame(rows: Sequence[Mapping[str, object]]) -> "pd.DataFrame":
    import pandas as pd

    columns = {name: [row[name] for row in rows] for name in _OF_FRAME}
    is_partial = any(row["is_resolved"] is not None for row in rows)
    return pd.DataFrame(
        {
            name: np.array(values, dtype=_DTYPES[COLUMNS[name]])
            if COLUMNS[name] in _DTYPES
            else values
            for name, values in columns.items()
            if is_partial or name not in (*ENDS, *KNOWN)
        }
    )


def _laws(rows: Sequence[Mapping[str, object]]) -> tuple[Targets, Masses]:
    """Return what the items of rows ask for, and what the model gave."""

    def joined(name: str) -> Float[np.ndarray, "M"]:
        values = [x for row in rows for x in cast(Sequence[float | None], row[name])]
        return np.array(values, dtype=np.float64)

    offsets = np.cumsum([0, *(len(cast(Sequence[float], row["ideal"])) for row in rows)])
    goal = Targets(offsets=offsets, ideal=joined("ideal"), values=joined("values"))
    masses = Masses(
        offsets=offsets, log_mass=joined("log_mass"), log_mass_low=joined("log_mass_low")
    )
    return goal, masses


def evaluation_of(rows: Sequence[Mapping[str, object]], like: Evaluation) -> Evaluation | None:
    """Return the evaluation of another model on the same items, from its rows.

    Args:
        rows: As `iter_rows` made them.
        like: An evaluation of the same items.

    Returns:
        None if the items are others. Masses, flags and metrics are those of the rows; what rows do
        not hold, how spellings shared the mass, is not known, and the policy is that of ``like``.
    """
    frame = _items_frame(rows)
    if frame["id"].tolist() != like.frame["id"].tolist():
        return None
    with np.errstate(divide="ignore"):
        log_other = np.log(frame["other"].to_numpy(dtype=np.float64))
    scored = replace(
        like.scored,
        masses=_laws(rows)[1],
        log_other=log_other,
        shares=np.full_like(like.scored.shares, np.nan),
        flags=tuple(frozenset(cast(Sequence[str], row["flags"])) for row in rows),
        partial={},
        cost=Cost(),
    )
    metrics = {
        name: frame[name].to_numpy(dtype=bool if name in KNOWN else np.float64)
        for name in (*METRICS, *ENDS, *KNOWN)
        if name in frame.columns
    }
    return replace(like, model=str(rows[0]["model"]), scored=scored, metrics=metrics)


def _of_item(evaluation: Evaluation, place: int, item: Item) -> dict[str, object]:
    """Return the columns of `_OF_ITEMS` for an item."""
    masses, asked = evaluation.scored.masses, evaluation.targets
    own = slice(int(asked.offsets[place]), int(asked.offsets[place + 1]))
    return {
        "policy": evaluation.scored.policy.label,
        "context": item.context,
        "labels": tuple(option.label for option in item.options),
        "values": tuple(_plain(asked.values[own].tolist(), "float")),
        "ideal": tuple(asked.ideal[own].tolist()),
        "log_mass": tuple(masses.log_mass[own].tolist()),
        "log_mass_low": tuple(masses.log_mass_low[own].tolist()),
        "flags": tuple(sorted(evaluation.scored.flags[place])),
    }


def _plain(values: Sequence[object], kind: str) -> list[object]:
    """Return values of one kind with None for what is not defined."""
    if kind == "bool":
        return [None if value is None else bool(value) for value in values]
    return [None if value != value else value for value in values]  # only NaN is not itself
