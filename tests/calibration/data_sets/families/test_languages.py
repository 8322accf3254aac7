"""Five languages: agreement, translations of one law, and the form in which a colour answers."""

import re
from collections import defaultdict
from fractions import Fraction

import pytest

from likely.calibration.data_sets.colour_words import COLOUR_PAIRS, COLOUR_WORDS
from likely.calibration.data_sets.families.languages import LANGUAGES_OF_ITEMS, TEMPLATES
from likely.calibration.data_sets.family import build

SET = build("languages", preset="full")
FULL = tuple(SET.family.render(spec) for spec in SET.specs if spec.numbers.draw == 1)
"""Every wording, colour, scale and notation, with one pair of numbers each; 1 is among them."""

NUMBER_WORDS = {
    "en": "one two three four five six seven eight nine ten",
    "zh": "一 两 三 四 五 六 七 八 九 十",
    "fr": "une deux trois quatre cinq six sept huit neuf dix",
    "de": "eine zwei drei vier fünf sechs sieben acht neun zehn",
    "es": "una dos tres cuatro cinco seis siete ocho nueve diez",
}
VALUES = {
    lang: {word: n for n, word in enumerate(words.split(), 1)}
    for lang, words in NUMBER_WORDS.items()
}
NOUNS = {
    "en": "marble ball bead card candle",
    "fr": "bille boule perle carte bougie",
    "de": "Murmel Kugel Perle Karte Kerze",
    "es": "canica bola perla carta vela",
}
FEMININE = {
    "fr": {"rouge": "rouge", "bleu": "bleue", "vert": "verte", "jaune": "jaune", "noir": "noire",
           "blanc": "blanche"},
    "es": {"rojo": "roja", "azul": "azul", "verde": "verde", "amarillo": "amarilla",
           "negro": "negra", "blanco": "blanca"},
}  # fmt: skip


def of(lang):
    return [item for item in FULL if item.lang == lang]


def phrases(item):
    """Return (number, colour as written, noun or "") for both colours, read from the text."""
    lang, first = item.lang, item.context
    number = "|".join([r"\d+", *VALUES[lang]])
    colours = "|".join(
        sorted({f for c in COLOUR_WORDS[lang].values() for f in (c.one, c.many)}, key=len)[::-1]
    )
    if lang == "zh":
        found = re.findall(rf"({number})[颗个张根]({colours})(的球|弹珠|珠子|卡片|蜡烛)", first)
    elif lang in ("en", "de"):
        found = re.findall(rf"\b({number}) ({colours})\b ?(\w*)", first)
    else:
        found = re.findall(rf"\b({number}) (\w+) ({colours})\b", first)
        found = [(n, colour, noun) for n, noun, colour in found]
    return [(int(n) if n.isdigit() else VALUES[lang][n], colour, noun) for n, colour, noun in found]


def test_the_law_is_that_of_the_numbers_in_the_text_in_every_language():
    for item in FULL:
        (n1, _, _), (n2, _, _) = phrases(item)
        assert item.numbers == (n1, n2), item.context
        assert item.ideal == (Fraction(n1, n1 + n2), Fraction(n2, n1 + n2))


@pytest.mark.parametrize("lang", ["en", "fr", "de", "es"])
def test_nouns_agree_with_their_number(lang):
    for item in of(lang):
        for n, _, noun in phrases(item):
            if noun in ("", "and", "und"):  # the noun comes once, after the second colour
                continue
            single = next(x for x in NOUNS[lang].split() if noun.startswith(x))
            plural = single + ("n" if lang == "de" else "s")
            assert noun == (single if n == 1 else plural), item.context


@pytest.mark.parametrize("lang", ["fr", "es"])
def test_adjectives_of_romance_languages_agree_in_number_and_gender(lang):
    for item in of(lang):
        for (n, colour, _), option in zip(phrases(item), item.options, strict=True):
            feminine = FEMININE[lang][option.label]
            plural = "azules" if feminine == "azul" else f"{feminine}s"
            assert colour == (feminine if n == 1 else plural), item.context


def test_german_adjectives_end_in_e_before_a_feminine_noun_and_in_nothing_after_it():
    for item in of("de"):
        for (_, colour, _), option in zip(phrases(item), item.options, strict=True):
            assert colour == f"{option.label}e"
            assert option.words == (option.label,)


@pytest.mark.parametrize("lang", ["fr", "es"])
def test_the_answer_has_the_gender_that_the_end_of_the_text_asks_for(lang):
    describes = {"fr": ("boule est", "éteinte est"), "es": ("bola es", "apagada era")}[lang]
    seen = set()
    for item in of(lang):
        is_predicate = item.context.endswith(describes)
        seen.add((item.template_id, is_predicate))
        for option in item.options:
            expected = FEMININE[lang][option.label] if is_predicate else option.label
            assert option.words == (expected,), item.context
    assert seen == {(f"{lang}{scene}", scene in "25") for scene in "12345"}


def test_chinese_has_no_spaces_and_answers_follow_at_once():
    for item in FULL:
        assert item.lead == ("" if item.lang == "zh" else " ")
        if item.lang == "zh":
            assert not re.search(r"\s", item.context)
            for option in item.options:
                assert option.words == (option.label, option.label[0])
                assert option.label[1] == "色"


def test_a_link_has_one_item_of_each_language_and_one_law():
    links = defaultdict(list)
    for item in FULL:
        links[item.meta["link"]].append(item)
    for items in links.values():
        assert sorted(item.lang for item in items) == sorted(LANGUAGES_OF_ITEMS)
        assert len({(item.ideal, item.numbers, item.notation) for item in items}) == 1


def test_number_words_are_used_up_to_ten_and_only_where_the_notation_says_so():
    seen = defaultdict(set)
    for item in FULL:
        has_digits = bool(re.search(r"\d", item.context))
        assert has_digits == (item.notation == "counts")
        if item.notation == "words":
            assert item.scale == "1-10"
            seen[item.lang] |= set(item.numbers)
    assert all(1 in numbers for numbers in seen.values())


def test_each_colour_is_named_once():
    for item in FULL:
        assert len(phrases(item)) == 2
        for option, pair in zip(item.options, item.meta["link"].split("/")[1:3], strict=True):
            colour = COLOUR_WORDS[item.lang][pair]
            assert option.label == colour.name
            forms = "|".join({colour.one, colour.many})
            ends = "" if item.lang == "zh" else r"\b"
            assert len(re.findall(rf"{ends}(?:{forms}){ends}", item.context)) == 1, item.context


def test_blanks_of_the_two_numbers_of_an_item_do_not_depend_on_them():
    blanks = defaultdict(set)
    for item in FULL:
        blanks[item.template_id, item.option_pair_id].add(item.blank)
    assert {len(some) for some in blanks.values()} == {1}
    assert all(text.count("{n}") == 2 for some in blanks.values() for text in some)
    assert not any(re.search(r"\d", text) for some in blanks.values() for text in some)


def test_every_language_tells_every_scene_and_has_every_colour():
    assert set(TEMPLATES) == {f"{lang}{i}" for lang in LANGUAGES_OF_ITEMS for i in range(1, 6)}
    colours = {colour for pair in COLOUR_PAIRS for colour in pair}
    assert all(set(words) == colours for words in COLOUR_WORDS.values())
    assert all(pair[::-1] in COLOUR_PAIRS for pair in COLOUR_PAIRS)
