"""Counts times a factor: the shares stay, so should the probabilities.

The base is a pair of coprime numbers; it names the number pair, and `link` joins its multiples.
`likely.calibration.analyses.linked.scale_error` measures how far they move. Unit: none.
"""

from collections.abc import Sequence
from itertools import combinations, product
from math import gcd
from typing import NamedTuple, cast

from likely.calibration.data_sets.colour_words import COLOUR_PAIRS
from likely.calibration.data_sets.exact_laws import proportional
from likely.calibration.data_sets.family import Family, Preset
from likely.calibration.data_sets.items import Item, make_item, named_options, pair_id
from likely.calibration.data_sets.wording import fill
from likely.core.streams import generator

TEMPLATES = {
    "S1": (
        "A tin contains {n1} {c1} {n1|sweet|sweets} and {n2} {c2} {n2|sweet|sweets}. Noor takes "
        "one sweet without looking. The colour of that sweet is"
    ),
    "S2": (
        "A drum is loaded with {n1} {c1} and {n2} {c2} {n2|ball|balls}. It turns and drops one "
        "ball, each ball being equally likely. The dropped ball is"
    ),
    "S3": (
        "Contents of the tray - {c1} pegs: {n1}; {c2} pegs: {n2}. One peg is picked blindly. Its "
        "colour:"
    ),
    "S4": (
        "In the harbour {n1} {n1|boat|boats} {n1|is|are} {c1} and {n2} {n2|is|are} {c2}. One of "
        "these boats is chosen by lot and inspected. The inspected boat is"
    ),
    "S5": (
        "{n1} {c1} {n1|flag|flags} and {n2} {c2} {n2|flag|flags} hang in the hall. One flag, "
        "chosen at random, is taken down. That flag is"
    ),
}

FACTORS: tuple[int, ...] = (1, 2, 5, 10, 50, 100)

_BASES = tuple((a, b) for a, b in combinations(range(1, 11), 2) if gcd(a, b) == 1)


class _Spec(NamedTuple):
    template_id: str
    pair: tuple[str, str]
    base: tuple[int, int]
    factor: int


def _plan(preset: Preset, seed: int, design: str) -> Sequence[object]:
    templates, pairs, factors, n_bases = tuple(TEMPLATES), COLOUR_PAIRS, FACTORS, 15
    if preset != "full":
        pairs, factors, n_bases = pairs[:2], (1, 2, 10, 100), 4
    if preset == "smoke":
        templates, n_bases = templates[:1], 2
    rng = generator(seed, "calibration", "scaled")
    bases = [_BASES[i] for i in rng.permutation(len(_BASES))[:n_bases].tolist()]
    return [
        _Spec(template_id, pair, base, factor)
        for template_id, pair, (a, b) in product(templates, pairs, bases)
        for base in ((a, b), (b, a))
        for factor in factors
    ]


def _render(spec: object) -> Item:
    template_id, (c1, c2), (a, b), factor = cast(_Spec, spec)
    n1, n2 = factor * a, factor * b
    wording = fill(TEMPLATES[template_id], {"c1": c1, "c2": c2}, {"n1": n1, "n2": n2})
    return make_item(
        family="scaled",
        version=1,
        template_id=template_id,
        template=TEMPLATES[template_id],
        context=wording.text,
        blank=wording.blank,
        options=named_options((c1, c2)),
        ideal=proportional((n1, n2)),
        numbers=(n1, n2),
        number_pair_id=pair_id((a, b)),
        meta={"k": factor, "link": f"{template_id}/{c1}/{c2}/{a}:{b}", "variant": f"x{factor}"},
    )


SCALED = Family(
    name="scaled",
    version=1,
    question="Do probabilities stay when all counts are multiplied by one number?",
    templates=TEMPLATES,
    plan=_plan,
    render=_render,
)
