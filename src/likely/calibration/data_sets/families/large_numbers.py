"""Counts from a thousand to a thousand million, with and without thousands separators.

A separator is the language's own: a comma in English, a narrow no-break space (U+202F) in French,
a point in German. ``link`` joins an item to the same one without separators. Unit: none.
"""

from collections.abc import Sequence
from itertools import product
from typing import NamedTuple, cast

from likely.calibration.data_sets.colour_words import COLOUR_PAIRS, COLOUR_WORDS
from likely.calibration.data_sets.exact_laws import proportional
from likely.calibration.data_sets.family import Family, Preset
from likely.calibration.data_sets.items import Item, Option, make_item
from likely.calibration.data_sets.wording import fill
from likely.core.streams import generator

TEMPLATES = {
    "en1": (
        "A warehouse stores {n1} {c1} beads and {n2} {c2} beads. A robot picks one bead at random. "
        "The colour of that bead is"
    ),
    "en2": (
        "A lottery has printed {n1} {c1} and {n2} {c2} tickets. Every ticket has the same chance "
        "to win. The winning ticket is"
    ),
    "en3": (
        "The stock consists of {n1} {c1} tiles and {n2} {c2} tiles. One tile is chosen at random. "
        "Its colour:"
    ),
    "en4": (
        "A giant screen shows {n1} {c1} dots and {n2} {c2} dots. One dot, chosen at random, goes "
        "dark. That dot was"
    ),
    "en5": (
        "A simulation contains {n1} {c1} cells and {n2} {c2} cells. It selects one cell, all cells "
        "being equally likely. The selected cell is"
    ),
    "fr1": (
        "Un entrepôt contient {n1} perles {c1} et {n2} perles {c2}. Un robot en prend une au "
        "hasard. La couleur de cette perle est le"
    ),
    "fr2": (
        "Une loterie a imprimé {n1} cartes {c1} et {n2} cartes {c2}. Chaque carte a la même chance "
        "de gagner. La carte gagnante est"
    ),
    "fr3": (
        "Le stock compte {n1} tuiles {c1} et {n2} tuiles {c2}. On choisit une tuile au hasard. "
        "Couleur de cette tuile\u00a0:"
    ),
    "fr4": (
        "Un écran géant affiche {n1} cases {c1} et {n2} cases {c2}. Une case, choisie au hasard, "
        "s'éteint. Cette case était"
    ),
    "fr5": (
        "Une simulation contient {n1} cellules {c1} et {n2} cellules {c2}. Elle en choisit une, "
        "toutes ayant la même probabilité. La cellule choisie est"
    ),
    "de1": (
        "Ein Lager enthält {n1} {c1} Perlen und {n2} {c2} Perlen. Ein Roboter greift zufällig eine "
        "Perle heraus. Die Farbe dieser Perle ist"
    ),
    "de2": (
        "Eine Lotterie hat {n1} {c1} und {n2} {c2} Lose gedruckt. Jedes Los gewinnt mit derselben "
        "Wahrscheinlichkeit. Das Gewinnlos ist"
    ),
    "de3": (
        "Der Bestand umfasst {n1} {c1} Fliesen und {n2} {c2} Fliesen. Eine Fliese wird zufällig "
        "ausgewählt. Ihre Farbe:"
    ),
    "de4": (
        "Ein riesiger Bildschirm zeigt {n1} {c1} Felder und {n2} {c2} Felder. Ein zufällig "
        "gewähltes Feld erlischt. Dieses Feld war"
    ),
    "de5": (
        "Eine Simulation enthält {n1} {c1} Zellen und {n2} {c2} Zellen. Sie wählt eine davon aus, "
        "alle mit derselben Wahrscheinlichkeit. Die ausgewählte Zelle ist"
    ),
}

SEPARATORS = {"en": ("comma", ","), "fr": ("space", "\u202f"), "de": ("point", ".")}
"""Language to the notation and the sign that parts thousands in it."""

_PREDICATES = {"fr2", "fr4", "fr5"}
"""The French wordings that end where a colour describes the thing; elsewhere forms are the same."""

_DECADES: tuple[int, ...] = (3, 4, 5, 6, 7, 8)


class _Spec(NamedTuple):
    template_id: str
    notation: str
    decade: int
    pair: tuple[str, str]
    numbers: tuple[int, int]


def separated(number: int, separator: str) -> str:
    """Return a number with a sign between its groups of three digits.

    >>> separated(1234567, "."), separated(999, ",")
    ('1.234.567', '999')
    """
    return f"{number:,}".replace(",", separator)


def _pairs(decade: int, n_pairs: int, *, seed: int) -> list[tuple[int, int]]:
    """Return pairs of different numbers from 10^decade to just under ten times as much."""
    rng = generator(seed, "calibration", "large-numbers", decade)
    drawn: list[tuple[int, int]] = []
    while len(drawn) < n_pairs:
        a, b = (int(x) for x in sorted(rng.integers(10**decade, 10 ** (decade + 1), size=2)))
        # "deux millions de perles": French needs a preposition after whole millions.
        if a < b and (a, b) not in drawn and a % 10**6 and b % 10**6:
            drawn.append((a, b))
    return drawn


def _plan(preset: Preset, seed: int, design: str) -> Sequence[object]:
    templates, pairs, decades, n_pairs = tuple(TEMPLATES), COLOUR_PAIRS[:2], _DECADES, 4
    if preset == "full":
        pairs += COLOUR_PAIRS[4:]
    else:
        decades, n_pairs = (3, 5, 8), 1
    if preset == "smoke":
        templates, decades = ("en1", "fr1", "de1"), (5,)
    return [
        _Spec(template_id, notation, decade, pair, numbers)
        for decade in decades
        for a, b in _pairs(decade, n_pairs, seed=seed)
        for template_id, pair, numbers in product(templates, pairs, ((a, b), (b, a)))
        for notation in ("plain", SEPARATORS[template_id[:2]][0])
    ]


def _render(spec: object) -> Item:
    template_id, notation, decade, (c1, c2), numbers = cast(_Spec, spec)
    lang = template_id[:2]
    sign = "" if notation == "plain" else SEPARATORS[lang][1]
    colours = [COLOUR_WORDS[lang][c] for c in (c1, c2)]
    wording = fill(
        TEMPLATES[template_id],
        {f"c{i}": colour.many for i, colour in enumerate(colours, 1)},
        {f"n{i}": separated(n, sign) for i, n in enumerate(numbers, 1)},
    )
    is_predicate = template_id in _PREDICATES
    return make_item(
        family="large_numbers",
        version=1,
        template_id=template_id,
        template=TEMPLATES[template_id],
        context=wording.text,
        blank=wording.blank,
        options=tuple(
            Option(label=colour.name, words=colour.words(is_predicate=is_predicate))
            for colour in colours
        ),
        ideal=proportional(numbers),
        numbers=numbers,
        lang=lang,
        scale=f"1e{decade}-1e{decade + 1}",
        notation=notation,
        meta={"link": f"{template_id}/{c1}/{c2}/{numbers[0]}:{numbers[1]}", "variant": notation},
    )


LARGE_NUMBERS = Family(
    name="large_numbers",
    version=1,
    question="Do probabilities follow counts of thousands and millions, however they are written?",
    templates=TEMPLATES,
    plan=_plan,
    render=_render,
)
