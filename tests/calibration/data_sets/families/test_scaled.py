"""Multiples of a pair of counts: one law for each link, stated by each text."""

import re
from collections import defaultdict
from fractions import Fraction
from itertools import product
from math import gcd

from family_checks import rendered

from likely.calibration.data_sets.families.scaled import FACTORS
from likely.calibration.data_sets.family import build

LITE = rendered("scaled", "lite")


def links():
    found = defaultdict(list)
    for item in LITE:
        found[item.meta["link"]].append(item)
    return found


def test_the_law_is_the_share_of_the_numbers_in_the_text():
    for item in LITE:
        n1, n2 = (int(x) for x in re.findall(r"\d+", item.context))
        assert item.numbers == (n1, n2)
        assert item.ideal == (Fraction(n1, n1 + n2), Fraction(n2, n1 + n2))


def test_a_link_holds_every_factor_once_and_one_law():
    for items in links().values():
        assert [item.meta["k"] for item in items] == [1, 2, 10, 100]
        assert len({item.ideal for item in items}) == 1
        assert len({(item.template_id, item.option_pair_id) for item in items}) == 1


def test_numbers_are_a_coprime_base_times_the_factor():
    for item in LITE:
        k = item.meta["k"]
        base = sorted(int(n) // k for n in item.numbers)
        assert gcd(*base) == 1
        assert item.number_pair_id == f"{base[0]}:{base[1]}"
        assert gcd(*(int(n) for n in item.numbers)) == k
        assert item.meta["variant"] == f"x{k}"


def test_verbs_and_nouns_agree_with_one():
    ones = [item.context for item in LITE if item.template_id == "S4" and 1 in item.numbers]
    assert ones
    for text in ones:
        assert re.search(r"\b1 boat is |\band 1 is ", text), text
        assert not re.search(r"\b1 boats|\b1 are", text)


def test_the_full_set_has_every_factor_for_every_base():
    specs = build("scaled", preset="full").specs
    bases = {spec.base for spec in specs}
    assert {(spec.base, spec.factor) for spec in specs} == set(product(bases, FACTORS))
    assert bases == {base[::-1] for base in bases}
