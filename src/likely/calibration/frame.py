"""The tidy table of an evaluation: a row an item, with its design, its masses and its metrics.

Unit: probabilities and bits, as the columns say.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float

from likely.calibration.data_sets.items import Item
from likely.calibration.metrics import shares
from likely.calibration.tables import Masses, Targets

if TYPE_CHECKING:
    import pandas as pd


def tidy_frame(
    model: str,
    items: Sequence[Item],
    targets: Targets,
    masses: Masses,
    metrics: Mapping[str, Float[np.ndarray, "N"]],
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
    columns: dict[str, object] = {"model": model, **_design(items)}
    columns["n_options"] = targets.n_options
    columns |= _numbers(items)
    for name, values, shift in (
        ("p1", targets.ideal, 0), ("m1", mass, 0), ("m2", mass, 1), ("pi1", pi, 0),
    ):  # fmt: skip
        columns[name] = np.where(is_pair, values[first + shift], np.nan)
    return pd.DataFrame(columns | dict(metrics))


def option_frame(
    model: str, items: Sequence[Item], targets: Targets, masses: Masses
) -> "pd.DataFrame":
    """Return one row an option: what the figures of whole laws are drawn from.

    Returns:
        ``model``, ``id``, ``family``, ``template``, ``position`` (from 0), ``label``, ``value``
        (NaN for names), ``ideal``, ``mass`` (raw), ``pi`` (renormalised).
    """
    import pandas as pd

    item_of = targets.item_of
    design = {name: np.array([getattr(i, name) for i in items]) for name in ("id", "family")}
    return pd.DataFrame(
        {
            "model": model,
            "id": design["id"][item_of],
            "family": design["family"][item_of],
            "template": np.array([item.template_id for item in items])[item_of],
            "position": np.arange(len(item_of)) - targets.offsets[:-1][item_of],
            "label": [option.label for item in items for option in item.options],
            "value": targets.values,
            "ideal": targets.ideal,
            "mass": np.exp(masses.log_mass),
            "pi": shares(masses),
        }
    )


def _design(items: Sequence[Item]) -> dict[str, object]:
    return {
        "id": [item.id for item in items],
        "family": [item.family for item in items],
        "template": [item.template_id for item in items],
        "lang": [item.lang for item in items],
        "scale": [item.scale for item in items],
        "notation": [item.notation for item in items],
        "order": [item.order for item in items],
        "higher": [item.higher for item in items],
        "number_pair": [item.number_pair_id for item in items],
        "option_pair": [item.option_pair_id for item in items],
        "option_set": [item.option_set_id for item in items],
        "link": [str(item.meta.get("link", "")) for item in items],
        "variant": [str(item.meta.get("variant", "")) for item in items],
        "weight": [float(item.weight) for item in items],
    }


def _numbers(items: Sequence[Item]) -> dict[str, object]:
    pairs = [
        (float(item.numbers[0]), float(item.numbers[1]))
        if len(item.options) == len(item.numbers) == 2
        else (float("nan"), float("nan"))
        for item in items
    ]
    labels = [
        (item.options[0].label, item.options[1].label) if len(item.options) == 2 else (None, None)
        for item in items
    ]
    return {
        "n1": [pair[0] for pair in pairs],
        "n2": [pair[1] for pair in pairs],
        "label1": [pair[0] for pair in labels],
        "label2": [pair[1] for pair in labels],
    }
