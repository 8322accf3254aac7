"""Branches of a model that keeps nothing give what its rows say."""

import numpy as np
import pytest

import likely
from likely.core.branches import open_stem
from likely.errors import InputError


def chain():
    rows = {"a": {"a": 0.1, "b": 0.9}, "b": {"a": 0.7, "b": 0.3}, "<s>": {"a": 0.4, "b": 0.6}}
    return likely.TableModel(["a", "b"], lambda c: rows[c[-1]])


def test_rows_after_branches_are_the_rows_of_their_texts():
    model = chain()
    branches = open_stem(model, (2, 0)).branches(2, 3)
    branches.append(np.array([[0, 1], [1, 0], [1, 1]]))
    rows = np.concatenate(list(branches.iter_rows()))
    wanted = [model.row((2, 0, *tail)) for tail in [(0, 1), (1, 0), (1, 1)]]
    assert np.array_equal(rows, wanted)


def test_rows_come_in_pieces_and_in_order():
    model = chain()
    stem = open_stem(model, (2,))
    branches = stem.branches(1, 300)
    branches.append(np.arange(300)[:, None] % 2)
    pieces = list(branches.iter_rows())
    assert len(pieces) > 1
    rows = np.concatenate(pieces)
    assert np.array_equal(rows[:, 0], np.tile([model.row((2, 0))[0], model.row((2, 1))[0]], 150))


def test_what_is_appended_counts_as_grown():
    model = chain()
    asked, put = (open_stem(model, (2,)).branches(1, 2) for _ in range(2))
    tokens, more = np.array([[0, 1], [1, 1]]), np.array([[0], [1]])
    asked.grow(tokens)
    put.append(tokens)
    assert np.array_equal(asked.grow(more), put.grow(more))


def test_a_branch_may_be_kept_several_times():
    model = chain()
    branches = open_stem(model, (2,)).branches(1, 2)
    branches.append(np.array([[0], [1]]))
    branches.keep(np.array([1, 1, 0]))
    rows = np.concatenate(list(branches.iter_rows()))
    assert np.array_equal(rows, [model.row((2, token)) for token in (1, 1, 0)])


def test_branches_append_a_row_of_tokens_each():
    branches = open_stem(chain(), (2,)).branches(1, 2)
    with pytest.raises(InputError, match="2 branches grow by as many rows"):
        branches.append(np.array([[0]]))
