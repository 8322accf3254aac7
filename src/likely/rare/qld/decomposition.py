"""Recombines the part of activations along a direction with the rest of others. Unit: nats.

With ``u = a d + b`` in whitened coordinates, the share of all pairs of an ``a`` and a ``b`` whose
sum makes a token win is the probability under the law in which both parts are independent. The
released code leaves the part along the direction in ``b`` and so counts it twice; here it comes
off, as the published formulas say.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int

from likely.core.logspace import logsumexp
from likely.rare.qld.claims import Claim, claims, proved, proved_largest
from likely.rare.qld.split import Split
from likely.rare.qld.survey import Survey
from likely.rare.qld.survival import Survival


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Intervals:
    """Disjoint open intervals of positions along the direction, those without mass left out.

    Attributes:
        rows: Shape ``(m,)``: the activation whose rest each belongs to.
        low: Shape ``(m,)``.
        high: Shape ``(m,)``.
    """

    rows: Int[np.ndarray, "m"]
    low: Float[np.ndarray, "m"]
    high: Float[np.ndarray, "m"]

    def without(self, left_out: Bool[np.ndarray, "m"]) -> "Intervals":
        """Return those that are not left out."""
        kept = ~left_out
        return Intervals(rows=self.rows[kept], low=self.low[kept], high=self.high[kept])


def intervals(
    splits: Sequence[Split],
    survey: Survey,
    laws: Sequence[Survival],
    *,
    first: int | None = None,
) -> tuple[Intervals, ...]:
    """Return the intervals in which events happen when activations are moved along directions.

    Args:
        splits: One for each event.
        survey: Of the activations.
        laws: Of positions, one for each event; intervals without mass drop out.
        first: How many of the activations, from the first on, are moved; all if None.
    """
    found = [claims(one, survey, law, first=first) for one, law in zip(splits, laws, strict=True)]
    exact = iter(proved([claim for some in found for claim in some]))
    return tuple(
        _united([next(exact) for _ in some], law) for some, law in zip(found, laws, strict=True)
    )


def largest_intervals(
    split: Split, survey: Survey, law: Survival, *, negligible: float
) -> Intervals:
    """Return the intervals of one event that hold nearly all mass.

    Args:
        split: Of the event.
        survey: Of the activations.
        law: Of positions.
        negligible: The share of all mass that those left out hold at most.
    """
    found = claims(split, survey, law)
    return _united([proved_largest(claim, negligible) for claim in found], law)


def log_total(found: Intervals, law: Survival, n: int) -> float:
    """Return the log of the mean mass of intervals over ``n`` activations."""
    return float(logsumexp(law.log_mass(found.low, found.high))) - math.log(n)


def _united(each: Sequence[Claim], law: Survival) -> Intervals:
    """Return the union of the winners' intervals, row by row, as disjoint intervals."""
    if len(each) == 1:
        (one,) = each
        return Intervals(rows=one.moved.rows, low=one.bounds.low, high=one.bounds.high)
    rows, places = np.unique(np.concatenate([one.moved.rows for one in each]), return_inverse=True)
    low = np.full((len(rows), len(each)), np.inf)
    high = np.full((len(rows), len(each)), -np.inf)
    start = 0
    for column, one in enumerate(each):
        at = places[start : start + len(one.masses)]
        low[at, column], high[at, column] = one.bounds.low, one.bounds.high
        start += len(one.masses)
    order = np.argsort(low, axis=1, kind="stable")
    low, high = np.take_along_axis(low, order, axis=1), np.take_along_axis(high, order, axis=1)
    reached = np.maximum.accumulate(high, axis=1)
    low[:, 1:] = np.maximum(low[:, 1:], reached[:, :-1])
    kept = law.log_mass(low.ravel(), high.ravel()) > -math.inf
    return Intervals(
        rows=np.repeat(rows, len(each))[kept], low=low.ravel()[kept], high=high.ravel()[kept]
    )
