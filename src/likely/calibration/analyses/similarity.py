"""Do models err alike? Correlations of their errors over shared items. Unit: none."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import pandas as pd
from jaxtyping import Float
from scipy.cluster.hierarchy import leaves_list, linkage

from likely.calibration.analyses.units import UNIT_COLUMNS, sampling_units
from likely.core.estimate import Estimate
from likely.errors import InputError
from likely.stats.pigeonhole import pigeonhole_correlation


@dataclass(frozen=True, slots=True, kw_only=True)
class Similarity:
    """How alike the errors ``pi1 - p1`` of models are.

    Attributes:
        models: In an order that puts like ones side by side: the leaves of average-linkage
            clustering at distance ``1 - r``.
        correlations: By pair of models, in that order.
        n_items: Items that every model answered.
        n_left_out: Items that some model did not.
    """

    models: tuple[str, ...]
    correlations: Mapping[tuple[str, str], Estimate]
    n_items: int
    n_left_out: int

    def matrix(self) -> pd.DataFrame:
        """Return the correlations as a square table with ones on the diagonal."""
        square = pd.DataFrame(np.eye(len(self.models)), index=self.models, columns=self.models)
        for (a, b), found in self.correlations.items():
            square.loc[a, b] = square.loc[b, a] = found.value
        return square

    def table(self) -> pd.DataFrame:
        """Return one row a pair: ``first, second, value, low, high``."""
        return pd.DataFrame(
            [
                {"first": a, "second": b, "value": e.value, "low": e.low, "high": e.high}
                for (a, b), e in self.correlations.items()
            ],
            columns=["first", "second", "value", "low", "high"],
        )

    def to_dict(self) -> dict[str, object]:
        """Return the fields as plain values."""
        return {
            "models": list(self.models),
            "correlations": [
                {"first": a, "second": b, **found.to_dict()}
                for (a, b), found in self.correlations.items()
            ],
            "n_items": self.n_items,
            "n_left_out": self.n_left_out,
        }


def model_similarity(
    frame: pd.DataFrame, *, n_resamples: int = 2000, level: float = 0.95, seed: int = 0
) -> Similarity:
    """Correlate the errors of models over the items that all of them answered.

    Args:
        frame: Several models' items; columns ``model, id, family, template, option_set, scale,
            number_pair, p1, pi1``.
        n_resamples: Of the pigeonhole bootstrap.
        level: Coverage of the intervals.
        seed: Of the resamples.

    Raises:
        InputError: A column is missing, fewer than 2 models, an item twice for a model, no shared
            items, or a model whose error never varies.
    """
    errors, units = shared_errors(frame)
    models = list(errors.columns)
    n_all = frame["id"].nunique()
    factors = sampling_units(units)
    found = {}
    for a, b in combinations(models, 2):
        found[a, b] = pigeonhole_correlation(
            errors[a].to_numpy(), errors[b].to_numpy(), factors, n_resamples=n_resamples,
            level=level, seed=seed,
        )  # fmt: skip
    order = _leaves(np.array([1.0 - estimate.value for estimate in found.values()]))
    ranked = [models[i] for i in order]
    return Similarity(
        models=tuple(ranked),
        correlations={
            (a, b): found[(a, b) if (a, b) in found else (b, a)] for a, b in combinations(ranked, 2)
        },
        n_items=len(errors),
        n_left_out=n_all - len(errors),
    )


def shared_errors(frame: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return ``pi1 - p1`` with a row an item and a column a model, and the items' sampling units.

    Raises:
        InputError: As `model_similarity`.
    """
    needed = ["model", "id", *UNIT_COLUMNS, "p1", "pi1"]
    missing = [name for name in needed if name not in frame.columns]
    if missing:
        raise InputError(f"the table needs the columns {needed}, it lacks {missing}")
    if frame.duplicated(["model", "id"]).any():
        twice = frame.loc[frame.duplicated(["model", "id"]), ["model", "id"]].iloc[0].tolist()
        raise InputError(f"each model answers an item once, got {twice!r} twice")
    named = frame.assign(error=frame["pi1"] - frame["p1"])
    wide = named.pivot(index="id", columns="model", values="error")
    shared = wide.dropna()
    if wide.shape[1] < 2 or len(shared) < 2:
        raise InputError(
            f"similarity needs 2 models that answer the same items, got {list(wide.columns)!r} "
            f"with {len(shared)} items in common"
        )
    units = frame.drop_duplicates("id").set_index("id").loc[shared.index, list(UNIT_COLUMNS)]
    return shared, units.reset_index()


def _leaves(distances: Float[np.ndarray, " P"]) -> list[int]:
    if len(distances) == 1:
        return [0, 1]
    tree = linkage(np.maximum(distances, 0.0), method="average", optimal_ordering=True)
    return [int(leaf) for leaf in leaves_list(tree)]
