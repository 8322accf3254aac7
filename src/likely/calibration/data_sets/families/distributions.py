"""An integer drawn uniformly from an interval: is each of its integers as likely as any other?

An interval has one of 8 widths and one of 40 starts: all of 0 to 9, 15 from 10 to 99 and 15 from
100 to 899. Only the start stays in its range, so an interval of width 5 from 8 crosses to two
digits, and no width forbids a start. The same starts serve every width, so the 320 intervals are
distinct: none repeats, and every weight is 1.

Sources: the design of Lovering et al. (2025), "Language Model Probabilities are Not Calibrated in
Numeric Contexts", in our own wordings. Unit: none.
"""

from collections.abc import Sequence
from fractions import Fraction
from itertools import product
from typing import NamedTuple, cast

from likely.calibration.data_sets.family import Family, Preset
from likely.calibration.data_sets.items import Item, integer_options, make_item
from likely.calibration.data_sets.wording import fill
from likely.core.streams import generator

TEMPLATES = {
    "D1": "An integer {range} is drawn uniformly at random. The integer drawn is",
    "D2": "Every whole number {range} has the same chance. The machine shows",
    "D3": "random_integer(x {range}) ->",
    "D4": "Lottery rules: each number {range} is equally likely. Winning number:",
    "D5": "Pick a uniformly random integer {range}. Answer:",
}

NOTATIONS = {
    "half_open": "in [{low}, {end})",
    "closed": "between {low} and {last} inclusive",
    "words": "from {low} up to but not including {end}",
}
"""How an interval is written: from ``low`` to ``last``, which comes before ``end``."""

WIDTHS: tuple[int, ...] = (2, 3, 4, 5, 6, 8, 10, 16)

STARTS: dict[str, tuple[int, int, int]] = {
    "0-9": (0, 9, 10),
    "10-99": (10, 99, 15),
    "100-899": (100, 899, 15),
}
"""Scale to the smallest start, the largest, and how many are drawn without replacement."""

_LITE = {"0-9": 2, "10-99": 3, "100-899": 3}
_SMOKE = {"0-9": 1, "10-99": 2, "100-899": 2}


class _Spec(NamedTuple):
    template_id: str
    scale: str
    low: int
    width: int
    notation: str


def starts(scale: str, *, seed: int = 0) -> tuple[int, ...]:
    """Return the starts of one scale in the order drawn; smaller presets use the first of them.

    >>> len(starts("100-899"))
    15
    """
    low, high, n_starts = STARTS[scale]
    rng = generator(seed, "calibration", "distributions", scale)
    drawn = rng.permutation(high - low + 1)[:n_starts].tolist()
    return tuple(low + x for x in drawn)


def _plan(preset: Preset, seed: int, design: str) -> Sequence[object]:
    templates, widths, notations = tuple(TEMPLATES), WIDTHS, tuple(NOTATIONS)
    n_starts = {scale: n for scale, (_, _, n) in STARTS.items()}
    if preset != "full":
        notations, n_starts = notations[:1], _LITE
    if preset == "smoke":
        templates, widths, n_starts = templates[:2], widths[::2], _SMOKE
    places = [(scale, low) for scale, n in n_starts.items() for low in starts(scale, seed=seed)[:n]]
    return [
        _Spec(template_id, scale, low, width, notation)
        for template_id, width, (scale, low), notation in product(
            templates, widths, places, notations
        )
    ]


def _render(spec: object) -> Item:
    template_id, scale, low, width, notation = cast(_Spec, spec)
    template = TEMPLATES[template_id].replace("{range}", NOTATIONS[notation])
    last, end = low + width - 1, low + width
    numbers = {"low": low, "last": last} if notation == "closed" else {"low": low, "end": end}
    wording = fill(template, {}, numbers)
    integers = range(low, end)
    return make_item(
        family="distributions",
        version=1,
        template_id=template_id,
        template=template,
        context=wording.text,
        blank=wording.blank,
        options=integer_options(integers),
        ideal=[Fraction(1, width)] * width,
        numbers=tuple(numbers.values()),
        number_pair_id=f"{low}:{end}",
        scale=scale,
        notation=notation,
        has_twin=False,
        meta={
            "width": width,
            "crosses_digit_length": len(str(low)) < len(str(last)),
            "contains_round": any(x % 10 == 0 for x in integers),
            "contains_7": any(x % 10 == 7 for x in integers),
        },
    )


DISTRIBUTIONS = Family(
    name="distributions",
    version=1,
    question="Is each integer of an interval as likely as any other when one is drawn uniformly?",
    templates=TEMPLATES,
    plan=_plan,
    render=_render,
    designs=("uniform",),
)
"""Its items' ``number_pair_id`` names the half-open interval, which all notations share; in their
meta data, ``contains_round`` is of multiples of 10 and ``contains_7`` of integers that end in 7."""
