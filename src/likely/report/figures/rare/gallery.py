"""The figures of rare events by name. Unit: none of its own."""

from collections.abc import Callable, Sequence
from typing import TypeAlias

from likely.core.estimate import Estimate
from likely.core.registry import Registry
from likely.rare.bench.running import Row
from likely.rare.result import RareEstimate
from likely.report.figures.drawing import Drawing, Missing
from likely.report.figures.rare.levels import levels_of_rows, run_of_levels

Draw: TypeAlias = Callable[[Sequence[Row], str], Drawing | Missing]

_HOME = "likely.report.figures.rare"

FIGURES: Registry[Draw] = Registry(
    "figure",
    {
        "against-truth": f"{_HOME}.against_truth:estimate_against_truth",
        "loss-alpha": f"{_HOME}.loss_alpha:loss_against_alpha",
        "bias-spread": f"{_HOME}.bias_spread:bias_and_spread",
    },
)
"""Name to function of the rows of a comparison and an arm, R1 to R3 in order."""


def draw_all(
    rows: Sequence[Row], *, run: RareEstimate | None = None, truth: Estimate | None = None
) -> tuple[Drawing | Missing, ...]:
    """Return R1 to R3 of every arm of a comparison, and R4 of a run; write them by `save_all`.

    Args:
        rows: Of a comparison.
        run: An estimate of a method of splitting; None for the one that the comparison has kept.
        truth: The probability of that event, if it is known.
    """
    arms = dict.fromkeys(str(row["arm"]) for row in rows)
    drawn = [FIGURES.load(name)(rows, arm) for arm in arms for name in FIGURES.names()]
    return (*drawn, levels_of_rows(rows) if run is None else run_of_levels(run, truth))
