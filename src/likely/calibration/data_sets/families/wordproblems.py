"""Ten scenes with two outcomes and their numbers: counts, odds, shares or weights.

Each scene has one wording and four to ten pairs of options. A stem names both options once, in the
same role, and ends where the bare singular comes next, so that no article tells them apart.

Sources: the design of Lovering et al. (2025), "Language Model Probabilities are Not Calibrated in
Numeric Contexts", with scenes and wordings of our own. Unit: none.
"""

from collections.abc import Sequence
from functools import lru_cache
from itertools import product
from typing import NamedTuple, cast

from likely.calibration.data_sets.exact_laws import proportional
from likely.calibration.data_sets.family import Family, Preset
from likely.calibration.data_sets.items import Item, make_item, named_options
from likely.calibration.data_sets.number_pairs import DESIGNS, SCALES, NumberPair, crossed_numbers
from likely.calibration.data_sets.wording import fill

TEMPLATES = {
    "W1": (
        "A crate holds {n1} {things1} and {n2} {things2}. Omar reaches in with closed eyes and "
        "takes one piece of fruit at random. The kind of fruit taken is"
    ),
    "W2": (
        "An animal shelter looks after {n1} {things1} and {n2} {things2}. The gate is left open "
        "and one of them, each as likely as any other, wanders out before the rest. Animal outside:"
    ),
    "W3": (
        "The shelf of a tool shed carries {n1} {things1} and {n2} {things2}. A door slams and one "
        "of them drops to the floor, any one as likely as any other. Tool on the floor:"
    ),
    "W4": (
        "A queue of {n1} {things1} and {n2} {things2}, in random order, waits at a toll gate. A "
        "camera photographs the next vehicle to drive through. Vehicle type:"
    ),
    "W5": (
        "The prizes of a music raffle are {n1} {things1} and {n2} {things2}. A visitor wins one "
        "prize, drawn blindly from all of them. Instrument won:"
    ),
    "W6": (
        "A society has {n1} {things1} and {n2} {things2} as its members. A lottery in which every "
        "member has the same chance picks one of them. Occupation of the member picked:"
    ),
    "W7": (
        "A kitchen has {n1} {n1|order|orders} for {thing1} and {n2} {n2|order|orders} for {thing2}"
        ", each on a ticket of its own. The tickets are shuffled and one is pulled out. The ticket "
        "is an order for"
    ),
    "W8": (
        "For tomorrow the forecast puts {thing1} and {thing2} at odds of {n1} to {n2}, in that "
        "order, and nothing else can come. Tomorrow brings"
    ),
    "W9": (
        "A long playlist is made up of {n1} {n1|part|parts} {thing1} and {n2} {n2|part|parts} "
        "{thing2}. Shuffle play picks a track, each having the same chance. The genre of that "
        "track is"
    ),
    "W10": (
        "Into a hat go {n1} {n1|ticket|tickets} in favour of {thing1} and {n2} "
        "{n2|ticket|tickets} in favour of {thing2}. The club will play what is on the ticket that "
        "is pulled out blindly. That ticket is in favour of"
    ),
}

PAIRS: dict[str, tuple[tuple[str, str], ...]] = {
    "W1": (
        ("apple", "pear"), ("plum", "peach"), ("lemon", "lime"), ("mango", "papaya"),
        ("fig", "date"), ("cherry", "grape"), ("melon", "banana"), ("apricot", "nectarine"),
        ("kiwi", "guava"), ("quince", "pomelo"),
    ),
    "W2": (
        ("dog", "cat"), ("rabbit", "hamster"), ("goat", "sheep"), ("horse", "donkey"),
        ("duck", "goose"), ("parrot", "canary"), ("lizard", "turtle"), ("cow", "pig"),
    ),
    "W3": (
        ("hammer", "wrench"), ("drill", "saw"), ("shovel", "rake"), ("chisel", "file"),
        ("bucket", "broom"), ("ladder", "rope"),
    ),
    "W4": (
        ("car", "truck"), ("bus", "van"), ("bicycle", "scooter"), ("taxi", "ambulance"),
        ("tractor", "trailer"), ("train", "tram"),
    ),
    "W5": (
        ("piano", "violin"), ("guitar", "drum"), ("flute", "trumpet"), ("harp", "cello"),
        ("banjo", "organ"),
    ),
    "W6": (
        ("teacher", "engineer"), ("pilot", "sailor"), ("baker", "butcher"),
        ("lawyer", "gardener"), ("painter", "plumber"),
    ),
    "W7": (("tea", "coffee"), ("juice", "water"), ("milk", "soda"), ("beer", "wine")),
    "W8": (("rain", "sun"), ("snow", "wind"), ("fog", "frost"), ("hail", "drizzle")),
    "W9": (("jazz", "rock"), ("folk", "metal"), ("opera", "pop"), ("blues", "techno")),
    "W10": (
        ("tennis", "golf"), ("rugby", "cricket"), ("hockey", "boxing"), ("cycling", "rowing"),
    ),
}  # fmt: skip
"""Of each scene; each is used in both orders."""

NOTATIONS = {"W8": "odds", "W9": "shares", "W10": "weights"}
"""How a scene's numbers enter; all others are counts."""

_PLURALS = {
    "bus": "buses",
    "cherry": "cherries",
    "canary": "canaries",
    "goose": "geese",
    "mango": "mangoes",
    "peach": "peaches",
    "sheep": "sheep",
    "wrench": "wrenches",
}


def plural(noun: str) -> str:
    """Return the plural of an option of a scene with counts.

    >>> plural("goose"), plural("pear")
    ('geese', 'pears')
    """
    return _PLURALS.get(noun, noun + "s")


class _Spec(NamedTuple):
    template_id: str
    scale: str
    pair: tuple[str, str]
    numbers: NumberPair


def _plan(preset: Preset, seed: int, design: str) -> Sequence[object]:
    templates, scales = tuple(TEMPLATES), tuple(SCALES)
    n_options, n_pairs = None, 50
    if preset != "full":
        n_options, n_pairs = 2, 10
    if preset == "smoke":
        templates, scales = templates[:2], scales[1:2]
    numbers = crossed_numbers(scales, n_pairs, seed=seed, design=design)
    return [
        _Spec(template_id, scale, order, both)
        for template_id, scale in product(templates, numbers)
        for pair in PAIRS[template_id][:n_options]
        for order in (pair, pair[::-1])
        for both in numbers[scale]
    ]


@lru_cache(maxsize=256)
def _with_nouns(template: str, pair: tuple[str, str]) -> str:
    """Return a template with its options in place, countable ones in agreement with a number."""
    for i, noun in enumerate(pair, start=1):
        template = template.replace(f"{{things{i}}}", f"{{n{i}|{noun}|{plural(noun)}}}")
        template = template.replace(f"{{thing{i}}}", noun)
    return template


def _render(spec: object) -> Item:
    template_id, scale, pair, numbers = cast(_Spec, spec)
    template = TEMPLATES[template_id]
    n1, n2 = numbers.first, numbers.second
    wording = fill(_with_nouns(template, pair), {}, {"n1": n1, "n2": n2})
    return make_item(
        family="wordproblems",
        version=1,
        template_id=template_id,
        template=template,
        context=wording.text,
        blank=wording.blank,
        options=named_options(pair),
        ideal=proportional((n1, n2)),
        numbers=(n1, n2),
        scale=scale,
        notation=NOTATIONS.get(template_id, "counts"),
        weight=numbers.weight,
        meta={"dup": numbers.repeat},
    )


WORDPROBLEMS = Family(
    name="wordproblems",
    version=1,
    question="Is an outcome of an everyday scene as likely as its count, odds, share or weight?",
    templates=TEMPLATES,
    plan=_plan,
    render=_render,
    designs=DESIGNS,
)
