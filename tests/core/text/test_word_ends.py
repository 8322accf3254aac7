"""The mass of a set of tokens, whichever side of it is summed."""

import numpy as np
import pytest

from likely.core.text.word_ends import log_mass

N_TOKENS = 400


def row(inside, mass, rng):
    """A law of 400 tokens that gives the first ones together a mass."""
    law = rng.gamma(0.3, size=N_TOKENS) + 1e-12
    law[:inside] *= mass / law[:inside].sum()
    law[inside:] *= (1.0 - mass) / law[inside:].sum()
    return np.log(law)


@pytest.mark.parametrize("inside", [1, 10, 200, 390, 399])
@pytest.mark.parametrize("mass", [1e-12, 1e-3, 0.3, 0.499999, 0.500001, 0.9, 1 - 1e-9])
def test_the_log_of_the_mass_is_right_whatever_the_size_of_the_set(inside, mass):
    rng = np.random.default_rng(inside)
    rows = np.stack([row(inside, mass, rng), row(inside, 0.5, rng), row(inside, 1 - mass, rng)])
    members = np.arange(N_TOKENS) < inside
    found = log_mass(members).apply(rows)
    expected = np.log([mass, 0.5, 1 - mass])
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


def test_all_tokens_have_the_whole_mass_and_none_has_nothing():
    rows = np.log(np.full((2, 4), 0.25))
    assert log_mass(np.ones(4, dtype=bool)).apply(rows).tolist() == [0.0, 0.0]
    assert log_mass(np.zeros(4, dtype=bool)).apply(rows).tolist() == [-np.inf, -np.inf]


def test_an_impossible_set_has_no_mass_though_the_rest_is_summed():
    with np.errstate(divide="ignore"):
        rows = np.log(np.array([[0.0, 0.0, 0.0, 1.0], [0.5, 0.25, 0.25, 0.0]]))
    found = log_mass(np.array([True, True, True, False])).apply(rows)
    assert found.tolist() == [-np.inf, 0.0]
