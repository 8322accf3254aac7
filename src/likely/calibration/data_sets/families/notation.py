"""One probability in six notations: does the way it is written move the answer?

A jar with a known mix, and one draw from it. ``number_pair_id`` is the law itself, the same in all
notations. Only multiples of 5 per cent, which each notation writes exactly and in the plural.
Unit: none.
"""

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from itertools import product
from typing import NamedTuple, cast

from likely.calibration.data_sets.family import Family, Preset
from likely.calibration.data_sets.items import Item, make_item, named_options, pair_id
from likely.calibration.data_sets.notations import as_decimal, as_fraction, whole_percent
from likely.calibration.data_sets.number_words import in_words
from likely.calibration.data_sets.wording import fill

COLOURS = (("blue", "red"), ("green", "yellow"), ("black", "white"), ("orange", "purple"))

TEMPLATES = {
    "M1": "A jar holds {mix}. One {thing} is drawn at random. Its colour is",
    "M2": (
        "Somebody fills a sack with {mix}, mixes them well and takes out one {thing} without "
        "looking. The colour of that {thing} is"
    ),
    "M3": "Contents of the tin - {mix}. Colour of a {thing} picked at random:",
    "M4": (
        "In a tombola there are {mix}. Each {thing} has the same chance to come out first. The "
        "colour of the first {thing} to come out is"
    ),
    "M5": "From a drawer full of {mix}, a blindfolded child pulls out one {thing}. Its colour is",
}
"""``{mix}`` is one of `MIXES`."""

THINGS = {"M1": "bead", "M2": "marble", "M3": "button", "M4": "ball", "M5": "ribbon"}

MIXES = {
    "counts": "{n1} {a} {things} and {n2} {b} {things}",
    "percent": "{things} of which {n1}% are {a} and {n2}% are {b}",
    "decimal": "{things} of which a share of {n1} is {a} and a share of {n2} is {b}",
    "ratio": "{a} and {b} {things} in a ratio of {n1} to {n2}",
    "fraction": "{things} of which {n1} are {a} and {n2} are {b}",
    "words": "{n1} {a} {things} and {n2} {b} {things}",
}
"""Name of a notation to what it says of the mix."""


class _Spec(NamedTuple):
    template_id: str
    colours: tuple[str, str]
    percent: int
    notation: str


def _plan(preset: Preset, seed: int, design: str) -> Sequence[object]:
    del seed, design  # nothing is drawn: the crossing is full
    templates, pairs, percents = {
        "smoke": (("M1",), COLOURS[:1], (10, 25, 50, 75, 90)),
        "lite": (tuple(TEMPLATES), COLOURS[:1], (10, 25, 50, 75, 90)),
        "full": (tuple(TEMPLATES), COLOURS, tuple(range(5, 100, 5))),
    }[preset]
    return [
        _Spec(template_id, colours, percent, notation)
        for template_id, pair, percent, notation in product(templates, pairs, percents, MIXES)
        for colours in (pair, pair[::-1])
    ]


_NUMBERS: Mapping[str, Callable[[Fraction], tuple[Fraction | int, Fraction | int]]] = {
    "counts": lambda p: (whole_percent(p), 100 - whole_percent(p)),
    "percent": lambda p: (whole_percent(p), 100 - whole_percent(p)),
    "decimal": lambda p: (p, 1 - p),
    "ratio": lambda p: (p.numerator, p.denominator - p.numerator),
    "fraction": lambda p: (p, 1 - p),
    "words": lambda p: (whole_percent(p), 100 - whole_percent(p)),
}


def _write(notation: str, number: Fraction | int) -> str:
    if notation == "decimal":
        return as_decimal(Fraction(number))
    if notation == "fraction":
        return as_fraction(Fraction(number))
    return in_words(int(number)) if notation == "words" else str(number)


def _render(spec: object) -> Item:
    template_id, (a, b), percent, notation = cast(_Spec, spec)
    p = Fraction(percent, 100)
    template = TEMPLATES[template_id].replace("{mix}", MIXES[notation])
    thing = THINGS[template_id]
    numbers = _NUMBERS[notation](p)
    n1, n2 = (_write(notation, number) for number in numbers)
    words = {"a": a, "b": b, "thing": thing, "things": f"{thing}s"}
    wording = fill(template, words, {"n1": n1, "n2": n2})
    return make_item(
        family="notation",
        version=1,
        template_id=template_id,
        template=template,
        context=wording.text,
        blank=wording.blank,
        options=named_options((a, b)),
        ideal=(p, 1 - p),
        numbers=numbers,
        number_pair_id=pair_id((p, 1 - p)),
        notation=notation,
        meta={
            "percent": percent,
            "link": f"{template_id}|{a}/{b}|{p}",
            "variant": notation,
        },
    )


NOTATION = Family(
    name="notation",
    version=1,
    question="Is an answer the same however the same numbers are written?",
    templates=TEMPLATES,
    plan=_plan,
    render=_render,
)
