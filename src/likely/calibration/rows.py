"""An evaluation as rows of a file, a row an item, and back as the tables that figures need.

Unit: as the columns say; masses in nats.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, cast

import numpy as np

from likely.calibration.evaluation import Evaluation
from likely.calibration.metrics import METRICS

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
    "is_resolved": "bool",
    "context": "text",
    "labels": "texts",
    "values": "floats",
    "ideal": "floats",
    "log_mass": "floats",
    "log_mass_low": "floats",
    "flags": "texts",
}
"""Name and kind of each column, in order; what is not defined is null. The last ones hold the
context, and a list with an entry for each option."""

_LISTS = ("labels", "values", "ideal", "log_mass", "log_mass_low", "flags")


def to_rows(evaluation: Evaluation) -> list[dict[str, object]]:
    """Return one row an item with every name of `COLUMNS`."""
    masses, asked = evaluation.scored.masses, evaluation.targets
    known = evaluation.frame.to_dict("records")
    rows = []
    for i, (item, row) in enumerate(zip(evaluation.items, known, strict=True)):
        own = slice(int(asked.offsets[i]), int(asked.offsets[i + 1]))
        plain = {name: _plain(row.get(name), kind) for name, kind in COLUMNS.items()}
        plain |= {
            "context": item.context,
            "labels": tuple(option.label for option in item.options),
            "values": tuple(_plain(float(x), "float") for x in asked.values[own]),
            "ideal": tuple(asked.ideal[own].tolist()),
            "log_mass": tuple(masses.log_mass[own].tolist()),
            "log_mass_low": tuple(masses.log_mass_low[own].tolist()),
            "flags": tuple(sorted(evaluation.scored.flags[i])),
        }
        rows.append(plain)
    return rows


def frames_of(rows: Sequence[Mapping[str, object]]) -> "tuple[pd.DataFrame, pd.DataFrame]":
    """Return the tables of an evaluation from its rows.

    Args:
        rows: As `to_rows` made them.

    Returns:
        The frame of items, and the frame of options; see `likely.calibration.frame`.
    """
    import pandas as pd

    frame = pd.DataFrame(
        {
            name: [
                float("nan") if row[name] is None and kind == "float" else row[name] for row in rows
            ]
            for name, kind in COLUMNS.items()
            if name not in _LISTS and name != "context"
        }
    )
    options: list[dict[str, object]] = []
    for row in rows:
        log_mass = np.array(row["log_mass"], dtype=np.float64)
        top = log_mass.max()
        weights = np.exp(log_mass - top) if np.isfinite(top) else np.full(len(log_mass), np.nan)
        lists = [cast(Sequence[object], row[name]) for name in ("labels", "values", "ideal")]
        for position, (label, value, ideal) in enumerate(zip(*lists, strict=True)):
            options.append(
                {
                    "model": row["model"], "id": row["id"], "family": row["family"],
                    "template": row["template"], "position": position, "label": label,
                    "value": float("nan") if value is None else value, "ideal": ideal,
                    "mass": float(np.exp(log_mass[position])),
                    "pi": float(weights[position] / weights.sum()),
                }
            )  # fmt: skip
    return frame, pd.DataFrame(options)


def _plain(value: object, kind: str) -> object:
    if value is None or (isinstance(value, float) and np.isnan(value)):
        return None
    return int(cast(int, value)) if kind == "int" else value
