"""One of two colours is not there at all: does the model give it nothing?

The ideal law is certain, so its entropy is 0 and the ratio of entropies is not defined. The
absent colour is written three ways (``notation``): ``counts`` says "0 blue beads", ``no`` says
"no blue beads", and ``all`` says "all are red and none are blue". Unit: none.
"""

from collections.abc import Sequence
from itertools import product
from typing import NamedTuple, cast

from likely.calibration.data_sets.colour_words import COLOUR_PAIRS
from likely.calibration.data_sets.exact_laws import proportional
from likely.calibration.data_sets.family import Family, Preset
from likely.calibration.data_sets.items import Item, make_item, named_options
from likely.calibration.data_sets.number_pairs import SCALES
from likely.calibration.data_sets.wording import fill
from likely.core.streams import generator

TEMPLATES = {
    "Z1": (
        "A jar holds {n1} {c1} beads and {n2} {c2} beads. Leo draws one bead at random. The colour "
        "of that bead is"
    ),
    "Z2": (
        "Inside a closed sack there are {n1} {c1} and {n2} {c2} tokens. A machine takes out one "
        "token, each token being equally likely. The token taken out is"
    ),
    "Z3": (
        "The drawer contains {n1} {c1} buttons and {n2} {c2} buttons. One button is taken out in "
        "the dark. Its colour:"
    ),
    "Z4": (
        "On the line hang {n1} {c1} shirts and {n2} {c2} shirts. A gust carries off one of them by "
        "pure chance. The shirt that flew away was"
    ),
    "Z5": (
        "A deck is put together from {n1} {c1} cards and {n2} {c2} cards. It is shuffled. The top "
        "card is"
    ),
    "A1": (
        "Of the {n} beads in a jar, {q1} are {c1} and {q2} are {c2}. Leo draws one bead at random. "
        "The colour of that bead is"
    ),
    "A2": (
        "Inside a closed sack there are {n} tokens: {q1} of them are {c1} and {q2} of them are "
        "{c2}. A machine takes out one token, each token being equally likely. The token taken out "
        "is"
    ),
    "A3": (
        "The drawer contains {n} buttons, of which {q1} are {c1} and {q2} are {c2}. One button is "
        "taken out in the dark. Its colour:"
    ),
    "A4": (
        "On the line hang {n} shirts; {q1} are {c1}, {q2} are {c2}. A gust carries off one of them "
        "by pure chance. The shirt that flew away was"
    ),
    "A5": (
        "A deck is put together from {n} cards; {q1} of these are {c1} while {q2} are {c2}. It is "
        "shuffled. The top card is"
    ),
}
"""Z1 to Z5 give a number for each colour; A1 to A5 tell the same scenes with "all" and "none"."""

_SCENES: tuple[str, ...] = ("1", "2", "3", "4", "5")
_SMALLEST = 3  # of 2 beads "both", not "all", are red


class _Spec(NamedTuple):
    scene: str
    notation: str
    pair: tuple[str, str]
    scale: str
    numbers: tuple[int, int]


def _totals(scale: str, n_totals: int, *, seed: int) -> list[int]:
    low, high = SCALES[scale]
    low = max(low, _SMALLEST)
    rng = generator(seed, "calibration", "zero-one", scale)
    return [low + x for x in rng.permutation(high - low + 1)[:n_totals].tolist()]


def _plan(preset: Preset, seed: int, design: str) -> Sequence[object]:
    scenes, pairs, scales, n_totals = _SCENES, COLOUR_PAIRS, tuple(SCALES), 6
    if preset != "full":
        pairs, n_totals = pairs[:2], 2
    if preset == "smoke":
        scenes, scales = scenes[:1], scales[1:2]
    return [
        _Spec(scene, notation, pair, scale, numbers)
        for scene, notation, pair, scale in product(scenes, ("counts", "no", "all"), pairs, scales)
        for total in _totals(scale, n_totals, seed=seed)
        for numbers in ((total, 0), (0, total))
    ]


def _render(spec: object) -> Item:
    scene, notation, pair, scale, numbers = cast(_Spec, spec)
    c1, c2 = pair
    template_id = f"{'A' if notation == 'all' else 'Z'}{scene}"
    template = TEMPLATES[template_id]
    blank = None
    if notation == "all":
        q1, q2 = ("all" if n else "none" for n in numbers)
        words = {"c1": c1, "c2": c2, "q1": q1, "q2": q2}
        text = fill(template, words, {"n": sum(numbers)}).text
    else:
        n1, n2 = (n if n or notation == "counts" else "no" for n in numbers)
        wording = fill(template, {"c1": c1, "c2": c2}, {"n1": n1, "n2": n2})
        text, blank = wording.text, wording.blank
    return make_item(
        family="zero_one",
        version=1,
        template_id=template_id,
        template=template,
        context=text,
        blank=blank,
        options=named_options(pair),
        ideal=proportional(numbers),
        numbers=numbers,
        scale=scale,
        notation=notation,
        meta={"link": f"{scene}/{c1}/{c2}/{numbers[0]}:{numbers[1]}", "variant": notation},
    )


ZERO_ONE = Family(
    name="zero_one",
    version=1,
    question="Does a colour that is not there get nothing, and the only colour everything?",
    templates=TEMPLATES,
    plan=_plan,
    render=_render,
)
