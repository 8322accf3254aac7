import random
from itertools import pairwise
from math import comb

import pytest
from formulas import graph_table, random_cnf, random_formula, suite_theory, truth_table
from hypothesis import given
from hypothesis import strategies as st

from likely.errors import BudgetError, InputError
from likely.logic.circuits.bdd import Bdd, build_bdd
from likely.logic.circuits.graph import check_graph
from likely.logic.formula import Domain, Formula, all_equal, count_of, substitute, var
from likely.logic.parser import parse

NAMES = ["a", "b", "c", "d", "e"]
a, b, c = var("a"), var("b"), var("c")
seeds = st.integers(0, 2**32)


def formula_of(seed):
    return random_formula(random.Random(seed), NAMES, depth=1 + seed % 4)


@given(seeds)
def test_a_diagram_has_the_truth_table_of_its_formula(seed):
    formula = formula_of(seed)
    bdd = Bdd(NAMES)
    root = bdd.build(formula)
    table = truth_table(formula, NAMES)
    graph = bdd.to_graph(root)
    check_graph(graph)
    assert graph_table(graph) == table
    assert bdd.count(root) == sum(table)


@pytest.mark.parametrize("seed", range(3))
def test_eight_variables_agree_with_enumeration(seed):
    names = [f"v{i}" for i in range(8)]
    formula = random_formula(random.Random(seed), names, depth=4)
    bdd, root = build_bdd(formula, names=names)
    assert graph_table(bdd.to_graph(root)) == truth_table(formula, names)


@given(seeds, seeds)
def test_two_formulas_are_one_node_exactly_if_their_truth_tables_agree(first, second):
    first, second = formula_of(first), formula_of(second)
    tables = [truth_table(formula, NAMES) for formula in (first, second)]
    bdd = Bdd(NAMES)
    assert bdd.equivalent(first, second) == (tables[0] == tables[1])
    assert bdd.implies(first, second) == all(x <= y for x, y in zip(*tables, strict=True))


@given(seeds, seeds)
def test_laws_of_logic_lead_to_the_same_node(first, second):
    first, second = formula_of(first), formula_of(second)
    bdd = Bdd(NAMES)
    pairs = [
        (~~first, first),
        (~(first & second), ~first | ~second),
        (~(first | second), ~first & ~second),
        (first.iff(second), (first >> second) & (second >> first)),
        (first ^ second, ~first.iff(second)),
        (first ^ second, count_of(first, second, low=1, high=1)),
        (first >> second, ~first | second),
        (all_equal(first, second), first.iff(second)),
        (Formula("odd", (first, second)), first ^ second),
        (Formula("and", (first, second, first)), first & second),
        (first | ~first, Formula("true")),
        (first & ~first, Formula("false")),
    ]
    for left, right in pairs:
        assert bdd.build(left) == bdd.build(right)


@given(seeds, st.permutations(NAMES))
def test_the_order_of_variables_changes_no_count_and_no_truth(seed, order):
    formula = formula_of(seed)
    bdd, moved = Bdd(NAMES), Bdd(NAMES, order=order)
    root, moved_root = bdd.build(formula), moved.build(formula)
    assert moved.order == tuple(order)
    assert bdd.count(root) == moved.count(moved_root)
    assert graph_table(moved.to_graph(moved_root)) == graph_table(bdd.to_graph(root))


@given(seeds)
def test_renaming_the_variables_keeps_the_shape(seed):
    formula = formula_of(seed)
    renamed = substitute(formula, lambda leaf: var("p", leaf.name))
    bdd, other = Bdd(NAMES), Bdd([f"p({name})" for name in NAMES])
    assert bdd.build(formula) == other.build(renamed)


@given(seeds, st.integers(40, 60))
def test_making_room_changes_no_answer(seed, budget):
    """Under a small budget, nodes are swept away between the parts of a long conjunction."""
    formula = formula_of(seed)
    table = truth_table(formula, NAMES)
    bdd = Bdd(NAMES, budget=budget)
    long = Formula("and", tuple(formula ^ var(name) ^ var(name) for name in NAMES))
    try:
        root = bdd.build(long)
    except BudgetError:
        return
    assert bdd.count(root) == sum(table)
    assert graph_table(bdd.to_graph(root)) == table


@pytest.mark.parametrize("n", [3, 5])
def test_a_clause_of_three_keeps_seven_eighths_in_any_larger_manager(n):
    """Case O-41."""
    bdd = Bdd(["x", "y", "z", "u", "w"][:n])
    assert bdd.count(bdd.build(parse("x or not y or not z"))) == 7 * 2**n // 8


@pytest.mark.parametrize(("low", "high"), [(0, 0), (1, 1), (0, 3), (3, 10), (9, None), (12, None)])
def test_models_of_a_cardinality_are_binomial_sums(low, high):
    names = [f"v{i}" for i in range(12)]
    bdd = Bdd(names)
    root = bdd.build(count_of(*map(var, names), low=low, high=high))
    assert bdd.count(root) == sum(
        comb(12, k) for k in range(low, (12 if high is None else high) + 1)
    )


@pytest.mark.parametrize(("low", "high"), [(5, None), (5, 7), (4, 4)])
def test_a_count_that_no_assignment_reaches_is_false_and_a_trivial_one_true(low, high):
    bdd = Bdd(NAMES)
    assert bdd.build(count_of(a, b, c, low=low, high=high)) == 0
    assert bdd.build(count_of(a, b, c, low=0, high=high)) == 1


def test_exactly_one_of_n_takes_two_nodes_a_variable():
    names = [f"v{i}" for i in range(1000)]
    bdd = Bdd(names)
    root = bdd.build(count_of(*map(var, names), low=1, high=1))
    assert bdd.size(root) == 1999
    assert bdd.count(root) == 1000
    assert bdd.build(count_of(*(~var(name) for name in names), low=999, high=999)) == root


def test_a_thousand_variables_overflow_no_stack():
    names = [f"v{i}" for i in range(1000)]
    v = [var(name) for name in names]
    chain = Formula("and", tuple(x >> y for x, y in pairwise(v)))
    bdd = Bdd(names)
    assert bdd.count(bdd.build(chain)) == 1001
    assert bdd.count(bdd.build(Formula("odd", tuple(v)))) == 2**999
    assert bdd.count(bdd.build(all_equal(*v))) == 2
    assert bdd.count(bdd.build(~chain)) == 2**1000 - 1001


def test_deeply_nested_formulas_overflow_no_stack():
    formula = a
    for _ in range(3000):
        formula = ~(formula ^ b)
    bdd = Bdd(["a", "b"])
    assert bdd.build(formula) == bdd.build(a)


@pytest.mark.parametrize(("n", "n_nodes"), [(4, 7), (10, 19), (20, 39)])
def test_the_suites_theory_has_two_models_and_few_nodes(n, n_nodes):
    """Node counts of a pure-Python prototype, in the table of measurements of the specification."""
    formula, names = suite_theory(n)
    bdd, root = build_bdd(formula, names=names)
    assert (bdd.count(root), bdd.size(root)) == (2, n_nodes)


@pytest.mark.parametrize(
    ("n", "per_variable", "count", "n_nodes"),
    [
        (20, 2, 3_669, 814),
        (20, 4, 57, 60),
        (30, 1, 17_142_620, 27_803),
        (30, 2, 416_293, 13_524),
        (30, 3, 12_189, 2_810),
        (30, 4, 22, 54),
    ],
)
def test_random_clauses_have_the_published_counts(n, per_variable, count, n_nodes):
    """Golden counts of the specification's table 7.3, which seed 1 of its generator gives."""
    formula, names = random_cnf(n, per_variable, seed=1)
    bdd, root = build_bdd(formula, names=names)
    assert (bdd.count(root), bdd.size(root)) == (count, n_nodes)


def test_a_formula_over_the_budget_says_what_else_to_do():
    formula, names = random_cnf(14, 1, seed=1)
    with pytest.raises(BudgetError, match=r"50 nodes .*another order.*likely\[logic\].*Monte") as e:
        Bdd(names, budget=50).build(formula)
    assert repr(str(formula)[:30])[1:-1] in str(e.value)


def test_a_manager_goes_on_after_a_formula_over_its_budget():
    formula, names = random_cnf(14, 1, seed=1)
    bdd = Bdd(names, budget=50)
    with pytest.raises(BudgetError):
        bdd.build(formula)
    assert bdd.count(bdd.build(var("v1") & var("v2"))) == 2**12


def test_a_search_that_finds_no_new_nodes_ends_too():
    """Two diagrams whose product is false all over: no nodes are made, but many steps."""
    v = [var(f"v{i}") for i in range(40)]
    odd, even = Formula("odd", tuple(v)), Formula("even", tuple(v))
    few = count_of(*v, low=19, high=20)
    with pytest.raises(BudgetError):
        Bdd([f"v{i}" for i in range(40)], budget=500).build(few & odd & even)


@pytest.mark.parametrize("order", ["natural", "force", "sift", "auto"])
def test_every_way_to_order_gives_the_same_count(order):
    formula, names = random_cnf(14, 2, seed=1)
    bdd, root = build_bdd(formula, names=names, order=order)
    assert bdd.count(root) == sum(truth_table(formula, names))
    assert sorted(bdd.order) == sorted(names)


def test_the_automatic_order_goes_on_to_the_next_over_the_budget():
    n = 12
    pairs = Formula("or", tuple(var(f"a{i}") & var(f"b{i}") for i in range(n)))
    names = [f"{letter}{i}" for letter in "ab" for i in range(n)]
    with pytest.raises(BudgetError):
        build_bdd(pairs, names=names, order="natural", budget=1000)
    bdd, root = build_bdd(pairs, names=names, budget=1000)
    assert bdd.count(root) == 4**n - 3**n
    assert bdd.size(root) == 2 * n
    with pytest.raises(BudgetError, match="sifted"):
        build_bdd(pairs, names=names, budget=20)


def test_columns_follow_the_names_and_not_the_order():
    bdd = Bdd(["a", "b", "c"], order=["c", "a", "b"])
    graph = bdd.to_graph(bdd.build(~b))
    assert graph.root == 3 + 1
    assert build_bdd(b & a)[0].names == ("b", "a")


@pytest.mark.parametrize(
    ("names", "order", "formula", "match"),
    [
        (["a", "a"], None, a, "'a' stands there twice"),
        (["a", "b"], ["a", "c"], a, "order"),
        (["a"], None, a & b, "'b'"),
        (["a"], None, Formula("and", (a,), domain=Domain(variables=("r",), source="rows")), "rows"),
    ],
)
def test_names_and_formulas_that_do_not_fit_are_refused(names, order, formula, match):
    with pytest.raises(InputError, match=match):
        Bdd(names, order=order).build(formula)
