"""Faithfulness averaged over several cases, with intervals for the drawing of cases. Unit: nats."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float

from likely.attribution.faithfulness.record import Faithfulness
from likely.core.estimate import Cost, Estimate
from likely.core.stored import Stored
from likely.errors import InputError
from likely.stats.bootstrap import cluster_bootstrap

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True, kw_only=True)
class Mean:
    """The mean of one number over cases.

    Attributes:
        estimate: With an interval for the drawing of cases; None where fewer than 2 define it.
        n_cases: Cases that it is the mean of.
        n_left_out: Cases where the number is not defined or not finite.
    """

    estimate: Estimate | None
    n_cases: int
    n_left_out: int


@dataclass(frozen=True, slots=True, kw_only=True)
class MeanFaithfulness(Stored):
    """How well one method's scores tell what responses need, over cases.

    Attributes:
        label: Whose scores.
        removal: How tokens were taken out; a mean under one removal is no mean under another.
        reference: Label of the scores that ranks were compared with, or None.
        n_cases: How many there are.
        means: Each number of `Faithfulness.numbers` by name.
        share: Shape ``(g,)``: the grid of the mean curves, from 0 to 1.
        deletion: Mean ratio of the response's probability at each point of the grid.
        insertion: Likewise.
        flags: Each flag of the cases with how many have it.
        cost: Of all cases.
    """

    label: str
    removal: str
    reference: str | None
    n_cases: int
    means: Mapping[str, Mean]
    share: Float[np.ndarray, "g"]
    deletion: tuple[Mean, ...]
    insertion: tuple[Mean, ...]
    flags: Mapping[str, int]
    cost: Cost

    def to_frame(self) -> "pd.DataFrame":
        """Return a row a number."""
        import pandas as pd

        return pd.DataFrame(
            [
                {
                    "label": self.label,
                    "removal": self.removal,
                    "number": name,
                    "mean": None if one.estimate is None else one.estimate.value,
                    "mean_low": None if one.estimate is None else one.estimate.low,
                    "mean_high": None if one.estimate is None else one.estimate.high,
                    "n_cases": one.n_cases,
                    "n_left_out": one.n_left_out,
                }
                for name, one in self.means.items()
            ]
        )

    def summary(self) -> str:
        """Return a line a number for a person, the removal first."""
        lines = [f"{self.label}, tokens taken out by {self.removal}: {self.n_cases} cases"]
        for name, one in self.means.items():
            shown = "not defined" if one.estimate is None else one.estimate.summary()
            left = f", {one.n_left_out} cases left out" if one.n_left_out else ""
            lines.append(f"  {name}: {shown}{left}")
        lines += [f"  {name}: {n} cases" for name, n in self.flags.items()]
        return "\n".join(lines)

    def counts(self) -> dict[str, tuple[int, int]]:
        """Return by path of a field how many entries it has, and how many it must have."""
        return {
            "deletion": (len(self.deletion), len(self.share)),
            "insertion": (len(self.insertion), len(self.share)),
        }


def average_faithfulness(
    cases: Sequence[Faithfulness],
    *,
    n_grid: int = 11,
    n_resamples: int = 2000,
    level: float = 0.95,
    seed: int = 0,
) -> MeanFaithfulness:
    """Return the mean of every number over cases, one method under one removal.

    Args:
        cases: At least 2, each of another prompt or response. What draws within a case are
            uncertain by is part of how cases differ.
        n_grid: Points of the mean curves; those of a case are joined by straight lines.
        n_resamples: Of cases, for the intervals.
        level: Coverage.
        seed: Of the resamples.

    Raises:
        InputError: Fewer than 2 cases or grid points; methods, removals or references that differ.
    """
    if len(cases) < 2 or n_grid < 2:
        raise InputError(
            f"a mean takes at least 2 cases and 2 grid points, got {len(cases)!r} and {n_grid!r}"
        )
    kinds = {(case.label, case.removal, case.reference) for case in cases}
    if len(kinds) > 1:
        raise InputError(
            "a mean is of one method under one removal with one reference, got "
            f"{sorted(kinds, key=str)!r}"
        )

    def mean(values: Sequence[float | None], unit: str = "none") -> Mean:
        kept = np.array([v for v in values if v is not None and np.isfinite(v)])
        found = None
        if len(kept) >= 2:
            found = cluster_bootstrap(
                kept, np.arange(len(kept)), n_resamples=n_resamples, level=level, seed=seed,
                unit="nats" if unit == "nats" else "none",
            )  # fmt: skip
        return Mean(estimate=found, n_cases=len(kept), n_left_out=len(values) - len(kept))

    numbers = [case.numbers() for case in cases]
    names = list(dict.fromkeys(name for each in numbers for name in each))
    means = {}
    for name in names:
        found = [each.get(name) for each in numbers]
        unit = next((one.unit for one in found if one is not None), "none")
        means[name] = mean([None if one is None else one.value for one in found], unit)
    share = np.linspace(0.0, 1.0, n_grid)
    deletion, insertion = (
        np.array([np.interp(share, curve.share, curve.ratios) for curve in curves])
        for curves in ([case.deletion for case in cases], [case.insertion for case in cases])
    )
    flags = sorted({flag for case in cases for flag in case.flags})
    [(label, removal, reference)] = kinds
    return MeanFaithfulness(
        label=label,
        removal=removal,
        reference=reference,
        n_cases=len(cases),
        means=means,
        share=share,
        deletion=tuple(mean(column.tolist()) for column in deletion.T),
        insertion=tuple(mean(column.tolist()) for column in insertion.T),
        flags={flag: sum(flag in case.flags for case in cases) for flag in flags},
        cost=sum((case.cost for case in cases), Cost()),
    )
