"""What the figures of calibration are drawn from: tidy tables, checked at the door. Unit: as named.

A figure takes the means and intervals that it is given; where none are given it shows plain means
of the frame, without intervals.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from likely.errors import InputError

NULL = "null_"
"""What the columns begin with that say what a policy would have."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Tables:
    """The tables that figures read; only ``frame`` is always needed.

    Attributes:
        frame: A row an item and model, as `likely.calibration` measures it.
        estimates: ``model, family, scale, metric, value, low, high``; an empty scale is the whole
            family's.
        baselines: ``baseline, family, scale, metric, value``, the scale as in estimates.
        cells: ``model, option_pair, dominant, dominant_rate, avg_wd, n, a, b``, templates pooled;
            with ``family`` where there are several.
        strengths: ``option, strength, low, high``, and ``model`` where there are several; with
            ``family`` where it is to be named.
        frequency: ``model, scale, gap, wd``, a row a pair of numbers, with one column
            ``null_NAME`` for what each policy would have there, and ``source`` of the frequencies
            where it is to be named.
        options: ``model, id, value, ideal, pi``: a row an option of items whose options are
            numbers.
        pairs: Names of a base model and of the one made from it by instruction tuning.
        reasons: Why a table is not there, by its name.
        null_pm: Mass from which an item has a part in its cell's place and preference.
    """

    frame: pd.DataFrame
    estimates: pd.DataFrame | None = None
    baselines: pd.DataFrame | None = None
    cells: pd.DataFrame | None = None
    strengths: pd.DataFrame | None = None
    frequency: pd.DataFrame | None = None
    options: pd.DataFrame | None = None
    pairs: Sequence[tuple[str, str]] = ()
    reasons: Mapping[str, str] = field(default_factory=dict)
    null_pm: float = 0.25


def check_columns(table: pd.DataFrame, needed: Sequence[str], *, what: str) -> None:
    """Raise unless a table has these columns.

    Raises:
        InputError: One is missing.
    """
    missing = [name for name in needed if name not in table.columns]
    if missing:
        raise InputError(
            f"{what} needs the columns {list(needed)}, got {list(table.columns)}; add {missing}"
        )


def names_of(table: pd.DataFrame, column: str) -> list[str]:
    """Return the different texts of a column in order of appearance."""
    return [str(name) for name in table[column].dropna().unique()]


def with_model(table: pd.DataFrame, tables: Tables) -> pd.DataFrame:
    """Return the table with a column ``model``: that of the frame, where it is the only one.

    Raises:
        InputError: The table has no such column, and the frame has several models.
    """
    if "model" in table.columns:
        return table
    models = names_of(tables.frame, "model")
    if len(models) != 1:
        raise InputError(f"with several models every table names its model, got {models!r}")
    return table.assign(model=models[0])


def best_crossed(table: pd.DataFrame) -> str | None:
    """Return the family whose options have most partners each; None if none has more than one.

    Args:
        table: Columns ``family`` and ``option_pair``, options in the order of mention.
    """
    best, most = None, 1.0
    for family, own in table.groupby("family", sort=False):
        pairs = [str(pair).split("/", 1) for pair in own["option_pair"].unique()]
        partners = len(pairs) / len({option for pair in pairs for option in pair})
        if partners > most:
            best, most = str(family), partners
    return best


def two_options(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of items with two names as options, to which the model gave any mass.

    Two numbers are left out: no context mentions one of them first.
    """
    check_columns(frame, ("model", "p1", "pi1", "wd_line"), what="the frame")
    return frame[frame["p1"].notna() & frame["pi1"].notna() & frame["wd_line"].isna()]


def family_means(tables: Tables, metric: str) -> pd.DataFrame:
    """Return the mean of a metric by model and family, with its interval where there is one.

    Items for which it is not defined are left out.

    Returns:
        ``model, family, value, low, high, n``, families and models in order of appearance.
    """
    check_columns(tables.frame, ("model", "family", metric), what="the frame")
    rows = []
    for family in names_of(tables.frame, "family"):
        own = tables.frame[tables.frame["family"] == family]
        for model in names_of(tables.frame, "model"):
            found = own.loc[own["model"] == model, metric].dropna().to_numpy(dtype=np.float64)
            if not len(found):
                continue
            given = _given(tables.estimates, metric, family, model)
            value, low, high = given or (float(np.mean(found)), np.nan, np.nan)
            rows.append((model, family, value, low, high, len(found)))
    return pd.DataFrame(rows, columns=["model", "family", "value", "low", "high", "n"])


def family_distances(tables: Tables, unit: str = "wd01") -> pd.DataFrame:
    """Return the mean distance by model and family, each family in the metric of its options.

    Args:
        tables: Of which the frame has ``wd_line_norm`` and the unit.
        unit: Metric of options that are names; of numbers it is ``wd_line_norm``.

    Returns:
        `family_means` with ``metric``, names before numbers; a family has one metric for all
        models.
    """
    on_line = family_means(tables, "wd_line_norm").assign(metric="wd_line_norm")
    named = family_means(tables, unit).assign(metric=unit)
    named = named[~named["family"].isin(on_line["family"])]
    parts = [part for part in (named, on_line) if len(part)] or [named]
    return pd.concat(parts, ignore_index=True)


def _given(
    estimates: pd.DataFrame | None, metric: str, family: str, model: str
) -> tuple[float, float, float] | None:
    if estimates is None:
        return None
    check_columns(
        estimates,
        ("model", "family", "scale", "metric", "value", "low", "high"),
        what="the table of estimates",
    )
    own = estimates[
        (estimates["metric"] == metric)
        & (estimates["family"] == family)
        & (estimates["model"] == model)
        & (estimates["scale"] == "")
    ]
    if len(own) != 1:
        return None
    value, low, high = own[["value", "low", "high"]].to_numpy(dtype=np.float64)[0]
    return float(value), float(low), float(high)


def baseline_values(tables: Tables, metric: str, family: str) -> dict[str, float]:
    """Return the metric of each baseline on a whole family; nothing where no table is given."""
    if tables.baselines is None:
        return {}
    check_columns(
        tables.baselines,
        ("baseline", "family", "scale", "metric", "value"),
        what="the table of baselines",
    )
    table = tables.baselines
    own = table[
        (table["metric"] == metric)
        & (table["family"] == family)
        & (table["scale"] == "")
        & table["value"].notna()
    ]
    return {str(k): float(v) for k, v in zip(own["baseline"], own["value"], strict=True)}
