"""The tidy table of an evaluation: a row an item, with its design, its masses and its metrics.

Unit: probabilities and bits, as the columns say.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from likely.calibration.access.partial import Metrics
from likely.calibration.data_sets.items import Item
from likely.calibration.metrics import shares
from likely.calibration.tables import Masses, Targets
from likely.stats.ragged import place_in_law

if TYPE_CHECKING:
    import pandas as pd


def tidy_frame(
    model: str,
    items: Sequence[Item],
    targets: Targets,
    masses: Masses,
    metrics: Metrics,
) -> "pd.DataFrame":
    """Return one row an item.

    Args:
        model: Its name.
        items: Shape ``(N,)``.
        targets: Of the items.
        masses: Of the model.
        metrics: From `measure` and the like, each of shape ``(N,)``; NaN where not defined.

    Returns:
        ``model``; the design of each item (``id``, ``family``, ``template``, ``lang``, ``scale``,
        ``notation``, ``order``, ``higher``, ``number_pair``, ``option_pair``, ``option_set``,
        ``link``, ``variant``, ``n_options``, ``weight``); for two options ``n1``, ``n2``,
        ``label1``, ``label2``, ``p1``, ``m1``, ``m2``, ``pi1``; and every metric.
    """
    import pandas as pd

    first = targets.offsets[:-1]
    is_pair = targets.n_options == 2
    pi = shares(masses)
    mass = np.exp(masses.log_mass)
    rows = [_row(item) for item in items]  # one pass: items may be made as they are read
    columns: dict[str, object] = {"model": model}
    columns |= {name: [row[k] for row in rows] for k, name in enumerate(_ROW)}
    columns["n_options"] = targets.n_options
    for name, values, shift in (
        ("p1", targets.ideal, 0), ("m1", mass, 0), ("m2", mass, 1), ("pi1", pi, 0),
    ):  # fmt: skip
        columns[name] = np.where(is_pair, values[first + shift], np.nan)
    return pd.DataFrame(columns | dict(metrics))


def are_named_pairs(frame: "pd.DataFrame") -> "pd.Series[bool]":
    """Return which items have two options that are names, and masses that are known, if only as 0.

    Args:
        frame: A row an item; see `tidy_frame`.
    """
    is_known = frame["pm"].notna() & (frame["pi1"].notna() | (frame["pm"] == 0.0))
    return (frame["n_options"] == 2) & frame["wd_line"].isna() & is_known


def option_frame(
    frame: "pd.DataFrame", labels: Sequence[str], targets: Targets, masses: Masses
) -> "pd.DataFrame":
    """Return one row an option: what the figures of whole laws are drawn from.

    Args:
        frame: A row an item; see `tidy_frame`.
        labels: Shape ``(M,)``: of all options.
        targets: Of the items.
        masses: Of the model.

    Returns:
        ``model``, ``id``, ``family``, ``template``, ``position`` (from 0), ``label``, ``value``
        (NaN for names), ``ideal``, ``mass`` (raw), ``pi`` (renormalised).
    """
    import pandas as pd

    item_of = targets.item_of
    return pd.DataFrame(
        {name: frame[name].to_numpy()[item_of] for name in ("model", "id", "family", "template")}
        | {
            "position": place_in_law(targets.offsets),
            "label": list(labels),
            "value": targets.values,
            "ideal": targets.ideal,
            "mass": np.exp(masses.log_mass),
            "pi": shares(masses),
        }
    )


_ROW = (
    "id", "family", "template", "lang", "scale", "notation", "order", "higher", "number_pair",
    "option_pair", "option_set", "link", "variant", "weight", "n1", "n2", "label1", "label2",
)  # fmt: skip


def _row(item: Item) -> tuple[str | float | None, ...]:
    """Return the design of an item, as `_ROW` names it."""
    is_pair = len(item.options) == 2
    numbers = (float("nan"), float("nan"))
    if is_pair and len(item.numbers) == 2:
        numbers = (float(item.numbers[0]), float(item.numbers[1]))
    labels = (item.options[0].label, item.options[1].label) if is_pair else (None, None)
    return (
        item.id, item.family, item.template_id, item.lang, item.scale, item.notation, item.order,
        item.higher, item.number_pair_id, item.option_pair_id, item.option_set_id,
        str(item.meta.get("link", "")), str(item.meta.get("variant", "")), float(item.weight),
        *numbers, *labels,
    )  # fmt: skip
