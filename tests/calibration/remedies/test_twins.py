"""Which items are the same question with the options named the other way round."""

from dataclasses import replace

import numpy as np
import pytest
from known import colors

from likely.calibration.data_sets.family import build
from likely.calibration.remedies.twins import twin_options
from likely.calibration.tables import targets


def by_option(items):
    return [(item, option) for item in items for option in item.options]


def test_twins_are_mutual_and_differ_in_the_order_of_mention_alone():
    items = colors()
    twin = twin_options(items)
    assert (twin[twin] == np.arange(len(twin))).all()
    options = by_option(items)
    ideal = targets(items).ideal
    for place, other in enumerate(twin.tolist()):
        (item, option), (back, again) = options[place], options[other]
        assert option == again
        assert item.template_id == back.template_id
        assert {item.order, back.order} == {"forward", "reversed"}
        assert item.numbers == back.numbers[::-1]
        assert item.meta["dup"] == back.meta["dup"]
        assert ideal[place] == ideal[other]


def test_a_number_pair_drawn_twice_has_a_twin_for_each_draw():
    full = build("colors", preset="full")
    colours = {"red", "blue"}
    specs = [s for s in full.specs if s.template_id == "C1" and set(s.pair) == colours]
    again = [full.family.render(spec) for spec in specs if spec.numbers.weight < 1]
    assert len(again) == 2 * 2 * 2 * 5
    twin = twin_options(again)
    assert (twin >= 0).all()
    options = by_option(again)
    assert all(options[a][0].meta["dup"] == options[b][0].meta["dup"] for a, b in enumerate(twin))


def test_an_item_alone_or_without_an_order_has_no_twin():
    items = colors()
    forward = [item for item in items if item.order == "forward"]
    assert (twin_options(forward) == -1).all()
    unordered = [replace(item, order="none") for item in items]
    assert (twin_options(unordered) == -1).all()


def test_of_several_that_could_be_the_twin_the_most_alike_is_taken_or_none():
    forward = next(item for item in colors() if item.order == "forward")
    back = next(
        item
        for item in colors()
        if item.order == "reversed"
        and item.template_id == forward.template_id
        and item.option_set_id == forward.option_set_id
        and item.numbers == forward.numbers[::-1]
    )

    def told(item, number, kind="age"):
        link = f"{item.option_pair_id}/{item.numbers}"  # differs between twins
        text = item.context.replace("Mia", f"Mia, {number} years old,")
        return replace(item, context=text, meta={"link": link, "kind": kind})

    four = [told(forward, 11), told(forward, 12), told(back, 12), told(back, 11)]
    assert twin_options(four).tolist() == [7, 6, 5, 4, 3, 2, 1, 0]
    vague = [told(forward, 11), told(back, 12), told(back, 13)]
    assert (twin_options(vague) == -1).all()
    assert twin_options(vague[:2]).tolist() == [3, 2, 1, 0]
    recorded = [told(forward, 11), told(back, 11, "number"), told(back, 11)]
    assert twin_options(recorded).tolist() == [5, 4, -1, -1, 1, 0]


@pytest.mark.parametrize(
    "name",
    [
        "bayes_update", "coin_bias", "dice_event", "distractor", "icl", "independence",
        "languages", "large_numbers", "no_replacement", "notation", "scaled", "weather_pct",
        "zero_one",
    ],
)  # fmt: skip
def test_every_item_that_is_said_to_have_a_twin_has_one_with_the_same_law(name):
    items = list(build(name, preset="lite"))
    twin = twin_options(items)
    options = by_option(items)
    ideal = [p for item in items for p in item.ideal]
    for place, other in enumerate(twin.tolist()):
        assert (other >= 0) == (options[place][0].order != "none")
        if other >= 0:
            assert twin[other] == place
            assert ideal[other] == ideal[place]
            assert options[other][1] == options[place][1]
