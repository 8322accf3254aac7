"""Least squares whose errors let the items of a cluster move together. Unit: the response's."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from likely.core.estimate import Estimate, Unit
from likely.errors import InputError, ShapeError
from likely.stats.crossings import Codes
from likely.stats.few_clusters import few_note
from likely.stats.intervals import student_estimate

_RANK = 1e-10
"""A direction of the design this much weaker than the strongest one is taken for none."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ClusterFit:
    """A fitted line and the covariance of its coefficients.

    Attributes:
        names: Of the coefficients.
        coefficients: Shape ``(P,)``.
        covariance: Shape ``(P, P)``, of coefficients over drawings of clusters.
        n_clusters: How many.
        n_items: How many.
        r_squared: Share of the variance of the response that the line explains.
        residual_sd: Standard deviation of what it does not.
    """

    names: tuple[str, ...]
    coefficients: Float[np.ndarray, "P"]
    covariance: Float[np.ndarray, "P P"]
    n_clusters: int
    n_items: int
    r_squared: float
    residual_sd: float

    def combination(
        self, weights: Float[np.ndarray, " P"], *, level: float = 0.95, unit: Unit = "none"
    ) -> Estimate:
        """Return a weighted sum of coefficients, with Student's interval of G - 1 degrees.

        Args:
            weights: One a coefficient.
            level: Coverage, in (0, 1).
            unit: Of the sum.
        """
        value = float(weights @ self.coefficients)
        error = math.sqrt(max(0.0, float(weights @ self.covariance @ weights)))
        return student_estimate(
            value, error, df=self.n_clusters - 1, level=level, unit=unit, method="ols-cluster",
            diagnostics={
                "n_clusters": self.n_clusters, "n_items": self.n_items, "error": error,
                **few_note(self.n_clusters),
            },
        )  # fmt: skip

    def coefficient(self, name: str, *, level: float = 0.95, unit: Unit = "none") -> Estimate:
        """Return one coefficient.

        Args:
            name: One of `names`.
            level: Coverage, in (0, 1).
            unit: Of the coefficient.
        """
        weights = np.array([float(name == other) for other in self.names])
        return self.combination(weights, level=level, unit=unit)


def fit_cluster_ols(
    response: Float[np.ndarray, " N"],
    design: Float[np.ndarray, "N P"],
    clusters: Codes,
    *,
    names: Sequence[str],
) -> ClusterFit:
    """Fit a line by least squares, errors robust to clusters.

    Args:
        response: One number an item, finite.
        design: A column a coefficient; put ones in for a constant.
        clusters: The cluster of each item.
        names: Of the columns.

    Returns:
        The fit. Its covariance has the usual factor ``G / (G - 1) * (N - 1) / (N - P)``.

    Raises:
        InputError: Fewer than 2 clusters, no more items than columns, or columns of which one
            follows from the others: no coefficient of it is then defined.
        ShapeError: Lengths differ.
    """
    n_items, n_columns = design.shape
    if not n_items == len(response) == len(clusters) or len(names) != n_columns:
        raise ShapeError(
            f"a fit needs a response and a cluster for each of {n_items} rows and a name for each "
            f"of {n_columns} columns, got {len(response)}, {len(clusters)} and {len(names)}"
        )
    _, members = np.unique(np.asarray(clusters), return_inverse=True)
    n_clusters = int(members.max(initial=-1)) + 1
    if n_clusters < 2 or n_items <= n_columns:
        raise InputError(
            f"a fit of {n_columns} coefficients needs more items and at least 2 clusters, got "
            f"{n_items} items in {n_clusters} clusters"
        )
    scale = np.sqrt((design**2).mean(axis=0))
    scale[scale == 0.0] = 1.0
    scaled = design / scale
    gram = scaled.T @ scaled / n_items
    strengths = np.linalg.eigvalsh(gram)
    if strengths[0] < _RANK * strengths[-1]:
        raise InputError(
            f"the coefficients {list(names)!r} are not all defined by these items: some column "
            "follows from the others; leave a term out, or bring items that tell them apart"
        )
    bread = np.linalg.inv(gram) / n_items
    beta = bread @ (scaled.T @ response)
    beta += bread @ (scaled.T @ (response - scaled @ beta))
    left = response - scaled @ beta
    scores = np.stack(
        [np.bincount(members, column * left, n_clusters) for column in scaled.T], axis=1
    )
    factor = n_clusters / (n_clusters - 1) * (n_items - 1) / (n_items - n_columns)
    covariance = factor * bread @ (scores.T @ scores) @ bread
    total = float(np.sum((response - response.mean()) ** 2))
    rest = float(left @ left)
    return ClusterFit(
        names=tuple(names),
        coefficients=beta / scale,
        covariance=covariance / np.outer(scale, scale),
        n_clusters=n_clusters,
        n_items=n_items,
        r_squared=1.0 - rest / total if total > 0.0 else 1.0,
        residual_sd=math.sqrt(rest / (n_items - n_columns)),
    )
