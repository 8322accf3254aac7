"""A stem's branches say what whole sequences say, whatever was asked before and in what blocks."""

import itertools

import numpy as np
import pytest
from attribution_truth import random_table

import likely
from likely.core.branches import (
    Branches,
    EngineStem,
    HasStem,
    Stem,
    open_stem,
)
from likely.core.model import Settings
from likely.errors import InputError

TEXT = (4, 0, 2, 1, 3)  # the BOS of four tokens is id 4


def _rows(model, prefix, tokens):
    """Return the log-probability of each token of each sequence, row by row of the table."""
    return np.array([
        [model.row((*prefix, *sequence[:i]))[token] for i, token in enumerate(sequence)]
        for sequence in tokens.tolist()
    ])  # fmt: skip


def _sequences(n, k, seed=0):
    return np.random.default_rng(seed).integers(0, 4, (n, k))


def test_a_table_gets_a_stem_that_reads_whole_sequences():
    model = random_table()
    stem = open_stem(model, TEXT)
    assert isinstance(stem, EngineStem)
    assert isinstance(stem, Stem)
    assert isinstance(stem.branches(2, 3), Branches)
    assert not isinstance(model, HasStem)
    assert stem.tokens == TEXT


@pytest.mark.parametrize("length", range(1, len(TEXT) + 1))
def test_a_row_of_a_stem_is_the_next_token_row(length):
    model = random_table()
    stem = open_stem(model, TEXT)
    np.testing.assert_array_equal(stem.row(length), model.row(TEXT[:length]))
    np.testing.assert_array_equal(stem.row(1), model.row(TEXT[:1]))


@pytest.mark.parametrize("blocks", [(6,), (1, 5), (2, 2, 2), (1,) * 6, (3, 0, 3), (4, 1, 1)])
def test_growing_in_blocks_is_growing_at_once(blocks):
    model = random_table(seed=3)
    tokens = _sequences(5, 6)
    branches = open_stem(model, TEXT).branches(3, 5)
    cuts = list(itertools.accumulate(blocks, initial=0))
    grown = [branches.grow(tokens[:, i:j]) for i, j in itertools.pairwise(cuts)]
    assert [block.shape for block in grown] == [(5, n) for n in blocks]
    np.testing.assert_allclose(np.hstack(grown), _rows(model, TEXT[:3], tokens), atol=1e-12)


def test_branches_are_what_score_says_of_their_texts():
    model = random_table(seed=3)
    tokens = _sequences(4, 5, seed=2)
    grown = open_stem(model, TEXT).branches(4, 4).grow(tokens, last=True)
    scores = likely.score(model, [(TEXT[:4], row.tolist()) for row in tokens])
    np.testing.assert_allclose(grown.sum(axis=1), [s.log_prob for s in scores], atol=1e-12)


def test_keeping_drops_permutes_and_doubles():
    model = random_table(seed=5)
    tokens = _sequences(6, 4, seed=1)
    branches = open_stem(model, TEXT).branches(2, 6)
    branches.grow(tokens[:, :2])
    index = np.array([5, 0, 0, 3])
    branches.keep(index)
    assert len(branches) == 4
    grown = branches.grow(tokens[index, 2:], last=True)
    np.testing.assert_allclose(grown, _rows(model, TEXT[:2], tokens[index])[:, 2:], atol=1e-12)


def test_an_engine_stem_counts_each_distinct_prefix_of_a_step_once():
    model = random_table()
    stem = open_stem(model, TEXT)
    branches = stem.branches(3, 4)
    branches.grow(np.arange(4)[:, None])  # one row after the prefix of 3
    assert stem.spending.cost.token_evaluations == 3
    branches.grow(np.zeros((4, 2), dtype=np.int64))  # the prefix, 4 tokens, and one after each
    assert stem.spending.cost.token_evaluations == 3 + (3 + 4 + 4)
    assert stem.spending.cost.model_calls == 2


def test_a_row_that_was_just_asked_for_costs_nothing_again():
    stem = open_stem(random_table(), TEXT)
    stem.row(4)
    spent = stem.spending.cost.token_evaluations
    stem.row(4)
    assert spent == stem.spending.cost.token_evaluations == 4


def test_settings_reach_the_engine():
    model = random_table()
    plain, alone = (
        open_stem(model, TEXT, settings=settings)
        for settings in (None, Settings(deterministic=True))
    )
    tokens = _sequences(5, 3)
    np.testing.assert_array_equal(
        plain.branches(2, 5).grow(tokens), alone.branches(2, 5).grow(tokens)
    )
    assert alone.spending.cost.model_calls == 5
    assert plain.spending.cost.model_calls == 1


def test_no_tokens_and_too_many_are_refused():
    model = random_table(max_tokens=4)
    with pytest.raises(InputError, match="at least one token"):
        open_stem(model, ())
    with pytest.raises(InputError, match="5 tokens, 'table' reads 4"):
        open_stem(model, TEXT)
    branches = open_stem(model, TEXT[:3]).branches(3, 1)
    branches.grow(np.array([[0, 1]]))  # the last token need not be read
    with pytest.raises(InputError, match="5 tokens of context, 'table' has 4"):
        branches.grow(np.array([[1]]))


@pytest.mark.parametrize("length", [0, -1, 6])
def test_a_prefix_that_the_stem_has_not_is_refused(length):
    stem = open_stem(random_table(), TEXT)
    with pytest.raises(InputError, match="1 to 5 tokens"):
        stem.row(length)
    with pytest.raises(InputError, match="1 to 5 tokens"):
        stem.branches(length, 2)


def test_rows_of_another_number_than_the_branches_are_refused():
    branches = open_stem(random_table(), TEXT).branches(2, 3)
    with pytest.raises(InputError, match="3 branches grow by as many rows"):
        branches.grow(np.zeros((2, 1), dtype=np.int64))
    branches.keep(np.array([1]))
    with pytest.raises(InputError, match="1 branches"):
        branches.grow(np.zeros((3, 1), dtype=np.int64))


def test_branches_that_were_grown_for_the_last_time_grow_no_more():
    branches = open_stem(random_table(), TEXT).branches(2, 3)
    branches.grow(_sequences(3, 2), last=True)
    with pytest.raises(InputError, match="last"):
        branches.grow(_sequences(3, 1))
