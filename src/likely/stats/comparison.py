"""Two models on the same items: their difference, a test of it, and many tests at once.

Unit: that of the values.
"""

import itertools
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from likely.core.estimate import Estimate, Unit
from likely.core.streams import generator
from likely.errors import InputError, ShapeError
from likely.stats.crossings import Codes
from likely.stats.pigeonhole import CrossedInterval, pigeonhole_bootstrap_many

_EXACT_CELLS = 12
"""Up to so many cells all ``2**G`` patterns of signs are tried."""

_TIES = 1e-10
"""Relative difference up to which two sums are equal: what rounding leaves of a tie."""

_BATCH = 2**22
"""How many signs are held at a time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SignFlip:
    """How unusual a sum of differences is, if each cell's sign were a coin's.

    Attributes:
        p_value: Two-sided.
        n_cells: How many signs there are.
        n_patterns: How many patterns of signs were tried.
        is_exact: Whether those are all.
    """

    p_value: float
    n_cells: int
    n_patterns: int
    is_exact: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class PairedComparison:
    """Two models on the items that are defined for both, under the same resamples.

    Attributes:
        first: Mean of the first.
        second: Mean of the second.
        delta: First less second.
        test: Of a difference of 0.
    """

    first: Estimate
    second: Estimate
    delta: Estimate
    test: SignFlip

    def to_dict(self) -> dict[str, object]:
        """Return the fields as plain values."""
        return {
            "first": self.first.to_dict(),
            "second": self.second.to_dict(),
            "delta": self.delta.to_dict(),
            "p_value": self.test.p_value,
            "n_cells": self.test.n_cells,
            "n_patterns": self.test.n_patterns,
            "is_exact": self.test.is_exact,
        }


def compare_paired(
    first: Float[np.ndarray, " N"],
    second: Float[np.ndarray, " N"],
    factors: Mapping[str, Codes],
    *,
    cells: Codes,
    interval: CrossedInterval = "student",
    n_resamples: int = 2000,
    n_patterns: int = 10_000,
    level: float = 0.95,
    unit: Unit = "none",
    seed: int = 0,
) -> PairedComparison:
    """Compare two models item by item.

    Args:
        first: One number an item, NaN where not defined.
        second: Of the same items. An item counts if it is defined for both.
        factors: The crossed factors of the items; see `likely.stats.pigeonhole`.
        cells: Of each item the unit whose difference changes sign in the test. It takes cells for
            independent: where they share a template, take the template for the cell to be safe.
        interval: See `likely.stats.pigeonhole.pigeonhole_bootstrap`.
        n_resamples: As there.
        n_patterns: Patterns of signs drawn, where there are more than 12 cells.
        level: As there.
        unit: As there.
        seed: Of the random streams.

    Raises:
        InputError: As there, or there is nothing that is defined for both.
        ShapeError: Lengths differ.
    """
    if not len(first) == len(second) == len(cells):
        raise ShapeError(
            f"both models and the cells have one entry an item, got lengths {len(first)}, "
            f"{len(second)} and {len(cells)}"
        )
    differences = first - second
    both = ~np.isnan(differences)
    columns = np.where(both[:, None], np.stack([first, second, differences], axis=1), np.nan)
    found = pigeonhole_bootstrap_many(
        columns, factors, interval=interval, n_resamples=n_resamples, level=level,
        units=(unit,) * 3, seed=seed,
    )  # fmt: skip
    one, other, delta = found
    if one is None or other is None or delta is None:
        raise InputError(
            f"a comparison needs items on 2 levels of a factor that are defined for both, got "
            f"{int(both.sum())} of {len(first)}"
        )
    test = sign_flip(differences[both], np.asarray(cells)[both], n_patterns=n_patterns, seed=seed)
    return PairedComparison(first=one, second=other, delta=delta, test=test)


def sign_flip(
    differences: Float[np.ndarray, " N"], cells: Codes, *, n_patterns: int = 10_000, seed: int = 0
) -> SignFlip:
    """Return how often random signs of the cells' sums give a total as large as the real one.

    Args:
        differences: One number an item, finite.
        cells: The cell of each item.
        n_patterns: Patterns of signs drawn where there are more than 12 cells; the real one counts
            as one more, so that no p value is 0.
        seed: Of the random stream.

    Raises:
        InputError: No items, a difference that is not finite, fewer than 1 pattern.
        ShapeError: Lengths differ.

    >>> sign_flip(np.array([1.0, 2.0, 3.0]), [0, 1, 2]).p_value
    0.25
    """
    if len(differences) != len(cells):
        raise ShapeError(f"got {len(differences)} differences and {len(cells)} cells")
    if not len(differences) or not np.isfinite(differences).all() or n_patterns < 1:
        raise InputError(
            f"a test of signs needs finite differences and at least 1 pattern, got "
            f"{len(differences)} differences, {n_patterns!r} patterns"
        )
    _, members = np.unique(np.asarray(cells), return_inverse=True)
    sums = np.bincount(members, differences)
    real = abs(float(sums.sum())) - _TIES * float(np.abs(sums).sum())
    n_cells = len(sums)
    if n_cells <= _EXACT_CELLS:
        signs = np.array(list(itertools.product((-1.0, 1.0), repeat=n_cells)))
        hits = int(np.sum(np.abs(signs @ sums) >= real))
        return SignFlip(
            p_value=hits / len(signs), n_cells=n_cells, n_patterns=len(signs), is_exact=True
        )
    rng = generator(seed, "stats", "sign-flip")
    hits, step = 0, max(1, _BATCH // n_cells)
    for start in range(0, n_patterns, step):
        size = (min(step, n_patterns - start), n_cells)
        signs = 1.0 - 2.0 * rng.integers(0, 2, size=size)
        hits += int(np.sum(np.abs(signs @ sums) >= real))
    return SignFlip(
        p_value=(1 + hits) / (1 + n_patterns), n_cells=n_cells, n_patterns=n_patterns,
        is_exact=False,
    )  # fmt: skip


def holm(p_values: Float[np.ndarray, " K"]) -> Float[np.ndarray, " K"]:
    """Return p values adjusted so that all of them together err as seldom as one.

    Holm's rule: the smallest counts K times, the next K - 1 times, and none less than one before.

    Args:
        p_values: Of K tests, in [0, 1].

    Raises:
        InputError: A value is not a probability.

    >>> holm(np.array([0.01, 0.04, 0.03])).round(4).tolist()
    [0.03, 0.06, 0.06]
    """
    if not ((p_values >= 0.0) & (p_values <= 1.0)).all():
        raise InputError(f"p values lie in [0, 1], got {p_values.tolist()!r}")
    order = np.argsort(p_values, kind="stable")
    times = np.arange(len(p_values), 0, -1)
    adjusted = np.empty_like(p_values)
    adjusted[order] = np.minimum(1.0, np.maximum.accumulate(times * p_values[order]))
    return adjusted
