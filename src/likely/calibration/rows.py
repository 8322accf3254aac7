"""An evaluation as rows of a file, a row an item, and back as the tables that figures need.

Unit: as the columns say; masses in nats.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, cast

import numpy as np

from likely.calibration.data_sets.items import Item
from likely.calibration.evaluation import Evaluation
from likely.calibration.metrics import METRICS, shares
from likely.calibration.tables import Masses
from likely.core.estimate import Cost

if TYPE_CHECKING:
    import pandas as pd

_DESIGN = (
    "model", "id", "family", "template", "lang", "scale", "notation", "order", "higher",
    "number_pair", "option_pair", "option_set", "link", "variant",
)  # fmt: skip
_ENDS = tuple(
    f"{name}_{end}"
    for name in ("pm", "pi1", "wd01", "wd_line_norm", "entropy_gap")
    for end in ("low", "high")
)
_KNOWN = ("is_resolved", "is_outer")

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
    **dict.fromkeys(_ENDS, "float"),
    **dict.fromkeys(_KNOWN, "bool"),
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
    import pandas as pd

    columns = {name: [row[name] for row in rows] for name in _OF_FRAME}
    is_partial = any(row["is_resolved"] is not None for row in rows)
    frame = pd.DataFrame(
        {
            name: np.array(values, dtype=_DTYPES[COLUMNS[name]])
            if COLUMNS[name] in _DTYPES
            else values
            for name, values in columns.items()
            if is_partial or name not in (*_ENDS, *_KNOWN)
        }
    )
    n_options = frame["n_options"].to_numpy()
    item_of = np.repeat(np.arange(len(rows)), n_options)
    starts = np.cumsum(n_options) - n_options

    def joined(name: str) -> list[object]:
        return [value for row in rows for value in cast(Sequence[object], row[name])]

    log_mass = np.array(joined("log_mass"), dtype=np.float64)
    whole = Masses(
        offsets=np.append(starts, len(item_of)), log_mass=log_mass, log_mass_low=log_mass
    )
    options = pd.DataFrame(
        {name: frame[name].to_numpy()[item_of] for name in ("model", "id", "family", "template")}
        | {
            "position": np.arange(len(item_of)) - starts[item_of],
            "label": joined("labels"),
            "value": np.array(joined("values"), dtype=np.float64),
            "ideal": np.array(joined("ideal"), dtype=np.float64),
            "mass": np.exp(log_mass),
            "pi": shares(whole),
        }
    )
    return frame, options


def evaluation_of(rows: Sequence[Mapping[str, object]], like: Evaluation) -> Evaluation | None:
    """Return the evaluation of another model on the same items, from its rows.

    Args:
        rows: As `iter_rows` made them.
        like: An evaluation of the same items.

    Returns:
        None if the items are others. Masses, flags and metrics are those of the rows; what rows do
        not hold, how spellings shared the mass, is not known, and the policy is that of ``like``.
    """
    frame, _ = frames_of(rows)
    if frame["id"].tolist() != like.frame["id"].tolist():
        return None
    high, low = (
        np.array([x for row in rows for x in cast(Sequence[float], row[name])], dtype=np.float64)
        for name in ("log_mass", "log_mass_low")
    )
    with np.errstate(divide="ignore"):
        log_other = np.log(frame["other"].to_numpy(dtype=np.float64))
    scored = replace(
        like.scored,
        masses=Masses(offsets=like.targets.offsets, log_mass=high, log_mass_low=low),
        log_other=log_other,
        shares=np.full_like(like.scored.shares, np.nan),
        flags=tuple(frozenset(cast(Sequence[str], row["flags"])) for row in rows),
        partial={},
        cost=Cost(),
    )
    metrics = {
        name: frame[name].to_numpy(dtype=np.float64)
        for name in (*METRICS, *_ENDS)
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
