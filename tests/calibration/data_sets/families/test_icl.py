"""Shown draws: the posterior predictive against integrals, and orders that share one law."""

from collections import defaultdict
from fractions import Fraction
from itertools import groupby
from math import factorial, prod

import pytest
from family_checks import rendered
from scipy.integrate import quad

FULL = rendered("icl", "full")


def shown(item):
    """Return the draws that the text lists, read back from it."""
    start = item.context.index(item.meta["draws"].replace(" ", ", "))
    return item.context[start:].replace(".", ",").split(", ")[: item.meta["n_draws"]]


def evidence(counts):
    """Return the probability of one sequence with these counts under a flat Dirichlet prior."""
    k = len(counts)
    return Fraction(prod(map(factorial, counts)) * factorial(k - 1), factorial(sum(counts) + k - 1))


def test_the_law_is_the_ratio_of_the_evidence_with_one_more_draw():
    for item in FULL:
        counts = [shown(item).count(option.label) for option in item.options]
        assert tuple(counts) == item.numbers
        more = [[n + (i == j) for i, n in enumerate(counts)] for j in range(len(counts))]
        assert item.ideal == tuple(evidence(c) / evidence(counts) for c in more)


@pytest.mark.parametrize("counts", [(2, 1), (4, 0), (5, 3), (12, 4)])
def test_two_colours_agree_with_the_integral_over_the_unknown_chance(counts):
    a, b = counts
    above = quad(lambda p: p ** (a + 1) * (1 - p) ** b, 0, 1)[0]
    below = quad(lambda p: p**a * (1 - p) ** b, 0, 1)[0]
    found = {item.ideal[0] for item in FULL if item.numbers == counts}
    assert len(found) == 1
    assert float(found.pop()) == pytest.approx(above / below, abs=1e-9)


def test_the_plug_in_shares_are_kept_beside_the_law():
    for item in FULL:
        shares = [Fraction(text) for text in item.meta["plug_in"].split()]
        assert shares == [n / sum(item.numbers) for n in item.numbers]
        assert sum(shares) == 1


def test_the_orders_of_a_link_are_different_permutations_of_the_same_draws():
    links = defaultdict(list)
    for item in FULL:
        links[item.meta["link"]].append(item)
    for items in links.values():
        draws = [tuple(shown(item)) for item in items]
        assert len(set(draws)) == len(draws)
        assert len({tuple(sorted(d)) for d in draws}) == 1
        assert len({item.ideal for item in items}) == 1
        assert len(items) == (3 if len(items[0].options) == 2 and 0 not in items[0].numbers else 1)


def test_arrangements_are_what_they_are_called():
    for item in FULL:
        draws, first = shown(item), item.options[0].label
        runs = [name for name, _ in groupby(draws)]
        variant = item.meta["variant"]
        if variant == "first_grouped":
            assert len(runs) == 2
            assert runs[0] == first
        elif variant == "second_grouped":
            assert len(runs) == 2
            assert runs[-1] == first
        elif variant == "one_sided":
            assert len(runs) == 1
        else:
            assert len(runs) > len(set(draws))


def test_a_mixed_order_goes_with_the_counts_whichever_colour_has_them():
    patterns = defaultdict(set)
    for item in FULL:
        if item.meta["variant"] == "mixed":
            rank = {o.label: n for o, n in zip(item.options, item.numbers, strict=True)}
            patterns[tuple(sorted(item.numbers))].add(tuple(rank[d] for d in shown(item)))
    assert {len(some) for some in patterns.values()} == {1}


def test_three_colours_take_turns_in_every_place():
    triples = [item for item in FULL if len(item.options) == 3]
    firsts = {item.option_pair_id for item in triples}
    assert firsts == {"red/blue/green", "blue/green/red", "green/red/blue"}
    assert all(item.order == "none" and item.higher == "none" for item in triples)


def test_options_are_mentioned_in_their_order_before_the_draws():
    for item in FULL:
        head = item.context[: item.context.index(item.meta["draws"].replace(" ", ", "))]
        places = [head.index(option.label) for option in item.options]
        assert places == sorted(places)
