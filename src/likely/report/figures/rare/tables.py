"""What the figures of a comparison read: its rows as a table. Unit: decades (log10 of prob)."""

import math
from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.axis import Axis

from likely.errors import InputError
from likely.rare.bench.running import Row
from likely.report.display import power_of_ten

LOG_10 = math.log(10.0)

NAMES = {"calls": "equal calls", "seconds": "equal seconds"}
"""What each arm had equal."""


def table_of(rows: Sequence[Row], arm: str) -> pd.DataFrame:
    """Return the estimates of one arm, a row each.

    Args:
        rows: As `likely.rare.bench.running.iter_bench` made them.
        arm: Which budget was equal.

    Returns:
        The columns of the rows, and in decades ``q, q_low, q_high`` of the truth and ``p, p_low,
        p_high`` of the estimate, ``-inf`` where it is 0; ``target`` names the target.

    Raises:
        InputError: The arm has no row.
    """
    chosen = [row for row in rows if row["arm"] == arm]
    if not chosen:
        raise InputError(f"the comparison has no estimate in the arm {arm!r}; run it with that arm")
    table = pd.DataFrame(chosen)
    for name, source in (("p", "log_prob"), ("p_low", "log_low"), ("p_high", "log_high")):
        table[name] = table[source].astype(np.float64) / LOG_10
    with np.errstate(divide="ignore"):
        for name, source in (("q", "truth"), ("q_low", "low"), ("q_high", "high")):
            table[name] = np.log10(table[source].astype(np.float64))
    table["target"] = [
        f"{model} {law} {token}"
        for model, law, token in zip(
            table["model"], table["distribution"], table["token"], strict=True
        )
    ]
    return table


def names_in_order(table: pd.DataFrame, column: str) -> list[str]:
    """Return the distinct texts of a column, as they first come."""
    return [str(name) for name in table[column].unique()]


def decade_ticks(
    axis: Axis, low: int, high: int, *, most: int = 7, zero_at: float | None = None
) -> None:
    """Set ticks at powers of ten, at most so many, and one for 0 where there is a place for it."""
    step = max(1, -(-(high - low) // (most - 1)))
    exponents = list(range(high, low - 1, -step))[::-1]
    places, labels = [float(k) for k in exponents], [power_of_ten(k) for k in exponents]
    if zero_at is not None:
        places, labels = [zero_at, *places], ["0", *labels]
    axis.set_ticks(places, labels)
