"""Runs split over machines: together they are the run that does it all."""

from dataclasses import replace

import pytest
from attributions import chain, draw, exact, same, words_model

from likely.attribution import attribute, merge
from likely.attribution.case import frame_case
from likely.core.estimate import Cost
from likely.errors import InputError


def without_cost(found):
    places = tuple(replace(place, cost=Cost()) for place in found.places)
    return replace(found, cost=Cost(), places=places)


def test_parts_in_any_order_are_the_whole():
    whole = exact()
    parts = [exact(positions=[2]), exact(positions=[0]), exact(positions=[1])]
    merged = merge(parts)
    assert same(without_cost(merged), without_cost(whole))
    assert merged.cost.token_evaluations == sum(one.cost.token_evaluations for one in parts)


def test_drawn_parts_are_the_whole_with_enough_budget():
    whole = draw(budget=1e9, tolerance=2.0, seed=3)
    parts = [draw(budget=1e9, tolerance=2.0, seed=3, positions=[i]) for i in (1, 0)]
    assert not any(place.method == "exact" for place in whole.places)
    assert same(without_cost(merge(parts)), without_cost(whole))


def test_one_alone_is_itself():
    found = exact()
    assert same(merge([found]), found)


def test_a_selection_and_the_rest_make_the_whole_again():
    found = exact()
    merged = merge([found.select([1]), found.select([0, 2])])
    assert same(merged.places, found.places)
    assert same(merged.excluded_mass, found.excluded_mass)


def test_flags_of_all_parts_are_kept():
    model = words_model(("a", "b", "c"))
    case = frame_case(model, "abc", generate=2)
    written = attribute(model, "abc", generate=2, method="exact", positions=[0])
    given = attribute(model, "abc", case.response, method="exact", positions=[1])
    assert merge([given, written]).case.flags == frozenset({"generated"})


@pytest.mark.parametrize(
    ("others", "fault"),
    [
        (lambda: [exact(positions=[1])], r"position \[1\] is in attributions 0 and 1"),
        (lambda: [exact("abb", positions=[0])], "number 1 has another prompt"),
        (lambda: [exact(response="bb", positions=[0])], "number 1 has another response"),
        (lambda: [exact(positions=[0], seed=1)], "number 1 has seed 1, not 0"),
        (lambda: [exact(positions=[0], level=0.9)], "level 0.9, not 0.95"),
        (lambda: [exact(positions=[0], context="a")], "number 1 has another context"),
        (
            lambda: [
                attribute(words_model(("a", "b")), "aab", "ba", method="exact", positions=[0])
            ],
            "number 1 has model",
        ),
        (
            lambda: [attribute(chain(), "aab", "ba", positions=[0])],
            "number 1 has method 'adaptive', not 'exact'",
        ),
    ],
)
def test_what_is_no_part_of_the_same_is_refused_in_one_line(others, fault):
    with pytest.raises(InputError, match=fault) as error:
        merge([exact(positions=[1]), *others()])
    assert "\n" not in str(error.value)


def test_none_are_too_few():
    with pytest.raises(InputError, match="got none"):
        merge([])
