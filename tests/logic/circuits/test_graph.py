import random

import numpy as np
import pytest
from formulas import graph_table, random_formula, true_counts, truth_table

from likely.errors import InputError, ShapeError
from likely.logic.circuits.bdd import build_bdd
from likely.logic.circuits.graph import (
    Graph,
    GraphBuilder,
    check_graph,
    element_lists,
    find_overlap,
    model_counts,
    smooth,
    variable_masks,
)
from likely.logic.formula import Formula, count_of, var

NAMES = ["a", "b", "c", "d", "e", "f"]


def graph_of(formula, names):
    bdd, root = build_bdd(formula, names=names)
    return bdd.to_graph(root)


def raw_graph(*, n_vars, primes=(), subs=(), offsets=(0,), root):
    arrays = [np.array(numbers, dtype=np.int64) for numbers in (primes, subs, offsets)]
    return Graph(n_vars=n_vars, primes=arrays[0], subs=arrays[1], offsets=arrays[2], root=root)


def is_smooth(graph):
    masks = variable_masks(graph)
    nodes = [
        {masks[p] | masks[s] for p, s in elements} == {masks[2 * graph.n_vars + 2 + i]}
        for i, elements in enumerate(element_lists(graph))
    ]
    is_false = graph.root == 2 * graph.n_vars + 1
    return all(nodes) and (is_false or masks[graph.root] == (1 << graph.n_vars) - 1)


@pytest.mark.parametrize("seed", range(60))
def test_smoothing_keeps_the_truth_table_and_spells_out_every_variable(seed):
    rng = random.Random(seed)
    graph = graph_of(random_formula(rng, NAMES, depth=3), NAMES)
    spelled = smooth(graph)
    assert graph_table(spelled) == graph_table(graph)
    assert is_smooth(spelled)
    check_graph(spelled)


@pytest.mark.parametrize("seed", range(60))
def test_counts_on_a_smooth_graph_equal_enumeration(seed):
    rng = random.Random(seed)
    formula = random_formula(rng, NAMES, depth=3)
    expected = true_counts(truth_table(formula, NAMES), len(NAMES))
    assert model_counts(smooth(graph_of(formula, NAMES))) == expected


@pytest.mark.parametrize("n", [3, 5])
def test_a_clause_of_three_keeps_seven_eighths_in_any_larger_manager(n):
    """Case O-41: free variables double the count and change no share."""
    formula = var("x") | ~var("y") | ~var("z")
    graph = graph_of(formula, ["x", "y", "z", "u", "w"][:n])
    count, true = model_counts(smooth(graph))
    assert count == 7 * 2**n // 8
    assert true[3:] == tuple([count // 2] * (n - 3))


def test_counts_refuse_a_graph_that_leaves_out_a_variable():
    with pytest.raises(InputError, match="smooth"):
        model_counts(graph_of(var("a") | var("b"), ["a", "b"]))


@pytest.mark.parametrize("n", [0, 1, 3])
def test_constants_have_all_models_or_none(n):
    names = NAMES[:n]
    assert model_counts(smooth(graph_of(Formula("true"), names)))[0] == 2**n
    assert model_counts(smooth(graph_of(Formula("false"), names))) == (0, (0,) * n)


def test_a_thousand_variables_are_counted_exactly():
    names = [f"v{i}" for i in range(1000)]
    at_least = count_of(*map(var, names), low=1)
    count, true = model_counts(smooth(graph_of(at_least, names)))
    assert count == 2**1000 - 1
    assert true == (2**999,) * 1000


def test_chains_for_skipped_variables_share_their_tails_under_any_order():
    names = [f"v{i}" for i in range(200)]
    bdd, root = build_bdd(count_of(*map(var, names), low=1), names=names[::2] + names[1::2])
    # One node a variable for the clause, one for the tail; not one for each pair.
    assert smooth(bdd.to_graph(root)).n_inner <= 400


def test_masks_are_the_variables_below_each_node():
    graph = graph_of((var("a") & var("b")) | var("d"), NAMES)
    masks = variable_masks(graph)
    assert masks[graph.root] == 0b1011
    assert masks[: 2 * len(NAMES) + 2] == [1 << i for i in range(6)] * 2 + [0, 0]


def test_the_builder_drops_what_cannot_hold_and_makes_each_node_once():
    builder = GraphBuilder(2)
    a, b = (builder.literal(i, positive=True) for i in (0, 1))
    assert builder.add([(a, builder.false)]) == builder.false
    assert builder.add([(a, builder.true), (builder.false, b)]) == a
    assert builder.add([(builder.true, b)]) == b
    both = builder.conjoin([a, b])
    assert both == builder.conjoin([a, b])
    assert builder.conjoin([]) == builder.true
    builder.add([(b, a)])
    assert builder.graph(both).n_inner == 1


def test_checking_finds_elements_that_hold_together():
    # a or b, written without care: both hold where a and b do.
    graph = raw_graph(n_vars=2, primes=[0, 1], subs=[4, 4], offsets=[0, 2], root=6)
    with pytest.raises(InputError, match=r"inner node 0 .* \[0, 1\]"):
        check_graph(graph)


def test_checking_finds_halves_that_share_a_variable():
    graph = raw_graph(n_vars=2, primes=[0], subs=[2], offsets=[0, 1], root=6)
    with pytest.raises(InputError, match="variable 0"):
        check_graph(graph)


def test_checking_tries_random_assignments_where_there_are_too_many():
    graph = raw_graph(n_vars=40, primes=[0, 1], subs=[80, 80], offsets=[0, 2], root=82)
    node, true = find_overlap(graph)
    assert node == 0
    assert {0, 1} <= set(true)


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"root": 7}, InputError),
        ({"primes": [6]}, InputError),
        ({"subs": [-1]}, InputError),
        ({"offsets": [0, 2]}, ShapeError),
        ({"offsets": [0, 1, 0]}, ShapeError),
    ],
)
def test_checking_finds_ids_that_lead_nowhere(changes, error):
    parts = {"n_vars": 2, "primes": [0], "subs": [1], "offsets": [0, 1], "root": 6} | changes
    with pytest.raises(error):
        check_graph(raw_graph(**parts))
