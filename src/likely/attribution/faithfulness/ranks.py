"""Ranks of one method's scores beside another's, never beside its own. Unit: none."""

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
from jaxtyping import Float
from scipy.stats import norm, rankdata

from likely.attribution.baselines.record import BaselineScores
from likely.attribution.result import Attribution
from likely.core.estimate import Estimate
from likely.core.streams import generator
from likely.errors import InputError
from likely.stats.correlations import rank_correlation

Scored: TypeAlias = Attribution | BaselineScores
Positions: TypeAlias = tuple[int, ...]

BAYES = "attribution"
"""Label of scores by Bayes' rule, beside the names of baselines."""

_REDRAWS = 1000
_DECIMALS = 12


def label_of(scored: Scored) -> str:
    """Return whose scores these are."""
    return BAYES if isinstance(scored, Attribution) else scored.name


def places_of(scored: Scored) -> list[Positions]:
    """Return the positions of each score.

    Raises:
        InputError: None, or places that overlap.
    """
    if isinstance(scored, Attribution):
        places = [place.positions for place in scored.places]
    else:
        places = [(position,) for position in scored.positions]
    positions = [position for place in places for position in place]
    if not positions or len(set(positions)) < len(positions):
        raise InputError(f"the test takes scores of places that do not overlap, got {places!r}")
    return places


def check_reference(scored: Scored, reference: Scored) -> None:
    """Raise unless two methods can be compared.

    Raises:
        InputError: Another prompt, response or places, or a method beside itself.
    """
    one, other = scored.case, reference.case
    if (one.context, one.prompt, one.response) != (other.context, other.prompt, other.response):
        raise InputError("the reference scores another prompt or response; score the same case")
    if places_of(scored) != places_of(reference):
        raise InputError(
            f"the reference has scores of {places_of(reference)!r}, the scored method of "
            f"{places_of(scored)!r}; score the same positions"
        )
    same = reference is scored
    if isinstance(scored, BaselineScores) and isinstance(reference, BaselineScores):
        same = same or (scored.name, scored.options) == (reference.name, reference.options)
    if same:
        raise InputError(
            f"the reference of {label_of(scored)!r} is that method itself, with which it always "
            "agrees; give another"
        )


def score_correlation(
    scored: Scored, reference: Scored, *, level: float, seed: int
) -> Estimate | None:
    """Return Spearman's correlation of two methods' scores, None if one side is constant.

    Places of one prompt are no sample, so the interval is only about scores that are estimates: it
    is what the correlation does when each is drawn again from a normal law of its own width,
    independently of the others.

    Args:
        scored: Scores, some of them perhaps infinite.
        reference: Of the same places.
        level: Coverage.
        seed: Of the draws.
    """
    return rank_scores(_estimates(scored), _estimates(reference), level=level, seed=seed)


def rank_scores(
    first: Sequence[Estimate], second: Sequence[Estimate], *, level: float, seed: int
) -> Estimate | None:
    """Return Spearman's correlation of scores with their intervals; see `score_correlation`."""
    sides = [np.array([one.value for one in side]) for side in (first, second)]
    value = _spearman(*sides)
    if value is None:
        return None
    widths = [_standard_errors(side) for side in (first, second)]
    if not any(width.any() for width in widths):
        return Estimate.exact(value, unit="none", method="spearman")
    rng = generator(seed, "attribution", "faithfulness", "correlation")
    drawn = []
    for _ in range(_REDRAWS):
        one, other = (
            side + width * rng.standard_normal(len(width))
            for side, width in zip(sides, widths, strict=True)
        )
        again = _spearman(one, other)
        if again is not None:
            drawn.append(again)
    tail = (1.0 - level) / 2.0
    low, high = np.quantile([value, *drawn], (tail, 1.0 - tail))
    return Estimate(
        value=value, low=min(value, float(low)), high=max(value, float(high)), level=level,
        unit="none", method="spearman, scores drawn again", diagnostics={"n_redraws": len(drawn)},
    )  # fmt: skip


def _spearman(x: Float[np.ndarray, "n"], y: Float[np.ndarray, "n"]) -> float | None:
    """Return Spearman's correlation of scores that may be infinite."""
    if len(x) < 2:
        return None
    # What differs by rounding alone is a tie.
    ranks = (rankdata(np.round(side, _DECIMALS)).astype(np.float64) for side in (x, y))
    return rank_correlation(*ranks)


def _estimates(scored: Scored) -> list[Estimate]:
    if isinstance(scored, Attribution):
        return [place.measures.score for place in scored.places]
    return list(scored.estimates)


def _standard_errors(estimates: Sequence[Estimate]) -> Float[np.ndarray, "n"]:
    """Return the standard errors that the intervals of scores amount to; 0 for exact ones."""
    return np.array(
        [
            0.0 if one.is_exact else (one.high - one.low) / 2.0 / norm.isf((1.0 - one.level) / 2.0)
            for one in estimates
        ]
    )
