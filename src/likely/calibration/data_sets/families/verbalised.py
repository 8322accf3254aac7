"""The question put in words: which percentage does the model state for an event?

A stated item ends where a whole number of percent follows, and has 101 options, ``0`` to ``100``,
with the value in percent; its ideal is the point mass at the true percentage, which is whole since
the counts add up to 4, 5, 10, 20, 25, 50 or 100. The design ``revealed`` holds the same scenes
as sentences that end before the colour, so that `likely.calibration.verbalised` can join what a
model states to what its probabilities reveal. Unit: none.
"""

from collections.abc import Sequence
from fractions import Fraction
from itertools import product
from typing import NamedTuple, cast

from likely.calibration.data_sets.colour_words import COLOUR_PAIRS
from likely.calibration.data_sets.exact_laws import proportional
from likely.calibration.data_sets.family import Family, Preset
from likely.calibration.data_sets.items import Item, integer_options, make_item, named_options
from likely.calibration.data_sets.wording import fill
from likely.core.streams import generator

_SCENES = {
    "1": (
        "A jar holds {n1} {c1} {n1|bead|beads} and {n2} {c2} {n2|bead|beads}. One bead is drawn at "
        "random."
    ),
    "2": (
        "Inside a closed box there are {n1} {c1} and {n2} {c2} {n2|token|tokens}. A machine ejects "
        "one token, each token being equally likely."
    ),
    "3": (
        "Inventory of the drawer - {c1} buttons: {n1}; {c2} buttons: {n2}. One button is taken out "
        "in the dark."
    ),
    "4": (
        "At the fair {n1} {n1|balloon|balloons} {n1|is|are} {c1} and {n2} {n2|is|are} {c2}. The "
        "wind bursts one of them by pure chance."
    ),
    "5": (
        "{n1} {c1} {n1|card|cards} and {n2} {c2} {n2|card|cards} are shuffled into one pile, and "
        "the top card is turned over."
    ),
}

_QUESTIONS = {
    "1": "What is the probability that it is {c}? Answer in percent:",
    "2": "The probability that the ejected token is {c}, in percent:",
    "3": "Percentage chance that this button is {c}:",
    "4": "Chance that the burst balloon was {c}, as a percentage:",
    "5": "In percent, the probability that it is {c} equals",
}

_ENDINGS = {
    "1": "The colour of that bead is",
    "2": "The ejected token is",
    "3": "Its colour:",
    "4": "The burst balloon was",
    "5": "The colour of the top card is",
}

TEMPLATES = {
    f"{letter}{scene}": f"{_SCENES[scene]} {ends[scene]}"
    for letter, ends in (("V", _QUESTIONS), ("R", _ENDINGS))
    for scene in _SCENES
}
"""V1 to V5 ask for a percentage, R1 to R5 tell the same scenes and reveal it."""

TOTALS = (4, 5, 10, 20, 25, 50, 100)
"""Sums of counts for which every probability is a whole number of percent."""

PERCENTAGES = integer_options(range(101))
"""The options of a stated item."""


class _Spec(NamedTuple):
    scene: str
    pair: tuple[str, str]
    numbers: tuple[int, int]
    asked: int | None


def _counts(total: int, n_pairs: int, *, seed: int) -> list[tuple[int, int]]:
    """Return pairs of different counts with this sum; no more than there are."""
    rng = generator(seed, "calibration", "verbalised", total)
    smaller = 1 + rng.permutation((total - 1) // 2)[:n_pairs]
    return [(int(a), total - int(a)) for a in sorted(smaller)]


def _plan(preset: Preset, seed: int, design: str) -> Sequence[object]:
    scenes, pairs, n_pairs = tuple(_SCENES), COLOUR_PAIRS, 3
    if preset != "full":
        pairs, n_pairs = pairs[:2], 1
    if preset == "smoke":
        scenes = scenes[:1]
    numbers = [
        both
        for total in TOTALS
        for a, b in _counts(total, n_pairs, seed=seed)
        for both in ((a, b), (b, a))
    ]
    asked: tuple[int | None, ...] = (None,) if design == "revealed" else (0, 1)
    return [_Spec(*spec) for spec in product(scenes, pairs, numbers, asked)]


def _render(spec: object) -> Item:
    scene, pair, numbers, asked = cast(_Spec, spec)
    c1, c2 = pair
    shares = proportional(numbers)
    words = {"c1": c1, "c2": c2}
    meta: dict[str, str | int] = {
        "link": f"{scene}/{c1}/{c2}/{numbers[0]}:{numbers[1]}",
        "variant": "revealed" if asked is None else "stated",
    }
    if asked is None:
        template_id, options, ideal = f"R{scene}", named_options(pair), shares
    else:
        template_id, options = f"V{scene}", PERCENTAGES
        words["c"] = pair[asked]
        percent = int(100 * shares[asked])
        ideal = tuple(Fraction(int(k == percent)) for k in range(101))
        meta |= {"asked": ("first", "second")[asked], "mention": f"{c1}/{c2}", "percent": percent}
    wording = fill(TEMPLATES[template_id], words, {"n1": numbers[0], "n2": numbers[1]})
    return make_item(
        family="verbalised",
        version=1,
        template_id=template_id,
        template=TEMPLATES[template_id],
        context=wording.text,
        blank=wording.blank,
        options=options,
        ideal=ideal,
        numbers=numbers,
        has_twin=asked is None,
        meta=meta,
    )


VERBALISED = Family(
    name="verbalised",
    version=1,
    question="Which percentage does the model state, and does it match what it reveals?",
    templates=TEMPLATES,
    plan=_plan,
    render=_render,
    designs=("balanced", "revealed"),
)
