"""The sum of several fair dice: does the model know how often each total comes?

From two dice on: one die is uniform, and so in the family `distributions`. Totals end at 60, so
that no item has more than 59 options. Unit: none.
"""

from collections.abc import Sequence
from itertools import product
from typing import NamedTuple, cast

from likely.calibration.data_sets.exact_laws import dice_total
from likely.calibration.data_sets.family import Family, Preset
from likely.calibration.data_sets.items import Item, integer_options, make_item
from likely.calibration.data_sets.number_words import in_words
from likely.calibration.data_sets.wording import fill, for_slots

LARGEST_TOTAL = 60

DICE = tuple((d, s) for s in range(3, 21) for d in range(2, 11) if d * s <= LARGEST_TOTAL)
"""How many dice, and with how many sides."""

NOTATIONS = ("digits", "words")

TEMPLATES = {
    "S1": (
        "Eva rolls {d} fair dice, each with faces numbered from {lo} to {s}. The sum of the faces "
        "that come up is"
    ),
    "S2": (
        "On the table are {d} fair {s}-sided dice, numbered in the usual way. They are rolled "
        "together. The total is"
    ),
    "S3": "Dice: {d}, all fair. Faces of each: {lo} to {s}. Total of the roll:",
    "S4": (
        "A fair die with faces numbered from {lo} to {s} is thrown {d} times, and the results are "
        "added. The sum is"
    ),
    "S5": (
        "A program draws {d} whole numbers independently and uniformly from {lo} to {s}, both ends "
        "included, and prints their sum. It prints"
    ),
    "S6": (
        "Each of {d} wheels is divided into {s} equal sectors, numbered from {lo} to {s}. The "
        "wheels are spun, and the numbers they stop at are added. The sum is"
    ),
}


class _Spec(NamedTuple):
    template_id: str
    dice: tuple[int, int]
    notation: str


def _plan(preset: Preset, seed: int, design: str) -> Sequence[object]:
    del seed, design  # nothing is drawn: the crossing is full
    some = ((2, 4), (2, 6), (2, 10), (3, 6), (4, 6), (2, 8), (2, 12), (2, 20), (3, 4), (3, 8))
    templates, dice = {
        "smoke": (("S1", "S4"), some[:5]),
        "lite": (tuple(TEMPLATES), some),
        "full": (tuple(TEMPLATES), DICE),
    }[preset]
    return [_Spec(*spec) for spec in product(templates, dice, NOTATIONS)]


def _render(spec: object) -> Item:
    template_id, (n_dice, n_sides), notation = cast(_Spec, spec)
    template = TEMPLATES[template_id]
    numbers = for_slots(template, {"d": n_dice, "s": n_sides, "lo": 1})
    written: dict[str, int | str] = {
        name: in_words(n) if notation == "words" else n for name, n in numbers.items()
    }
    wording = fill(template, {}, written)
    return make_item(
        family="dice_sum",
        version=1,
        template_id=template_id,
        template=template,
        context=wording.text,
        blank=wording.blank,
        options=integer_options(range(n_dice, n_dice * n_sides + 1)),
        ideal=dice_total(n_dice, n_sides),
        numbers=(n_dice, n_sides),
        number_pair_id=f"{n_dice}d{n_sides}",
        notation=notation,
        has_twin=False,
        meta={"n_dice": n_dice, "n_sides": n_sides},
    )


DICE_SUM = Family(
    name="dice_sum",
    version=1,
    question="Does the sum of several dice follow its law?",
    templates=TEMPLATES,
    plan=_plan,
    render=_render,
)
