import random

import pytest
from formulas import random_formula, truth_table
from hypothesis import given
from hypothesis import strategies as st

from likely.logic import parse
from likely.logic.circuits.shapes import (
    conjuncts,
    literal_shape,
    negation,
    shape,
    simplify,
)
from likely.logic.formula import FALSE, TRUE, Formula, substitute, var, variables, walk

NAMES = ["a", "b", "c", "d", "e"]
seeds = st.integers(0, 2**32)


def formula_of(seed):
    return random_formula(random.Random(seed), NAMES, depth=seed % 5)


@given(seeds)
def test_simplifying_keeps_the_truth_table(seed):
    formula = formula_of(seed)
    assert truth_table(simplify(formula), NAMES) == truth_table(formula, NAMES)


@given(seeds)
def test_a_simplified_formula_has_few_kinds_of_nodes_and_no_constant_inside(seed):
    formula = formula_of(seed)
    simple = simplify(formula)
    if simple not in (TRUE, FALSE):
        for node in walk(simple):
            assert node.op in {"var", "not", "and", "or", "iff", "all_equal", "xor", "even", "card"}
            assert not (node.op == "not" and node.operands[0].op not in ("var", "card"))
            if node.op in ("and", "or"):
                assert all(part.op != node.op for part in node.operands)
                assert len(set(node.operands)) == len(node.operands) > 1


@given(seeds)
def test_simplifying_twice_keeps_the_truth_table_and_the_variables_of_once(seed):
    formula = formula_of(seed)
    once = simplify(formula)
    twice = simplify(once)
    assert truth_table(twice, NAMES) == truth_table(once, NAMES)
    assert set(variables(twice)) <= set(variables(once))


@pytest.mark.parametrize(
    ("text", "simple"),
    [
        ("!!a", "a"),
        ("a & true & a", "a"),
        ("a | !a", "true"),
        ("b & (a | b)", "b"),
        ("!(a -> b)", "a & !b"),
        ("a & exactly_one(a, b, c)", "a & !b & !c"),
        ("a | (a & b)", "a"),
        ("a ^ b", "a <-> !b"),
        ("odd(a, b, c, b)", "a <-> !c"),
        ("even(a, !b, c)", "a ^ b ^ c"),
        ("a <-> b <-> !c", "even(a, b, c)"),
        ("a ^ (b <-> c) ^ (d ^ a)", "even(b, c, d)"),
        ("none(a, b)", "!a & !b"),
        ("at_least_one(a, !b)", "a | !b"),
        ("atmost(1, a, b)", "!a | !b"),
        ("!atleast(2, a, b, c)", "between(0, 1, a, b, c)"),
        ("!all_equal(a, b, c)", "between(1, 2, a, b, c)"),
        ("exactly(2, true, a, b, c)", "exactly_one(a, b, c)"),
        ("all_equal(a, true, b)", "a & b"),
        ("all_equal(a, b, !a)", "false"),
        ("exactly(3, a, b)", "false"),
        ("a <-> a", "true"),
    ],
)
@pytest.mark.filterwarnings("ignore::likely.errors.LikelyWarning")
def test_simple_forms(text, simple):
    assert shape(simplify(parse(text))) == shape(simplify(parse(simple)))
    assert len(list(walk(simplify(parse(text))))) == len(list(walk(parse(simple))))


@given(seeds)
def test_conjuncts_share_no_variable_and_together_are_the_formula(seed):
    formula = formula_of(seed)
    simple = simplify(formula)
    parts = conjuncts(simple)
    names = [name for part in parts for name in variables(part)]
    assert len(set(names)) == len(names)
    whole = Formula("and", tuple(parts)) if len(parts) > 1 else parts[0]
    assert truth_table(whole, NAMES) == truth_table(simple, NAMES)


def test_conjuncts_are_joined_over_a_chain_of_shared_variables():
    parts = conjuncts(parse("(a | b) & (c | d) & (e | f) & (b | c)"))
    assert [variables(part) for part in parts] == [("a", "b", "c", "d"), ("e", "f")]


@pytest.mark.parametrize(
    ("text", "op", "signs", "counts"),
    [
        ("a", "and", (True,), None),
        ("none(a, b)", "and", (False, False), None),
        ("a -> b", "or", (False, True), None),
        ("a <-> b", "all_equal", (True, True), None),
        ("a ^ b", "all_equal", (True, False), None),
        ("all_equal(a, !b, c)", "all_equal", (True, False, True), None),
        ("odd(a, b, !c)", "even", (True, True, True), None),
        ("odd(a, b, c)", "xor", (True, True, True), None),
        ("exactly_one(a, !b, c)", "card", (True, False, True), (1, 1)),
        ("atleast(2, a, b, c)", "card", (True, True, True), (2, 3)),
        ("!all_equal(a, b, c)", "card", (True, True, True), (1, 2)),
    ],
)
def test_shapes_of_literals_are_recognised_up_to_signs(text, op, signs, counts):
    found = literal_shape(simplify(parse(text)))
    assert (found.op, found.signs) == (op, signs)
    assert counts is None or (found.low, found.high) == counts


@pytest.mark.parametrize("text", ["exactly_one(a, a, b)", "a & (b | c)", "!exactly_one(a, b, c)"])
def test_other_shapes_are_not_taken_for_closed_forms(text):
    assert literal_shape(simplify(parse(text))) is None


def test_constants_are_no_shape_of_literals():
    assert literal_shape(TRUE) is None


@given(seeds)
def test_a_shape_is_blind_to_names_and_to_nothing_else(seed):
    formula = formula_of(seed)
    renamed = substitute(formula, lambda leaf: var("x", leaf.name))
    assert shape(renamed) == shape(formula)
    assert hash(shape(renamed)) == hash(shape(formula))
    assert shape(negation(formula)) != shape(formula)


def test_shapes_tell_apart_which_variables_are_the_same():
    assert shape(parse("a & b & a")) != shape(parse("a & b & b"))
    assert shape(parse("atleast(1, a, b)")) != shape(parse("atleast(2, a, b)"))
