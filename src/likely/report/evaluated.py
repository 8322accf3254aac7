"""What figures and pages read of an evaluation: long tables, and which families have cells.

Unit: as the columns say.
"""

from collections.abc import Sequence

import pandas as pd

from likely.calibration.assigners import Rules
from likely.calibration.behaviours import classify_cells
from likely.calibration.evaluation import Evaluation
from likely.calibration.frame import are_named_pairs
from likely.calibration.metrics import METRICS

CELLS = (
    "model", "family", "option_pair", "null", "calibrated", "pref_higher", "pref_lower",
    "pref_first", "pref_second", "dominant", "dominant_rate", "avg_wd", "n", "margin", "n_null",
    "a", "b",
)  # fmt: skip
"""Columns of a table of cells whose templates are pooled."""


def estimate_rows(evaluation: Evaluation) -> pd.DataFrame:
    """Return the means with their intervals, a row each: those of `Evaluation.lines` that exist.

    Returns:
        ``model, family, scale, metric, value, low, high``; the scale of a whole family is empty.
    """
    return pd.DataFrame(
        [
            (
                evaluation.model, line.family, line.scale, line.metric,
                line.estimate.value, line.estimate.low, line.estimate.high,
            )
            for line in evaluation.lines
            if line.estimate is not None
        ],
        columns=["model", "family", "scale", "metric", "value", "low", "high"],
    )  # fmt: skip


def baseline_rows(evaluation: Evaluation) -> pd.DataFrame:
    """Return what each baseline scores on the same items, a row a metric.

    Returns:
        ``baseline, family, scale, metric, value``; a metric that is not defined has no row.
    """
    rows = evaluation.baselines.melt(
        id_vars=["baseline", "family", "scale"], value_vars=list(METRICS), var_name="metric",
        value_name="value",
    )  # fmt: skip
    return rows[rows["value"].notna()].reset_index(drop=True)


def balanced_items(frame: pd.DataFrame, *, by: Sequence[str] = ()) -> pd.DataFrame:
    """Return the items of the families whose behaviour can be told, cell by cell.

    In such a family every item has two options, which are names, and masses that are known; and in
    each cell as many items have the first option likelier as have the second, and some have.

    Args:
        frame: A row an item, of one model.
        by: Columns that part cells besides the ordered pair of options.
    """
    lean = frame["higher"].map({"first": 1, "second": -1, "tie": 0})
    is_fit = are_named_pairs(frame) & lean.notna()
    fit = is_fit.groupby(frame["family"]).transform("all")
    cells = lean[fit].groupby([frame.loc[fit, name] for name in ("family", *by, "option_pair")])
    is_even = (cells.transform("sum") == 0) & (cells.transform("max") > 0)
    families = frame.loc[fit, "family"]
    kept = families[is_even.groupby(families).transform("all")].unique()
    return frame[frame["family"].isin(kept)]


def cells_of(
    evaluation: Evaluation, *, by: Sequence[str] = (), rules: Rules | None = None
) -> pd.DataFrame:
    """Return the behaviour of each cell of the families that `balanced_items` keeps.

    Args:
        evaluation: Of one model.
        by: Columns that part cells besides the ordered pair of options; none pools templates.
        rules: Thresholds.

    Returns:
        As `likely.calibration.classify_cells`, without rows where no family is balanced.
    """
    own = balanced_items(evaluation.frame, by=by)
    if not len(own):
        return pd.DataFrame(columns=list(dict.fromkeys([*CELLS[:2], *by, *CELLS[2:]])))
    return classify_cells(own, by=by, rules=rules)
