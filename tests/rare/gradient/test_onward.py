"""Proposals read from the changed token on are what they are when read whole."""

import numpy as np
import pytest
from rare_toys import both_network, law_of

from likely import rare
from likely.rare.gradient.onward import Onward, open_landscape
from likely.rare.gradient.places import Places
from likely.rare.gradient.whole import Gradients
from likely.rare.inputs import IndependentDistribution
from likely.rare.reading import Meter
from likely.rare.support import Support
from likely.rare.walk.walkers import Walkers


def a_law():
    """Return seven places, three of which never vary: the first, one between, and the last."""
    rng = np.random.default_rng(0)
    varying = [
        Support.of({int(token): 1.0 for token in rng.choice(100, size, replace=False)})
        for size in (6, 3, 9, 4)
    ]
    supports = (Support.only(9), *varying[:2], Support.only(4), *varying[2:], Support.only(8))
    return IndependentDistribution(name="a law", supports=supports, details={})


@pytest.mark.parametrize("steps", [((5,),), ((8,), (5, 2))], ids=["one", "steps"])
def test_chains_walk_the_same_way_on_half_the_tokens(gpt2, steps):
    event, places = rare.Event(name="an event", steps=steps), Places.of(a_law())
    meters = Meter(), Meter()
    landscapes = (
        Gradients(gpt2, event, places, meters[0]),
        open_landscape(gpt2, event, places, meters[1]),
    )
    assert isinstance(landscapes[1], Onward)
    whole, onward = (
        Walkers(one, np.array([0.0, 100.0]), 6, rng=np.random.default_rng(3)) for one in landscapes
    )
    n_accepted = 0
    for number in range(10):  # through the four places twice and a half
        first, second = whole.step(), onward.step()
        assert first.n_accepted == second.n_accepted
        n_accepted += first.n_accepted
        np.testing.assert_array_equal(whole.choices, onward.choices)
        np.testing.assert_array_equal(first.hits, second.hits)
        np.testing.assert_allclose(first.scores, second.scores, atol=2e-5)
        after = number % 4
        np.testing.assert_allclose(whole.slopes[:, after:], onward.slopes[:, after:], atol=2e-5)
    assert 0 < n_accepted < 120  # so that current inputs were both kept and left
    assert whole.n_calls == 12 * 11
    assert onward.n_calls == 12 * 13  # each new turn through the places reads the inputs whole
    # Of 7 tokens: whole thrice, then from positions 1, 2, 4, 5 on; every step of the event again.
    turn = [6, 5, 3, 2]
    lengths = [7, *turn, 7, *turn, 7, *turn[:2]]
    expected = 12 * sum(length + step for length in lengths for step in range(len(steps)))
    assert meters[1].spent.token_evaluations == expected
    assert meters[1].spent.token_evaluations < meters[0].spent.token_evaluations


def test_rows_that_reject_keep_what_was_known_of_them(gpt2):
    event, places = rare.token(5, gpt2), Places.of(a_law())
    onward = open_landscape(gpt2, event, places, Meter())
    whole = Gradients(gpt2, event, places, Meter())
    rng = np.random.default_rng(1)
    current = places.draw(places.log_probs, rng.random((8, 4)))
    onward.read(current)
    for place in (0, 2, 1, 3):
        changed = current.copy()
        changed[:, place] = (changed[:, place] + 1) % places.sizes[place]
        found = onward.propose(changed, place)
        np.testing.assert_allclose(found.scores, whole.read(changed).scores, atol=2e-5)
        accepted = rng.random(8) < 0.5
        onward.accept(accepted)
        current[accepted] = changed[accepted]


def test_draws_beside_the_chains_leave_them_alone(gpt2):
    event, places = rare.token(5, gpt2), Places.of(a_law())
    onward = open_landscape(gpt2, event, places, Meter())
    current = places.draw(places.log_probs, np.random.default_rng(1).random((8, 4)))
    onward.read(current)
    onward.read(current[:3], n_slopes=0)
    found = onward.propose(current, 2)
    np.testing.assert_allclose(
        found.scores, Gradients(gpt2, event, places, Meter()).read(current).scores, atol=2e-5
    )


def test_a_network_that_does_not_go_on_is_read_whole(window):
    places = Places.of(a_law())
    assert isinstance(open_landscape(window, rare.token(5, window), places, Meter()), Gradients)
    hand = both_network()
    law = Places.of(law_of([1, 1], [1, 1]))
    assert isinstance(open_landscape(hand, rare.token(0, hand), law, Meter()), Gradients)
