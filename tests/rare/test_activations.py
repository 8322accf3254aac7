"""States of sampled inputs: read once, the same whoever asks, with the margins of the model."""

import types

import numpy as np
import pytest
import torch

import likely
from likely import rare
from likely.errors import CapabilityError, InputError
from likely.rare.activations import collect
from likely.rare.event import margins
from likely.rare.inputs import iter_sample
from likely.rare.method import Task
from likely.rare.network import Readout


def letters(model, n=7):
    return rare.independent([{i: 1.0 + i % 3 for i in range(30, 60)}] * n, model)


def task(model, *events, budget=1500, **options):
    return Task(
        model=model, distribution=letters(model), events=events, budget=budget, seed=3, **options
    )


def test_states_do_not_depend_on_events_and_begin_alike_for_a_larger_budget(gpt2):
    one = collect(task(gpt2, rare.token(5, gpt2)))
    other = collect(task(gpt2, rare.any_of([6, 7], gpt2), rare.token(9, gpt2), budget=2100))
    assert one.states.shape == (1500, 32)
    assert one.spent.forwards == 1500
    np.testing.assert_array_equal(one.states[:1024], other.states[:1024])
    np.testing.assert_allclose(one.states, other.states[:1500], atol=1e-5)


def test_whoever_watches_is_told_what_is_read(gpt2):
    told = []
    watch = types.SimpleNamespace(expect=told.append, advance=told.append)
    collect(task(gpt2, rare.token(5, gpt2), progress=watch))
    assert sum(told) == 1500 * letters(gpt2).length


def test_margins_are_those_of_the_models_own_rows(gpt2):
    events = [rare.token(5, gpt2), rare.token(70, gpt2), rare.any_of([6, 7, 40], gpt2)]
    found = collect(task(gpt2, *events, budget=40))
    names = task(gpt2).path(None, "activations")
    inputs = next(iter_sample(letters(gpt2), 40, seed=3, names=names))
    rows = np.stack([row.log_probs for row in likely.next_tokens(gpt2, inputs.tolist())])
    expected = np.stack([margins(rows, event.winners) for event in events], axis=1)
    np.testing.assert_allclose(found.margins(events), expected, atol=2e-5)
    logits = found.normed() @ found.readout.weight.numpy().T + found.readout.bias.numpy()
    expected = np.stack([margins(logits, event.winners) for event in events], axis=1)
    np.testing.assert_allclose(found.margins(events), expected, atol=1e-10)


@pytest.mark.parametrize("name", ["gpt2", "window"])  # a layer norm, and an RMS norm
def test_folding_the_norm_and_centring_leave_margins_to_the_tenth_digit(name, request):
    model = request.getfixturevalue(name)
    rng = np.random.default_rng(0)
    states = 3.0 * rng.standard_normal((200, 32)) + 1.0
    norm, head = model.final_norm(), model.unembedding()
    centred = states - states.mean(axis=1, keepdims=True) if norm.kind == "layer" else states
    unit = centred / np.sqrt(np.square(centred).mean(axis=1, keepdims=True) + norm.epsilon)
    plain = unit * (1.0 if norm.weight is None else norm.weight)
    plain = plain + (0.0 if norm.bias is None else norm.bias)
    logits = plain @ head.weight.T.astype(np.float64)
    readout = Readout.of(model, dtype=torch.float64)
    for event in (rare.token(5, model), rare.any_of([6, 7], model)):
        found = readout.margins(torch.from_numpy(states), event).numpy()
        np.testing.assert_allclose(found, margins(logits, event.winners), atol=1e-10)
    np.testing.assert_allclose(readout.normed(torch.from_numpy(states)).numpy(), unit, atol=1e-12)


def test_what_cannot_be_collected_is_said_in_one_line(gpt2):
    part = "^methods over activations take events of one token, .* has 2; use naive, forecast, prop"
    with pytest.raises(InputError, match=part):
        collect(task(gpt2, rare.continuation([5, 6], gpt2)))
    with pytest.raises(InputError, match="lower it to"):
        collect(task(gpt2, rare.token(5, gpt2), budget=1 << 40))
    table = likely.TableModel(["a", "b"], lambda before: {"a": 0.5, "b": 0.5})
    law = rare.independent([{"a": 1, "b": 1}], table)
    with pytest.raises(CapabilityError, match="hidden states"):
        rare.estimate(table, law, "a", method="qld", budget=100)
