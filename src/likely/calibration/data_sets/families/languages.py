# ruff: noqa: RUF001  # Chinese and French have their own punctuation
"""The urn in English, Chinese, French, German and Spanish: does the language matter?

Five scenes, each told in each language, so that `link` joins an item to its translations and
``variant`` is the language. Numbers are digits, and number words as well up to 10. Colours agree in
number and, in French and Spanish, in gender: scenes 2 and 5 end where the colour describes a
feminine noun (``est bleue``), the others where it names the colour (``est le bleu``). Chinese has
no spaces: an answer follows at once. Unit: none.
"""

from collections.abc import Sequence
from itertools import product
from typing import NamedTuple, cast

from likely.calibration.data_sets.colour_words import COLOUR_PAIRS, COLOUR_WORDS, ColourWord
from likely.calibration.data_sets.exact_laws import proportional
from likely.calibration.data_sets.family import Family, Preset
from likely.calibration.data_sets.items import Item, Option, make_item
from likely.calibration.data_sets.number_pairs import NumberPair, number_pairs
from likely.calibration.data_sets.wording import NUMBER, fill, for_slots

TEMPLATES = {
    "en1": (
        "A bag contains {w1} {c1} {n1|marble|marbles} and {w2} {c2} {n2|marble|marbles}. One "
        "marble is drawn at random. The colour of that marble is"
    ),
    "en2": (
        "An urn holds {w1} {c1} and {w2} {c2} {n2|ball|balls}. A child takes out one ball without "
        "looking. That ball is"
    ),
    "en3": (
        "Anna has {w1} {c1} {n1|bead|beads} and {w2} {c2} {n2|bead|beads} in her pocket. She "
        "pulls one out at random. The colour of that bead is"
    ),
    "en4": (
        "A pack contains {w1} {c1} and {w2} {c2} {n2|card|cards}. It is shuffled well, and the top "
        "card is turned over. Colour of that card:"
    ),
    "en5": (
        "The hall is lit by {w1} {c1} {n1|candle|candles} and {w2} {c2} {n2|candle|candles}. A "
        "draught puts out one of them by pure chance. The candle that went out was"
    ),
    "zh1": ("袋子里有{w1}颗{c1}弹珠和{w2}颗{c2}弹珠。随机取出一颗弹珠。这颗弹珠的颜色是"),
    "zh2": ("罐子里装着{w1}个{c1}的球和{w2}个{c2}的球。一个孩子闭着眼睛拿出一个球。这个球是"),
    "zh3": ("安娜的口袋里有{w1}颗{c1}珠子和{w2}颗{c2}珠子。她随机摸出一颗。这颗珠子的颜色是"),
    "zh4": (
        "这叠卡片里有{w1}张{c1}卡片和{w2}张{c2}卡片。把卡片洗匀后，翻开最上面的一张。"
        "这张卡片的颜色："
    ),
    "zh5": ("大厅里点着{w1}根{c1}蜡烛和{w2}根{c2}蜡烛。一阵风随机吹灭了其中一根。被吹灭的蜡烛是"),
    "fr1": (
        "Un sac contient {w1} {n1|bille|billes} {c1} et {w2} {n2|bille|billes} {c2}. On tire une "
        "bille au hasard. La couleur de cette bille est le"
    ),
    "fr2": (
        "Une urne renferme {w1} {n1|boule|boules} {c1} et {w2} {n2|boule|boules} {c2}. Un enfant "
        "prend une boule sans regarder. Cette boule est"
    ),
    "fr3": (
        "Anna a dans sa poche {w1} {n1|perle|perles} {c1} et {w2} {n2|perle|perles} {c2}. Elle en "
        "sort une au hasard. La couleur de cette perle est le"
    ),
    "fr4": (
        "Un paquet contient {w1} {n1|carte|cartes} {c1} et {w2} {n2|carte|cartes} {c2}. On le "
        "mélange bien, puis on retourne la carte du dessus. Couleur de cette carte\u00a0:"
    ),
    "fr5": (
        "Dans la salle brûlent {w1} {n1|bougie|bougies} {c1} et {w2} {n2|bougie|bougies} {c2}. Un "
        "courant d'air en éteint une par pur hasard. La bougie éteinte est"
    ),
    "de1": (
        "Ein Beutel enthält {w1} {c1} {n1|Murmel|Murmeln} und {w2} {c2} {n2|Murmel|Murmeln}. Eine "
        "Murmel wird zufällig gezogen. Die Farbe dieser Murmel ist"
    ),
    "de2": (
        "Eine Urne enthält {w1} {c1} und {w2} {c2} {n2|Kugel|Kugeln}. Ein Kind nimmt eine Kugel "
        "heraus, ohne hinzusehen. Diese Kugel ist"
    ),
    "de3": (
        "Anna hat {w1} {c1} {n1|Perle|Perlen} und {w2} {c2} {n2|Perle|Perlen} in der Tasche. Sie "
        "zieht zufällig eine heraus. Die Farbe dieser Perle ist"
    ),
    "de4": (
        "Ein Stapel enthält {w1} {c1} und {w2} {c2} {n2|Karte|Karten}. Er wird gut gemischt, und "
        "die oberste Karte wird aufgedeckt. Farbe dieser Karte:"
    ),
    "de5": (
        "In der Halle brennen {w1} {c1} {n1|Kerze|Kerzen} und {w2} {c2} {n2|Kerze|Kerzen}. Ein "
        "Windstoß löscht rein zufällig eine davon. Die erloschene Kerze war"
    ),
    "es1": (
        "Una bolsa contiene {w1} {n1|canica|canicas} {c1} y {w2} {n2|canica|canicas} {c2}. Se saca "
        "una canica al azar. El color de esa canica es"
    ),
    "es2": (
        "Una urna contiene {w1} {n1|bola|bolas} {c1} y {w2} {n2|bola|bolas} {c2}. Un niño saca "
        "una bola sin mirar. Esa bola es"
    ),
    "es3": (
        "Ana lleva en el bolsillo {w1} {n1|perla|perlas} {c1} y {w2} {n2|perla|perlas} {c2}. Saca "
        "una al azar. El color de esa perla es"
    ),
    "es4": (
        "Un mazo contiene {w1} {n1|carta|cartas} {c1} y {w2} {n2|carta|cartas} {c2}. Se mezcla "
        "bien y se da la vuelta a la carta de arriba. Color de esa carta:"
    ),
    "es5": (
        "En la sala arden {w1} {n1|vela|velas} {c1} y {w2} {n2|vela|velas} {c2}. Una corriente de "
        "aire apaga una de ellas por puro azar. La vela apagada era"
    ),
}

LANGUAGES_OF_ITEMS = ("en", "zh", "fr", "de", "es")

_SCENES: tuple[str, ...] = ("1", "2", "3", "4", "5")

_PREDICATES = ("2", "5")
"""The scenes that end where a colour describes the thing."""

_NUMBER_WORDS = {
    "en": ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"),
    "zh": ("一", "两", "三", "四", "五", "六", "七", "八", "九", "十"),
    "fr": ("une", "deux", "trois", "quatre", "cinq", "six", "sept", "huit", "neuf", "dix"),
    "de": ("eine", "zwei", "drei", "vier", "fünf", "sechs", "sieben", "acht", "neun", "zehn"),
    "es": ("una", "dos", "tres", "cuatro", "cinco", "seis", "siete", "ocho", "nueve", "diez"),
}
"""Before a feminine noun, and in Chinese before a measure word."""

_STRATA: tuple[tuple[str, str], ...] = (
    ("1-10", "counts"),
    ("1-10", "words"),
    ("10-100", "counts"),
    ("100-999", "counts"),
)


class _Spec(NamedTuple):
    lang: str
    scene: str
    scale: str
    notation: str
    pair: tuple[str, str]
    numbers: NumberPair


def _plan(preset: Preset, seed: int, design: str) -> Sequence[object]:
    scenes, pairs, strata, n_pairs = _SCENES, COLOUR_PAIRS, _STRATA, 5
    if preset != "full":
        pairs, strata, n_pairs = pairs[:2], strata[1:3], 2
    if preset == "smoke":
        scenes, strata = scenes[:1], strata[1:]
    numbers = {scale: number_pairs(scale, n_pairs, seed=seed) for scale, _ in strata}
    return [
        _Spec(lang, scene, scale, notation, pair, both)
        for lang, scene, (scale, notation), pair in product(
            LANGUAGES_OF_ITEMS, scenes, strata, pairs
        )
        for both in numbers[scale]
    ]


def _fill(template: str, spec: _Spec, colours: Sequence[ColourWord]) -> tuple[str, str]:
    """Return the text, and the blank: colours in the plural and no numbers."""
    numbers = (spec.numbers.first, spec.numbers.second)
    agreeing = for_slots(template, {f"n{i}": n for i, n in enumerate(numbers, 1)})
    words: dict[str, str] = {}
    blanks: dict[str, str] = {}
    for i, (n, colour) in enumerate(zip(numbers, colours, strict=True), 1):
        words[f"w{i}"] = str(n)
        if spec.notation == "words":
            words[f"w{i}"] = _NUMBER_WORDS[spec.lang][n - 1]
        words[f"c{i}"] = colour.one if n == 1 else colour.many
        blanks |= {f"w{i}": NUMBER, f"c{i}": colour.many}
    return fill(template, words, agreeing).text, fill(template, blanks, agreeing).blank


def _render(spec: object) -> Item:
    spec = cast(_Spec, spec)
    numbers = (spec.numbers.first, spec.numbers.second)
    colours = [COLOUR_WORDS[spec.lang][colour] for colour in spec.pair]
    template_id = f"{spec.lang}{spec.scene}"
    template = TEMPLATES[template_id]
    text, blank = _fill(template, spec, colours)
    is_predicate = spec.scene in _PREDICATES
    c1, c2 = spec.pair
    shown = f"{numbers[0]}:{numbers[1]}"
    return make_item(
        family="languages",
        version=1,
        template_id=template_id,
        template=template,
        context=text,
        blank=blank,
        options=tuple(
            Option(label=colour.name, words=colour.words(is_predicate=is_predicate))
            for colour in colours
        ),
        ideal=proportional(numbers),
        numbers=numbers,
        lang=spec.lang,
        scale=spec.scale,
        notation=spec.notation,
        lead="" if spec.lang == "zh" else " ",
        weight=spec.numbers.weight,
        meta={"link": f"{spec.scene}/{c1}/{c2}/{shown}/{spec.notation}", "variant": spec.lang},
    )


LANGUAGES = Family(
    name="languages",
    version=1,
    question="Do probabilities follow counts in other languages as they do in English?",
    templates=TEMPLATES,
    plan=_plan,
    render=_render,
)
