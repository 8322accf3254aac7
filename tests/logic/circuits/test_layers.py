import random

import numpy as np
import pytest
import torch
from assignments import EXTREME_ODDS, assert_agrees
from formulas import random_cnf, random_formula, truth_table

from likely.logic.circuits.bdd import build_bdd
from likely.logic.circuits.graph import Graph, smooth
from likely.logic.circuits.layers import Layers
from likely.logic.circuits.sdd import sdd_graph

NAMES = [f"v{i}" for i in range(8)]


def bdd_graph(formula, names):
    bdd, root = build_bdd(formula, names=names)
    return bdd.to_graph(root)


def check(graph, table, log_odds, *, dtype=torch.float64, tolerance=1e-12):
    value, slope = Layers(graph)(torch.tensor(log_odds)[:, None].to(dtype))
    is_possible = bool(value > -torch.inf)
    found = slope()[:, 0].double().numpy() if is_possible else np.zeros(len(log_odds))
    assert_agrees(float(value), found, table, log_odds, tolerance=tolerance)


@pytest.mark.parametrize("seed", range(25))
def test_layers_agree_with_enumeration_whatever_the_graph(seed):
    rng = random.Random(seed)
    n = rng.randint(1, 8)
    names = NAMES[:n]
    formula = random_formula(rng, names, depth=3)
    table = truth_table(formula, names)
    plain = bdd_graph(formula, names)
    for graph in (plain, smooth(plain), sdd_graph(formula, names=names)):
        check(graph, table, np.array([rng.gauss(0, rng.choice([1, 10, 300])) for _ in names]))
        check(graph, table, np.array([rng.choice(EXTREME_ODDS) for _ in names]))
        ordinary = np.array([rng.gauss(0, 2) for _ in names])
        check(graph, table, ordinary, dtype=torch.float32, tolerance=1e-5)


def test_nodes_with_many_elements_and_with_one_are_summed_alike():
    # One of three literals under a, and a conjunction alone: elements (prime, sub) by hand.
    # Variables 0..3; ids 0..3 positive, 4..7 negative, 8 true, 9 false, 10.. inner nodes.
    graph = Graph(
        n_vars=4,
        primes=np.array([5, 1, 5, 6, 1, 10, 0]),
        subs=np.array([6, 6, 2, 3, 2, 3, 13]),
        offsets=np.array([0, 3, 4, 5, 6, 7]),
        root=14,
    )  # 10: not both of 1 and 2; 11, 12: no one needs them; 13: 10 and 3; 14: 0 and 13
    table = [
        bool(a & 1) and bool(a >> 3 & 1) and not (a >> 1 & 1 and a >> 2 & 1) for a in range(16)
    ]
    check(graph, table, np.array([0.3, -1.0, 2.0, 0.7]))
    assert Layers(graph).n_rows == 10 + 3


def test_slopes_are_those_of_central_differences():
    formula, names = random_cnf(12, 2, seed=3)
    layers = Layers(bdd_graph(formula, names))
    log_odds = torch.randn((12, 2), dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    found, step = layers(log_odds)[1](), 1e-6
    for i in range(12):
        moved = torch.zeros_like(log_odds)
        moved[i] = step
        difference = (layers(log_odds + moved)[0] - layers(log_odds - moved)[0]) / (2 * step)
        torch.testing.assert_close(found[i], difference, rtol=1e-6, atol=1e-8)
