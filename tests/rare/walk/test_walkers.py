"""Chains: their law is the tilted one, rungs exchange rightly, and calls are counted."""

import math

import numpy as np
import pytest
from rare_toys import Enumerated, both_network, law_of, skewed_law, tiny_transformer

from likely import rare
from likely.core.logspace import logsumexp
from likely.rare.gradient.places import Places
from likely.rare.gradient.whole import Gradients
from likely.rare.reading import Meter
from likely.rare.walk.annealing import ENOUGH, anneal
from likely.rare.walk.walkers import Trace, Walkers

RARE = [0.001, 0.3, 0.3, 0.4]


@pytest.fixture(scope="module")
def landscape(tmp_path_factory):
    """All 625 inputs of four places under a random transformer of five tokens."""
    model = tiny_transformer(tmp_path_factory.mktemp("four"), seed=3)
    law = skewed_law(seed=3, power=1.0, length=4)
    return Enumerated(Gradients(model, rare.token(3, model), Places.of(law), Meter()))


def tilted_mean(landscape, beta):
    """Return the mean score under a tilt, and its spread."""
    weights = np.exp(landscape.log_probs + beta * landscape.reading.scores)
    weights /= weights.sum()
    mean = weights @ landscape.reading.scores
    return mean, math.sqrt(weights @ np.square(landscape.reading.scores - mean))


@pytest.mark.parametrize("ladder", [[1.5], [0.0, 0.7, 1.5, 3.0]], ids=["plain", "exchanging"])
def test_every_rung_walks_under_its_own_tilt(landscape, ladder):
    """Means over 400 independent groups are within four standard errors of the exact ones."""
    walkers = Walkers(landscape, np.array(ladder), 400, rng=np.random.default_rng(0))
    *_, last = (walkers.step() for _ in range(60))
    for rung, beta in enumerate(ladder):
        mean, spread = tilted_mean(landscape, beta)
        found = last.scores[:, rung].mean()
        assert abs(found - mean) < 4 * spread / math.sqrt(400)
    means = [tilted_mean(landscape, beta)[0] for beta in [0.0, *ladder]]
    assert means[-1] - means[0] > 10 * spread / math.sqrt(400)  # the tilts can be told apart


def test_neighbours_exchange_as_often_as_their_ratio_says(landscape):
    ladder = np.array([0.0, 2.0])
    walkers = Walkers(landscape, ladder, 3000, rng=np.random.default_rng(1))
    walkers.scores = np.tile([1.0, 0.5], 3000)  # the warm row stands higher by a half: ratio e
    assert walkers._exchange().all()
    walkers.rows = np.arange(6000).reshape(3000, 2)
    walkers.scores = np.tile([0.5, 1.0], 3000)  # and lower by a half: exp(-1)
    share = walkers._exchange().mean()
    assert abs(share - math.exp(-1)) < 4 * math.sqrt(0.25 / 3000)
    assert np.sort(walkers.rows.ravel()).tolist() == list(range(6000))


def test_odd_and_even_pairs_take_turns_and_each_row_has_one_rung(landscape):
    walkers = Walkers(landscape, np.zeros(5), 1, rng=np.random.default_rng(1))
    first, second = walkers.step().exchanged[0], walkers.step().exchanged[0]
    assert first.tolist() == [True, False, True, False]
    assert second.tolist() == [False, True, False, True]
    assert sorted(walkers.rows[0].tolist()) == [0, 1, 2, 3, 4]


def test_arrivals_are_of_rows_that_have_been_first_since_they_were_last(landscape):
    walkers = Walkers(landscape, np.zeros(3), 1, rng=np.random.default_rng(1))
    where, arrived, is_fresh = [], [], set()
    for _ in range(12):  # without a tilt every exchange that is asked for is made
        arrived.append(walkers.step().n_arrived)
        where.append(walkers.rows[0].tolist())
        is_fresh.add(where[-1][0])
        assert arrived[-1] == (where[-1][2] in is_fresh)
        is_fresh.discard(where[-1][2])
    assert sum(arrived) >= 3
    alone = Walkers(landscape, np.zeros(1), 4, rng=np.random.default_rng(1))
    assert Trace.of(alone.walk(40)).n_arrived == 0


def test_no_row_has_been_at_the_first_rung_of_a_ladder_that_is_new(landscape):
    walkers = Walkers(landscape, np.zeros(3), 1, rng=np.random.default_rng(1))
    old = [walkers.step().n_arrived for _ in range(8)]
    walkers.set_ladder(np.zeros(3))
    is_fresh, new = set(), []
    for _ in range(8):
        new.append(walkers.step().n_arrived)
        is_fresh.add(int(walkers.rows[0, 0]))
        assert new[-1] == (walkers.rows[0, 2] in is_fresh)
        is_fresh.discard(int(walkers.rows[0, 2]))
    assert new == old  # after eight steps the same pairs are asked next, and rows are alike


def test_places_are_gone_through_in_turn_and_rejected_rows_stay(landscape):
    walkers = Walkers(landscape, np.array([2.0]), 50, rng=np.random.default_rng(2))
    before = walkers.choices.copy()
    for place in range(4):
        step = walkers.step()
        changed = np.flatnonzero((walkers.choices != before).any(axis=0))
        assert set(changed.tolist()) <= {place}
        assert step.n_accepted >= (walkers.choices != before).any(axis=1).sum()
        np.testing.assert_array_equal(walkers.scores, landscape.read(walkers.choices).scores)
        np.testing.assert_array_equal(walkers.slopes, landscape.read(walkers.choices).slopes)
        before = walkers.choices.copy()


def test_calls_are_counted_and_never_exceeded(landscape):
    walkers = Walkers(landscape, np.array([1.0]), 8, rng=np.random.default_rng(0))
    assert walkers.n_calls == 8
    trace = Trace.of(walkers.walk(100))
    assert (walkers.n_calls, len(trace)) == (96, 11)
    assert trace.scores.shape == trace.hits.shape == (11, 8, 1)
    assert 0.0 < trace.acceptance <= 1.0
    assert trace.exchange == 1.0


def test_chains_depend_on_their_stream_alone(landscape):
    def walk(seed):
        walkers = Walkers(landscape, np.array([0.0, 1.0]), 4, rng=np.random.default_rng(seed))
        return Trace.of(walkers.walk(80)).scores

    np.testing.assert_array_equal(walk(0), walk(0))
    assert (walk(0) != walk(1)).any()


def test_cooling_stops_where_hits_are_often_enough():
    model = both_network(gain=10.0)
    law = law_of(RARE, RARE, [1, 1, 1, 1])
    landscape = Enumerated(Gradients(model, rare.token(0, model), Places.of(law), Meter()))
    walkers = Walkers(landscape, np.zeros(1), 64, rng=np.random.default_rng(0))
    temperature = anneal(walkers, 64 * 320)
    hits = landscape.reading.hits
    log_law = landscape.log_probs + landscape.reading.scores / temperature
    rate = math.exp(float(logsumexp(log_law[hits]) - logsumexp(log_law)))
    assert 0.02 < rate < 0.5
    assert walkers.ladder.tolist() == [1.0 / temperature]
    found = np.mean([walkers.step().hits.mean() for _ in range(30)])
    assert found > ENOUGH / 2
    assert walkers.n_calls <= 64 * 320 + 64 * 30
