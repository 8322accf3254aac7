"""A coin whose bias is stated, flipped once: is each side as likely as the text says?

Unit: none.
"""

from collections.abc import Sequence
from fractions import Fraction
from itertools import product
from typing import NamedTuple, cast

from likely.calibration.data_sets.family import Family, Preset
from likely.calibration.data_sets.items import Item, make_item, named_options, pair_id
from likely.calibration.data_sets.notations import PERCENTS
from likely.calibration.data_sets.wording import fill, for_slots

SIDES = (("heads", "tails"), ("crown", "number"), ("obverse", "reverse"))
"""Names of the two sides."""

TEMPLATES = {
    "F1": (
        "A bent coin shows {a} with probability {n1}% and {b} with probability {n2}%. It is "
        "flipped once and shows"
    ),
    "F2": (
        "In the long run a worn coin comes up {a} on {n1}% of its flips and {b} on the other "
        "{n2}%. The next flip comes up"
    ),
    "F3": (
        "A coin is weighted so that it shows {a} with probability {n1}%; otherwise it shows {b}. "
        "A single flip shows"
    ),
    "F4": "Report on a coin - {a}: {n1}%; {b}: {n2}%. Result of the next flip:",
    "F5": (
        "The sides of a coin, {a} and {b}, face up with probabilities {n1}% and {n2}% "
        "respectively. After a flip the side that faces up is"
    ),
    "F6": (
        "A magician has a coin that gives {a} {n1}% of the time, and {b} the rest of the time. She "
        "tosses it now, and it gives"
    ),
    "F7": (
        "With this coin the chance of {a} is {n1}% and the chance of {b} is {n2}%. It is tossed, "
        "and the result is"
    ),
    "F8": (
        "A program tosses a virtual coin: it prints {a} with probability {n1}% and {b} with "
        "probability {n2}%. This time it prints"
    ),
}


class _Spec(NamedTuple):
    template_id: str
    sides: tuple[str, str]
    percent: int


def _plan(preset: Preset, seed: int, design: str) -> Sequence[object]:
    del seed, design  # nothing is drawn: the crossing is full
    templates, pairs, percents = {
        "smoke": (("F1", "F3"), SIDES[:1], (1, 10, 25, 40, 50, 60, 75, 90, 99)),
        "lite": (tuple(TEMPLATES), SIDES[:2], (1, 10, 25, 40, 50, 60, 75, 90, 99)),
        "full": (tuple(TEMPLATES), SIDES, PERCENTS),
    }[preset]
    return [
        _Spec(template_id, sides, percent)
        for template_id, pair, percent in product(templates, pairs, percents)
        for sides in (pair, pair[::-1])
    ]


def _render(spec: object) -> Item:
    template_id, (a, b), percent = cast(_Spec, spec)
    template = TEMPLATES[template_id]
    numbers = {"n1": percent, "n2": 100 - percent}
    stated = for_slots(template, numbers)
    wording = fill(template, {"a": a, "b": b}, stated)
    p = Fraction(percent, 100)
    return make_item(
        family="coin_bias",
        version=1,
        template_id=template_id,
        template=template,
        context=wording.text,
        blank=wording.blank,
        options=named_options((a, b)),
        ideal=(p, 1 - p),
        numbers=tuple(stated.values()),
        number_pair_id=pair_id(numbers.values()),
        notation="percent",
        meta={"percent": percent},
    )


COIN_BIAS = Family(
    name="coin_bias",
    version=1,
    question="Does a coin fall on each side as often as its stated bias says?",
    templates=TEMPLATES,
    plan=_plan,
    render=_render,
)
