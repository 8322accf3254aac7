"""What one question of calibration is: a context, its options, and their exact ideal law.

Numbers of an ideal law are fractions; they become floats in the metrics alone. Unit: none.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from math import lcm
from typing import Literal, cast, get_args

from likely.core.jsonio import encode
from likely.errors import InputError

SCHEMA_VERSION = 1
"""Of the record that `Item.to_dict` writes."""

Order = Literal["forward", "reversed", "none"]
Higher = Literal["first", "second", "tie", "none"]
Plain = str | int | float | bool | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """One of the outcomes that a context leaves open.

    Attributes:
        label: How the context names it, in lower case: ``red``, ``12``.
        words: The words that stand for it, without white space around them; usually the label
            alone, more where a language or a synonym asks for it. Case and leading spaces come
            later, from the level of surfaces (`likely.core.text.surfaces`).
        value: Its place on the line of numbers, or None for a name.
    """

    label: str
    words: tuple[str, ...]
    value: Fraction | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """A context that ends right before one of its options, and the law that it states.

    Attributes:
        id: Family and a hash of everything but the wording.
        family: Name of its family.
        version: Of the family; a change of any item makes a new one.
        template_id: Which wording.
        template_hash: Of the wording's text.
        lang: Language, ISO 639-1.
        scale: Range of its numbers, such as ``10-100``, or empty.
        notation: How they are written: ``counts``, ``percent``, ...
        context: The text, without white space at its end.
        lead: What parts the context from an option: a space, or nothing.
        options: In the order in which the context names them; integers in their own order.
        ideal: One exact probability an option; they sum to 1.
        numbers: The numbers of the context, for two options in the options' order.
        number_pair_id: Names the set of numbers, whichever option each belongs to.
        option_pair_id: Names the options in the order of mention.
        order: Whether the options stand in the alphabet's order (``forward``), the other way
            round, or in one that has no twin.
        higher: Which of two options is likelier; ``none`` with more options.
        blank: The context with ``{n}`` for each number, in the plural: what is left when the
            numbers are taken out. None where that makes no sense.
        weight: Of the item in means that count each set of numbers once.
        meta: What else a family records.
    """

    id: str
    family: str
    version: int
    template_id: str
    template_hash: str
    lang: str
    scale: str
    notation: str
    context: str
    lead: str
    options: tuple[Option, ...]
    ideal: tuple[Fraction, ...]
    numbers: tuple[Fraction, ...]
    number_pair_id: str
    option_pair_id: str
    order: Order
    higher: Higher
    blank: str | None = None
    weight: Fraction = Fraction(1)
    meta: Mapping[str, Plain] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if len(self.options) != len(self.ideal) or len(self.options) < 2:
            raise InputError(
                f"an item has at least 2 options and a probability for each, got "
                f"{[option.label for option in self.options]!r} and {self.ideal!r}"
            )
        labels = [option.label for option in self.options]
        if len(set(labels)) < len(labels):
            raise InputError(f"the options have distinct labels, got {labels}")
        if not _is_law(self.ideal):
            raise InputError(f"an ideal law sums to exactly 1, got {self.ideal!r} in {self.id!r}")
        if not self.context or self.context != self.context.rstrip():
            raise InputError(f"a context ends in no white space, got {self.context!r}")

    @property
    def option_set_id(self) -> str:
        """Names the options whichever is mentioned first: what both orders of a pair share."""
        return "/".join(sorted(option.label for option in self.options))

    def to_dict(self) -> dict[str, object]:
        """Return the record of a data file: strict JSON, fractions as ``"98/197"``."""
        return {
            "schema_version": SCHEMA_VERSION,
            "id": self.id,
            "family": self.family,
            "version": self.version,
            "template_id": self.template_id,
            "template_hash": self.template_hash,
            "lang": self.lang,
            "scale": self.scale,
            "notation": self.notation,
            "context": self.context,
            "lead": self.lead,
            "options": [
                {
                    "label": option.label,
                    "words": option.words,
                    "value": None if option.value is None else str(option.value),
                    "position": position,
                }
                for position, option in enumerate(self.options)
            ],
            "ideal": [str(p) for p in self.ideal],
            "numbers": [str(x) for x in self.numbers],
            "number_pair_id": self.number_pair_id,
            "option_pair_id": self.option_pair_id,
            "order": self.order,
            "higher": self.higher,
            "blank": self.blank,
            "weight": str(self.weight),
            "meta": encode(self.meta),
        }

    def to_json(self) -> str:
        """Return `to_dict` as one line."""
        return _JSON.encode(self.to_dict())

    @classmethod
    def from_json(cls, line: str) -> "Item":
        """Return the item that `to_json` wrote.

        Raises:
            InputError: The line is no such record, or of a newer schema.
        """
        try:
            return _read(line)
        except (ValueError, KeyError, TypeError, ArithmeticError) as error:
            if isinstance(error, InputError):
                raise
            raise InputError(f"this is no record of an item: {line[:80]!r} ({error!r})") from error


# Records are plain already, apart from their meta data, so the walk of `jsonio.dumps` is spared.
_JSON = json.JSONEncoder(ensure_ascii=False, allow_nan=False)


def make_item(
    *,
    family: str,
    version: int,
    template_id: str,
    template: str,
    context: str,
    options: Sequence[Option],
    ideal: Sequence[Fraction],
    numbers: Sequence[int | Fraction] = (),
    number_pair_id: str | None = None,
    blank: str | None = None,
    lang: str = "en",
    scale: str = "",
    notation: str = "counts",
    lead: str = " ",
    has_twin: bool = True,
    weight: Fraction = Fraction(1),
    meta: Mapping[str, Plain] | None = None,
) -> Item:
    """Return an item whose id, order and higher option follow from the rest.

    Args:
        family: Name of the family.
        version: Of the family.
        template_id: Which wording.
        template: Its text, before anything is filled in.
        context: Filled in.
        options: In the order of mention.
        ideal: Of each option.
        numbers: In the options' order, where they belong to options.
        number_pair_id: By default the numbers in ascending order, joined by colons.
        blank: See `Item`.
        lang: See `Item`.
        scale: See `Item`.
        notation: See `Item`.
        lead: See `Item`.
        has_twin: Whether the same item exists with its options the other way round.
        weight: See `Item`.
        meta: Plain values, part of the id.

    Raises:
        InputError: As `Item`.
    """
    labels = [option.label for option in options]
    values = tuple(Fraction(x) for x in numbers)
    order: Order = "none"
    if has_twin:
        order = "forward" if labels == sorted(labels) else "reversed"
    pair = pair_id(values) if number_pair_id is None else number_pair_id
    meta = dict(meta or {})
    key = [
        family, version, template_id, lang, scale, notation, labels, [str(p) for p in ideal],
        [str(x) for x in values], pair, encode(meta),
    ]  # fmt: skip
    digest = hashlib.blake2b(_JSON.encode(key).encode(), digest_size=8).hexdigest()
    return Item(
        id=f"{family}-{digest}",
        family=family,
        version=version,
        template_id=template_id,
        template_hash=_template_hash(template),
        lang=lang,
        scale=scale,
        notation=notation,
        context=context,
        lead=lead,
        options=tuple(options),
        ideal=tuple(ideal),
        numbers=values,
        number_pair_id=pair,
        option_pair_id="/".join(labels),
        order=order,
        higher=_higher(ideal),
        blank=blank,
        weight=weight,
        meta=meta,
    )


def named_options(names: Iterable[str]) -> tuple[Option, ...]:
    """Return an option for each name, whose only word is the name itself."""
    return tuple(Option(label=name, words=(name,)) for name in names)


def integer_options(integers: Iterable[int]) -> tuple[Option, ...]:
    """Return an option for each integer, written in digits, with its value."""
    return tuple(Option(label=str(x), words=(str(x),), value=Fraction(x)) for x in integers)


def pair_id(numbers: Iterable[int | Fraction]) -> str:
    """Return numbers in ascending order, joined by colons: what names a set of them."""
    return ":".join(str(x) for x in sorted(map(Fraction, numbers)))


def _higher(ideal: Sequence[Fraction]) -> Higher:
    if len(ideal) != 2:
        return "none"
    first, second = ideal
    if first == second:
        return "tie"
    return "first" if first > second else "second"


def _is_law(ideal: Sequence[Fraction]) -> bool:
    """Return whether fractions are at least 0 and sum to 1; in integers, for there are many."""
    whole = lcm(*(p.denominator for p in ideal))
    parts = [p.numerator * (whole // p.denominator) for p in ideal]
    return min(parts) >= 0 and sum(parts) == whole


@lru_cache(maxsize=1024)
def _template_hash(template: str) -> str:
    return hashlib.blake2b(template.encode(), digest_size=6).hexdigest()


_TEXTS = (
    "id", "family", "template_id", "template_hash", "lang", "scale", "notation", "context", "lead",
    "number_pair_id", "option_pair_id", "order", "higher", "weight",
)  # fmt: skip


def _read(line: str) -> Item:
    read = json.loads(line)
    if not isinstance(read, dict):
        raise InputError(f"the record of an item is a JSON object, got {line[:80]!r}")
    version = read.pop("schema_version")
    if version != SCHEMA_VERSION:
        raise InputError(
            f"the item has schema {version!r}, this version of likely reads {SCHEMA_VERSION}"
        )
    _check(read)
    raw = sorted(read.pop("options"), key=lambda option: int(option["position"]))
    options = tuple(_option(option["label"], option["words"], option["value"]) for option in raw)
    for name in ("ideal", "numbers"):
        read[name] = tuple(map(Fraction, read[name]))
    read["weight"] = Fraction(read["weight"])
    return Item(options=options, **read)


def _option(label: object, words: object, value: str | None) -> Option:
    if not isinstance(label, str) or not isinstance(words, list) or not words:
        raise InputError(f"an option has a label and a list of words, got {label!r} and {words!r}")
    if not all(isinstance(word, str) for word in words):
        raise InputError(f"the words of the option {label!r} are texts, got {words!r}")
    return Option(label=label, words=tuple(words), value=None if value is None else Fraction(value))


def _check(record: Mapping[str, object]) -> None:
    """Raise unless the fields of a record that are texts, lists and choices are such."""
    for name in _TEXTS:
        if not isinstance(record[name], str):
            raise InputError(f"the field {name!r} of an item is text, got {record[name]!r}")
    for name in ("options", "ideal", "numbers"):
        if not isinstance(record[name], list):
            raise InputError(f"the field {name!r} of an item is a list, got {record[name]!r}")
    for name in ("ideal", "numbers"):
        if not all(isinstance(x, str) for x in cast(list[object], record[name])):
            raise InputError(f"the {name} of an item are fractions as text, got {record[name]!r}")
    if not isinstance(record["version"], int) or isinstance(record["version"], bool):
        raise InputError(f"the version of an item is an integer, got {record['version']!r}")
    if not isinstance(record["blank"], str | None):
        raise InputError(f"the blank of an item is text or null, got {record['blank']!r}")
    if not isinstance(record["meta"], dict):
        raise InputError(f"the meta data of an item are an object, got {record['meta']!r}")
    for name, known in (("order", get_args(Order)), ("higher", get_args(Higher))):
        if record[name] not in known:
            raise InputError(f"the {name} of an item is one of {known}, got {record[name]!r}")
