import json
from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from likely.calibration.data_sets.families.colors import COLORS
from likely.calibration.data_sets.families.distributions import DISTRIBUTIONS
from likely.calibration.data_sets.families.wordproblems import WORDPROBLEMS
from likely.calibration.data_sets.family import build
from likely.calibration.data_sets.items import Item, Option, make_item
from likely.errors import InputError

RED, BLUE = Option(label="red", words=("red",)), Option(label="blue", words=("blue",))

FIELDS = {
    "family": "jars",
    "version": 1,
    "template_id": "J1",
    "template": "{n1} {c1}, {n2} {c2}. Drawn:",
    "context": "2 red, 1 blue. Drawn:",
    "options": (RED, BLUE),
    "ideal": (Fraction(2, 3), Fraction(1, 3)),
    "numbers": (2, 1),
}


def jar(**changes):
    return make_item(**{**FIELDS, **changes})


@pytest.mark.parametrize("family", [COLORS, WORDPROBLEMS, DISTRIBUTIONS], ids=lambda f: f.name)
def test_a_record_gives_its_item_back(family):
    for item in build(family.name, preset="smoke"):
        line = item.to_json()
        assert "\n" not in line
        assert Item.from_json(line) == item


@given(
    weights=st.lists(st.integers(0, 10**12), min_size=2, max_size=6).filter(any),
    value=st.none() | st.fractions(),
    label=st.text(min_size=1),
)
def test_exact_fractions_and_any_text_survive_a_record(weights, value, label):
    options = [
        Option(label=f"{label}{i}", words=(label,), value=value) for i in range(len(weights))
    ]
    ideal = [Fraction(weight, sum(weights)) for weight in weights]
    item = jar(options=options, ideal=ideal, weight=Fraction(1, 3), meta={"x": 1.5, "y": None})
    assert Item.from_json(item.to_json()) == item


def test_the_id_does_not_depend_on_the_wording():
    other = jar(template="There are {n1} {c1} ...", context="There are 2 red ... It is", blank="x")
    assert other.id == jar().id
    assert other.template_hash != jar().template_hash


@pytest.mark.parametrize(
    "change",
    [
        {"family": "urns"},
        {"version": 2},
        {"template_id": "J2"},
        {"options": (BLUE, RED)},
        {"ideal": (Fraction(1, 3), Fraction(2, 3))},
        {"numbers": (4, 2)},
        {"number_pair_id": "x"},
        {"lang": "de"},
        {"scale": "1-10"},
        {"notation": "odds"},
        {"meta": {"dup": 1}},
    ],
)
def test_the_id_depends_on_everything_else(change):
    assert jar(**change).id != jar().id


def test_order_and_higher_follow_from_the_options_and_their_ideal():
    item = jar()
    assert (item.order, item.higher, item.number_pair_id) == ("reversed", "first", "1:2")
    twin = jar(options=(BLUE, RED))
    assert (twin.order, twin.higher) == ("forward", "first")
    assert twin.option_set_id == item.option_set_id == "blue/red"
    assert (twin.option_pair_id, item.option_pair_id) == ("blue/red", "red/blue")
    tie = jar(ideal=(Fraction(1, 2), Fraction(1, 2)), has_twin=False)
    assert (tie.order, tie.higher) == ("none", "tie")
    green = Option(label="green", words=("green",))
    assert jar(options=(RED, BLUE, green), ideal=[Fraction(1, 3)] * 3).higher == "none"


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"ideal": (Fraction(2, 3), Fraction(1, 4))}, "sums to exactly 1"),
        ({"ideal": (Fraction(4, 3), Fraction(-1, 3))}, "sums to exactly 1"),
        ({"ideal": (Fraction(1),)}, "a probability for each"),
        ({"options": (RED,), "ideal": (Fraction(1),)}, "at least 2 options"),
        ({"options": (RED, RED)}, "distinct labels"),
        ({"context": "Drawn: "}, "no white space"),
        ({"context": "Drawn:\n"}, "no white space"),
        ({"context": ""}, "no white space"),
    ],
)
def test_an_item_that_asks_nothing_well_defined_is_refused(change, match):
    with pytest.raises(InputError, match=match):
        jar(**change)


def record(**changes):
    data = json.loads(jar().to_json())
    data.update(changes)
    return json.dumps({key: value for key, value in data.items() if value != "gone"})


@pytest.mark.parametrize(
    ("line", "match"),
    [
        ("{", "no record of an item"),
        ("[1, 2]", "is a JSON object"),
        ("7", "is a JSON object"),
        (record(schema_version=2), "schema 2, this version of likely reads 1"),
        (record(schema_version="gone"), "schema_version"),
        (record(context=7), "'context' of an item is text, got 7"),
        (record(lead=None), "'lead' of an item is text, got None"),
        (record(context="gone"), "no record of an item.*context"),
        (record(mood="good"), "no record of an item.*mood"),
        (record(ideal="1/2"), "'ideal' of an item is a list"),
        (record(ideal=["2/3", "1/0"]), "no record of an item"),
        (record(ideal=["2/3", 0.25]), "ideal of an item are fractions as text"),
        (record(numbers=[4, 2]), "numbers of an item are fractions as text"),
        (record(weight=0.1), "'weight' of an item is text, got 0.1"),
        (record(weight=float("inf")), "'weight' of an item is text"),
        (record(version="1"), "version of an item is an integer, got '1'"),
        (record(version=True), "version of an item is an integer, got True"),
        (record(blank=7), "blank of an item is text or null, got 7"),
        (record(meta=None), "meta data of an item are an object, got None"),
        (record(meta=[1]), "meta data of an item are an object"),
        (record(ideal=["2/3", "a third"]), "no record of an item"),
        (record(ideal=["2/3", "2/3"]), "sums to exactly 1"),
        (record(order="sideways"), "the order of an item is one of"),
        (record(higher="both"), "the higher of an item is one of"),
        (record(options=[{"label": "red", "words": "red", "value": None, "position": 0}]),
         "a list of words"),
        (record(options=[{"label": "red", "words": [1], "value": None, "position": 0}]),
         "are texts"),
    ],
)  # fmt: skip
def test_a_line_that_is_no_record_is_told_so(line, match):
    with pytest.raises(InputError, match=match):
        Item.from_json(line)


def test_options_of_a_record_stand_by_position():
    data = json.loads(jar().to_json())
    data["options"].reverse()
    assert Item.from_json(json.dumps(data)) == jar()


def test_meta_data_are_part_of_the_item():
    assert replace(jar(), meta={"dup": 1}) != jar()
