import warnings

import pytest
from hypothesis import given
from strategies import formulas

from likely.errors import InputError, LikelyWarning
from likely.logic.formula import Domain, Formula, count_of, var
from likely.logic.parser import MAX_DEPTH, parse

A, B, C, D = (var(name) for name in "abcd")


@given(formulas("a", "b", "x1"))
def test_parsing_undoes_printing(formula):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LikelyWarning)
        assert parse(str(formula)) == formula


def test_precedence_is_not_and_or_xor_implies_iff():
    assert parse("!a & b | c ^ d -> a <-> b") == ((((~A & B) | C) ^ D) >> A).iff(B)


def test_words_and_signs_are_one_language():
    assert parse("not a and b or c implies d iff a") == parse("!a & b | c -> d <-> a")
    assert parse("a xor ~b") == parse("a ^ !b")


def test_implication_nests_to_the_right_and_iff_to_the_left():
    assert parse("a -> b -> c") == A >> (B >> C)
    assert parse("a <-> b <-> c") == A.iff(B).iff(C)


def test_counts_have_one_spelling_each():
    assert parse("exactly(1, a, b)") == parse("exactly_one(a, b)") == count_of(A, B, low=1, high=1)
    assert str(parse("atmost(0, a, b)")) == "none(a, b)"
    assert parse("between(1, 2, a, b, c)") == count_of(A, B, C, low=1, high=2)
    assert parse("atleast(2, a, b, c)") == count_of(A, B, C, low=2)


def test_a_quantifier_reaches_as_far_right_as_it_can():
    rows = Domain(variables=("r",), source="rows")
    a, b = var("a", "r"), var("b", "r")
    assert parse("forall r in rows: a(r) & b(r)") == Formula("and", (a & b,), domain=rows)
    assert parse("(exists r in rows: a(r)) & c") == Formula("or", (a,), domain=rows) & C


def test_guards_are_kept_in_one_spelling():
    text = 'forall r,s in rows where (r.lang=="en") and r.id<s.id: a(r) -> b(s)'
    formula = parse(text)
    assert formula.domain.guard == "r.lang == 'en' and r.id < s.id"
    assert parse(str(formula)) == formula


@pytest.mark.parametrize(
    "text",
    [
        "exactly_one(x(o) for o in cities)",
        "exactly(2, a(r) for r in rows where r.kind in ['x', 'y:z'])",
        "all_equal(a(r) for r in rows)",
        "forall r in rows: exactly_one(x(r, o) for o in r.cities)",
        "!(forall r in rows: a(r))",
        "a(n01, 'x-1')",
    ],
)
def test_ranges_print_as_they_are_written(text):
    assert str(parse(text)) == text


def test_count_is_a_quantifier_too():
    assert parse("count>=2 r in rows: a(r)") == parse("atleast(2, a(r) for r in rows)")
    assert parse("count == 0 r in rows: a(r)") == parse("none r in rows: a(r)")
    assert parse("count<=3 r in rows: a(r)") == parse("atmost(3, a(r) for r in rows)")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a & (b", "the end at column 7, where an operator or ')' was expected"),
        ("a b", "'b' at column 3"),
        ("a &", "the end at column 4, where an event or '!' or '('"),
        ("a & \n b b", "'b' at line 2, column 4"),
        ("exactly(a, b)", "'a' at column 9, where a number was expected"),
        ("a $ b", r"'\$' at column 3"),
        ("a & 'x", '"\'" at column 5'),
        ("forall r in rows a(r)", "'a' at column 18, where '.' or ':' or 'where'"),
        ("a & in", "'in' at column 5 is a word of the language"),
        ("between(3, 1, a)", "low <= high, got 3 and 1"),
        ("forall r in rows where f(r): a(r)", "holds 'f"),
        ("  ", "at least one event"),
    ],
)
def test_a_mistake_is_named_with_its_place(text, words):
    with pytest.raises(InputError, match=words.replace("(", r"\(").replace(")", r"\)")):
        parse(text)


def test_xor_of_three_warns_and_of_two_does_not():
    parse("a ^ b")
    with pytest.warns(LikelyWarning, match="odd number of its 3 parts"):
        parse("a ^ b ^ c")


def test_too_deep_a_formula_is_refused_and_a_deep_one_read():
    text = "!" * (MAX_DEPTH + 1) + "a"
    with pytest.raises(InputError, match=f"at most {MAX_DEPTH} deep"):
        parse(text)
    deep = "!" * (MAX_DEPTH - 1) + "a"
    assert str(parse(deep)) == deep
