import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import formulas

from likely.logic.batches import Bound, canonical, log_probs, shapes
from likely.logic.formula import var, variables
from likely.logic.odds import log_prob_of
from likely.logic.parser import parse

COLUMNS = {"a": 0, "b": 1, "c": 2}


@settings(max_examples=20)
@given(st.lists(formulas("a", "b", "c", max_leaves=6), min_size=1, max_size=5))
def test_a_batch_is_what_each_formula_gives_alone(members):
    log_odds = np.array([[0.3, -1.0, 2.0], [0.0, 4.0, -0.5]])
    batch = log_probs([Bound(formula=f, columns=COLUMNS) for f in members], log_odds)
    for row, odds in zip(batch, log_odds, strict=True):
        alone = [log_prob_of(f, dict(zip("abc", odds, strict=True))) for f in members]
        np.testing.assert_allclose(row, alone, rtol=0, atol=1e-12)


def test_formulas_that_differ_by_names_alone_share_a_shape():
    members = [parse(text) for text in ("a -> b", "c -> a", "b -> a", "a & b")]
    found = shapes([Bound(formula=f, columns=COLUMNS) for f in members])
    assert [shape.members for shape in found] == [(0, 1, 2), (3,)]
    assert found[0].columns.tolist() == [[0, 1], [2, 0], [1, 0]]


def test_a_repeated_event_stays_one_variable():
    shape, names = canonical(parse("x & (y | x)"))
    assert variables(shape) == ("v0", "v1")
    assert names == ("x", "y")
    assert canonical(parse("x & (y | z)"))[0] != shape


def test_constants_need_no_column():
    values = log_probs([Bound(formula=var("a") | ~var("a"), columns=COLUMNS)], np.zeros((1, 3)))
    assert values[0, 0] == 0.0
