"""Sums over laws that stand end to end, against a loop over them."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import logsumexp as scipy_logsumexp

from likely.errors import InputError, ShapeError
from likely.stats.ragged import check_laws, check_offsets, law_of, log_sums, partial_sums, sums


@st.composite
def ragged(draw):
    lengths = draw(st.lists(st.integers(1, 5), min_size=1, max_size=6))
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    numbers = st.one_of(st.floats(-900, 5), st.just(-np.inf))
    terms = draw(st.lists(numbers, min_size=int(offsets[-1]), max_size=int(offsets[-1])))
    return np.array(terms), offsets


def parts(terms, offsets):
    return [terms[i:j] for i, j in pairwise(offsets)]


@given(ragged())
def test_sums_of_laws_are_those_of_a_loop(made):
    log_terms, offsets = made
    found = log_sums(log_terms, offsets)
    expected = [scipy_logsumexp(part) for part in parts(log_terms, offsets)]
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)
    terms = np.where(np.isneginf(log_terms), 0.0, log_terms)
    np.testing.assert_allclose(
        sums(terms, offsets), [part.sum() for part in parts(terms, offsets)], atol=1e-9
    )
    np.testing.assert_allclose(
        partial_sums(terms, offsets),
        np.concatenate([np.cumsum(part) for part in parts(terms, offsets)]),
        atol=1e-9,
    )
    assert [int(np.sum(law_of(offsets) == i)) for i in range(len(offsets) - 1)] == list(
        np.diff(offsets)
    )


def test_partial_sums_of_a_late_law_are_as_exact_as_of_the_first():
    law = np.array([0.1, 0.2, 0.7]) - np.array([0.7, 0.2, 0.1])
    many = np.tile(law, 100_000)
    found = partial_sums(many, np.arange(0, len(many) + 1, 3)).reshape(-1, 3)
    assert np.abs(found - np.cumsum(law)).max() < 1e-15


@pytest.mark.parametrize("offsets", [[0], [1, 3], [0, 2], [0, 2, 2, 3]])
def test_offsets_that_do_not_part_the_entries_are_refused(offsets):
    with pytest.raises(ShapeError, match="offsets ascend from 0 to the number of entries, 3"):
        check_offsets(np.array(offsets), 3)


def test_a_law_that_is_none_is_named_with_its_sum():
    offsets = np.array([0, 2, 4])
    with pytest.raises(InputError, match=r"p: law 1 must sum to 1, got 0\.75"):
        check_laws(np.array([0.5, 0.5, 0.5, 0.25]), offsets, what="p")
    with pytest.raises(InputError, match=r"p: entry 3 is no probability, got -0\.5"):
        check_laws(np.array([0.5, 0.5, 1.5, -0.5]), offsets, what="p")
    with pytest.raises(InputError, match="entry 0 is no probability, got nan"):
        check_laws(np.array([np.nan, 0.5, 1.5, 0.5]), offsets, what="p")
