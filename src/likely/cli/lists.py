"""Lists of whole numbers in flags, such as ``3,4,7-9``, and groups of them, such as ``0-2;5,7``."""

import re

import typer

from likely.cli.logic import split_names

_MOST = 10**6  # no prompt and no vocabulary is longer
_NUMBERS = re.compile(r"[\d\s,;-]*")


def numbers(text: str | None, flag: str) -> tuple[int, ...] | None:
    """Return the numbers of a list such as ``3,4,7-9``; None of None.

    Args:
        text: As it was given.
        flag: Where, for the message.

    Raises:
        typer.BadParameter: It is no such list, or names no number.
    """
    if text is None:
        return None
    found: list[int] = []
    for part in split_names(text):
        first, dash, last = (piece.strip() for piece in part.partition("-"))
        ends = [first, last] if dash else [first]
        if not all(end.isascii() and end.isdigit() for end in ends):
            raise typer.BadParameter(f"is numbers such as 3,4,7-9, got {part!r}", param_hint=flag)
        low, high = int(ends[0]), int(ends[-1])
        if low > high or high >= _MOST:
            raise typer.BadParameter(
                f"is numbers from low to high, below {_MOST}, got {part!r}", param_hint=flag
            )
        found += range(low, high + 1)
    if not found:
        raise typer.BadParameter(f"is numbers such as 3,4,7-9, got {text!r}", param_hint=flag)
    return tuple(found)


def number_groups(text: str, flag: str) -> tuple[tuple[int, ...], ...] | None:
    """Return the groups of a list such as ``0-2;5,7``; None of what is no list but a name.

    Args:
        text: As it was given.
        flag: Where, for the message.

    Raises:
        typer.BadParameter: A group is no list of numbers, or names none.
    """
    if not text.strip() or not _NUMBERS.fullmatch(text):
        return None
    return tuple(numbers(part, flag) or () for part in text.split(";"))
