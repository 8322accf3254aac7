"""Two models on the same items: the largest differences, exactly."""

import math
from fractions import Fraction

import pytest
from listing import Listing
from questions import answering, hashed, question

from likely.calibration.data_sets.family import build
from likely.calibration.rescoring import agreement
from likely.errors import InputError

ITEMS = [
    question("Q", ["a", "b"], ideal=(Fraction(1, 4), Fraction(3, 4)), lead=""),
    question("R", ["a", "b"], ideal=(Fraction(1, 4), Fraction(3, 4)), lead=""),
]


def laws(q, r):
    return answering({"Q": dict(zip("ab", q, strict=True)), "R": dict(zip("ab", r, strict=True))})


def test_differences_are_the_largest_of_log_shares_and_of_total_variations():
    found = agreement(
        laws((0.1, 0.3), (0.2, 0.2)), laws((0.2, 0.6), (0.1, 0.4)), ITEMS, level="exact"
    )
    # Q has the same shares in both; R has .5 and .2 of a, .25 and .05 from the ideal.
    assert found.log_share_difference == pytest.approx(math.log(2.5), abs=1e-12)
    assert found.wd01_difference == pytest.approx(0.20, abs=1e-12)
    assert (found.n_items, found.n_undefined) == (2, 0)
    assert "2 items" in found.summary()


def test_an_item_without_mass_is_left_out_and_counted():
    found = agreement(
        laws((0.1, 0.3), (0.2, 0.2)), laws((0.0, 0.0), (0.2, 0.2)), ITEMS, level="exact"
    )
    assert (found.n_items, found.n_undefined) == (2, 1)
    assert found.log_share_difference == found.wd01_difference == 0.0


def test_what_one_model_alone_holds_impossible_is_infinitely_far():
    found = agreement(
        laws((0.0, 0.3), (0.0, 0.2)), laws((0.1, 0.3), (0.0, 0.4)), ITEMS, level="exact"
    )
    assert found.log_share_difference == math.inf
    assert found.wd01_difference == pytest.approx(0.25, abs=1e-12)


def test_a_model_agrees_with_itself_on_items_that_the_seed_chooses():
    items = build("colors", preset="smoke")
    model = hashed([chr(code) for code in range(32, 127)])
    found = agreement(model, model, items, n=3, seed=1)
    assert (found.n_items, found.log_share_difference, found.wd01_difference) == (3, 0.0, 0.0)
    assert found.cost.token_evaluations % 2 == 0


def test_nothing_to_score_again_is_refused():
    model = hashed(["a"])
    with pytest.raises(InputError, match="at least 1 item"):
        agreement(model, model, ITEMS, n=0)
    with pytest.raises(InputError, match="at least 1 item"):
        agreement(model, model, [])


def test_items_that_one_model_only_bounds_are_left_out():
    table = laws((0.1, 0.3), (0.2, 0.2))
    found = agreement(table, Listing(table, 1), ITEMS, level="exact")
    # Of each item one of three tokens is listed, and what it leaves may be an option.
    assert (found.n_items, found.n_undefined) == (2, 2)
    assert found.log_share_difference == 0.0
