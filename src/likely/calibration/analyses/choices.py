"""Which option a model thinks likelier, as a yes or no: a logistic regression. Unit: nats."""

import math
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
import pandas as pd
from jaxtyping import Float
from scipy.optimize import linprog

from likely.calibration.analyses.designs import (
    balanced_columns,
    option_differences,
    two_option_items,
)
from likely.calibration.analyses.units import CLIP, clipped_log_odds, number_codes
from likely.core.estimate import Estimate
from likely.errors import InputError, MissingExtraError
from likely.stats.intervals import student_estimate

_MARGIN = 1e-7
"""A margin of separation beyond the rounding of a linear program."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Choices:
    """What decides whether the first option is the likelier one for the model.

    Attributes:
        status: ``converged``; ``separated``: some terms foretell choices without fail, as for a
            model that always picks the higher, and coefficients have no finite value; or ``not
            converged``.
        slope: Of the ideal log-odds; None unless converged.
        position: What being mentioned first adds; None unless converged.
        strengths: By option; they sum to 0 among options that meet. Empty unless converged.
        explained: Share of the deviance explained; None unless converged.
        n_items: How many choices.
        n_ties: Items left out because both options are equally likely for the model.
        n_undefined: Items left out because a probability is not defined.
    """

    status: str
    slope: Estimate | None
    position: Estimate | None
    strengths: Mapping[str, Estimate]
    explained: float | None
    n_items: int
    n_ties: int
    n_undefined: int

    def table(self) -> pd.DataFrame:
        """Return one row a coefficient: ``term, value, low, high, status``."""
        found = {"slope": self.slope, "position": self.position, **self.strengths}
        return pd.DataFrame(
            [
                {
                    "term": name,
                    "value": math.nan if e is None else e.value,
                    "low": math.nan if e is None else e.low,
                    "high": math.nan if e is None else e.high,
                    "status": self.status,
                }
                for name, e in found.items()
            ],
            columns=["term", "value", "low", "high", "status"],
        )

    def to_dict(self) -> dict[str, object]:
        """Return the fields as plain values."""
        return {
            "status": self.status,
            "slope": None if self.slope is None else self.slope.to_dict(),
            "position": None if self.position is None else self.position.to_dict(),
            "strengths": {name: found.to_dict() for name, found in self.strengths.items()},
            "explained": self.explained,
            "n_items": self.n_items,
            "n_ties": self.n_ties,
            "n_undefined": self.n_undefined,
        }


def choice_regression(frame: pd.DataFrame, *, clip: float = CLIP, level: float = 0.95) -> Choices:
    """Fit which option the model thinks likelier; errors are clustered by number pair.

    Args:
        frame: One model's items of two options; columns as in
            `likely.calibration.analyses.designs.two_option_items`.
        clip: Ideal probabilities nearer to 0 or 1 count as this far from them.
        level: Coverage of the intervals.

    Raises:
        InputError: A column is missing; several models; fewer than 2 number pairs; a model that
            prefers neither option anywhere.
        MissingExtraError: statsmodels is not installed.
    """
    used, n_undefined = two_option_items(frame)
    pi1 = used["pi1"].to_numpy(dtype=float)
    chosen = used[pi1 != 0.5]
    n_ties = len(used) - len(chosen)
    clusters = number_codes(chosen)
    n_clusters = int(clusters.max(initial=-1)) + 1
    if n_clusters < 2:
        raise InputError(
            f"a regression of choices needs choices on 2 number pairs, got {len(chosen)} choices "
            f"on {n_clusters}, and {n_ties} items where both options are equally likely"
        )
    ideal, _ = clipped_log_odds(chosen["p1"].to_numpy(dtype=float), clip=clip)
    options, differences, groups = option_differences(chosen)
    columns, back = balanced_columns(differences, groups)
    design = np.column_stack([ideal, np.ones(len(chosen)), columns])
    picks_first = (chosen["pi1"].to_numpy(dtype=float) > 0.5).astype(np.float64)
    fit = _fit(picks_first, design, clusters)
    counts = {"n_items": len(chosen), "n_ties": n_ties, "n_undefined": n_undefined}
    if fit.status != "converged":
        return Choices(
            status=fit.status, slope=None, position=None, strengths=MappingProxyType({}),
            explained=None, **counts,
        )  # fmt: skip
    weights = np.zeros((len(options) + 2, design.shape[1]))
    weights[0, 0] = weights[1, 1] = 1.0
    weights[2:, 2:] = back
    found = [
        student_estimate(
            float(row @ fit.coefficients),
            math.sqrt(max(0.0, float(row @ fit.covariance @ row))),
            df=n_clusters - 1,
            level=level,
            unit="nats",
            method="logistic-cluster",
            diagnostics={"n_clusters": n_clusters},
        )
        for row in weights
    ]
    return Choices(
        status=fit.status,
        slope=found[0],
        position=found[1],
        strengths=MappingProxyType(dict(zip(options, found[2:], strict=True))),
        explained=fit.explained,
        **counts,
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Fit:
    status: str
    coefficients: Float[np.ndarray, "P"]
    covariance: Float[np.ndarray, "P P"]
    explained: float


def _fit(
    response: Float[np.ndarray, " N"], design: Float[np.ndarray, "N P"], clusters: np.ndarray
) -> _Fit:
    try:
        import statsmodels.api as sm
    except ModuleNotFoundError as error:
        raise MissingExtraError(
            "a regression of choices needs statsmodels; run: pip install 'likely[stats]'"
        ) from error
    nothing = _Fit(
        status="separated", coefficients=np.zeros(0), covariance=np.zeros((0, 0)), explained=0.0
    )
    if _is_separated(response, design):
        return nothing
    model = sm.GLM(response, design, family=sm.families.Binomial())
    with warnings.catch_warnings():
        # What could be warned of is looked for above, and below surfaces in the status.
        warnings.simplefilter("ignore")
        fit = model.fit(cov_type="cluster", cov_kwds={"groups": clusters}, use_t=True)
    covariance = np.asarray(fit.cov_params())
    is_done = bool(fit.converged) and bool(np.isfinite(covariance).all())
    return _Fit(
        status="converged" if is_done else "not converged",
        coefficients=np.asarray(fit.params),
        covariance=covariance,
        explained=1.0 - float(fit.deviance) / float(fit.null_deviance),
    )


def _is_separated(response: Float[np.ndarray, " N"], design: Float[np.ndarray, "N P"]) -> bool:
    """Return whether some line is never on the wrong side of a choice and not always on the edge.

    Then the likelihood grows without end along it, and the coefficients have no finite value.
    """
    signed = np.unique((2.0 * response - 1.0)[:, None] * design, axis=0)
    size = np.abs(signed).max(axis=0)
    signed = signed[:, size > 0.0] / size[size > 0.0]
    found = linprog(
        -signed.sum(axis=0), A_ub=-signed, b_ub=np.zeros(len(signed)), bounds=(-1.0, 1.0)
    )
    return bool(-found.fun > _MARGIN * len(signed))
