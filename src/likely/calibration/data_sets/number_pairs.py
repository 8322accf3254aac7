"""Pairs of numbers in balanced designs: each pair in both orders, half of them either way.

Unit: none.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, combinations_with_replacement, product
from typing import Literal, cast

from likely.core.streams import generator
from likely.errors import InputError

Design = Literal["balanced", "grid", "ties"]

DESIGNS: tuple[Design, ...] = ("balanced", "grid", "ties")

SCALES: dict[str, tuple[int, int]] = {"1-10": (1, 10), "10-100": (10, 100), "100-999": (100, 999)}
"""Name to the smallest and the largest number."""

N_TIES = 10
"""How many pairs of equal numbers a cell of the design ``ties`` has."""

_GRID_SCALE = "1-10"


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberPair:
    """Two numbers in the order in which a context gives them.

    Attributes:
        first: Of the option mentioned first.
        second: Of the other.
        draw: Which of the pairs it is, whatever its order; a pair that was drawn twice is two.
        repeat: How often this pair was drawn before: 0, or more when a scale has too few pairs.
        weight: One over the number of its draws.
    """

    first: int
    second: int
    draw: int
    repeat: int = 0
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
    [(7, 9), (9, 7), (1, 7), (7, 1)]
    """
    if scale not in SCALES:
        raise InputError(f"the scale is one of {list(SCALES)}, got {scale!r}")
    if design not in DESIGNS:
        raise InputError(f"the design is one of {list(DESIGNS)}, got {design!r}")
    if n_pairs < 1:
        raise InputError(f"at least 1 pair of numbers is needed, got {n_pairs!r}")
    low, high = SCALES[scale]
    numbers = range(low, high + 1)
    rng = generator(seed, "calibration", "number-pairs", design, scale)
    if design == "ties":
        if n_pairs > len(numbers):
            raise InputError(f"the scale {scale!r} has {len(numbers)} ties, got {n_pairs}")
        drawn = sorted(rng.choice(len(numbers), size=n_pairs, replace=False).tolist())
        ties = [numbers[x] for x in drawn]
        return tuple(NumberPair(first=x, second=x, draw=i) for i, x in enumerate(ties))
    if design == "grid":
        if scale != _GRID_SCALE:
            raise InputError(f"the grid is of the scale {_GRID_SCALE!r}, got {scale!r}")
        draws = {pair: i for i, pair in enumerate(combinations_with_replacement(numbers, 2))}
        return tuple(
            NumberPair(first=x, second=y, draw=draws[min(x, y), max(x, y)])
            for x, y in product(numbers, numbers)
        )
    everything = list(combinations(numbers, 2))
    order = rng.permutation(len(everything))[:n_pairs].tolist()
    while len(order) < n_pairs:
        extra = rng.permutation(len(everything))[: n_pairs - len(order)].tolist()
        order += extra
    return _both_orders([everything[i] for i in order])


def _both_orders(pairs: Sequence[tuple[int, int]]) -> tuple[NumberPair, ...]:
    made = []
    for draw, pair in enumerate(pairs):
        repeat, weight = pairs[:draw].count(pair), Fraction(1, pairs.count(pair))
        made += [
            NumberPair(first=first, second=second, draw=draw, repeat=repeat, weight=weight)
            for first, second in (pair, pair[::-1])
        ]
    return tuple(made)


def crossed_numbers(
    scales: Sequence[str], n_pairs: int, *, seed: int = 0, design: str = "balanced"
) -> dict[str, tuple[NumberPair, ...]]:
    """Return the number pairs of each scale for a family that crosses them with all it has.

    Args:
        scales: Names of `SCALES`.
        n_pairs: Of ``balanced``.
        seed: Of the random streams.
        design: One of `DESIGNS`. ``ties`` gives `N_TIES` of each scale, ``grid`` the scale 1 to 10
            alone.

    Raises:
        InputError: As `number_pairs`.

    >>> [len(pairs) for pairs in crossed_numbers(["10-100", "100-999"], 50).values()]
    [100, 100]
    """
    if design == "grid":
        scales = (_GRID_SCALE,)
    if design == "ties":
        n_pairs = N_TIES
    return {
        scale: number_pairs(scale, n_pairs, seed=seed, design=cast(Design, design))
        for scale in scales
    }
