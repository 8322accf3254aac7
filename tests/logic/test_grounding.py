import pytest

from likely.errors import InputError, UnknownNameError
from likely.logic.formula import FALSE, TRUE
from likely.logic.grounding import Row, Scope, ground
from likely.logic.parser import parse

ROWS = (
    Row(id="r1", columns={"lang": "en", "cities": ("Rome", "Oslo")}),
    Row(id="r2", columns={"lang": "fr", "cities": ("Bern",)}),
    Row(id="r3", columns={"lang": "en", "cities": ()}),
)


def grounded(text, **scope):
    return str(ground(parse(text), Scope(**scope)))


def test_forall_is_a_conjunction_and_exists_a_disjunction():
    assert grounded("forall r in rows: a(r)", rows=ROWS) == "a(r1) & a(r2) & a(r3)"
    assert grounded("exists r in rows: a(r)", rows=ROWS) == "a(r1) | a(r2) | a(r3)"


def test_guards_choose_pairs():
    text = "forall r, s in rows where r.lang == s.lang and r.id < s.id: a(r) <-> a(s)"
    assert grounded(text, rows=ROWS) == "a(r1) <-> a(r3)"


def test_a_set_may_be_a_list_column_of_a_bound_row():
    text = "forall r in rows where r.id != 'r3': exactly_one(x(r, o) for o in r.cities)"
    expected = "exactly_one(x(r1, Rome), x(r1, Oslo)) & exactly_one(x(r2, Bern))"
    assert grounded(text, rows=ROWS) == expected


def test_one_row_ranges_over_its_own_list_columns():
    assert grounded("none(x(o) for o in cities)", row=ROWS[0]) == "none(x(Rome), x(Oslo))"


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("forall", TRUE), ("exists", FALSE), ("exactly_one", FALSE), ("at_most_one", TRUE),
        ("at_least_one", FALSE), ("none", TRUE), ("all_equal", TRUE), ("odd", FALSE),
        ("even", TRUE), ("count>=0", TRUE), ("count>=1", FALSE),
    ],
)  # fmt: skip
def test_an_empty_range_has_the_truth_of_logic(word, expected):
    assert ground(parse(f"{word} r in rows: a(r)"), Scope(rows=())) == expected


def test_an_unknown_set_or_column_is_named():
    with pytest.raises(InputError, match="no set 'lines' to range over; there are rows"):
        grounded("forall r in lines: a(r)", rows=ROWS)
    with pytest.raises(UnknownNameError, match="no column of row 'r1' named 'city'"):
        grounded("none(x(o) for o in city)", row=ROWS[0])
    with pytest.raises(InputError, match="is the text 'en', not a list"):
        grounded("none(x(o) for o in lang)", row=ROWS[0])
