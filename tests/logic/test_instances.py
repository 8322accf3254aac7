import pytest

from likely.errors import InputError
from likely.logic.instances import instances
from likely.logic.theory import Theory

TEXT = """
name: s
rows:
  - {id: n1, kind: safe, act: driving, bad: alcohol, good: water, cities: [Rome, New York]}
  - {id: n2, kind: able, animal: fish, bad: fly, good: swim}
packs:
  - id: when
    where: "kind == 'safe'"
    frames: {pos: "When {act}, it is safe to drink", neg: "When {act}, it is not safe to drink"}
  - {id: can, where: "kind == 'able'", frames: {pos: "A {animal} can", neg: "A {animal} cannot"}}
events:
  a: {frame: neg, answer: "{bad}"}
  c: {frame: pos, answer: ["{bad}", "{{{bad}}}"]}
  g: {frame: pos, answer: "{good}"}
  g2: {frame: pos, answer: "{good}"}
  x: {frame: pos, each: {o: cities}, answer: "{o}", candidates: ["{cities}", "{good}"]}
theories:
  Tp: "a"
  Tm: "a ^ c"
  twin: "g & g2"
  one: "exactly_one(x(o) for o in cities)"
  able: {rules: {r: "c"}, where: "kind == 'able'"}
  all: "forall r in rows where r.bad != 'x': a(r) & !g(r)"
conditionals: {C: {if: "a", then: "g"}}
queries: {CLOSE: "a & !c"}
"""


def by_id(text=TEXT):
    return {instance.id: instance for instance in instances(Theory.from_text(text))}


def test_each_row_is_read_with_each_pack_that_fits_it():
    assert list(by_id()) == ["s/when/n1", "s/when/*", "s/can/n2", "s/can/*"]


def test_slots_are_filled_from_the_row():
    events = by_id()["s/when/n1"].events
    assert events["a"].context == "When driving, it is not safe to drink"
    assert events["a"].answers == ("alcohol",)
    assert events["c"].answers == ("alcohol", "{alcohol}")
    assert events["x('New York')"].answers == ("New York",)
    assert events["x(Rome)"].candidates == ("Rome", "New York", "water")


def test_one_event_under_two_names_is_one_variable():
    instance = by_id()["s/when/n1"]
    (twin,) = [claim for claim in instance.claims if claim.name == "twin"]
    assert str(twin.formula) == "g & g"
    assert "g2" not in instance.events
    assert str(instance.conditionals["C"][1]) == "g"


def test_a_claim_stands_where_all_its_events_can_be_spelled_out():
    made = by_id()
    assert [claim.name for claim in made["s/when/n1"].claims] == ["Tp", "Tm", "twin", "one"]
    assert [claim.name for claim in made["s/can/n2"].claims] == ["Tp", "Tm", "twin", "able"]
    assert [claim.name for claim in made["s/can/*"].claims] == ["all"]


def test_a_formula_over_all_rows_has_events_by_row():
    text = TEXT.replace(
        "  - {id: n2", "  - {id: n3, kind: safe, act: diving, bad: milk, good: tea}\n  - {id: n2"
    )
    instance = by_id(text)["s/when/*"]
    assert str(instance.claims[0].formula) == "(a(n1) & !g(n1)) & (a(n3) & !g(n3))"
    assert instance.events["g(n3)"].context == "When diving, it is safe to drink"


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("o in cities", "o in city", "'one' of the theory 's' fits no row: no column of row 'n1'"),
        ("each: {o: cities}", "each: {o: citys}", "fits no row"),
        ("{act}, it is not", "{act, it is not", "has a lone '{'"),
        ('"a ^ c"', '"a ^ c(n1)"', r"takes 0 arguments \(\), got 'c\(n1\)'"),
        ('"a ^ c"', '"a ^ x(Bern)"', "applies 'x' to 'Bern', which is not in the list"),
        ("a(r) & !g(r)", "a(r) & !g", r"write g\(r\) inside forall r in rows"),
        ("a(r) & !g(r)", "a(r) & !g(n9)", "no row named 'n9'"),
        ("When {act}, it is safe", "When {cities}, it is safe", "puts the list 'cities'"),
        ("where: \"kind == 'able'\"}\n  all", "where: \"kid == 'able'\"}\n  all", "names 'kid'"),
    ],
)  # fmt: skip
def test_what_cannot_be_spelled_out_is_named(old, new, words):
    text = TEXT.replace(old, new, 1)
    assert text != TEXT
    with pytest.raises(InputError, match=words):
        by_id(text)


def test_one_event_with_two_closed_sets_is_refused():
    text = TEXT.replace(
        '  g2: {frame: pos, answer: "{good}"}',
        '  g2: {frame: pos, answer: "{good}", candidates: ["{good}", tea]}',
    )
    with pytest.raises(InputError, match="'g' and 'g2' are one event"):
        by_id(text)
