"""Dots in the unit square, as paths in a box of 100 by 100. Unit: probability on both axes."""

from collections.abc import Sequence
from dataclasses import dataclass

SIZES = (("few", 2), ("some", 10), ("many", None))
"""Classes of the page's style for dots that stand for so many items at most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Dots:
    """Dots of one look as a path.

    Attributes:
        name: A class of the page's style.
        path: A line without length for each; its round cap is the dot.
    """

    name: str
    path: str


def dots(places: Sequence[tuple[float, float, int]]) -> tuple[Dots, ...]:
    """Return the paths of places ``(x, y, n)``, one for each of `SIZES` that occurs.

    >>> dots([(0.5, 0.25, 1)])
    (Dots(name='few', path='M50.0 75.0h0'),)
    """
    made = []
    least = 0
    for name, most in SIZES:
        own = [(x, y) for x, y, n in places if n > least and (most is None or n <= most)]
        if own:
            path = "".join(f"M{100.0 * x:.1f} {100.0 * (1.0 - y):.1f}h0" for x, y in own)
            made.append(Dots(name=name, path=path))
        least = most or least
    return tuple(made)
