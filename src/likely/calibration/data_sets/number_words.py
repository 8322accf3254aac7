"""Whole numbers in English words: ``one hundred and five``. Unit: none."""

from likely.errors import InputError

_SMALL = (
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten",
    "eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen",
    "nineteen",
)  # fmt: skip
_TENS = (
    "", "", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety",
)  # fmt: skip
_GROUPS = ((1_000_000, "million"), (1_000, "thousand"))

LARGEST = 999_999_999
"""The largest number that `in_words` writes."""


def in_words(number: int) -> str:
    """Return a whole number in words, with the British ``and`` before tens and units.

    Args:
        number: From 0 to `LARGEST`.

    Raises:
        InputError: The number is out of range.

    >>> in_words(1_002_045)
    'one million two thousand and forty-five'
    """
    if not 0 <= number <= LARGEST:
        raise InputError(f"numbers from 0 to {LARGEST} have words here, got {number!r}")
    if number < 1_000:
        return _below_thousand(number)
    said, rest = [], number
    for size, name in _GROUPS:
        if rest >= size:
            said.append(f"{_below_thousand(rest // size)} {name}")
            rest %= size
    if rest:
        said.append(("and " if rest < 100 else "") + _below_thousand(rest))
    return " ".join(said)


def _below_thousand(number: int) -> str:
    if number < 20:
        return _SMALL[number]
    if number < 100:
        tens, units = divmod(number, 10)
        return _TENS[tens] + (f"-{_SMALL[units]}" if units else "")
    hundreds, rest = divmod(number, 100)
    return f"{_SMALL[hundreds]} hundred" + (f" and {_below_thousand(rest)}" if rest else "")
