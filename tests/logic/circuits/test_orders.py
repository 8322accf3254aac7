import random

import pytest
from formulas import graph_table, random_cnf, random_formula, suite_theory, truth_table

from likely.logic.circuits.bdd import Bdd
from likely.logic.circuits.nodes import NodeTable
from likely.logic.circuits.orders import force_order, sift
from likely.logic.formula import Formula, count_of, var, variables


def distance(formula, order):
    """The largest distance in the order of two variables of one conjunct."""
    place = {name: i for i, name in enumerate(order)}
    places = [[place[name] for name in variables(part)] for part in formula.operands]
    return max(max(these) - min(these) for these in places)


def test_force_brings_constraints_on_shuffled_chains_together():
    formula, names = suite_theory(20)
    shuffled = random.Random(0).sample(names, len(names))
    assert distance(formula, force_order(formula, shuffled)) < distance(formula, shuffled) / 2


def test_force_keeps_an_order_that_nothing_improves():
    _, names = suite_theory(20)
    assert force_order(count_of(*map(var, names), low=1), names) == tuple(names)
    assert force_order(Formula("true"), ["a", "b"]) == ("a", "b")
    assert force_order(var("b"), ["a", "b"]) == ("a", "b")


def test_force_orders_names_that_the_formula_lacks():
    assert sorted(force_order(var("a") & var("c"), ["a", "b", "c"])) == ["a", "b", "c"]


def pairs_apart(n):
    formula = Formula("or", tuple(var(f"a{i}") & var(f"b{i}") for i in range(n)))
    return formula, [f"{letter}{i}" for letter in "ab" for i in range(n)]


def test_sifting_finds_the_linear_order_of_pairs_that_were_apart():
    formula, names = pairs_apart(10)
    plain = Bdd(names)
    assert plain.size(plain.build(formula)) == 2**11 - 2
    bdd = Bdd(names, is_sifted=True)
    root = bdd.build(formula)
    assert bdd.size(root) == 20
    assert bdd.count(root) == 4**10 - 3**10


@pytest.mark.parametrize("seed", range(40))
def test_sifting_changes_no_truth_table_and_stays_canonical(seed):
    names = [f"v{i}" for i in range(6)]
    rng = random.Random(seed)
    formulas = [random_formula(rng, names, depth=4) for _ in range(2)]
    sifted = Bdd(names, is_sifted=True)
    roots = [sifted.build(formula) for formula in formulas]
    for formula, root in zip(formulas, roots, strict=True):
        assert graph_table(sifted.to_graph(root)) == truth_table(formula, names)
        # Still canonical: the same formula is found again, not made anew.
        assert sifted.build(formula) == root


def test_sifting_alone_never_grows_the_diagram():
    for seed in range(5):
        formula, names = random_cnf(10, 2, seed=seed)
        bdd, sifted = Bdd(names), Bdd(names, is_sifted=True)
        assert sifted.size(sifted.build(formula)) <= bdd.size(bdd.build(formula))


def test_a_sifted_table_is_reduced_and_ordered():
    table = NodeTable(4)
    # (0 and 2) or (1 and 3), with the pairs apart.
    x3, x2 = table.node(3, 0, 1), table.node(2, 0, 1)
    either = table.node(2, x3, table.node(3, 1, 1))
    root = table.node(0, table.node(1, 0, x3), table.node(1, x2, either))
    labels = [0, 1, 2, 3]
    sift(table, [root], labels)
    nodes = table.reachable([root])
    assert len(nodes) == len(table) - 2 == 4
    assert {abs(labels.index(0) - labels.index(2)), abs(labels.index(1) - labels.index(3))} == {1}
    for node in nodes:
        level, low, high = table.level[node], table.low[node], table.high[node]
        assert low != high
        assert table.unique[level][low, high] == node
        assert table.level[low] > level < table.level[high]


def test_growing_diagrams_are_sifted_on_the_way_and_stay_in_the_budget(monkeypatch):
    monkeypatch.setattr("likely.logic.circuits.bdd.FIRST_SIFTING", 60)
    formula, names = random_cnf(14, 2, seed=3)
    plain, sifted = Bdd(names), Bdd(names, is_sifted=True, budget=4000)
    assert sifted.count(sifted.build(formula)) == plain.count(plain.build(formula))
    assert sifted.order != plain.order
