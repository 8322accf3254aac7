"""The table of what may stand where, against the law it was made from."""

import numpy as np
import pytest
from rare_toys import all_choices

from likely.errors import InputError
from likely.rare.gradient.places import Places, draw_rows, normalised
from likely.rare.inputs import IndependentDistribution
from likely.rare.support import Support


def ragged_law():
    """Return a law of five places: two that never vary, and three of unequal size."""
    supports = (
        Support.only(9),
        Support.of({3: 1.0, 7: 2.0, 5: 1.0}),
        Support.only(4),
        Support.of({7: 0.9, 2: 0.1}),
        Support.of({1: 1.0, 2: 1.0, 3: 1.0, 4: 5.0}),
    )
    return IndependentDistribution(name="ragged", supports=supports, details={})


def test_choices_go_through_every_input_with_its_probability():
    law = ragged_law()
    places = Places.of(law)
    inputs, log_probs = next(law.iter_inputs(size=100))
    choices = all_choices(places)
    np.testing.assert_array_equal(places.inputs(choices), inputs)
    np.testing.assert_allclose(
        places.log_probs[np.arange(3), choices].sum(axis=1), log_probs, atol=1e-15
    )
    assert places.positions.tolist() == [1, 3, 4]
    assert places.ids.tolist() == [1, 2, 3, 4, 5, 7]
    np.testing.assert_array_equal(places.ids[places.columns], places.tokens)


def test_the_same_numbers_draw_what_the_law_itself_draws():
    law = ragged_law()
    places = Places.of(law)
    uniforms = np.random.default_rng(0).random((3000, 5))
    choices = places.draw(places.log_probs, uniforms[:, places.positions])
    np.testing.assert_array_equal(places.inputs(choices), law.at(uniforms))


def test_the_last_number_below_one_draws_no_padding():
    places = Places.of(ragged_law())
    edge = np.full((1, 3), np.nextafter(1.0, 0.0))
    assert places.draw(places.log_probs, edge).tolist() == [[2, 1, 3]]


def test_rows_are_drawn_by_their_weights_and_never_where_there_is_none():
    rng = np.random.default_rng(1)
    weights = np.log(np.array([[0.5, 0.3, 0.2], [0.1, 0.0001, 0.9]])) + np.array([[900.0], [-900]])
    weights[1, 1] = -np.inf
    drawn = draw_rows(np.repeat(weights, 20000, axis=0), rng.random(40000)).reshape(2, -1)
    for row, shares in zip(drawn, [[0.5, 0.3, 0.2], [0.1, 0.0, 0.9]], strict=True):
        found = np.bincount(row, minlength=3) / 20000
        assert np.abs(found - shares).max() < 4 * np.sqrt(0.25 / 20000)
    edges = draw_rows(np.array([[0.0, 0.0, -np.inf]] * 2), np.array([0.0, np.nextafter(1.0, 0.0)]))
    assert edges.tolist() == [0, 1]


def test_rows_are_normalised_whatever_their_size():
    rows = normalised(np.array([[1000.0, 1001.0], [-1000.0, -np.inf]]))
    np.testing.assert_allclose(np.exp(rows).sum(axis=1), 1.0)
    assert rows[1, 1] == -np.inf


def test_a_law_of_one_input_has_no_places():
    law = IndependentDistribution(name="one", supports=(Support.only(3),), details={})
    with pytest.raises(InputError, match="use method 'naive'"):
        Places.of(law)
