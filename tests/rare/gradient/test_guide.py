"""A law that leans: normalised exactly, weighted back exactly, and the law itself to begin with."""

import math

import numpy as np
import pytest
from rare_toys import all_choices, both_network, law_of

from likely import rare
from likely.rare.gradient.guide import Guide, draw_batch, learn, log_ratio
from likely.rare.gradient.places import Places
from likely.rare.gradient.whole import Gradients
from likely.rare.reading import Meter


def a_guide(places, *, decay=0.9, batches=3, seed=0):
    rng = np.random.default_rng(seed)
    guide = Guide.start(places, decay=decay)
    tilts = [rng.normal(size=places.log_probs.shape) for _ in range(batches)]
    for one in tilts:
        guide = guide.after(one)
    return guide, tilts


def test_every_tilt_is_a_law_and_weights_undo_it():
    places = Places.of(law_of([5, 1, 1], [1, 2], [1, 0.001, 3, 2]))
    guide, _ = a_guide(places)
    choices = all_choices(places)
    log_probs = log_ratio(places.log_probs, choices)
    for temperature in (0.01, 0.3, 5.0, math.inf):
        ratios = guide.log_ratios(places, temperature)
        per_place = np.exp(places.log_probs + ratios).sum(axis=1)
        np.testing.assert_allclose(per_place, 1.0, rtol=1e-12)
        whole = log_ratio(ratios, choices)
        assert math.fsum(np.exp(log_probs + whole)) == pytest.approx(1.0, rel=1e-12)


def test_the_tilt_is_the_mean_of_batches_over_the_temperature():
    places = Places.of(law_of([1, 1, 1], [1, 2, 1]))
    for decay in (0.0, 0.9):
        guide, tilts = a_guide(places, decay=decay)
        weights = decay ** np.arange(len(tilts) - 1, -1, -1.0)
        mean = np.tensordot(weights / weights.sum(), tilts, axes=1)
        steps = np.diff(guide.log_ratios(places, 2.0), axis=1)
        np.testing.assert_allclose(steps, np.diff(mean / 2.0, axis=1), atol=1e-12)


def test_with_nothing_learnt_or_no_cold_at_all_weights_are_one_exactly():
    places = Places.of(law_of([5, 1, 1], [1, 2], [1, 0.001, 3, 2]))
    guide, _ = a_guide(places)
    assert not Guide.start(places, decay=0.9).log_ratios(places, 0.3)[:, :2].any()
    assert not guide.log_ratios(places, math.inf)[:, :2].any()


def test_a_batch_is_weighted_and_learnt_from():
    model = both_network(gain=10.0)
    places = Places.of(law_of([0.1, 1, 1], [0.1, 1, 1], [1, 1]))
    landscape = Gradients(model, rare.token(0, model), places, Meter())
    guide = Guide.start(places, decay=0.9)
    first = draw_batch(
        landscape, [guide.log_ratios(places, 1.0)], [64], n_slopes=16, rng=np.random.default_rng(0)
    )
    assert not first.log_weights.any()
    assert len(first.reading.slopes) == 16
    guide = learn(guide, landscape, first)
    assert guide.n_batches == 1
    ratios = guide.log_ratios(places, 1.0)
    centred = 10.0 * (1 - 1 / 4)
    np.testing.assert_allclose(ratios[:2, 0] - ratios[:2, 1], centred, atol=1e-2)
    np.testing.assert_allclose(ratios[2, :2], 0.0, atol=1e-2)  # nothing is gained there
    second = draw_batch(landscape, [ratios], [512], n_slopes=0, rng=np.random.default_rng(1))
    assert second.hits.mean() > 0.9
    weighed = np.where(second.hits, np.exp(second.log_weights), 0.0)
    truth = (0.1 / 2.1) ** 2
    assert abs(weighed.mean() - truth) < 4 * weighed.std() / math.sqrt(512)
    assert learn(guide, landscape, second) is guide


def test_inputs_of_several_laws_are_weighted_by_their_mixture():
    model = both_network(gain=10.0)
    places = Places.of(law_of([0.1, 1, 1], [0.1, 1, 1], [1, 1]))
    landscape = Gradients(model, rare.token(0, model), places, Meter())
    guide, _ = a_guide(places)
    laws = [guide.log_ratios(places, one) for one in (0.3, 3.0)]
    batch = draw_batch(landscape, laws, [3000, 1000], n_slopes=5, rng=np.random.default_rng(0))
    assert len(batch.choices) == len(batch.hits) == 4000
    assert len(batch.reading.slopes) == 5
    cold, warm = (np.exp(log_ratio(one, batch.choices)) for one in laws)
    np.testing.assert_allclose(np.exp(batch.log_weights), 1 / (0.75 * cold + 0.25 * warm))
    assert (np.exp(batch.log_weights) <= 4.0 / warm + 1e-9).all()
    drawn = cold[:3000].mean() - cold[3000:].mean()  # the first are of the colder law
    assert drawn > 0.0
    weights = np.exp(batch.log_weights)
    assert abs(weights.mean() - 1.0) < 4 * weights.std() / math.sqrt(4000)
