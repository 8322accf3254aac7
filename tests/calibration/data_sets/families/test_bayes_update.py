"""Evidence on two hypotheses."""

import re
from fractions import Fraction
from functools import cache
from itertools import permutations, product

import pytest
from family_checks import named, rendered

from likely.calibration.data_sets.families.bayes_update import N_BALLS, SCENES, urn_likelihood
from likely.errors import InputError


@pytest.fixture(scope="module")
def items():
    return rendered("bayes_update", "full")


def by_joint_table(item) -> Fraction:
    """Count 10,000 cases by hypothesis and verdict, as the text gives them."""
    n1, n2, x1, x2 = map(int, re.findall(r"\d+", item.context))
    assert n1 + n2 == 100
    scene = SCENES[item.template_id]
    verdicts = re.findall(rf"\b({scene.positive}|{scene.negative})\b", item.context)
    right1, right2, said = verdicts
    assert {right1, right2} == {scene.positive, scene.negative}
    table = {
        ("first", right1): n1 * x1,
        ("first", right2): n1 * (100 - x1),
        ("second", right2): n2 * x2,
        ("second", right1): n2 * (100 - x2),
    }
    assert sum(table.values()) == 10_000
    first, second = table["first", said], table["second", said]
    return Fraction(first, first + second)


@cache
def count_draws(n_red: int, draws: tuple[str, ...], is_put_back: bool) -> Fraction:
    """Go through every way to draw so many of ten different balls."""
    balls = ["red"] * n_red + ["blue"] * (N_BALLS - n_red)
    k = len(draws)
    ways = product(balls, repeat=k) if is_put_back else permutations(balls, k)
    drawn = list(ways)
    return Fraction(drawn.count(draws), len(drawn))


def by_urns(item) -> Fraction:
    """Draw from both urns of the text in every way."""
    x1, y1, x2, y2 = map(int, re.findall(r"\d+", item.context))
    assert x1 + y1 == x2 + y2 == N_BALLS
    draws = tuple(re.search(r": ([^:]*?)\. The", item.context)[1].split(", "))
    is_put_back = "each put back before the next" in item.context
    assert is_put_back != ("none put back" in item.context)
    first, second = (count_draws(x, draws, is_put_back) for x in (x1, x2))
    return first / (first + second)


def test_the_law_is_the_share_in_a_table_of_all_cases(items):
    for item in items:
        first = by_joint_table(item) if item.meta["kind"] == "test" else by_urns(item)
        assert item.ideal == (first, 1 - first)


def test_a_rare_condition_stays_improbable_after_a_positive_test():
    # Golden value of the specification, section f.1: 1 %, 90 %, 95 %, positive.
    found = [
        item
        for item in rendered("bayes_update", "smoke")
        if (item.meta.get("prior"), item.meta.get("sensitivity"), item.meta.get("result"))
        == ("1/100", "9/10", "+")
    ]
    assert [item.options[0].label for item in found] == ["infected", "healthy"]
    assert found[0].ideal == (Fraction(2, 13), Fraction(11, 13))
    assert found[1].ideal == (Fraction(11, 13), Fraction(2, 13))


def test_each_hypothesis_is_named_once_in_its_order(items):
    for item in items:
        first, second = (option.label for option in item.options)
        assert named(item.context, first) == named(item.context, second) == 1
        assert item.context.index(first) < item.context.index(second)


def test_no_hypothesis_becomes_certain(items):
    assert all(0 < p < 1 for item in items for p in item.ideal)


@pytest.mark.parametrize("n_red", [0, 3, 10])
@pytest.mark.parametrize("draws", ["r", "rb", "bbr", "rrr"])
@pytest.mark.parametrize("is_put_back", [True, False])
def test_draws_from_an_urn_are_counted(n_red, draws, is_put_back):
    colours = tuple("red" if drawn == "r" else "blue" for drawn in draws)
    expected = count_draws(n_red, colours, is_put_back)
    assert urn_likelihood(n_red, draws, is_put_back=is_put_back) == expected


@pytest.mark.parametrize(("n_red", "draws"), [(11, "r"), (-1, "r"), (3, "rx")])
def test_an_urn_or_a_draw_without_meaning_is_refused(n_red, draws):
    with pytest.raises(InputError, match="draws of r and b"):
        urn_likelihood(n_red, draws, is_put_back=True)
