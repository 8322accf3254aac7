"""What every family of items must keep, whoever wrote it."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from functools import cache

from likely.calibration.data_sets.family import Family, build
from likely.calibration.data_sets.items import Item

_SLOT = re.compile(r"\{\w+\|([^|{}]*)\|([^|{}]*)\}")
_VERBS = {"is", "are", "was", "were", "has", "have", "there is", "there are"}
_NUMBER = r"(?<![\w.,:/])"


@cache
def rendered(name: str, preset: str) -> tuple[Item, ...]:
    """Return the items of a preset, rendered once for all tests."""
    return tuple(build(name, preset=preset))


def check_templates(family: Family) -> None:
    """At least five wordings, all different, none with white space at an end."""
    assert len(family.templates) >= 5
    assert len(set(family.templates.values())) == len(family.templates)
    for text in family.templates.values():
        assert text == text.strip()
        assert "  " not in text


def check_item(item: Item, family: Family) -> None:
    """What one item must keep."""
    assert item.family == family.name
    assert item.version == family.version
    assert item.id.startswith(f"{family.name}-")
    assert item.template_id in family.templates
    assert sum(item.ideal) == 1
    assert all(isinstance(p, Fraction) and 0 <= p <= 1 for p in item.ideal)
    assert item.context == item.context.strip()
    assert not re.search(r"[{}|]|  ", item.context)
    assert item.blank is None or not re.search(r"[{}|]|  ", item.blank.replace("{n}", "9"))
    assert item.number_pair_id
    labels = [option.label for option in item.options]
    assert len(set(labels)) == len(labels)
    words = [word for option in item.options for word in option.words]
    assert len(set(words)) == len(words)
    assert all(word and not re.search(r"\s", word) for word in words)
    valued = [option.value for option in item.options if option.value is not None]
    assert valued == sorted(set(valued))
    assert len(valued) in (0, len(item.options))
    if len(item.options) > 2:
        assert item.higher == "none"


def check_ids(items: Iterable[Item]) -> None:
    """No two items share an id; nor a context, unless they share its weight."""
    made = list(items)
    ids = Counter(item.id for item in made)
    assert max(ids.values()) == 1, ids.most_common(3)
    contexts = Counter(item.context for item in made if item.weight == 1)
    assert max(contexts.values()) == 1, contexts.most_common(3)


def check_mirror(items: Iterable[Item]) -> None:
    """In each cell of twins the first option is the likelier one as often as the second."""
    cells: dict[tuple[str, ...], Counter[str]] = {}
    for item in items:
        if item.order != "none":
            key = (item.lang, item.template_id, item.option_pair_id)
            cells.setdefault(key, Counter())[item.higher] += 1
    for key, counts in cells.items():
        assert counts["first"] == counts["second"], (key, counts)


def check_twins(items: Iterable[Item]) -> None:
    """Each item with a twin comes in both orders of mention, with the same law for each name."""
    orders: dict[str, Counter[tuple[object, ...]]] = {"forward": Counter(), "reversed": Counter()}
    for item in items:
        if item.order != "none":
            law = frozenset(zip((o.label for o in item.options), item.ideal, strict=True))
            key = (item.lang, item.template_id, item.notation, item.scale, item.number_pair_id, law)
            orders[item.order][key] += 1
    if orders["forward"] or orders["reversed"]:
        assert {key[:5] for key in orders["forward"]} == {key[:5] for key in orders["reversed"]}
        assert orders["forward"].total() == orders["reversed"].total()
        assert orders["forward"] == orders["reversed"]


def check_agreement(items: Iterable[Item], family: Family) -> None:
    """No "1 beads" and no "2 bead", for every noun that a template inflects."""
    nouns = {
        pair
        for text in family.templates.values()
        for pair in _SLOT.findall(text)
        if not set(pair) & _VERBS
    }
    if not nouns:
        return
    ones, many = ("|".join(sorted(map(re.escape, forms))) for forms in zip(*nouns, strict=True))
    wrong = re.compile(
        rf"{_NUMBER}1 (?:(?!and\b)\w+ )?(?:{many})\b"
        rf"|{_NUMBER}(?:0|[2-9]|\d\d+) (?:(?!and\b)\w+ )?(?:{ones})\b"
    )
    for item in items:
        assert not wrong.search(item.context), item.context


def check_round_trip(items: Iterable[Item]) -> None:
    """An item is the same after it was written and read."""
    for item in items:
        line = item.to_json()
        assert "\n" not in line
        assert Item.from_json(line) == item


def check_pure(first: Sequence[Item], second: Sequence[Item]) -> None:
    """Two builds give the same text to the byte."""
    assert [item.to_json() for item in first] == [item.to_json() for item in second]


def check_nested(specs: Mapping[str, Iterable[object]]) -> None:
    """Each preset holds the smaller ones."""
    smoke, lite, full = (set(specs[preset]) for preset in ("smoke", "lite", "full"))
    assert smoke <= lite <= full


def named(context: str, word: str) -> int:
    """Return how often a context names a word."""
    return len(re.findall(rf"\b{re.escape(word)}\b", context))


def numerals(context: str) -> list[int]:
    """Return the whole numbers that a context writes in digits, in order."""
    return [int(found) for found in re.findall(r"\d+", context)]
