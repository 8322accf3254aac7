"""What moves the log-odds of a model: the numbers, or the order, the options and the wording?

An analysis of variance of type II: what a term explains beyond all terms that do not contain it.
Unit: shares of variance; coefficients in nats of log-odds.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from jaxtyping import Float, Int
from scipy.linalg import qr
from scipy.stats import f as f_law

from likely.calibration.analyses.designs import two_option_items
from likely.calibration.analyses.units import CLIP, clipped_log_odds, codes, number_codes
from likely.core.estimate import Estimate
from likely.core.streams import generator
from likely.errors import InputError

TERMS: tuple[tuple[str, ...], ...] = (
    ("logit p",), ("first",), ("second",), ("first", "second"), ("scale",), ("template",),
    ("scale", "template"),
)  # fmt: skip
"""Terms by the factors in them; ``first`` and ``second`` are the options in order of mention."""

_COLUMNS = {"first": "label1", "second": "label2", "scale": "scale", "template": "template"}

_RANK = 1e-9
"""A column this short, once those chosen before are taken out of it, follows from them."""

_ROUNDING = 1e-11
"""Sums of squares below this share of the total are what rounding leaves, and count as 0."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Term:
    """What one term explains.

    Attributes:
        name: Factors joined by a colon.
        df: Degrees of freedom; 0 where the items cannot tell the term from the others.
        sum_of_squares: Of type II.
        share: Of the total sum of squares. Shares need not sum to 1 in an unbalanced design.
        partial: Partial eta squared, ``SS / (SS + residual SS)``, with a bootstrap interval over
            number pairs, everything else being fixed; None where both are 0 or ``df`` is.
        f_value: Ratio to the residual mean square; None where that is 0.
        p_value: Of the F law, which takes items for independent, as they are not: a rough guide.
    """

    name: str
    df: int
    sum_of_squares: float
    share: float
    partial: Estimate | None
    f_value: float | None
    p_value: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class VarianceTable:
    """An analysis of variance of the log-odds of the first option.

    Attributes:
        terms: In the order of `TERMS`.
        residual: Sum of squares that no term explains.
        residual_df: Its degrees of freedom.
        total: Sum of squares about the mean.
        n_items: How many.
        n_clipped: Of them with a probability moved off 0 or 1.
        n_undefined: Items left out because a probability is not defined.
    """

    terms: tuple[Term, ...]
    residual: float
    residual_df: int
    total: float
    n_items: int
    n_clipped: int
    n_undefined: int

    def table(self) -> pd.DataFrame:
        """Return one row a term, and one for the residual."""
        rows = [
            {
                "term": term.name, "df": term.df, "sum_of_squares": term.sum_of_squares,
                "share": term.share,
                "partial": np.nan if term.partial is None else term.partial.value,
                "low": np.nan if term.partial is None else term.partial.low,
                "high": np.nan if term.partial is None else term.partial.high,
                "f_value": term.f_value, "p_value": term.p_value,
            }
            for term in self.terms
        ]  # fmt: skip
        rows.append(
            {
                "term": "residual", "df": self.residual_df, "sum_of_squares": self.residual,
                "share": self.residual / self.total,
            }
        )  # fmt: skip
        return pd.DataFrame(rows)

    def to_dict(self) -> dict[str, object]:
        """Return the fields as plain values."""
        return {
            "terms": [
                {
                    "name": term.name, "df": term.df, "sum_of_squares": term.sum_of_squares,
                    "share": term.share,
                    "partial": None if term.partial is None else term.partial.to_dict(),
                    "f_value": term.f_value, "p_value": term.p_value,
                }
                for term in self.terms
            ],
            "residual": self.residual,
            "residual_df": self.residual_df,
            "total": self.total,
            "n_items": self.n_items,
            "n_clipped": self.n_clipped,
            "n_undefined": self.n_undefined,
        }  # fmt: skip


def variance_table(
    frame: pd.DataFrame,
    *,
    clip: float = CLIP,
    n_resamples: int = 200,
    level: float = 0.95,
    seed: int = 0,
) -> VarianceTable:
    """Split the variance of the log-odds of the first option among `TERMS`.

    In a balanced design every term is orthogonal to those that do not contain it, and type II is
    what each adds in whatever order. A calibrated model has nothing outside ``logit p``.

    Args:
        frame: One model's items of two options; columns as in
            `likely.calibration.analyses.identities.option_strengths`.
        clip: Probabilities nearer to 0 or 1 count as this far from them, and are counted.
        n_resamples: Of number pairs within their scale, for the intervals of partial eta squared.
        level: Their coverage.
        seed: Of the resamples.

    Raises:
        InputError: A column is missing; several models; fewer than 2 number pairs; fewer items
            than the terms have degrees of freedom; log-odds that are all equal.
    """
    used, n_undefined = two_option_items(frame)
    response, n_clipped = clipped_log_odds(used["pi1"].to_numpy(dtype=float), clip=clip)
    grams = _Grams.of(used, response, clip)
    if grams.n_clusters < 2 or n_resamples < 100:
        raise InputError(
            f"an analysis of variance needs 2 number pairs and 100 resamples, got "
            f"{grams.n_clusters} and {n_resamples!r}"
        )
    whole = np.ones((1, grams.n_clusters))
    full = grams.basis(TERMS)
    residual_df = len(used) - len(full)
    total = float(grams.rests(whole, grams.basis(()))[0])
    if residual_df < 1 or not total > 0.0:
        raise InputError(
            f"an analysis of variance needs more items than its {len(full)} degrees of freedom and "
            f"log-odds that differ, got {len(used)} items with a sum of squares of {total!r}"
        )
    weights = grams.draw(n_resamples, seed)
    rests: dict[tuple[tuple[str, ...], ...], tuple[float, Float[np.ndarray, " S"], int]] = {}

    def fit(terms: tuple[tuple[str, ...], ...]) -> tuple[float, Float[np.ndarray, " S"], int]:
        if terms not in rests:
            basis = grams.basis(terms)
            value = float(grams.rests(whole, basis)[0])
            rests[terms] = (value, grams.rests(weights, basis), len(basis))
        return rests[terms]

    left, drawn_left, _ = fit(TERMS)
    left = 0.0 if left < _ROUNDING * total else left
    terms = []
    for term in TERMS:
        apart = tuple(other for other in TERMS if not set(term) <= set(other))
        less, drawn_less, rank_less = fit(apart)
        more, drawn_more, rank_more = fit((*apart, term))
        gained = less - more
        gained = 0.0 if gained < _ROUNDING * total else gained
        df = rank_more - rank_less
        mean_square = left / residual_df
        f_value = gained / df / mean_square if df and mean_square > 0.0 else None
        terms.append(
            Term(
                name=":".join(term),
                df=df,
                sum_of_squares=gained,
                share=gained / total,
                partial=_partial(
                    gained, left, drawn_less - drawn_more, drawn_left, total=total, level=level,
                    n_clusters=grams.n_clusters,
                ) if df else None,
                f_value=f_value,
                p_value=None if f_value is None else float(f_law.sf(f_value, df, residual_df)),
            )
        )  # fmt: skip
    return VarianceTable(
        terms=tuple(terms), residual=left, residual_df=residual_df, total=total,
        n_items=len(used), n_clipped=n_clipped, n_undefined=n_undefined,
    )  # fmt: skip


def _partial(
    gained: float,
    left: float,
    drawn_gained: Float[np.ndarray, " S"],
    drawn_left: Float[np.ndarray, " S"],
    *,
    total: float,
    level: float,
    n_clusters: int,
) -> Estimate | None:
    """Return partial eta squared with the percentiles of its resamples."""
    if gained + left == 0.0:
        return None
    tiny = _ROUNDING * total
    above = np.where(drawn_gained < tiny, 0.0, drawn_gained)
    below = above + np.where(drawn_left < tiny, 0.0, drawn_left)
    kept = np.isfinite(below) & (below > 0.0)
    value = gained / (gained + left)
    tail = (1.0 - level) / 2.0
    low, high = value, value
    if kept.any():
        low, high = np.quantile(above[kept] / below[kept], (tail, 1.0 - tail))
    return Estimate(
        value=value, low=min(float(low), value), high=max(float(high), value), level=level,
        unit="none", method="cluster-bootstrap-percentile",
        diagnostics={"n_clusters": n_clusters, "n_resamples": int(kept.sum())},
    )  # fmt: skip


class _Grams:
    """Sums of products of all columns and of the response, for each number pair."""

    def __init__(
        self,
        products: Float[np.ndarray, "G Q Q"],
        columns: dict[tuple[str, ...], list[int]],
        strata: Int[np.ndarray, " G"],
    ) -> None:
        self.products, self.columns, self.strata = products, columns, strata
        self.n_clusters = len(products)
        self.whole = products.sum(axis=0)

    @classmethod
    def of(cls, used: pd.DataFrame, response: Float[np.ndarray, " N"], clip: float) -> "_Grams":
        ideal, _ = clipped_log_odds(used["p1"].to_numpy(dtype=float), clip=clip)
        kinds = {
            term: codes(used, [_COLUMNS[name] for name in term])
            for term in TERMS
            if term != ("logit p",)
        }
        clusters = number_codes(used)
        scale = float(np.sqrt(np.mean(ideal**2))) or 1.0
        columns: dict[tuple[str, ...], list[int]] = {("logit p",): [1]}
        n_columns = 2
        for term, kind in kinds.items():
            width = int(kind.max()) + 1
            columns[term] = list(range(n_columns, n_columns + width))
            n_columns += width
        n_clusters = int(clusters.max()) + 1
        products = np.empty((n_clusters, n_columns + 1, n_columns + 1))
        centred = response - response.mean()
        for g in range(n_clusters):
            rows = np.flatnonzero(clusters == g)
            block = np.zeros((len(rows), n_columns + 1))
            block[:, 0], block[:, 1], block[:, -1] = 1.0, ideal[rows] / scale, centred[rows]
            for term, kind in kinds.items():
                block[np.arange(len(rows)), columns[term][0] + kind[rows]] = 1.0
            products[g] = block.T @ block
        strata = np.zeros(n_clusters, dtype=np.int64)
        strata[clusters] = kinds["scale",]
        return cls(products, columns, strata)

    def basis(self, terms: Sequence[tuple[str, ...]]) -> Int[np.ndarray, " R"]:
        """Return columns that span the constant and the terms, and none too many."""
        asked = np.array([0, *(column for term in terms for column in self.columns[term])])
        length = np.sqrt(np.diag(self.whole)[asked])
        asked, length = asked[length > 0.0], length[length > 0.0]
        square = self.whole[np.ix_(asked, asked)] / np.outer(length, length)
        triangle, order = qr(square, mode="r", pivoting=True)
        size = np.abs(np.diag(triangle))
        return np.sort(asked[order[: int((size > _RANK * size[0]).sum())]])

    def rests(
        self, weights: Float[np.ndarray, "S G"], basis: Int[np.ndarray, " R"]
    ) -> Float[np.ndarray, " S"]:
        """Return what a basis leaves under weights of number pairs; NaN where it is singular."""
        kept = np.append(basis, self.whole.shape[0] - 1)
        parts = self.products[:, kept[:, None], kept].reshape(self.n_clusters, -1)
        found = np.empty(len(weights))
        for s, row in enumerate(weights):
            gram = (row @ parts).reshape(len(kept), -1)
            try:
                beta = np.linalg.solve(gram[:-1, :-1], gram[:-1, -1])
            except np.linalg.LinAlgError:
                found[s] = np.nan
                continue
            found[s] = gram[-1, -1] - gram[:-1, -1] @ beta
        return found

    def draw(self, n_resamples: int, seed: int) -> Float[np.ndarray, "S G"]:
        """Return how often each number pair comes, drawn within its scale."""
        rng = generator(seed, "calibration", "variance")
        weights = np.empty((n_resamples, self.n_clusters))
        for stratum in np.unique(self.strata):
            at = np.flatnonzero(self.strata == stratum)
            weights[:, at] = rng.multinomial(len(at), np.full(len(at), 1 / len(at)), n_resamples)
        return weights
