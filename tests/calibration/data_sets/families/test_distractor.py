"""An unrelated number: the text but for it is the clean one, and so is the law."""

import re
from collections import Counter, defaultdict
from fractions import Fraction

import pytest
from family_checks import rendered

from likely.calibration.data_sets.families.distractor import POSITIONS

LITE = rendered("distractor", "lite")
SENTENCE = re.compile(
    r"(Tom is \d+ years old\. |The house was built in \d+\. |The number \d+ bus stops outside\. )"
)


def links():
    found = defaultdict(list)
    for item in LITE:
        found[item.meta["link"]].append(item)
    return found


def test_without_its_sentence_a_text_is_the_clean_one_of_its_link():
    for items in links().values():
        clean = next(item for item in items if item.meta["variant"] == "clean")
        assert not SENTENCE.search(clean.context)
        for item in items:
            if item is not clean:
                text, n_found = SENTENCE.subn("", item.context)
                assert (text, n_found) == (clean.context, 1)
                assert item.ideal == clean.ideal
                assert item.options == clean.options


def test_a_link_has_one_clean_item_and_each_kind_of_number_at_each_place():
    places = Counter({("clean", None): 1})
    places.update((at, kind) for at in POSITIONS for kind in ("age", "year", "bus"))
    for items in links().values():
        assert Counter((i.meta["variant"], i.meta.get("kind")) for i in items) == places


@pytest.mark.parametrize("position", POSITIONS)
def test_the_sentence_stands_where_the_variant_says(position):
    where = {"before": 0, "between": 1, "after": 2}[position]
    for item in LITE:
        if item.meta["variant"] == position:
            before = item.context[: SENTENCE.search(item.context).start()]
            assert before.count(". ") == where, item.context


def test_the_law_is_that_of_the_counts_alone():
    for item in LITE:
        n1, n2 = (int(x) for x in re.findall(r"\d+", SENTENCE.sub("", item.context)))
        assert item.ideal == (Fraction(n1, n1 + n2), Fraction(n2, n1 + n2))


def test_the_unrelated_number_is_no_count_and_the_same_in_both_orders():
    drawn = defaultdict(set)
    for item in LITE:
        if "kind" in item.meta:
            number = item.meta["distractor"]
            assert number not in item.numbers
            assert re.search(rf"\b{number}\b", SENTENCE.search(item.context)[0])
            drawn[item.scale, item.number_pair_id, item.meta["kind"]].add(number)
    assert {len(numbers) for numbers in drawn.values()} == {1}


def test_a_blank_has_no_number_left():
    assert not any(re.search(r"\d", item.blank) for item in LITE)
    assert {item.blank.count("{n}") for item in LITE} == {2, 3}
