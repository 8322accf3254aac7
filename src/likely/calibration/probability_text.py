"""A probability read from a reply in words or figures; whatever is ambiguous is refused.

Unit: probability.
"""

import re
import unicodedata
from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise
from typing import Literal, NamedTuple

from likely.calibration.data_sets.number_words import in_words
from likely.errors import InputError

Unit = Literal["none", "percent"]

_ONES = tuple(map(in_words, range(20)))
_PARTS = {
    "half": 2, "third": 3, "quarter": 4, "fourth": 4, "fifth": 5, "sixth": 6, "seventh": 7,
    "eighth": 8, "ninth": 9, "tenth": 10, "twentieth": 20, "hundredth": 100,
}  # fmt: skip
_NAMED = {
    "certain": Fraction(1), "certainty": Fraction(1), "impossible": Fraction(0),
    "even": Fraction(1, 2),
}  # fmt: skip


def _number_words() -> dict[str, int]:
    words = {in_words(n).replace("-", " "): n for n in range(100)}
    for name, n in (("hundred", 100), ("thousand", 1000), ("million", 10**6)):
        words |= {f"{article} {name}": n for article in ("a", "one")}
    return words


_WORDS = _number_words()
_WORD = "|".join(sorted((word.replace(" ", "[ -]") for word in _WORDS), key=len, reverse=True))
_FIGURE = r"[1-9]\d{0,2}(?:,\d{3})+|\d+(?:[.,]\d+)?|\.\d+"
_NUMBER = rf"(?<![\w.,/])({_FIGURE}|(?:{_WORD}))(?!\w|/|[.,]\d)"
_PERCENT = r"\s*(?:%|percent\b|per cent\b)"
_AFTER_PART = r"(?=\s*(?:$|[.,;:!)=]|of\b|chance\b|probability\b|likelihood\b|that\b))"

_EVEN = re.compile(r"\b(?:fifty[ -]fifty|50\s?[/:-]\s?50|even (?:chance|odds|probability)|evens)\b")
_REFUSED = re.compile(
    r"[<>≤≥±]|\+/-|n['’]t\b|(?:^|[\s(=:])-[\d.]|\b(?:between|less|fewer|more|greater|lower|higher|"
    r"under|over|above|below|at most|at least|up to|than|not|never|no|nearly|almost|odds)\b"
)
_LEFT_OVER = re.compile(
    rf"\d|%|\bper ?cent\b|\b(?:{_WORD}|hundred|thousand|million|half|quarter)s?\b"
)
_FILLERS = re.compile(
    r"\b(?:the|a|an|answer|probability|chance|likelihood|of|is|are|it|its|this|that|i|say|would|"
    r"be|about|approximately|roughly|around|p)\b|[\s:;!=~≈()\"'’]|[.,](?!\d)"
)


class _Form(NamedTuple):
    pattern: re.Pattern[str]
    value: Callable[[re.Match[str]], Fraction]


def _number(text: str) -> Fraction:
    word = text.replace("-", " ")
    if word in _WORDS:
        return Fraction(_WORDS[word])
    if re.fullmatch(r"[1-9]\d{0,2}(?:,\d{3})+", text):
        return Fraction(text.replace(",", ""))
    return Fraction(text.replace(",", "."))


def _ratio(match: re.Match[str]) -> Fraction:
    below = _number(match[2])
    return _number(match[1]) / below if below else Fraction(-1)


def _part(match: re.Match[str]) -> Fraction:
    count = match[1] or "a"
    return Fraction(1 if count == "a" else _WORDS[count], _PARTS[match[2]])


_FORMS = (
    _Form(_EVEN, lambda match: Fraction(1, 2)),
    _Form(re.compile(_NUMBER + _PERCENT), lambda match: _number(match[1]) / 100),
    _Form(
        re.compile(
            rf"{_NUMBER}[\s-]+(?:chances? )?(?:in|out of)[\s-]+(?:every )?{_NUMBER}(?!{_PERCENT})"
        ),
        _ratio,
    ),
    _Form(re.compile(r"(?<![\w.,/])(\d+)\s?/\s?(\d+)(?!\w|/|[.,]\d|\s?%)"), _ratio),
    _Form(
        re.compile(rf"\b(?:(a|{'|'.join(_ONES[1:13])})[ -])?(half)\b{_AFTER_PART}"),
        _part,
    ),
    _Form(
        re.compile(
            rf"\b(a|{'|'.join(_ONES[1:20])})[ -]({'|'.join(list(_PARTS)[1:])})s?\b{_AFTER_PART}"
        ),
        _part,
    ),
)
_DECIMAL = _Form(
    re.compile(r"(?<![\w.,/])(0?[.,]\d+|[01][.,]0+)(?!\w|/|[.,]\d)"),
    lambda match: _number(match[1].replace(",", ".")),
)


def parse_probability(text: str, *, unit: Unit = "none") -> Fraction | None:
    """Return the probability that a reply states, or None where it is not certain which.

    Understood are a percentage, a decimal number, a fraction, "1 in k", their English words ("one
    half", "thirty percent", "one in five"), and an even chance. A reply may state one value in
    several forms if they agree exactly. Refused is everything else: two values, a range, a
    bound ("at most", "more than"), a denial, odds, and any number beside the stated one.

    Args:
        text: The reply.
        unit: What a figure without a sign means: ``none``, a probability from 0 to 1;
            ``percent``, after a question that asks for percent, a percentage from 0 to 100, of
            which those between 0 and 1 are refused, since they might be probabilities.

    Raises:
        InputError: An unknown unit.

    >>> parse_probability("It is 37.5%."), parse_probability("one in five")
    (Fraction(3, 8), Fraction(1, 5))
    >>> parse_probability("between 20% and 30%") is None
    True
    """
    if unit not in ("none", "percent"):
        raise InputError(f"the unit is 'none' or 'percent', got {unit!r}")
    plain = _plain(text)
    if plain is None or _REFUSED.search(_EVEN.sub(" ", plain)):
        return None
    forms = (*_FORMS, _DECIMAL) if unit == "none" else _FORMS
    values: set[Fraction] = set()
    rest = plain
    for form in forms:
        values |= {form.value(match) for match in form.pattern.finditer(rest)}
        rest = form.pattern.sub(" ; ", rest)
    if not values:
        value = _bare(_FILLERS.sub(" ", rest).strip(), unit)
    elif len(values) > 1 or _LEFT_OVER.search(rest):
        return None
    else:
        value = values.pop()
    return value if value is not None and 0 <= value <= 1 else None


def _plain(text: str) -> str | None:
    """Return the reply in lower case and plain characters; None for mixed numbers such as 1½."""
    if any(
        before.isdigit() and not after.isdigit() and after.isnumeric()
        for before, after in pairwise(text)
    ):
        return None
    plain = unicodedata.normalize("NFKC", text).lower()
    for odd, usual in (("\u2044", "/"), ("\u2212", "-"), ("\u2013", "-"), ("*", " "), ("`", " ")):
        plain = plain.replace(odd, usual)
    return plain


def _bare(rest: str, unit: Unit) -> Fraction | None:
    """Return what a reply of a single word or figure means."""
    if rest in _NAMED:
        return _NAMED[rest]
    if not re.fullmatch(_NUMBER, rest):
        return None
    value = _number(rest)
    if unit == "none":
        return value
    return None if 0 < value < 1 else value / 100
