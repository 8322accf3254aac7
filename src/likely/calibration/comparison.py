"""Two models on the same items: paired differences, tested, with p values adjusted together.

Unit: of each metric.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from likely.calibration.analyses.units import codes, sampling_units
from likely.calibration.evaluation import ESTIMATED
from likely.errors import InputError
from likely.stats.comparison import PairedComparison, compare_paired, holm

if TYPE_CHECKING:
    import pandas as pd

COMPARED = ("pm", "wd01", "wd_line_norm", "wd_raw", "entropy_gap", "brier_excess")
"""Metrics that two models are compared on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """One metric of one family, the first model less the second.

    Attributes:
        family: Of the items.
        metric: Which.
        comparison: Both means, their difference with its interval, and the test.
        adjusted_p: Its p value, adjusted by Holm's rule for all differences of the call.
        n_items: Items that both models have.
    """

    family: str
    metric: str
    comparison: PairedComparison
    adjusted_p: float
    n_items: int

    def to_dict(self) -> dict[str, object]:
        """Return the fields as a mapping for strict JSON."""
        return {
            "family": self.family,
            "metric": self.metric,
            **self.comparison.to_dict(),
            "adjusted_p": self.adjusted_p,
            "n_items": self.n_items,
        }


def compare_models(
    first: "pd.DataFrame",
    second: "pd.DataFrame",
    *,
    metrics: Sequence[str] = COMPARED,
    n_resamples: int = 2000,
    level: float = 0.95,
    seed: int = 0,
) -> tuple[Difference, ...]:
    """Compare two models item by item, under the same resamples.

    Args:
        first: A row an item of one model.
        second: Of the other; items are matched by their id, and others left out.
        metrics: Which metrics; one that is defined for no item of a family, or for too few for an
            interval, is left out there.
        n_resamples: Of the pigeonhole bootstrap.
        level: Of the intervals.
        seed: Of the random streams.

    Raises:
        InputError: The models share no item, or none on which they can be compared.
    """
    both = first.merge(second, on="id", suffixes=("", "_other"))
    if both.empty:
        raise InputError("the two results share no item; run both with the same preset and seed")
    found: list[tuple[str, str, PairedComparison, int]] = []
    failure = InputError(f"none of the metrics {list(metrics)} is defined for an item of both")
    for family, own in both.groupby("family", sort=False):
        units, cells = sampling_units(own), codes(own, ["template"])
        for metric in metrics:
            mine, theirs = (
                own[name].to_numpy(dtype=np.float64) for name in (metric, f"{metric}_other")
            )
            shared = ~(np.isnan(mine) | np.isnan(theirs))
            if not shared.any():
                continue
            try:
                compared = compare_paired(
                    mine, theirs, units, cells=cells, n_resamples=n_resamples, level=level,
                    unit=ESTIMATED[metric], seed=seed,
                )  # fmt: skip
            except InputError as error:  # items that vary in nothing have no interval
                failure = error
                continue
            found.append((str(family), metric, compared, int(shared.sum())))
    if not found:
        raise failure
    adjusted = holm(np.array([compared.test.p_value for _, _, compared, _ in found]))
    return tuple(
        Difference(
            family=family, metric=metric, comparison=compared, adjusted_p=float(p), n_items=n
        )
        for (family, metric, compared, n), p in zip(found, adjusted, strict=True)
    )
