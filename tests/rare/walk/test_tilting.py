"""The kernel of the chains: detailed balance over every pair of inputs of a random transformer."""

import numpy as np
import pytest
from rare_toys import Enumerated, skewed_law, tiny_transformer

from likely import rare
from likely.core.logspace import logsumexp
from likely.rare.gradient.places import Places
from likely.rare.gradient.whole import Gradients
from likely.rare.reading import Meter
from likely.rare.walk.tilting import log_acceptance, proposal
from likely.rare.walk.walkers import Walkers


@pytest.fixture(scope="module")
def landscape(tmp_path_factory):
    """All 15,625 inputs of six places under a random transformer of five tokens."""
    model = tiny_transformer(tmp_path_factory.mktemp("five"), seed=3)
    law = skewed_law(seed=3, power=3.0)
    return Enumerated(Gradients(model, rare.token(1, model), Places.of(law), Meter()))


def transitions(landscape, place, beta):
    """Return rows of reached inputs and their log-probabilities, by the new token of one place.

    By what chains call at every step, here with one chain at each input there is.
    """
    n, size = len(landscape.choices), landscape.places.sizes[place]
    walkers = Walkers(landscape, np.array([beta]), n, rng=np.random.default_rng(0))
    walkers.choices = landscape.choices.copy()
    walkers.read_current()
    old = landscape.choices[:, place]
    reached = np.arange(n)[:, None] + (np.arange(size) - old[:, None]) * landscape.strides[place]
    there = walkers.proposals(place)
    np.testing.assert_allclose(np.exp(there).sum(axis=1), 1.0, rtol=1e-12)
    log_moves = np.empty((n, size))
    for new in range(size):
        found, log_ratio = walkers.weigh(place, np.full(n, new), there)
        np.testing.assert_array_equal(found.scores, landscape.reading.scores[reached[:, new]])
        log_moves[:, new] = there[:, new] + np.minimum(0.0, log_ratio)
    return reached, log_moves


@pytest.mark.parametrize("beta", [0.0, 1.0, 8.0])
def test_every_pair_of_inputs_is_in_detailed_balance_and_the_tilted_law_stays(landscape, beta):
    log_law = landscape.log_probs + beta * landscape.reading.scores
    log_law -= logsumexp(log_law)
    law = np.exp(log_law)
    assert law.sum() == pytest.approx(1.0)
    for place in range(6):
        reached, log_moves = transitions(landscape, place, beta)
        old = landscape.choices[:, place]
        flow = log_law[:, None] + log_moves
        returned = flow[reached, old[:, None]]  # of the reverse move
        np.testing.assert_allclose(flow, returned, rtol=0, atol=1e-12 * np.abs(flow).max())
        moves = np.exp(log_moves)
        moves[np.arange(len(law)), old] = 0.0
        leaving = moves.sum(axis=1)
        assert leaving.max() <= 1.0 + 1e-12
        arrived = law * (1.0 - leaving)
        np.add.at(arrived, reached, law[:, None] * moves)
        np.testing.assert_allclose(arrived, law, rtol=1e-10, atol=1e-18)


def test_without_a_tilt_tokens_come_from_the_law_and_are_always_accepted(landscape):
    for place in range(6):
        _, log_moves = transitions(landscape, place, 0.0)
        law = landscape.places.log_probs[place]
        np.testing.assert_allclose(log_moves, np.tile(law, (len(log_moves), 1)), atol=1e-12)


def test_a_large_score_overflows_nothing():
    """Scores of thousands at a cold temperature: float32 would end at exp(88)."""
    betas = np.array([1 / 0.3])
    rows = proposal(np.log([0.5, 0.5]), np.array([[-9000.0, 9000.0]]), betas)
    np.testing.assert_allclose(rows, [[-60000.0, 0.0]])
    ratio = log_acceptance(
        betas, np.array([18000.0]), (np.log([0.5]), np.log([0.5])), (rows[:, 1], rows[:, 0])
    )
    np.testing.assert_allclose(ratio, [0.0], atol=1e-9)
