"""R4: one run of splitting, level by level. Unit: levels in nats, probability in decades."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from likely.core.estimate import Cost, Estimate
from likely.rare.bench.running import Row
from likely.rare.result import RareEstimate
from likely.report.display import small, visible
from likely.report.figures.drawing import Drawing, Missing
from likely.report.figures.rare.tables import LOG_10, decade_ticks
from likely.report.figures.style import (
    INK,
    PALETTE,
    RULE,
    SOFT,
    colour,
    lighten,
    put_legend,
    sheet,
    shorten,
    styled,
)
from likely.report.level_charts import moves_of

NAME = "R4-levels"


@dataclass(frozen=True, slots=True, kw_only=True)
class LevelRun:
    """One run of a method of splitting, and whose it is.

    Attributes:
        event: What must happen, as text.
        where: Model and law of inputs.
        method: Its name.
        n_runs: How many runs the estimate is made of; the levels are those of the first.
        log_prob: The estimate of all runs together, nats.
        levels: A row a level, as `RareEstimate.levels` has them.
    """

    event: str
    where: str
    method: str
    n_runs: int
    log_prob: float
    levels: tuple[Mapping[str, float | int], ...]


@styled()
def run_of_levels(found: RareEstimate, truth: Estimate | None = None) -> Drawing | Missing:
    """Draw R4: log-probability, survival and acceptance of the first run of a splitting estimate.

    Args:
        found: An estimate.
        truth: The probability itself, if it is known.

    Returns:
        Data: the rows of `RareEstimate.levels`, NaN where one has no such number. Missing if the
        estimate has no levels.
    """
    if not found.levels:
        method = found.log_prob.method
        return Missing(name=NAME, reason=f"{method} has no levels; methods of splitting have")
    run = LevelRun(
        event=found.event.name, where=f"{found.model} under {found.distribution}",
        method=found.log_prob.method, n_runs=max(1, len(found.replicates)),
        log_prob=found.log_prob.value, levels=found.levels,
    )  # fmt: skip
    return _draw(run, truth)


@styled()
def levels_of_rows(rows: Sequence[Row]) -> Drawing | Missing:
    """Draw R4 of the rarest target of a comparison whose levels are kept.

    Args:
        rows: Of a comparison; of several methods of splitting, over activations goes first.
    """
    kept = [row for row in rows if row["levels"]]
    if not kept:
        reason = "the comparison has no method of splitting; add ga-amls or amls-inputs"
        return Missing(name=NAME, reason=reason)
    row = min(kept, key=lambda one: (one["quantity"] != "activations", float(one["truth"])))
    stored = json.loads(str(row["levels"]))
    run = LevelRun(
        event=str(row["text"]), where=f"{row['model']} under {row['distribution']}",
        method=str(row["method"]), n_runs=int(stored["runs"]), log_prob=float(row["log_prob"]),
        levels=tuple(
            {name: float(value) for name, value in one.items()} for one in stored["levels"]
        ),
    )  # fmt: skip
    truth, low, high = (float(row[name]) for name in ("truth", "low", "high"))
    known = Estimate(
        value=truth, low=low, high=high, level=0.95, unit="prob", method="truth", cost=Cost(),
        diagnostics={},
    )  # fmt: skip
    return _draw(run, known)


def _draw(run: LevelRun, truth: Estimate | None) -> Drawing:
    title = f"R4  One run, level by level: {shorten(visible(run.event), 30)}"
    data = pd.DataFrame([dict(row) for row in run.levels])
    own = data[np.isfinite(data["level"])]
    figure, rows = sheet(
        title,
        f"{run.where}, {run.method}: the first of {run.n_runs} runs, {len(data):,} levels. "
        "A level is the lead over the best other token. Prior: the law of activations or inputs "
        "allows a proposal; wall: of those, the share that does not fall below the level.",
        height_in=4.6,
        n_rows=3,
        share_x=True,
        heights=(1.5, 0.8, 1.3),
    )
    top, middle, bottom = (row[0] for row in rows)
    _probability(top, own, run.log_prob, truth)
    _alive(middle, own)
    _moves(bottom, own, moves_of(run.levels))
    bottom.set_xlabel("level, nats")
    put_legend(figure, [top, middle, bottom], n_columns=4)
    return Drawing(name=NAME, title=title, figure=figure, data=data)


def _probability(axes: Axes, own: pd.DataFrame, log_prob: float, truth: Estimate | None) -> None:
    powers = own["log_prob"].to_numpy(dtype=np.float64) / LOG_10
    shown = powers[np.isfinite(powers)]
    lowest = [float(shown.min())] if len(shown) else [0.0]
    if truth is not None and truth.value > 0.0:
        at = math.log10(truth.value)
        lowest.append(math.log10(truth.low) if truth.low > 0.0 else at)
        axes.axhline(
            at, color=PALETTE[1], linewidth=1.0, linestyle=(0.0, (4.0, 2.0)), label="truth"
        )
        if not truth.is_exact:
            low = truth.low if truth.low > 0.0 else 10.0 ** (min(lowest) - 1.0)
            axes.axhspan(
                math.log10(low), math.log10(truth.high), color=lighten(PALETTE[1], 0.25),
                linewidth=0, label="its interval",
            )  # fmt: skip
    axes.plot(own["level"], powers, color=PALETTE[0], marker="o", markersize=3, label="this run")
    floor = math.floor(min(lowest) - 1e-9)
    axes.set_ylim(floor, 0.0)
    decade_ticks(axes.yaxis, floor, 0)
    axes.set_ylabel("probability")
    axes.grid(color=RULE)
    axes.set_title(f"Probability of reaching the level; all runs together: {small(log_prob)}")


def _alive(axes: Axes, own: pd.DataFrame) -> None:
    axes.plot(
        own["level"], own["share"], color=INK, marker="o", markersize=3,
        label="particles that reached the level",
    )  # fmt: skip
    _shares(axes, "Share alive")


def _moves(axes: Axes, own: pd.DataFrame, moves: Sequence[str]) -> None:
    for i, move in enumerate(moves):
        shade = colour(i)
        for end, dash, shape in (("prior", (0.0, (4.0, 1.5)), "s"), ("wall", "-", "o")):
            column = f"{move}_{end}_acceptance"
            if column in own:
                known = own[own[column].notna()]
                axes.plot(
                    known["level"], known[column], color=shade, linestyle=dash, marker=shape,
                    markersize=2.5, linewidth=1.1, label=f"{move}: {end}",
                )  # fmt: skip
    if "never_moved" in own:
        known = own[own["never_moved"].notna()]
        axes.plot(
            known["level"], known["never_moved"], color=SOFT, linestyle=(0.0, (1.0, 1.2)),
            marker="x", markersize=3.5, label="never moved",
        )  # fmt: skip
    _shares(axes, "Acceptance of moves, and particles that never moved")


def _shares(axes: Axes, title: str) -> None:
    axes.set_ylim(-0.03, 1.03)
    axes.set_yticks([0.0, 0.5, 1.0], ["0", "50 %", "100 %"])
    axes.set_ylabel("share")
    axes.grid(color=RULE)
    axes.set_title(title)
