import random
import sys
from math import comb

import pytest
from formulas import graph_table, random_cnf, random_formula, truth_table

from likely.errors import BudgetError, InputError, MissingExtraError
from likely.logic.circuits.bdd import build_bdd
from likely.logic.circuits.graph import check_graph, model_counts, smooth
from likely.logic.circuits.sdd import sdd_graph
from likely.logic.formula import Domain, Formula, all_equal, count_of, var

pysdd = pytest.importorskip("pysdd.sdd")

NAMES = ["a", "b", "c", "d", "e", "f"]


@pytest.mark.parametrize("seed", range(60))
def test_an_sdd_has_the_truth_table_of_its_formula(seed):
    formula = random_formula(random.Random(seed), NAMES, depth=3)
    graph = sdd_graph(formula, names=NAMES)
    check_graph(graph)
    assert graph_table(graph) == truth_table(formula, NAMES)
    assert graph_table(smooth(graph)) == graph_table(graph)


@pytest.mark.parametrize(("n", "per_variable"), [(20, 2), (20, 4), (24, 1)])
def test_sdds_and_bdds_count_alike(n, per_variable):
    formula, names = random_cnf(n, per_variable, seed=2)
    bdd, root = build_bdd(formula, names=names)
    counts = model_counts(smooth(sdd_graph(formula, names=names)))
    assert counts == model_counts(smooth(bdd.to_graph(root)))
    assert counts[0] == bdd.count(root)


def test_our_counts_equal_those_of_pysdd_itself():
    """The clauses joined by PySDD's operators and counted by its own routine."""
    formula, names = random_cnf(20, 2, seed=1)
    manager = pysdd.SddManager(var_count=20, auto_gc_and_minimize=False)
    joined = manager.true()
    for clause in formula.operands:
        literals = manager.false()
        for part in clause.operands:
            leaf, sign = (part.operands[0], -1) if part.op == "not" else (part, 1)
            literals = literals | manager.literal(sign * int(leaf.name[1:]))
        joined = joined & literals
    bdd, root = build_bdd(formula, names=names)
    assert manager.global_model_count(joined) == bdd.count(root) == 3_669


@pytest.mark.parametrize("n", [3, 5])
def test_a_clause_of_three_keeps_seven_eighths_in_any_larger_manager(n):
    """Case O-41, in our count and in PySDD's."""
    formula = var("x") | ~var("y") | ~var("z")
    graph = sdd_graph(formula, names=["x", "y", "z", "u", "w"][:n])
    manager = pysdd.SddManager(var_count=n, auto_gc_and_minimize=False)
    clause = manager.literal(1) | manager.literal(-2) | manager.literal(-3)
    assert model_counts(smooth(graph))[0] == manager.global_model_count(clause) == 7 * 2**n // 8


@pytest.mark.parametrize(("n", "low", "high"), [(1000, 1, 1), (60, 3, 10), (60, 55, None)])
def test_counts_of_many_compile_by_halves(n, low, high):
    names = [f"v{i}" for i in range(n)]
    graph = sdd_graph(count_of(*map(var, names), low=low, high=high))
    last = n if high is None else high
    assert model_counts(smooth(graph))[0] == sum(comb(n, k) for k in range(low, last + 1))


def test_a_balanced_tree_gives_exactly_one_a_logarithmic_depth():
    graph = sdd_graph(count_of(*(var(f"v{i}") for i in range(100)), low=1, high=1))
    depth = [0] * (2 * graph.n_vars + 2)
    for start, stop in zip(graph.offsets[:-1], graph.offsets[1:], strict=True):
        below = [*graph.primes[start:stop].tolist(), *graph.subs[start:stop].tolist()]
        depth.append(1 + max(depth[child] for child in below))
    assert depth[graph.root] <= 14


@pytest.mark.parametrize(
    ("formula", "root"),
    [
        (Formula("true"), 0),
        (Formula("false"), 1),
        (count_of(Formula("true"), low=1), 0),
        (all_equal(Formula("true"), Formula("false")), 1),
    ],
)
def test_constants_need_no_variables(formula, root):
    assert sdd_graph(formula).root == root


def test_a_formula_over_the_budget_says_what_else_to_do():
    formula, names = random_cnf(20, 2, seed=1)
    with pytest.raises(BudgetError, match=r"300 elements .* Monte Carlo"):
        sdd_graph(formula, names=names, budget=300)


def test_sweeping_changes_no_answer():
    formula, names = random_cnf(20, 2, seed=1)
    large, small = (sdd_graph(formula, names=names, budget=n) for n in (200_000, 8_000))
    assert model_counts(smooth(small)) == model_counts(smooth(large))


def test_without_pysdd_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "pysdd.sdd", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'likely\[logic\]'"):
        sdd_graph(var("a"))


def test_names_and_formulas_that_do_not_fit_are_refused():
    with pytest.raises(InputError, match="'b'"):
        sdd_graph(var("a") & var("b"), names=["a"])
    ranging = Formula("and", (var("a"),), domain=Domain(variables=("r",), source="rows"))
    with pytest.raises(InputError, match="rows"):
        sdd_graph(ranging)
