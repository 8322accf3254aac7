"""A forecast with a stated chance, written in five ways: is the weather as likely as it says?

The chance belongs to the option that is named first, but in W6 to the one named second; so
``numbers`` is that one probability, and ``meta`` says whose it is. Unit: none.
"""

from collections.abc import Sequence
from fractions import Fraction
from itertools import product
from typing import NamedTuple, cast

from likely.calibration.data_sets.family import Family, Preset
from likely.calibration.data_sets.items import Item, make_item, named_options, pair_id
from likely.calibration.data_sets.notations import PERCENTS, WRITERS
from likely.calibration.data_sets.wording import fill

WEATHERS = (("dry", "rainy"), ("clear", "snowy"), ("calm", "windy"), ("bright", "foggy"))

TEMPLATES = {
    "W1": (
        "Forecast: the chance of {a} weather tomorrow is {p}; otherwise tomorrow will be {b}. "
        "Tomorrow comes, and it is"
    ),
    "W2": (
        "A weather service, right about its chances in the long run, puts the chance of a {a} day "
        "at {p}; the day will be {b} if not. The day turns out to be"
    ),
    "W3": (
        "At the harbour the chance of a {a} morning is {p}; all the other mornings are {b}. This "
        "morning the weather is"
    ),
    "W4": "Outlook for Sunday - {a} with a chance of {p}, {b} otherwise. The weather on Sunday:",
    "W5": (
        "Suppose the chance that the day of the match is {a} equals {p}, and that it is {b} in all "
        "other cases. The day of the match is"
    ),
    "W6": (
        "The afternoon will be {a} unless it turns {b}, and the chance that it does turn so is "
        "{p}. In the end the afternoon is"
    ),
}

SECOND_STATED = frozenset({"W6"})
"""The templates that state the chance of the option named second."""


class _Spec(NamedTuple):
    template_id: str
    weathers: tuple[str, str]
    percent: int
    notation: str


def _plan(preset: Preset, seed: int, design: str) -> Sequence[object]:
    del seed, design  # nothing is drawn: the crossing is full
    templates, pairs, percents = {
        "smoke": (("W1",), WEATHERS[:1], (10, 25, 50, 75, 90)),
        "lite": (tuple(TEMPLATES), WEATHERS[:1], (10, 25, 50, 75, 90)),
        "full": (tuple(TEMPLATES), WEATHERS, PERCENTS),
    }[preset]
    return [
        _Spec(template_id, weathers, percent, notation)
        for template_id, pair, percent, notation in product(templates, pairs, percents, WRITERS)
        for weathers in (pair, pair[::-1])
    ]


def _render(spec: object) -> Item:
    template_id, (a, b), percent, notation = cast(_Spec, spec)
    p = Fraction(percent, 100)
    template = TEMPLATES[template_id]
    wording = fill(template, {"a": a, "b": b}, {"p": WRITERS[notation](p)})
    is_first = template_id not in SECOND_STATED
    return make_item(
        family="weather_pct",
        version=1,
        template_id=template_id,
        template=template,
        context=wording.text,
        blank=wording.blank,
        options=named_options((a, b)),
        ideal=(p, 1 - p) if is_first else (1 - p, p),
        numbers=(p,),
        number_pair_id=pair_id((p, 1 - p)),
        notation=notation,
        meta={"percent": percent, "stated": "first" if is_first else "second"},
    )


WEATHER_PCT = Family(
    name="weather_pct",
    version=1,
    question="Is the weather as likely as the forecast says, however it is written?",
    templates=TEMPLATES,
    plan=_plan,
    render=_render,
)
