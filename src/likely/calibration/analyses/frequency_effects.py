"""Does the frequency of numbers in text go with calibration, once the numbers themselves do not?

A gap in frequency is nearly a function of the ideal law: frequency falls about like 1/n, so the gap
is about ``|log10(n1 / n2)|``. A model that picks the higher number then has a rank correlation of
-1 between gap and distance, and one that always says a half has +1, with no frequency at work.
Every raw correlation is therefore given beside those of such policies on the same items, and beside
three that hold the ideal law fixed. Unit: none.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

import numpy as np
import pandas as pd
from jaxtyping import Float, Int
from scipy.special import expit
from scipy.stats import rankdata

from likely.calibration.analyses.frequencies import Kind, NumberCounts, frequency_gaps
from likely.calibration.analyses.units import (
    check_frame,
    clipped_log_odds,
    codes,
    number_codes,
)
from likely.core.estimate import Estimate
from likely.core.streams import generator
from likely.errors import InputError
from likely.stats.cluster_regression import ClusterFit, fit_cluster_ols
from likely.stats.correlations import (
    Kind as Correlation,
)
from likely.stats.correlations import (
    cluster_correlation,
    percentile_estimate,
    rank_correlation,
)
from likely.stats.splines import natural_spline

Gap = Literal["gap", "signed_gap"]
Distance = Literal["wd01", "wd_paper"]

SPLINE_DF = 4
"""Columns of the curve in the likelier option's log-odds that a partial correlation removes."""

_COLUMNS = (
    "family", "template", "option_set", "option_pair", "scale", "number_pair", "n1", "n2", "p1",
    "pi1",
)  # fmt: skip

_DIGITS = 12
"""Numbers that agree to so many digits are equal: 10:20 and 17:34 have one ratio and one gap."""

_FEWEST = 4
"""Number pairs in matched sets, below which they say nothing."""

_FLAT = 1e-9
"""What a curve leaves of a variance, if this little, is nothing: the gap is a function of the law.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class FrequencyEffect:
    """How a gap in frequency goes with distance from the ideal, on one scale.

    Attributes:
        spearman: Raw rank correlation; percentile interval over number pairs. None where a side
            does not vary.
        pearson: Raw correlation, the same way.
        nulls: Rank correlation of policies on the same items: ``higher``, ``uniform``,
            ``higher_0.7``; ``higher_q``, which puts on the higher option what the model puts on
            it on average; and ``itself``, the model made blind to frequency: its log-odds as a
            level for each wording and ordered pair of options, and one slope in those of the
            ideal. None where a policy's distance does not vary.
        share_on_higher: That average.
        partial_pearson: Correlation of what a natural spline in the log-odds of the likelier
            option, and covariates, leave of both sides; the curve is fitted anew in each resample.
            None where it leaves nothing of the gap, or of most resamples.
        partial_spearman: Rank correlation of the same remainders, the curve as fitted to all.
        matched: Correlation within sets of number pairs of one ratio (10:20, 17:34): what is left
            once the mean of each set is taken out. None with fewer than 4 such pairs, or where
            the gaps of a set are all alike.
        n_matched: Sets of at least two pairs, and pairs in them; zeros without ``matched``.
        permuted_p: How often exchanges among number pairs of about equal ratio, of what a curve in
            the ideal law leaves of their gaps, give a rank correlation as far from the mean of all
            such; two-sided. None where the curve leaves nothing.
        n_items: How many, ties left out.
        n_undefined: Items left out because a number's frequency or the distance is not defined.
    """

    spearman: Estimate | None
    pearson: Estimate | None
    nulls: Mapping[str, float | None]
    share_on_higher: float
    partial_pearson: Estimate | None
    partial_spearman: Estimate | None
    matched: Estimate | None
    n_matched: tuple[int, int]
    permuted_p: float | None
    n_items: int
    n_undefined: int

    def to_dict(self) -> dict[str, object]:
        """Return the fields as plain values."""
        named = {
            "spearman": self.spearman, "pearson": self.pearson,
            "partial_pearson": self.partial_pearson, "partial_spearman": self.partial_spearman,
            "matched": self.matched,
        }  # fmt: skip
        return {
            **{name: None if e is None else e.to_dict() for name, e in named.items()},
            "nulls": dict(self.nulls),
            "share_on_higher": self.share_on_higher,
            "n_matched_sets": self.n_matched[0],
            "n_matched_pairs": self.n_matched[1],
            "permuted_p": self.permuted_p,
            "n_items": self.n_items,
            "n_undefined": self.n_undefined,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class FrequencyEffects:
    """The same for every scale, and where the frequencies are from.

    Attributes:
        source: Of the counts.
        kind: Of the counts; anything but ``exact`` is to be read with care.
        gap: Which gap.
        distance: Which distance from the ideal.
        by_scale: One effect a scale.
    """

    source: str
    kind: Kind
    gap: Gap
    distance: Distance
    by_scale: Mapping[str, FrequencyEffect]

    def table(self) -> pd.DataFrame:
        """Return one row a scale and statistic: ``scale, statistic, value, low, high``."""
        rows = []
        for scale, found in self.by_scale.items():
            estimates = {
                "spearman": found.spearman, "pearson": found.pearson,
                "partial_spearman": found.partial_spearman,
                "partial_pearson": found.partial_pearson, "matched": found.matched,
            }  # fmt: skip
            for name, e in estimates.items():
                ends = (math.nan,) * 3 if e is None else (e.value, e.low, e.high)
                rows.append((scale, name, *ends))
            bare = {f"null {name}": value for name, value in found.nulls.items()}
            for name, value in {**bare, "permuted_p": found.permuted_p}.items():
                rows.append((scale, name, math.nan if value is None else value, math.nan, math.nan))
        return pd.DataFrame(rows, columns=["scale", "statistic", "value", "low", "high"])

    def to_dict(self) -> dict[str, object]:
        """Return the fields as plain values."""
        return {
            "source": self.source,
            "kind": self.kind,
            "gap": self.gap,
            "distance": self.distance,
            "by_scale": {scale: found.to_dict() for scale, found in self.by_scale.items()},
        }


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Side:
    """The items of one scale on which everything is defined."""

    gap: Float[np.ndarray, "N"]
    distance: Float[np.ndarray, "N"]
    p_high: Float[np.ndarray, "N"]
    pairs: Int[np.ndarray, "N"]
    covariates: Float[np.ndarray, "N C"]

    @property
    def curve(self) -> Float[np.ndarray, "N B"]:
        """A constant, a natural spline in the log-odds of the likelier option, and covariates."""
        return _curve(self.p_high, self.covariates)


def frequency_effect(
    frame: pd.DataFrame,
    counts: NumberCounts,
    *,
    gap: Gap = "gap",
    distance: Distance = "wd01",
    covariates: pd.DataFrame | None = None,
    n_bins: int = 10,
    n_resamples: int = 1000,
    n_permutations: int = 2000,
    level: float = 0.95,
    seed: int = 0,
) -> FrequencyEffects:
    """Correlate the gap in frequency of an item's numbers with its distance from the ideal.

    Args:
        frame: One model's items of two options with numbers; columns ``family, template,
            option_set, scale, number_pair, n1, n2, p1, pi1`` and the distance. Ties are left out.
        counts: Of numbers.
        gap: ``gap``, without sign, or ``signed_gap``: higher number less lower.
        distance: A column.
        covariates: With the index of the frame, more columns for the partial correlations, such as
            those of `likely.calibration.analyses.digits`. An item without one is left out.
        n_bins: Of ratios, within which pairs are exchanged; fewer where there are few number pairs.
        n_resamples: Of number pairs.
        n_permutations: Exchanges.
        level: Coverage of the intervals.
        seed: Of the random streams.

    Raises:
        InputError: A column is missing; several models; nothing is defined; fewer than 3 number
            pairs on a scale.
    """
    check_frame(frame, (*_COLUMNS, distance))
    two = frame[frame["p1"].notna() & (frame["p1"] != 0.5) & frame["n1"].notna()]
    more = pd.DataFrame(index=two.index) if covariates is None else covariates.loc[two.index]
    values = frequency_gaps(two, counts)[gap]
    ok = values.notna() & two[distance].notna() & more.notna().all(axis=1)
    if not ok.any():
        raise InputError(
            f"no item has both a gap in frequency and {distance!r}, of {len(two)} with two numbers "
            f"that differ; the counts know {len(counts.counts)} numbers"
        )
    by_scale = {}
    for scale in sorted(two["scale"].unique()):
        here = two["scale"] == scale
        used = two[here & ok]
        pairs = number_codes(used)
        if len(np.unique(pairs)) < 3:
            raise InputError(
                f"scale {scale!r} has {len(np.unique(pairs))} number pairs with known frequencies; "
                "at least 3 are needed"
            )
        p1, pi1 = used["p1"].to_numpy(dtype=float), used["pi1"].to_numpy(dtype=float)
        side = _Side(
            gap=values[used.index].to_numpy(dtype=float).round(_DIGITS),
            distance=used[distance].to_numpy(dtype=float).round(_DIGITS),
            p_high=np.maximum(p1, 1.0 - p1).round(_DIGITS),
            pairs=pairs,
            covariates=more.loc[used.index].to_numpy(dtype=float),
        )
        share = float(np.mean(np.where(p1 > 0.5, pi1, 1.0 - pi1)))
        policies = policy_distances(side.p_high, share=share) | {"itself": blind_distances(used)}
        by_scale[str(scale)] = _effect(
            side, policies, share, int((here & ~ok).sum()), n_bins=n_bins,
            n_resamples=n_resamples, n_permutations=n_permutations, level=level,
            seed=seed,
        )  # fmt: skip
    return FrequencyEffects(
        source=counts.source, kind=counts.kind, gap=gap, distance=distance,
        by_scale=MappingProxyType(by_scale),
    )  # fmt: skip


def covariate_effects(
    frame: pd.DataFrame, covariates: pd.DataFrame, *, distance: Distance = "wd01"
) -> ClusterFit:
    """Fit the distance from the ideal to covariates of the numbers, beside a curve in the law.

    Args:
        frame: As in `frequency_effect`.
        covariates: With the index of the frame; an item without one is left out.
        distance: A column.

    Returns:
        The fit, errors clustered by number pair; a coefficient for each covariate by its name.

    Raises:
        InputError: As there, covariates that follow from one another or from the curve, or no more
            pairs of numbers than coefficients.
    """
    check_frame(frame, (*_COLUMNS, distance))
    ok = frame["p1"].notna() & frame[distance].notna() & covariates.notna().all(axis=1)
    used = frame[ok]
    p1 = used["p1"].to_numpy(dtype=float)
    more = covariates.loc[used.index].to_numpy(dtype=float)
    design = _curve(np.maximum(p1, 1.0 - p1), more)
    clusters = number_codes(used)
    n_pairs = len(np.unique(clusters))
    if n_pairs <= design.shape[1]:
        raise InputError(
            f"{n_pairs} pairs of numbers cannot tell {design.shape[1]} coefficients apart; take "
            "fewer covariates, or items of the preset full"
        )
    n_bends = design.shape[1] - 1 - more.shape[1]
    names = ["constant", *(f"curve {j}" for j in range(n_bends)), *covariates.columns]
    return fit_cluster_ols(used[distance].to_numpy(dtype=float), design, clusters, names=names)


def policy_distances(
    p_high: Float[np.ndarray, " N"], *, share: float
) -> dict[str, Float[np.ndarray, " N"]]:
    """Return ``|pi - p|`` of policies: higher, uniform, 0.7 and a share on the higher option.

    Args:
        p_high: Ideal probability of the likelier option.
        share: What ``higher_q`` puts on it.
    """
    found = {
        "higher": 1.0 - p_high,
        "uniform": p_high - 0.5,
        "higher_0.7": np.abs(p_high - 0.7),
        "higher_q": np.abs(p_high - share),
    }
    return {name: distance.round(_DIGITS) for name, distance in found.items()}


def blind_distances(used: pd.DataFrame) -> Float[np.ndarray, " N"]:
    """Return ``|pi - p|`` that the model would have, were it blind to frequency.

    Least squares of its log-odds on those of the ideal, with a level for each cell of wording,
    options in order and scale.

    Args:
        used: One model's items of two options with known shares; columns ``family, template,
            option_pair, scale, p1, pi1``.
    """
    p1, pi1 = used["p1"].to_numpy(dtype=float), used["pi1"].to_numpy(dtype=float)
    cells = codes(used, ["family", "template", "option_pair", "scale"])
    y, x = clipped_log_odds(pi1)[0], clipped_log_odds(p1)[0]
    own_y, own_x = _less_means(y, cells), _less_means(x, cells)
    spread = float(own_x @ own_x)
    slope = float(own_x @ own_y) / spread if spread > 0.0 else 0.0
    return np.asarray(np.abs(expit(y - own_y + slope * own_x) - p1).round(_DIGITS))


def _effect(
    side: _Side,
    policies: Mapping[str, Float[np.ndarray, "N"]],
    share: float,
    n_undefined: int,
    *,
    n_bins: int,
    n_resamples: int,
    n_permutations: int,
    level: float,
    seed: int,
) -> FrequencyEffect:
    def estimate(
        x: Float[np.ndarray, " M"],
        y: Float[np.ndarray, " M"],
        pairs: Int[np.ndarray, " M"],
        kind: Correlation,
    ) -> Estimate | None:
        return cluster_correlation(
            x, y, pairs, kind=kind, n_resamples=n_resamples, level=level, seed=seed
        )

    nulls = {name: rank_correlation(side.gap, distance) for name, distance in policies.items()}
    curve = side.curve
    left_gap, left_distance = (_remainder(curve, x) for x in (side.gap, side.distance))
    has_left = left_gap is not None and left_distance is not None
    within = _within_sets(side)
    return FrequencyEffect(
        spearman=estimate(side.gap, side.distance, side.pairs, "spearman"),
        pearson=estimate(side.gap, side.distance, side.pairs, "pearson"),
        nulls=MappingProxyType(nulls),
        share_on_higher=share,
        partial_pearson=(
            _partial_pearson(side, curve, n_resamples=n_resamples, level=level, seed=seed)
            if has_left
            else None
        ),
        partial_spearman=(
            estimate(left_gap, left_distance, side.pairs, "spearman")
            if left_gap is not None and left_distance is not None
            else None
        ),
        matched=None if within is None else estimate(*within[:3], "pearson"),
        n_matched=(0, 0) if within is None else within[3],
        permuted_p=_permuted_p(side, n_bins=n_bins, n_permutations=n_permutations, seed=seed),
        n_items=len(side.gap),
        n_undefined=n_undefined,
    )


def _curve(p_high: Float[np.ndarray, " N"], *more: np.ndarray) -> Float[np.ndarray, "N B"]:
    """Return a constant, a natural spline in the log-odds of the likelier option, and more."""
    spline = natural_spline(clipped_log_odds(p_high)[0], df=SPLINE_DF)
    return np.column_stack([np.ones(len(p_high)), spline, *more])


def _less_means(
    x: Float[np.ndarray, " N"], groups: Int[np.ndarray, " N"]
) -> Float[np.ndarray, " N"]:
    """Return numbers less the mean of their group."""
    return np.asarray(x - (np.bincount(groups, x) / np.bincount(groups))[groups])


def _remainder(
    curve: Float[np.ndarray, "N B"], x: Float[np.ndarray, " N"]
) -> Float[np.ndarray, " N"] | None:
    """Return what a curve leaves of a side, or None where that is nothing."""
    left = x - curve @ np.linalg.lstsq(curve, x, rcond=None)[0]
    total = float(np.sum((x - x.mean()) ** 2))
    return left if float(left @ left) > _FLAT * total else None


def _partial_pearson(
    side: _Side, curve: Float[np.ndarray, "N B"], *, n_resamples: int, level: float, seed: int
) -> Estimate | None:
    """Return the partial correlation, its curve fitted anew in every resample of number pairs."""
    sides = np.stack([side.gap, side.distance], axis=1)
    size = np.sqrt((curve**2).mean(axis=0))
    columns = np.column_stack([curve[:, size > 0.0] / size[size > 0.0], sides])
    n_pairs = int(side.pairs.max()) + 1
    grams = np.stack([
        columns[rows].T @ columns[rows]
        for rows in (np.flatnonzero(side.pairs == g) for g in range(n_pairs))
    ])  # fmt: skip
    rng = generator(seed, "calibration", "partial-correlation")
    draws = rng.multinomial(n_pairs, np.full(n_pairs, 1.0 / n_pairs), size=n_resamples)
    found = _partial_of(np.tensordot(np.vstack([np.ones(n_pairs), draws]), grams, axes=(1, 0)))
    return percentile_estimate(
        float(found[0]), found[1:], level=level, n_clusters=n_pairs, n_items=len(side.gap)
    )


def _partial_of(grams: Float[np.ndarray, "S Q Q"]) -> Float[np.ndarray, " S"]:
    """Return the correlation of the last two columns, all others taken out of them."""
    known, both = grams[:, :-2, :-2], grams[:, :-2, -2:]
    inverse = np.linalg.pinv(known, rcond=1e-10, hermitian=True)
    left = grams[:, -2:, -2:] - np.swapaxes(both, 1, 2) @ inverse @ both
    xx, yy, xy = left[:, 0, 0], left[:, 1, 1], left[:, 0, 1]
    ok = (xx > _FLAT * grams[:, -2, -2]) & (yy > _FLAT * grams[:, -1, -1])
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(ok, np.clip(xy / np.sqrt(xx * yy), -1.0, 1.0), np.nan)


def _within_sets(
    side: _Side,
) -> (
    tuple[Float[np.ndarray, " M"], Float[np.ndarray, " M"], Int[np.ndarray, " M"], tuple[int, int]]
    | None
):
    """Return both sides less their means over pairs of one ratio, where there are several."""
    _, ratio = np.unique(side.p_high, return_inverse=True)
    met = np.unique(np.stack([ratio, side.pairs], axis=1), axis=0)
    n_pairs = np.bincount(met[:, 0])
    kept = n_pairs[ratio] > 1
    several = n_pairs[n_pairs > 1]
    if several.sum() < _FEWEST:
        return None
    gap, distance = (_less_means(x, ratio)[kept] for x in (side.gap, side.distance))
    if float(gap @ gap) <= _FLAT * float(side.gap @ side.gap):
        return None
    return gap, distance, side.pairs[kept], (len(several), int(several.sum()))


def _permuted_p(side: _Side, *, n_bins: int, n_permutations: int, seed: int) -> float | None:
    """Return how unusual the rank correlation is among exchanges of gaps within bins of ratio.

    Exchanged is what a curve in the ideal law leaves of the gap: within a bin of whole gaps ratios
    still differ, and so a model blind to frequency would be found to see it.
    """
    n_pairs = int(side.pairs.max()) + 1
    size = np.bincount(side.pairs, minlength=n_pairs).astype(np.float64)
    ranks = rankdata(side.distance)
    distance = np.bincount(side.pairs, ranks - ranks.mean())
    gap, p_high = (np.bincount(side.pairs, x) / size for x in (side.gap, side.p_high))
    left = _remainder(_curve(p_high), gap)
    if left is None or not float(distance @ distance) > 0.0:
        return None
    bins = np.array_split(np.argsort(p_high, kind="stable"), max(1, min(n_bins, n_pairs // 3)))
    rng = generator(seed, "calibration", "frequency-permutation")
    exchanged = np.tile(left, (n_permutations + 1, 1))
    for at in bins:
        exchanged[1:, at] = rng.permuted(exchanged[1:, at], axis=1)
    scores = rankdata((gap - left + exchanged).round(_DIGITS), axis=1)
    centred = scores - (scores @ size / size.sum())[:, None]
    found = centred @ distance / np.sqrt((centred**2) @ size)
    away = np.abs(found - found[1:].mean())
    hits = int(np.sum(away[1:] >= away[0] * (1.0 - _FLAT)))
    return (1 + hits) / (1 + n_permutations)
