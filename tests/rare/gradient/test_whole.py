"""Scores and slopes of a random transformer, against its own logits and their autograd."""

import numpy as np
import pytest
import torch
from rare_toys import HandNetwork, both_network, law_of

import likely
from likely import rare
from likely.errors import CapabilityError, NumericalError
from likely.rare.event import margins
from likely.rare.gradient.places import Places
from likely.rare.gradient.whole import Gradients
from likely.rare.inputs import IndependentDistribution
from likely.rare.reading import Meter
from likely.rare.support import Support


def a_law():
    """Return five places of a vocabulary of some hundred tokens, two of which never vary."""
    supports = (
        Support.only(9),
        Support.of({30: 1.0, 7: 2.0, 50: 1.0}),
        Support.of({7: 0.9, 2: 0.1}),
        Support.only(4),
        Support.of({1: 1.0, 2: 1.0, 33: 1.0, 41: 5.0}),
    )
    return IndependentDistribution(name="a law", supports=supports, details={})


def dense(model, inputs, steps):
    """Return logits of steps, and the gradient of a sum of one logit each by dense one-hot rows."""
    embedding = model.module.get_input_embeddings().weight
    one_hot = torch.nn.functional.one_hot(torch.from_numpy(inputs), len(embedding)).float()
    one_hot.requires_grad_(True)
    rows, total = [], torch.zeros(len(inputs))
    for read, winners in steps:
        after = torch.nn.functional.one_hot(
            torch.tensor([read]).expand(len(inputs), -1).long(), len(embedding)
        )
        whole = torch.cat([one_hot, after.float()], dim=1) @ embedding
        logits = model.module(inputs_embeds=whole, use_cache=False).logits[:, -1]
        centred = logits - logits.mean(dim=1, keepdim=True)
        rows.append(logits.detach().numpy())
        total = total + centred[:, winners].amax(dim=1)
    (slopes,) = torch.autograd.grad(total.sum(), one_hot)
    return rows, total.detach().numpy(), slopes.numpy()


@pytest.mark.parametrize(
    "steps", [((5,),), ((3, 17, 60),), ((8,), (5,), (1, 2))], ids=["one", "set", "steps"]
)
def test_scores_and_slopes_are_those_of_dense_one_hot_rows(gpt2, steps):
    event = rare.Event(name="an event", steps=steps, above=-1.0)
    places, meter = Places.of(a_law()), Meter()
    landscape = Gradients(gpt2, event, places, meter)
    rng = np.random.default_rng(0)
    choices = places.draw(places.log_probs, rng.random((7, 3)))
    found = landscape.read(choices)
    reads = [list(event.read[:step]) for step in range(len(steps))]
    rows, scores, slopes = dense(
        gpt2, places.inputs(choices), [(r, list(w)) for r, w in zip(reads, steps, strict=True)]
    )
    np.testing.assert_allclose(found.scores, scores, atol=2e-5)
    lead = np.min([margins(row, list(w)) for row, w in zip(rows, steps, strict=True)], axis=0)
    np.testing.assert_allclose(found.margins, lead, atol=2e-5)
    np.testing.assert_array_equal(found.hits, found.margins > -1.0)
    for place, position in enumerate(places.positions):
        size = places.sizes[place]
        expected = slopes[:, position][:, places.tokens[place, :size]]
        tilts = landscape.tilts_at(place, found.slopes[:, place])
        np.testing.assert_allclose(tilts, expected, atol=2e-5)
        mean = landscape.tilts(found.slopes.mean(axis=0))[place, :size]
        np.testing.assert_allclose(mean, expected.mean(axis=0), atol=2e-5)
    assert meter.spent.gradients == 7 * len(steps)
    assert meter.spent.token_evaluations == sum(7 * (5 + step) for step in range(len(steps)))


def test_readings_do_not_depend_on_batches_nor_on_which_inputs_get_slopes(gpt2, monkeypatch):
    event = rare.token(5, gpt2)
    places = Places.of(a_law())
    landscape = Gradients(gpt2, event, places, meter := Meter())
    choices = places.draw(places.log_probs, np.random.default_rng(1).random((30, 3)))
    whole = landscape.read(choices)
    monkeypatch.setattr("likely.rare.gradient.whole.TOKENS", 20)  # four inputs at a time
    some = landscape.read(choices, n_slopes=10)
    np.testing.assert_allclose(some.scores, whole.scores, atol=1e-5)
    np.testing.assert_allclose(some.margins, whole.margins, atol=1e-5)
    np.testing.assert_allclose(some.slopes, whole.slopes[:10], atol=1e-5)
    assert (meter.spent.gradients, meter.spent.forwards) == (40, 20)
    assert landscape.read(choices, n_slopes=0).slopes.shape[0] == 0


def test_a_score_that_is_not_finite_is_an_error():
    model = HandNetwork(3, lambda one_hot: one_hot.sum(dim=1) * torch.inf)
    landscape = Gradients(model, rare.token(0, model), Places.of(law_of([1, 1], [1, 1])), Meter())
    with pytest.raises(NumericalError, match="not finite"):
        landscape.read(np.zeros((2, 2), dtype=np.int64))


def test_a_model_without_tensors_is_refused():
    model = likely.TableModel(["a", "b"], lambda before: {"a": 0.5, "b": 0.5})
    with pytest.raises(CapabilityError):
        Gradients(model, rare.token(0, model), Places.of(law_of([1, 1])), Meter())


def test_the_network_by_hand_has_the_logits_it_was_given():
    model = both_network(gain=10.0)
    places = Places.of(law_of([1, 1, 1], [1, 1, 1]))
    landscape = Gradients(model, rare.token(0, model), places, Meter())
    found = landscape.read(np.array([[0, 0], [0, 1], [1, 2]]))
    np.testing.assert_allclose(found.margins, [5.0, -5.0, -15.0], atol=1e-3)
    np.testing.assert_allclose(landscape.tilts(found.slopes[0])[:, 0], 7.5, atol=1e-3)  # centred
