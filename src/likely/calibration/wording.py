"""Wordings with slots: how a template becomes a context, with agreement in number. Unit: none.

``{name}`` is a slot; ``{n1|bead|beads}`` is the singular where the number ``n1`` is 1 and the
plural elsewhere.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from likely.errors import InputError

_SLOT = re.compile(r"\{(\w+)(?:\|([^|{}]*)\|([^|{}]*))?\}")

NUMBER = "{n}"
"""What stands for a number in a blank."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wording:
    """A template filled in.

    Attributes:
        text: With everything in place.
        blank: With `NUMBER` for each number, and the plural throughout.
    """

    text: str
    blank: str


def fill(
    template: str, words: Mapping[str, str], numbers: Mapping[str, int | str] | None = None
) -> Wording:
    """Return the template with its slots filled in.

    Args:
        template: With slots.
        words: Text of each slot that is no number.
        numbers: Of each slot that is one; a text (``"3.5"``, ``"twelve"``) is put as it stands
            and takes the plural.

    Raises:
        InputError: A slot without a value, or a value without a slot.

    >>> fill("{n} {c} {n|bead|beads}", {"c": "red"}, {"n": 1})
    Wording(text='1 red bead', blank='{n} red beads')
    """
    numbers = numbers or {}
    slots = {match[1] for match in _SLOT.finditer(template)}
    odd = slots ^ (set(words) | set(numbers))
    if odd:
        raise InputError(f"slots and values differ in {sorted(odd)}: {template!r}")

    def put(match: re.Match[str], *, is_blank: bool) -> str:
        name, one, many = match.groups()
        if one is not None:
            if name not in numbers:
                raise InputError(f"agreement with {name!r}, which is no number: {template!r}")
            return str(one if numbers[name] == 1 and not is_blank else many)
        if name in words:
            return words[name]
        return NUMBER if is_blank else str(numbers[name])

    return Wording(
        text=_SLOT.sub(lambda match: put(match, is_blank=False), template),
        blank=_SLOT.sub(lambda match: put(match, is_blank=True), template),
    )
