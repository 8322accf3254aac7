"""A number that has nothing to do with the draw: does it move the probabilities?

Each link has one clean item and, at three places (``variant``: ``before``, ``between``,
``after``), an age, a year and a bus line. `likely.calibration.distractor_shift` measures the move.
Unit: none.
"""

from collections.abc import Sequence
from itertools import product
from typing import NamedTuple, cast

from likely.calibration.data_sets.colour_words import COLOUR_PAIRS
from likely.calibration.data_sets.exact_laws import proportional
from likely.calibration.data_sets.family import Family, Preset
from likely.calibration.data_sets.items import Item, make_item, named_options
from likely.calibration.data_sets.number_pairs import SCALES, NumberPair, number_pairs
from likely.calibration.data_sets.wording import fill
from likely.core.streams import generator

TEMPLATES = {
    "X1": (
        "{before}A jar holds {n1} {c1} {n1|bead|beads} and {n2} {c2} {n2|bead|beads}. {between}Mia "
        "shakes the jar and draws one bead at random. {after}The colour of that bead is"
    ),
    "X2": (
        "{before}In a closed box lie {n1} {c1} and {n2} {c2} {n2|token|tokens}. {between}A machine "
        "ejects one token, each token being equally likely. {after}The ejected token is"
    ),
    "X3": (
        "{before}The drawer contains {n1} {c1} {n1|button|buttons} and {n2} {c2} "
        "{n2|button|buttons}. {between}One button is taken out in the dark. {after}The colour of "
        "the button:"
    ),
    "X4": (
        "{before}At the fair {n1} {n1|balloon|balloons} {n1|is|are} {c1} and {n2} {n2|is|are} "
        "{c2}. {between}The wind bursts one of them by pure chance. {after}The burst balloon was"
    ),
    "X5": (
        "{before}A pile consists of {n1} {c1} {n1|card|cards} and {n2} {c2} {n2|card|cards}. "
        "{between}The pile is shuffled. {after}The top card is"
    ),
}

POSITIONS = ("before", "between", "after")

_SENTENCES = {
    "age": "Tom is {d} years old. ",
    "year": "The house was built in {d}. ",
    "bus": "The number {d} bus stops outside. ",
}
_RANGES = {"age": (18, 80), "year": (1950, 2020), "bus": (2, 99)}


class _Spec(NamedTuple):
    template_id: str
    scale: str
    pair: tuple[str, str]
    numbers: NumberPair
    position: str
    kind: str
    number: int


def _number(kind: str, numbers: NumberPair, *, seed: int) -> int:
    """Return the odd number of one pair of counts: the same in both orders, and neither count."""
    counts = sorted((numbers.first, numbers.second))
    low, high = _RANGES[kind]
    free = [x for x in range(low, high + 1) if x not in counts]
    return int(generator(seed, "calibration", "distractor", kind, *counts).choice(free))


def _plan(preset: Preset, seed: int, design: str) -> Sequence[object]:
    templates, pairs, scales, n_pairs = tuple(TEMPLATES), COLOUR_PAIRS, tuple(SCALES), 3
    if preset != "full":
        pairs, scales, n_pairs = pairs[:2], scales[1:2], 2
    if preset == "smoke":
        templates, n_pairs = templates[:1], 1
    specs = []
    for scale in scales:
        for numbers in number_pairs(scale, n_pairs, seed=seed):
            odd = {kind: _number(kind, numbers, seed=seed) for kind in _SENTENCES}
            places = [
                ("clean", "", 0),
                *((at, kind, odd[kind]) for at in POSITIONS for kind in odd),
            ]
            specs += [
                _Spec(template_id, scale, pair, numbers, *place)
                for template_id, pair, place in product(templates, pairs, places)
            ]
    return specs


def _render(spec: object) -> Item:
    template_id, scale, (c1, c2), pair, position, kind, number = cast(_Spec, spec)
    n1, n2 = pair.first, pair.second
    template = TEMPLATES[template_id]
    numbers: dict[str, int | str] = {"n1": n1, "n2": n2}
    meta: dict[str, str | int] = {
        "link": f"{template_id}/{c1}/{c2}/{n1}:{n2}",
        "variant": position,
    }
    for slot in POSITIONS:
        template = template.replace(f"{{{slot}}}", _SENTENCES[kind] if slot == position else "")
    if kind:
        numbers["d"] = number
        meta |= {"kind": kind, "distractor": number}
    wording = fill(template, {"c1": c1, "c2": c2}, numbers)
    return make_item(
        family="distractor",
        version=1,
        template_id=template_id,
        template=TEMPLATES[template_id],
        context=wording.text,
        blank=wording.blank,
        options=named_options((c1, c2)),
        ideal=proportional((n1, n2)),
        numbers=(n1, n2),
        scale=scale,
        weight=pair.weight,
        meta=meta,
    )


DISTRACTOR = Family(
    name="distractor",
    version=1,
    question="Do probabilities stay when the text also has a number that does not matter?",
    templates=TEMPLATES,
    plan=_plan,
    render=_render,
)
