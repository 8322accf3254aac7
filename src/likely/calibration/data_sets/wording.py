"""Wordings with slots: how a template becomes a context, with agreement in number. Unit: none.

``{name}`` is a slot; ``{n1|bead|beads}`` is the singular where the number ``n1`` is 1 and the
plural elsewhere.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple, TypeVar

from likely.errors import InputError

_SLOT = re.compile(r"\{(\w+)(?:\|([^|{}]*)\|([^|{}]*))?\}")

_Value = TypeVar("_Value")

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
    parts, slots = _parse(template)
    odd = slots ^ (words.keys() | numbers.keys())
    if odd:
        raise InputError(f"slots and values differ in {sorted(odd)}: {template!r}")
    text, blank = [], []
    for before, name, one, many in parts:
        text.append(before)
        blank.append(before)
        if one is not None:
            if name not in numbers:
                raise InputError(f"agreement with {name!r}, which is no number: {template!r}")
            text.append(one if numbers[name] == 1 else many)
            blank.append(many)
        elif name in words:
            text.append(words[name])
            blank.append(words[name])
        elif name:
            text.append(str(numbers[name]))
            blank.append(NUMBER)
    return Wording(text="".join(text), blank="".join(blank))


def for_slots(template: str, values: Mapping[str, _Value]) -> dict[str, _Value]:
    """Return those of the values that a template has a slot for, in their order.

    >>> for_slots("{a} and {n|bead|beads}", {"n": 1, "m": 2})
    {'n': 1}
    """
    _, slots = _parse(template)
    return {name: value for name, value in values.items() if name in slots}


class _Part(NamedTuple):
    """Text as it stands, and the slot after it; the last part has no slot."""

    before: str
    name: str
    one: str | None
    many: str


@lru_cache(maxsize=1024)
def _parse(template: str) -> tuple[tuple[_Part, ...], frozenset[str]]:
    """Return the parts of a template, and the names of its slots."""
    parts = []
    start = 0
    for match in _SLOT.finditer(template):
        name, one, many = match.groups()
        parts.append(_Part(template[start : match.start()], name, one, many or ""))
        start = match.end()
    slots = frozenset(part.name for part in parts)
    return (*parts, _Part(template[start:], "", None, "")), slots
