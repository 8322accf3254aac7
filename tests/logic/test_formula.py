from itertools import product

import pytest
from hypothesis import given
from strategies import formulas

from likely.errors import InputError
from likely.logic.formula import Formula, all_equal, count_of, holds, substitute, var, variables

A, B, C = var("a"), var("b"), var("c")


def table(formula, *names):
    rows = product([False, True], repeat=len(names))
    return [holds(formula, dict(zip(names, row, strict=True))) for row in rows]


def test_operators_have_the_truth_tables_of_logic():
    assert table(~A, "a") == [True, False]
    assert table(A & B, "a", "b") == [False, False, False, True]
    assert table(A | B, "a", "b") == [False, True, True, True]
    assert table(A ^ B, "a", "b") == [False, True, True, False]
    assert table(A >> B, "a", "b") == [True, True, False, True]
    assert table(A.iff(B), "a", "b") == [True, False, False, True]


def test_three_with_xor_is_parity_and_not_exactly_one():
    n_true = [sum(row) for row in product([0, 1], repeat=3)]
    assert table(A ^ B ^ C, "a", "b", "c") == [n % 2 == 1 for n in n_true]
    assert table(count_of(A, B, C, low=1, high=1), "a", "b", "c") == [n == 1 for n in n_true]
    assert table(all_equal(A, B, C), "a", "b", "c") == [n in (0, 3) for n in n_true]


def test_a_chain_of_iff_is_nested_and_not_all_equal():
    assert table(A.iff(B).iff(C), "a", "b", "c") != table(all_equal(A, B, C), "a", "b", "c")


def test_chains_extend_on_the_left_only():
    assert Formula("and", (A, B, C)) == (A & B & C)
    assert Formula("and", (A, Formula("and", (B, C)))) == (A & (B & C))


def test_variables_come_in_order_of_first_appearance():
    assert variables((B & A) | var("x", "n01") | B) == ("b", "a", "x(n01)")


def test_arguments_that_are_no_words_are_quoted_in_the_key():
    assert var("x", "New York", "it's").key == r"x('New York', 'it\'s')"


def test_substitution_replaces_every_occurrence():
    assert substitute((A & B) >> A, lambda v: ~v) == (~A & ~B) >> ~A


@given(formulas("a", "b", "c"))
def test_negation_flips_every_row(formula):
    names = ("a", "b", "c")
    assert table(~formula, *names) == [not row for row in table(formula, *names)]


def test_a_formula_has_no_truth_value_of_its_own():
    with pytest.raises(InputError, match="combine formulas with"):
        _ = A and B


@pytest.mark.parametrize("name", ["forall", "1a", "a b", "", "exactly_one", "é"])
def test_a_word_of_the_language_names_no_event(name):
    with pytest.raises(InputError, match="named by letters"):
        var(name)


def test_nodes_have_the_operands_that_their_kind_needs():
    with pytest.raises(InputError, match="'iff' takes 2 operands, got 1"):
        Formula("iff", (A,))
    with pytest.raises(InputError, match="'and' takes 2 operands or more, got 0"):
        Formula("and", ())
    with pytest.raises(InputError, match="low 2 and high 1"):
        count_of(A, low=2, high=1)


def test_an_assignment_must_be_complete():
    with pytest.raises(InputError, match="gives no value to 'b'"):
        holds(A & B, {"a": True})
