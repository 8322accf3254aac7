"""Which items are the same question with the options named the other way round."""

from dataclasses import replace

import numpy as np
from known import colors

from likely.calibration.family import build
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
        assert item.meta["draw"] == back.meta["draw"]
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
    assert all(options[a][0].meta["draw"] == options[b][0].meta["draw"] for a, b in enumerate(twin))


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

    def told(item, number, kind):
        link = f"{item.option_pair_id}/{item.numbers}"  # differs between twins
        return replace(item, meta={"link": link, "number": number, "kind": kind})

    four = [told(forward, 1, "age"), told(forward, 2, "age")]
    four += [told(back, 2, "age"), told(back, 1, "age")]
    assert twin_options(four).tolist() == [7, 6, 5, 4, 3, 2, 1, 0]
    vague = [told(forward, 1, "age"), told(back, 2, "age"), told(back, 3, "age")]
    assert (twin_options(vague) == -1).all()
    assert twin_options(vague[:2]).tolist() == [3, 2, 1, 0]
