"""Words of one class: a uniform law, and lists in which each word has each place once."""

import re
from collections import Counter
from fractions import Fraction

from family_checks import rendered

from likely.calibration.data_sets.families.uniform_words import CLASSES

FULL = rendered("uniform_words", "full")


def test_every_word_of_the_class_is_an_option_and_all_are_equally_likely():
    for item in FULL:
        words = [word for option in item.options for word in option.words]
        assert sorted(words) == sorted(CLASSES[item.meta["class"]][2])
        assert set(item.ideal) == {Fraction(1, len(words))}


def test_a_list_in_the_text_is_in_the_order_of_the_options():
    for item in FULL:
        shown = re.search(r"\(([^)]*)\)", item.context)
        assert (shown is not None) == item.meta["options_named"]
        if shown:
            words = tuple(shown[1].split(", "))
            assert words == tuple(option.words[0] for option in item.options)


def test_over_the_rotations_of_an_order_each_word_has_each_place_once():
    places = Counter()
    for item in FULL:
        if item.meta["options_named"]:
            for place, option in enumerate(item.options):
                cell = (item.template_id, item.meta["class"], item.meta["arrangement"])
                places[(*cell, option.label, place)] += 1
    n_shuffled = 2
    for (_, _, arrangement, _, _), n in places.items():
        assert n == (n_shuffled if arrangement == "shuffled" else 1)
    n_cells = sum(len(words) ** 2 for _, _, words in CLASSES.values())
    assert len(places) == 6 * 3 * n_cells


def test_no_list_is_shown_twice_in_one_wording():
    shown = Counter((item.template_id, item.context) for item in FULL)
    assert set(shown.values()) == {1}


def test_an_unlisted_text_names_the_class_and_none_of_its_words():
    unlisted = [item for item in FULL if item.meta["arrangement"] == "unlisted"]
    assert len(unlisted) == 6 * 4
    for item in unlisted:
        kind, _, words = CLASSES[item.meta["class"]]
        assert kind in item.context
        if item.meta["class"] != "letter":  # the article "A" opens a sentence
            assert not any(re.search(rf"\b{word}\b", item.context, re.I) for word in words)


def test_letters_are_capitals_alone_since_a_is_a_word():
    letters = next(item for item in FULL if item.meta["class"] == "letter")
    assert [option.words for option in letters.options] == [(x,) for x in CLASSES["letter"][2]]
