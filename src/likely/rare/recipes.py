"""The eight input distributions of Wu and Hilton (2024), each a recipe. Probabilities.

Sources:
    Wu and Hilton (2024), "Estimating the probabilities of rare outputs in language models", arXiv
    2410.13211, and its code. Texts are those of this package, not C4 and GitHub code.
"""

from collections.abc import Callable
from dataclasses import dataclass
from string import ascii_uppercase

from likely.rare.hexadecimal import hexadecimal_chain
from likely.rare.layout import Layout, Rule

_WORD = "ARCTHEORY"
_FEW, _MANY = 2**10, 2**14
_STOPS = ",.?!:;"
_SINGLE_STOPS = (",", ".", "!", "?", ";")


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """How a named distribution is made.

    Attributes:
        sentence: What its inputs look like.
        texts: Name of the corpus whose frequencies it takes; None if it takes none.
        n_documents: How many documents are counted, or all if there are fewer.
        length: How many places its main law has.
        longest: How many it can have at most; None for no limit.
        lay: Sets the places down after BOS, its main law that many times.
    """

    sentence: str
    texts: str | None
    n_documents: int = _FEW
    length: int
    longest: int | None = None
    lay: Callable[[Layout, int], None]


CAMEL = Rule(
    name="a capital and then small letters, at least 2 characters, not None, True or False",
    keeps=lambda text: (
        len(text) > 1
        and text[0].isupper()
        and text[1:].islower()
        and " " not in text
        and text not in ("None", "True", "False")
    ),
)
CAPITALS = Rule(
    name=f"at least 2 characters, all of them capitals or of {_STOPS!r}",
    keeps=lambda text: len(text) > 1 and all(one.isupper() or one in _STOPS for one in text),
)
FIRST_WORD = Rule(name="letters only", keeps=str.isalpha)
LATER_WORD = Rule(
    name=f"a space and then letters or {_STOPS!r}, or one of {''.join(_SINGLE_STOPS)!r}",
    keeps=lambda text: (
        text in _SINGLE_STOPS
        or (
            len(text) > 1
            and text[0] == " "
            and all(one.isalpha() or one in _STOPS for one in text[1:])
        )
    ),
)
LETTERS_AND_SPACES = Rule(
    name="letters and spaces only",
    keeps=lambda text: bool(text) and all(one.isalpha() or one.isspace() for one in text),
)


def starting_with(letter: str) -> Rule:
    """Return the rule of a word that begins with a letter, small or capital."""
    return Rule(
        name=f"a space and then a word of 4 or more letters that begins with {letter}",
        keeps=lambda text: (
            len(text) >= 5 and text[0] == " " and text[1].upper() == letter and text[1:].isalpha()
        ),
    )


def _lay_hex(layout: Layout, length: int) -> None:
    chain = hexadecimal_chain(layout.model)
    layout.details |= {
        "filter": "hexadecimal digits only",
        "support": len(chain.support),
        "chain": "exact" if chain.is_exact else "published approximation",
        "growth": chain.growth,
    }
    layout.drawn(chain.support, length)


def _lay_camel(layout: Layout, length: int) -> None:
    layout.frequent(CAMEL, length)


def _lay_indent(layout: Layout, length: int) -> None:
    layout.frequent(None, length, most=_FEW)
    layout.always(":")


def _lay_ifelse(layout: Layout, length: int) -> None:
    layout.always(" if")
    layout.frequent(None, length, most=_FEW)


def _lay_caps(layout: Layout, length: int) -> None:
    layout.one_of(["He", "She"])
    layout.always(' screamed: "')
    layout.frequent(CAPITALS, length, most=_FEW)


def _lay_english(layout: Layout, length: int) -> None:
    layout.frequent(FIRST_WORD, 1, most=_MANY, label="first")
    layout.frequent(LATER_WORD, length, most=_MANY, label="later")


def _lay_spanish(layout: Layout, length: int) -> None:
    layout.frequent(LETTERS_AND_SPACES, length, most=_FEW)


def _lay_icl(layout: Layout, length: int) -> None:
    for place, letter in enumerate(_WORD[:length]):
        layout.always(letter if place == 0 else f" {letter}")
        layout.always(" for")
        layout.frequent(starting_with(letter), 1, label=letter)
    layout.one_of([f" {letter}" for letter in ascii_uppercase])
    layout.always(" for")


HEX = Recipe(
    sentence="tokens of a random hexadecimal string",
    texts=None,
    length=32,
    lay=_lay_hex,
)
CAMEL_CASE = Recipe(
    sentence="parts of CamelCase names, as frequent as in code",
    texts="code",
    length=32,
    lay=_lay_camel,
)
INDENT = Recipe(
    sentence="frequent tokens of code, then a colon",
    texts="code",
    length=32,
    lay=_lay_indent,
)
IFELSE = Recipe(
    sentence="' if', then frequent tokens of code",
    texts="code",
    length=32,
    lay=_lay_ifelse,
)
CAPS = Recipe(
    sentence="'He screamed: \"' or 'She screamed: \"', then capitals",
    texts="english",
    length=16,
    lay=_lay_caps,
)
ENGLISH = Recipe(
    sentence="a word, then words and stops, as frequent as in English",
    texts="english",
    n_documents=_MANY,
    length=24,
    lay=_lay_english,
)
SPANISH = Recipe(
    sentence="frequent letters and words of Spanish",
    texts="spanish",
    n_documents=_MANY,
    length=24,
    lay=_lay_spanish,
)
ICL = Recipe(
    sentence="'A for' a word in A, and so on for ARCTHEORY, then any letter and ' for'",
    texts="english",
    n_documents=_MANY,
    length=len(_WORD),
    longest=len(_WORD),
    lay=_lay_icl,
)
