"""Two colours with their counts, one thing drawn: is its colour as likely as its share?

Sources: the design of Lovering et al. (2025), "Language Model Probabilities are Not Calibrated in
Numeric Contexts", in our own wordings. Unit: none.
"""

from collections.abc import Sequence
from itertools import product
from typing import NamedTuple, cast

from likely.calibration.data_sets.exact_laws import proportional
from likely.calibration.data_sets.family import Family, Preset
from likely.calibration.data_sets.items import Item, make_item, named_options
from likely.calibration.data_sets.number_pairs import DESIGNS, SCALES, NumberPair, crossed_numbers
from likely.calibration.data_sets.wording import fill

COLOUR_NAMES = (
    "black", "blue", "brown", "gold", "green", "orange", "pink", "purple", "red", "white", "yellow",
)  # fmt: skip

TEMPLATES = {
    "C1": (
        "A jar holds {n1} {c1} {n1|bead|beads} and {n2} {c2} {n2|bead|beads}. Mia shakes it and "
        "draws one bead at random. The colour of that bead is"
    ),
    "C2": (
        "Inside a closed box there are {n1} {c1} and {n2} {c2} {n2|token|tokens}. A machine ejects "
        "one token, each token being equally likely. The ejected token is"
    ),
    "C3": (
        "Inventory of the drawer - {c1} buttons: {n1}; {c2} buttons: {n2}. One button is taken out "
        "in the dark. Its colour:"
    ),
    "C4": (
        "At the party {n1} {n1|balloon|balloons} {n1|is|are} {c1} and {n2} {n2|is|are} {c2}. The "
        "wind bursts one of them by pure chance. The burst balloon was"
    ),
    "C5": (
        "{n1} {c1} {n1|card|cards} and {n2} {c2} {n2|card|cards} are shuffled into one pile. The "
        "top card of the pile is"
    ),
}


class _Spec(NamedTuple):
    template_id: str
    scale: str
    pair: tuple[str, str]
    numbers: NumberPair


def lite_pairs() -> tuple[tuple[str, str], ...]:
    """Return 11 unordered pairs in which each colour comes twice, in both orders."""
    n = len(COLOUR_NAMES)
    ring = [(COLOUR_NAMES[i], COLOUR_NAMES[(i + 4) % n]) for i in range(n)]
    return tuple(order for a, b in ring for order in ((a, b), (b, a)))


def _plan(preset: Preset, seed: int, design: str) -> Sequence[object]:
    templates, scales = tuple(TEMPLATES), tuple(SCALES)
    pairs = tuple((a, b) for a, b in product(COLOUR_NAMES, COLOUR_NAMES) if a != b)
    n_pairs = 50
    if preset != "full":
        pairs, n_pairs = lite_pairs(), 10
    if preset == "smoke":
        templates, scales, pairs = templates[:1], scales[1:2], pairs[:6]
    numbers = crossed_numbers(scales, n_pairs, seed=seed, design=design)
    return [
        _Spec(template_id, scale, pair, both)
        for template_id, scale, pair in product(templates, numbers, pairs)
        for both in numbers[scale]
    ]


def _render(spec: object) -> Item:
    template_id, scale, (c1, c2), numbers = cast(_Spec, spec)
    n1, n2 = numbers.first, numbers.second
    wording = fill(TEMPLATES[template_id], {"c1": c1, "c2": c2}, {"n1": n1, "n2": n2})
    return make_item(
        family="colors",
        version=1,
        template_id=template_id,
        template=TEMPLATES[template_id],
        context=wording.text,
        blank=wording.blank,
        options=named_options((c1, c2)),
        ideal=proportional((n1, n2)),
        numbers=(n1, n2),
        scale=scale,
        weight=numbers.weight,
        meta={"dup": numbers.repeat},
    )


COLORS = Family(
    name="colors",
    version=1,
    question="Is a colour as likely to be drawn as its share of the things in the jar?",
    templates=TEMPLATES,
    plan=_plan,
    render=_render,
    designs=DESIGNS,
)
