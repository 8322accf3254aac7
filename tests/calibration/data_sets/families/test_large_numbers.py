"""Large counts: what the text says, read by the rules of its language, is the law."""

import re
from collections import defaultdict
from fractions import Fraction

import pytest
from family_checks import rendered

from likely.calibration.data_sets.colour_words import COLOUR_WORDS
from likely.calibration.data_sets.families.large_numbers import SEPARATORS, separated
from likely.calibration.data_sets.family import build

LITE = rendered("large_numbers", "lite")


def counts(item):
    """Return the numbers of the text, with the separators of its language taken out."""
    sign = SEPARATORS[item.lang][1]
    found = re.findall(rf"\d+(?:{re.escape(sign)}\d{{3}})*", item.context)
    return tuple(int(text.replace(sign, "")) for text in found)


def test_the_law_is_the_share_of_the_numbers_in_the_text():
    for item in LITE:
        n1, n2 = counts(item)
        assert item.numbers == (n1, n2)
        assert item.ideal == (Fraction(n1, n1 + n2), Fraction(n2, n1 + n2))


@pytest.mark.parametrize("lang", ["en", "fr", "de"])
def test_separators_are_the_language_s_own(lang):
    notation, sign = SEPARATORS[lang]
    for item in LITE:
        if item.lang != lang:
            continue
        assert item.notation in ("plain", notation)
        groups = re.findall(r"\d+", item.context)
        if item.notation == "plain":
            assert len(groups) == 2
        else:
            assert all(len(group) <= 3 for group in groups)
            assert item.context.count(sign) >= 2


def test_numbers_lie_in_their_decade_and_reach_a_thousand_million():
    for item in LITE:
        low, high = (10 ** int(x) for x in re.findall(r"1e(\d)", item.scale))
        assert all(low <= n < high for n in item.numbers)
    specs = build("large_numbers", preset="full").specs
    assert {spec.decade for spec in specs} == set(range(3, 9))


def test_whole_millions_are_avoided_since_french_would_ask_for_a_preposition():
    for seed in range(20):
        specs = build("large_numbers", preset="full", seed=seed).specs
        assert all(n % 10**6 for spec in specs for n in spec.numbers)


def test_a_link_has_the_number_with_and_without_separators():
    links = defaultdict(list)
    for item in LITE:
        links[item.meta["link"]].append(item)
    for items in links.values():
        assert len(items) == 2
        assert {item.notation for item in items} == {"plain", SEPARATORS[items[0].lang][0]}
        assert len({item.ideal for item in items}) == 1


def test_colours_agree_with_plural_nouns_and_each_is_named_once():
    for item in LITE:
        forms = {word.name: word.many for word in COLOUR_WORDS[item.lang].values()}
        for option in item.options:
            assert len(re.findall(rf"\b{forms[option.label]}\b", item.context)) == 1


def test_french_answers_describe_a_feminine_noun_or_name_the_colour():
    for item in LITE:
        if item.lang == "fr" and "bleu" in [option.label for option in item.options]:
            words = {option.label: option.words for option in item.options}
            names_colour = item.context.endswith((" le", "\u00a0:"))
            assert words["bleu"] == (("bleu",) if names_colour else ("bleue",)), item.context


def test_separated_puts_a_sign_between_groups_of_three():
    assert [separated(n, " ") for n in (1, 999, 1000, 1234567)] == [
        "1", "999", "1 000", "1 234 567",
    ]  # fmt: skip
