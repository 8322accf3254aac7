"""What a result gives: places, substitutes, parts of itself, and a table."""

import math

import numpy as np
import pytest
from attribution_truth import random_table

from likely.attribution import attribute
from likely.attribution.measures import Measures
from likely.errors import InputError


@pytest.fixture(scope="module")
def found():
    return attribute(random_table(5, seed=4), "abcd", "eab", method="exact", kept=None)


def test_arrays_are_those_of_the_places(found):
    places = found.places
    assert found.scores.tolist() == [place.measures.score.value for place in places]
    assert found.low.tolist() == found.scores.tolist() == found.high.tolist()
    assert found.context_entropy.tolist() == [p.measures.context_entropy.value for p in places]
    assert found.response_entropy.tolist() == [p.measures.response_entropy.value for p in places]
    assert found.matrix.shape == (4, 3)
    np.testing.assert_array_equal(found.matrix[2], places[2].measures.matrix)
    assert found.excluded_mass.shape == (4,)
    assert [place.text for place in places] == list("abcd")
    assert [place.tokens for place in places] == [(0,), (1,), (2,), (3,)]


def test_a_place_is_found_by_its_position(found):
    assert found.at(2) is found.places[2]
    with pytest.raises(InputError, match=r"position 9 was not attributed; these were: \[0, 1"):
        found.at(9)


def test_substitutes_come_likeliest_first(found):
    given_rest = found.substitutes(1, k=3)
    probs = [s.prob for s in given_rest]
    assert len(given_rest) == 3
    assert probs == sorted(probs, reverse=True)
    given_response = found.substitutes(1, k=3, given_response=True)
    probs = [s.prob_response for s in given_response]
    assert probs == sorted(probs, reverse=True)
    every = found.substitutes(1, k=99)
    assert len(every) == 5  # the BOS has no probability, so it is no candidate
    assert sum(s.prob for s in every) == pytest.approx(1.0, abs=1e-12)
    assert sum(s.prob_response for s in every) == pytest.approx(1.0, abs=1e-12)
    assert {s.tokens for s in every} == {(i,) for i in range(5)}
    for s in every:
        assert s.score == pytest.approx(math.log(s.prob_response / s.prob), abs=1e-9)
    own = next(s for s in every if s.text == "b")
    assert own.score == pytest.approx(found.scores[1], abs=1e-12)


def test_a_part_keeps_what_belongs_to_it(found):
    part = found.select([3, 1])
    assert part.positions == (1, 3)
    np.testing.assert_array_equal(part.scores, found.scores[[1, 3]])
    np.testing.assert_array_equal(part.matrix, found.matrix[[1, 3]])
    np.testing.assert_array_equal(part.excluded_mass, found.excluded_mass[[1, 3]])
    assert part.case == found.case
    assert part.log_response == found.log_response


def test_a_part_of_positions_that_are_not_there_is_refused(found):
    with pytest.raises(InputError, match="9"):
        found.select([1, 9])


def test_the_matrix_of_an_empty_response_has_no_columns():
    empty = attribute(random_table(3), "ab", "", method="exact")
    assert empty.matrix.shape == (2, 0)


def test_the_table_has_a_row_a_place_and_every_number_with_its_ends(found):
    table = found.to_frame()
    assert len(table) == 4
    assert table["position"].tolist() == [0, 1, 2, 3]
    assert table["text"].tolist() == list("abcd")
    for name in Measures.estimates():
        estimates = [getattr(place.measures, name) for place in found.places]
        assert table[name].tolist() == [e.value for e in estimates]
        assert table[f"{name}_low"].tolist() == [e.low for e in estimates]
        assert table[f"{name}_high"].tolist() == [e.high for e in estimates]
    assert table["bound_low"].tolist() == [place.bounds[0] for place in found.places]
    assert table["bound_high"].tolist() == [place.bounds[1] for place in found.places]
    assert table["assumed_low"].tolist() == [place.assumed_bounds[0] for place in found.places]
    assert table["left_surprisal"].tolist() == [p.measures.left_surprisal for p in found.places]
    assert table["n_candidates"].tolist() == [5] * 4
    assert table["method"].tolist() == ["exact"] * 4
    assert table["converged"].all()
    costs = [place.cost.token_evaluations for place in found.places]
    assert table["token_evaluations"].tolist() == costs
    assert not table.isna().any().any()


def test_candidates_can_be_taken_in_any_order(found):
    candidates = found.at(0).candidates
    taken = candidates.take(np.array([2, 0]))
    assert len(taken) == 2
    assert taken.pieces == (candidates.pieces[2], candidates.pieces[0])
    np.testing.assert_array_equal(taken.score, candidates.score[[2, 0]])
    np.testing.assert_array_equal(taken.tokens, candidates.tokens[[2, 0]])
    np.testing.assert_array_equal(taken.weight, candidates.weight[[2, 0]])
