"""Pairs of numbers in balanced designs: each pair in both orders, half of them either way.

Unit: none.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from typing import Literal

from likely.core.streams import generator
from likely.errors import InputError

Design = Literal["balanced", "grid", "ties"]

SCALES: dict[str, tuple[int, int]] = {"1-10": (1, 10), "10-100": (10, 100), "100-999": (100, 999)}
"""Name to the smallest and the largest number."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberPair:
    """Two numbers in the order in which a context gives them.

    Attributes:
        first: Of the option mentioned first.
        second: Of the other.
        draw: Which of the drawn pairs it is; both orders of a pair share it, and a pair that was
            drawn twice has two.
        weight: A half for each of two draws of one pair, else 1.
    """

    first: int
    second: int
    draw: int
    weight: Fraction = Fraction(1)


def number_pairs(
    scale: str, n_pairs: int, *, seed: int = 0, design: Design = "balanced"
) -> tuple[NumberPair, ...]:
    """Return the pairs of numbers of one scale; the same ones serve every wording and option pair.

    Args:
        scale: A name of `SCALES`.
        n_pairs: Unordered pairs. ``balanced`` gives each in both orders, drawn without replacement
            while there are enough (the 45 pairs of 1 to 10 are all used before any comes twice).
            ``ties`` gives as many equal pairs. ``grid`` ignores it.
        seed: Of the random stream.
        design: ``balanced``; ``ties``: two equal numbers, drawn without replacement; ``grid``:
            every ordered pair of the scale 1 to 10, ties among them.

    Returns:
        For ``balanced`` both orders of a pair side by side.

    Raises:
        InputError: An unknown scale or design, a number of pairs below 1, more ties than numbers,
            or a grid of another scale than 1 to 10.

    >>> [(p.first, p.second) for p in number_pairs("1-10", 2)]
    [(6, 10), (10, 6), (5, 7), (7, 5)]
    """
    if scale not in SCALES:
        raise InputError(f"the scale is one of {list(SCALES)}, got {scale!r}")
    if n_pairs < 1:
        raise InputError(f"at least 1 pair of numbers is needed, got {n_pairs!r}")
    low, high = SCALES[scale]
    rng = generator(seed, "calibration", "number-pairs", design, scale)
    if design == "ties":
        if n_pairs > high - low + 1:
            raise InputError(f"the scale {scale!r} has {high - low + 1} ties, got {n_pairs}")
        drawn = sorted(rng.choice(high - low + 1, size=n_pairs, replace=False).tolist())
        return tuple(NumberPair(first=low + x, second=low + x, draw=i) for i, x in enumerate(drawn))
    if design == "grid":
        if scale != "1-10":
            raise InputError(f"the grid is of the scale '1-10', got {scale!r}")
        numbers = range(low, high + 1)
        return tuple(
            NumberPair(first=x, second=y, draw=i)
            for i, (x, y) in enumerate((x, y) for x in numbers for y in numbers)
        )
    if design != "balanced":
        raise InputError(f"the design is 'balanced', 'grid' or 'ties', got {design!r}")
    everything = list(combinations(range(low, high + 1), 2))
    order = rng.permutation(len(everything))[:n_pairs].tolist()
    while len(order) < n_pairs:
        extra = rng.permutation(len(everything))[: n_pairs - len(order)].tolist()
        order += extra
    return _both_orders([everything[i] for i in order])


def _both_orders(pairs: Sequence[tuple[int, int]]) -> tuple[NumberPair, ...]:
    made = []
    for draw, pair in enumerate(pairs):
        weight = Fraction(1, pairs.count(pair))
        for first, second in (pair, pair[::-1]):
            made.append(NumberPair(first=first, second=second, draw=draw, weight=weight))
    return tuple(made)
