import random

import numpy as np
import pytest
from formulas import random_formula
from formulas import truth_table as plain_table
from hypothesis import given
from hypothesis import strategies as st

from likely.errors import InputError
from likely.logic.circuits.truth import models, truth, truth_of_rows, truth_table
from likely.logic.formula import Domain, Formula, holds, var

NAMES = ["a", "b", "c", "d"]
seeds = st.integers(0, 2**32)


def formula_of(seed):
    return random_formula(random.Random(seed), NAMES, depth=seed % 5)


@given(seeds)
def test_a_truth_table_is_the_truth_of_every_assignment(seed):
    formula = formula_of(seed)
    table = truth_table(formula, NAMES)
    assert [bool(table >> a & 1) for a in range(16)] == plain_table(formula, NAMES)


@given(seeds)
def test_rows_of_bool_give_the_truth_of_each(seed):
    formula = formula_of(seed)
    samples = np.random.default_rng(0).random((30, 4)) < 0.5
    for row, value in zip(samples, truth_of_rows(formula, samples, names=NAMES), strict=True):
        assert value == holds(formula, dict(zip(NAMES, row.tolist(), strict=True)))


@given(seeds)
def test_models_are_the_assignments_in_which_the_formula_holds(seed):
    formula = formula_of(seed)
    found = models(truth_table(formula, NAMES), 4)
    ids = (found * (1 << np.arange(4))).sum(1).tolist()
    assert ids == [a for a, value in enumerate(plain_table(formula, NAMES)) if value]


def test_a_table_of_no_variable_has_one_row():
    assert truth_table(Formula("true"), []) == 1
    assert models(1, 0).shape == (1, 0)


def test_what_has_no_truth_value_is_refused():
    with pytest.raises(InputError, match="no truth values of 'b'"):
        truth(var("a") & var("b"), {"a": 1}, one=1)
    with pytest.raises(InputError, match="ground it"):
        truth_table(Formula("and", (var("a"),), domain=Domain(variables=("r",), source="rows")), [])
    with pytest.raises(InputError, match="at most 20"):
        truth_table(var("a"), [f"v{i}" for i in range(21)])
