"""Names of six colours in five languages, in the forms that a sentence asks for. Unit: none.

Nouns that these adjectives go with are feminine where a language has genders (``perle``,
``Kugel``, ``bola``), so that one table serves every scene.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class ColourWord:
    """One colour in one language.

    Attributes:
        name: Of the colour itself: what stands after "the colour is".
        one: Beside one feminine noun.
        many: Beside a noun in the plural.
        predicate: After "the bead is".
        short: Another form that stands for ``name`` and ``predicate`` alike, or empty.
    """

    name: str
    one: str
    many: str
    predicate: str
    short: str = ""

    def words(self, *, is_predicate: bool) -> tuple[str, ...]:
        """Return the words that answer, in the form that the end of the sentence fixes."""
        word = self.predicate if is_predicate else self.name
        return (word, self.short) if self.short else (word,)


def _same(name: str, short: str = "") -> ColourWord:
    return ColourWord(name=name, one=name, many=name, predicate=name, short=short)


def _german(name: str) -> ColourWord:
    return ColourWord(name=name, one=f"{name}e", many=f"{name}e", predicate=name)


def _agreeing(name: str, feminine: str, plural: str) -> ColourWord:
    return ColourWord(name=name, one=feminine, many=plural, predicate=feminine)


COLOUR_WORDS: dict[str, dict[str, ColourWord]] = {
    "en": {c: _same(c) for c in ("red", "blue", "green", "yellow", "black", "white")},
    "zh": {
        "red": _same("红色", "红"),
        "blue": _same("蓝色", "蓝"),
        "green": _same("绿色", "绿"),
        "yellow": _same("黄色", "黄"),
        "black": _same("黑色", "黑"),
        "white": _same("白色", "白"),
    },
    "fr": {
        "red": _agreeing("rouge", "rouge", "rouges"),
        "blue": _agreeing("bleu", "bleue", "bleues"),
        "green": _agreeing("vert", "verte", "vertes"),
        "yellow": _agreeing("jaune", "jaune", "jaunes"),
        "black": _agreeing("noir", "noire", "noires"),
        "white": _agreeing("blanc", "blanche", "blanches"),
    },
    "de": {
        "red": _german("rot"),
        "blue": _german("blau"),
        "green": _german("grün"),
        "yellow": _german("gelb"),
        "black": _german("schwarz"),
        "white": _german("weiß"),
    },
    "es": {
        "red": _agreeing("rojo", "roja", "rojas"),
        "blue": _agreeing("azul", "azul", "azules"),
        "green": _agreeing("verde", "verde", "verdes"),
        "yellow": _agreeing("amarillo", "amarilla", "amarillas"),
        "black": _agreeing("negro", "negra", "negras"),
        "white": _agreeing("blanco", "blanca", "blancas"),
    },
}
"""Language to colour, by its English name, to its forms."""

COLOUR_PAIRS: tuple[tuple[str, str], ...] = (
    ("red", "blue"), ("blue", "red"),
    ("green", "yellow"), ("yellow", "green"),
    ("black", "white"), ("white", "black"),
)  # fmt: skip
"""Three pairs in both orders, both orders side by side: each colour first once and second once."""
