"""Would other wordings tell the same story? Order of models by template, and leaving one out.

Unit: that of the metric.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
import pandas as pd
from jaxtyping import Float

from likely.core.estimate import Estimate, Unit
from likely.errors import InputError
from likely.stats.correlations import rank_correlation
from likely.stats.intervals import student_estimate


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut:
    """A model's mean, and the same without each template in turn.

    Attributes:
        mean: Over templates; jackknife interval with Student's T - 1 degrees.
        without: By template, the mean of the others.
    """

    mean: Estimate
    without: Mapping[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class TemplateSensitivity:
    """How much depends on the wording.

    Attributes:
        metric: What was averaged.
        means: A row a model, a column a template.
        rank_correlation: Mean Spearman correlation of the models' order over pairs of templates;
            jackknife interval over templates, cut to [-1, 1]. None with fewer than 3 models, or
            fewer than 3 templates with an order.
        by_pair: Spearman correlation of each pair of templates; NaN where an order has only ties.
        without: Spearman correlation between the order without a template and that of all.
        models: By model, its mean and the means without each template.
        n_undefined: Items on which the metric is not defined.
    """

    metric: str
    means: pd.DataFrame
    rank_correlation: Estimate | None
    by_pair: Mapping[tuple[str, str], float]
    without: Mapping[str, float]
    models: Mapping[str, LeftOut]
    n_undefined: int

    def table(self) -> pd.DataFrame:
        """Return one row a model: ``model, value, low, high, least, most`` without a template."""
        return pd.DataFrame(
            [
                {
                    "model": model, "value": found.mean.value, "low": found.mean.low,
                    "high": found.mean.high, "least": min(found.without.values()),
                    "most": max(found.without.values()),
                }
                for model, found in self.models.items()
            ],
            columns=["model", "value", "low", "high", "least", "most"],
        )  # fmt: skip

    def to_dict(self) -> dict[str, object]:
        """Return the fields as plain values, what is not defined as None."""
        return {
            "metric": self.metric,
            "means": {
                model: dict(row) for model, row in self.means.to_dict(orient="index").items()
            },
            "rank_correlation": (
                None if self.rank_correlation is None else self.rank_correlation.to_dict()
            ),
            "by_pair": [
                {"first": a, "second": b, "value": None if math.isnan(r) else r}
                for (a, b), r in self.by_pair.items()
            ],
            "without": {name: None if math.isnan(r) else r for name, r in self.without.items()},
            "models": {
                model: {"mean": found.mean.to_dict(), "without": dict(found.without)}
                for model, found in self.models.items()
            },
            "n_undefined": self.n_undefined,
        }


def template_sensitivity(
    frame: pd.DataFrame, *, metric: str = "wd01", level: float = 0.95, unit: Unit = "none"
) -> TemplateSensitivity:
    """Compare templates by how they order models, and models by leaving templates out.

    Args:
        frame: One family's items of one or more models; columns ``model, family, template`` and the
            metric.
        metric: A column; an item on which it is NaN is left out and counted.
        level: Coverage of the intervals.
        unit: Of the metric.

    Raises:
        InputError: A column is missing; several families; fewer than 2 templates; a model without
            a defined item on some template.
    """
    needed = ["model", "family", "template", metric]
    missing = [name for name in needed if name not in frame.columns]
    if missing or frame["family"].nunique() != 1:
        raise InputError(
            f"the table needs one family and the columns {needed}, it lacks {missing}"
            if missing
            else f"templates compare within one family, got {sorted(frame['family'].unique())!r}"
        )
    means = frame.pivot_table(index="model", columns="template", values=metric, aggfunc="mean")
    grid = means.to_numpy(dtype=float)
    if means.shape[1] < 2 or np.isnan(grid).any():
        raise InputError(
            f"every model needs {metric!r} on the same 2 or more templates, got "
            f"{list(means.columns)!r} with {int(np.isnan(grid).sum())} empty cells"
        )
    templates = [str(name) for name in means.columns]
    overall = grid.mean(axis=1)
    left_out = {name: np.delete(grid, t, axis=1).mean(axis=1) for t, name in enumerate(templates)}
    by_pair = {
        (templates[a], templates[b]): _spearman(grid[:, a], grid[:, b])
        for a, b in combinations(range(len(templates)), 2)
    }
    return TemplateSensitivity(
        metric=metric,
        means=means,
        rank_correlation=_mean_rank_correlation(by_pair, templates, level),
        by_pair=by_pair,
        without={name: _spearman(mean, overall) for name, mean in left_out.items()},
        models={
            str(model): _left_out(
                overall[m], {name: float(mean[m]) for name, mean in left_out.items()}, level, unit
            )
            for m, model in enumerate(means.index)
        },
        n_undefined=int(frame[metric].isna().sum()),
    )


def _left_out(value: float, without: Mapping[str, float], level: float, unit: Unit) -> LeftOut:
    return LeftOut(
        mean=_jackknife(float(value), list(without.values()), level, unit), without=without
    )


def _jackknife(value: float, without: list[float], level: float, unit: Unit) -> Estimate:
    n = len(without)
    spread = np.array(without) - np.mean(without)
    error = math.sqrt((n - 1) / n * float(np.sum(spread**2)))
    return student_estimate(
        value, error, df=n - 1, level=level, unit=unit, method="jackknife-template",
        diagnostics={"n_templates": n},
    )  # fmt: skip


def _mean_rank_correlation(
    by_pair: Mapping[tuple[str, str], float], templates: list[str], level: float
) -> Estimate | None:
    kept = {pair: r for pair, r in by_pair.items() if not math.isnan(r)}
    without = [[r for pair, r in kept.items() if name not in pair] for name in templates]
    if len(templates) < 3 or not kept or not all(without):
        return None
    value = float(np.mean(list(kept.values())))
    found = _jackknife(value, [float(np.mean(rest)) for rest in without], level, "none")
    return replace(found, low=max(found.low, -1.0), high=min(found.high, 1.0))


def _spearman(a: Float[np.ndarray, " M"], b: Float[np.ndarray, " M"]) -> float:
    found = rank_correlation(a, b) if len(a) > 2 else None
    return math.nan if found is None else found
