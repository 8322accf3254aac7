"""Crossings: what lies in which meeting, and weighted sums against plain products of weights."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from likely.core.streams import generator
from likely.errors import InputError, ShapeError
from likely.stats.crossings import crossing, resampled_sums


def plain_sums(columns, factors, *, n_resamples, seed):
    """The definition: an item's weight is the product of how often its levels were drawn."""
    weights = np.ones((n_resamples, len(columns)))
    for name, codes in factors.items():
        names, members = np.unique(np.asarray(codes), return_inverse=True)
        n = len(names)
        if n > 1:
            rng = generator(seed, "stats", "pigeonhole", name)
            weights *= rng.multinomial(n, np.full(n, 1 / n), size=n_resamples)[:, members]
    return weights @ columns


@given(
    st.lists(
        st.tuples(st.integers(0, 3), st.integers(0, 4), st.integers(0, 5), st.floats(-3, 3)),
        min_size=1,
        max_size=40,
    ),
    st.integers(1, 3),
)
def test_sums_are_those_of_products_of_weights_for_any_crossing(items, n_factors):
    table = np.array([item[:3] for item in items])
    factors = {name: table[:, f] for f, name in enumerate("abc"[:n_factors])}
    columns = np.array([[item[3], 1.0] for item in items])
    found = resampled_sums(columns, crossing(factors), n_resamples=20, seed=3)
    assert found == pytest.approx(plain_sums(columns, factors, n_resamples=20, seed=3), abs=1e-9)


def test_batches_of_resamples_do_not_change_the_sums(monkeypatch):
    rng = generator(0, "batches")
    factors = {"row": rng.integers(0, 6, 60), "column": rng.integers(0, 7, 60)}
    columns = rng.normal(size=(60, 3))
    whole = resampled_sums(columns, crossing(factors), n_resamples=50)
    monkeypatch.setattr("likely.stats.crossings._CELLS", 100)
    assert resampled_sums(columns, crossing(factors), n_resamples=50) == pytest.approx(whole)


def test_items_of_the_same_levels_share_a_meeting():
    crossed = crossing({"row": ["a", "b", "a", "a"], "column": [1, 1, 1, 2]})
    assert crossed.n_levels == (2, 2)
    assert crossed.levels.tolist() == [[0, 0], [0, 1], [1, 0]]
    assert crossed.members.tolist() == [0, 2, 0, 1]
    assert crossed.sums(np.array([[1.0], [2.0], [4.0], [8.0]])).ravel().tolist() == [5, 8, 2]


def test_a_factor_more_moves_no_weights_of_another():
    items = {"row": [0, 1, 2, 3]}
    alone = resampled_sums(np.eye(4), crossing(items), n_resamples=9)
    beside = resampled_sums(np.eye(4), crossing({"one": [0] * 4, **items}), n_resamples=9)
    assert (alone == beside).all()


def test_factors_without_items_or_of_different_lengths_are_refused():
    with pytest.raises(InputError, match="at least one factor"):
        crossing({})
    with pytest.raises(InputError, match="at least one factor"):
        crossing({"row": []})
    with pytest.raises(ShapeError, match="'row': 2, 'column': 3"):
        crossing({"row": [0, 1], "column": [0, 1, 2]})
