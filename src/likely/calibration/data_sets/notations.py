"""One probability written in many ways: per cent, decimal, fraction, odds, words. Unit: none.

A writer refuses a probability that it cannot write exactly; nothing is rounded.
"""

from collections.abc import Callable, Mapping
from fractions import Fraction

from likely.calibration.data_sets.number_words import in_words
from likely.errors import InputError

PERCENTS = (1, *range(5, 100, 5), 99)
"""The probabilities of the families with a coin or a forecast, in per cent: 1, 5, 10, ..., 95, 99.
The set is its own mirror image about a half."""


def whole_percent(p: Fraction) -> int:
    """Return a probability in per cent.

    Raises:
        InputError: It is not a whole number of per cent.

    >>> whole_percent(Fraction(3, 10))
    30
    """
    percent = 100 * p
    if percent.denominator != 1:
        raise InputError(f"a whole number of per cent is needed, got {p!r}")
    return percent.numerator


def as_percent(p: Fraction) -> str:
    """Return ``30%``.

    Raises:
        InputError: It is not a whole number of per cent.

    >>> as_percent(Fraction(3, 10))
    '30%'
    """
    return f"{whole_percent(p)}%"


def as_decimal(p: Fraction) -> str:
    """Return ``0.3``: at most two decimals, and no zero at the end.

    Raises:
        InputError: It is not a whole number of per cent, or not below 1.

    >>> as_decimal(Fraction(1, 20)), as_decimal(Fraction(3, 10))
    ('0.05', '0.3')
    """
    percent = whole_percent(p)
    if not 0 <= percent < 100:
        raise InputError(f"a probability from 0 to below 1 is needed, got {p!r}")
    return f"0.{percent:02d}".rstrip("0").removesuffix(".")


def as_fraction(p: Fraction) -> str:
    """Return ``3/10``, in lowest terms.

    >>> as_fraction(Fraction(30, 100))
    '3/10'
    """
    return f"{p.numerator}/{p.denominator}"


def as_chances(p: Fraction) -> str:
    """Return ``1 in 5``, in lowest terms.

    >>> as_chances(Fraction(20, 100)), as_chances(Fraction(80, 100))
    ('1 in 5', '4 in 5')
    """
    return f"{p.numerator} in {p.denominator}"


def as_words(p: Fraction) -> str:
    """Return ``thirty percent``.

    Raises:
        InputError: It is not a whole number of per cent.

    >>> as_words(Fraction(3, 10))
    'thirty percent'
    """
    return f"{in_words(whole_percent(p))} percent"


WRITERS: Mapping[str, Callable[[Fraction], str]] = {
    "percent": as_percent,
    "decimal": as_decimal,
    "fraction": as_fraction,
    "chances": as_chances,
    "words": as_words,
}
"""Name of a notation to its writer."""
