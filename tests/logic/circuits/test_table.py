import random

import numpy as np
import pytest
import torch
from assignments import EXTREME_ODDS, assert_agrees, rows
from formulas import random_formula, truth_table

from likely.logic.circuits.table import Table

NAMES = [f"v{i}" for i in range(8)]


def check(n, table, log_odds, *, dtype=torch.float64, tolerance=1e-12):
    kernel = Table(rows(n)[np.array(table, dtype=bool)])
    value, slope = kernel(torch.tensor(log_odds)[:, None].to(dtype))
    is_possible = bool(value > -torch.inf)
    found = slope()[:, 0].double().numpy() if is_possible else np.zeros(n)
    assert_agrees(float(value), found, table, log_odds, tolerance=tolerance)


@pytest.mark.parametrize("seed", range(25))
def test_a_table_agrees_with_enumeration(seed):
    rng = random.Random(seed)
    n = rng.randint(1, 8)
    table = truth_table(random_formula(rng, NAMES[:n], depth=3), NAMES[:n])
    if any(table):
        check(n, table, np.array([rng.gauss(0, rng.choice([1, 10, 300])) for _ in range(n)]))
        check(n, table, np.array([rng.choice(EXTREME_ODDS) for _ in range(n)]))
        ordinary = np.array([rng.gauss(0, 2) for _ in range(n)])
        check(n, table, ordinary, dtype=torch.float32, tolerance=1e-5)


def test_a_table_over_no_variable_is_certain():
    value, slope = Table(np.ones((1, 0), dtype=bool))(torch.zeros((0, 3)))
    assert value.tolist() == [0.0] * 3
    assert slope().shape == (0, 3)
