"""Margins of activations: exact from their floor on, whichever tokens were tried first."""

import numpy as np
import pytest
import torch

from likely.rare.event import Event, margins
from likely.rare.margin_scores import MarginScores
from likely.rare.network import Readout

EVENTS = (
    Event(name="one", steps=((3,),)),
    Event(name="two", steps=((5, 8),)),
    Event(name="by a nat", steps=((3,),), above=1.0),
)


def readout(*, is_centred=True):
    draw = torch.Generator().manual_seed(2)
    weight = torch.randn(300, 24, generator=draw)
    return Readout(
        weight=weight, bias=torch.randn(300, generator=draw), is_centred=is_centred, epsilon=1e-5
    )


@pytest.mark.parametrize("is_centred", [True, False])
def test_margins_are_those_of_the_whole_vocabulary(is_centred):
    read = readout(is_centred=is_centred)
    runs = np.array([0, 1, 2, 0])
    scores = MarginScores(read, EVENTS, runs)
    rng = np.random.default_rng(0)
    for spread in (0.5, 1.0, 2.0):  # later rounds meet tokens that the first did not
        states = rng.normal(size=(400, 24)) * spread + 0.3
        run = rng.integers(0, 4, 400)
        logits = read.logits(torch.from_numpy(states).float()).double().numpy()
        expected = np.empty(400)
        for i, one in enumerate(run):
            event = EVENTS[runs[one]]
            expected[i] = margins(logits[i : i + 1], event.winners)[0] - event.above
        floor = np.quantile(expected, rng.random(400))
        found = scores(states, run, floor)
        near = np.abs(expected - floor) > 1e-3
        is_exact = expected >= floor
        np.testing.assert_allclose(found[is_exact & near], expected[is_exact & near], atol=1e-4)
        assert (found[~is_exact & near] < floor[~is_exact & near]).all()
    assert scores.n_scored == 1200
    assert scores.n_whole < 1000  # the rest fell short of rivals that were known


def test_runner_ups_are_the_best_that_are_no_winners():
    read = readout()
    scores = MarginScores(read, EVENTS, np.array([1, 0]))
    states = np.random.default_rng(1).normal(size=(50, 24))
    logits = read.logits(torch.from_numpy(states).float()).numpy()
    logits[:25, [5, 8]] = -np.inf
    logits[25:, 3] = -np.inf
    found = scores.runner_up(states, np.repeat([0, 1], 25))
    np.testing.assert_array_equal(found, logits.argmax(axis=1))


def test_a_tie_scores_just_below_the_event():
    read = readout()
    read.weight[7], read.bias[7] = read.weight[3], read.bias[3]  # the same token under two ids
    scores = MarginScores(read, EVENTS, np.array([0]))
    states = 8.0 * read.weight[3].numpy() + np.random.default_rng(3).normal(size=(50, 24))
    run, floor = np.zeros(50, dtype=np.int64), np.full(50, -np.inf)
    found = scores(states, run, floor)
    assert (found < 0.0).all()
    assert (found > -1e-300).all()


def test_bounds_are_margins_over_the_tokens_met_before_they_were_settled():
    read = readout()
    scores = MarginScores(read, EVENTS, np.array([0, 1, 2]))
    rng = np.random.default_rng(2)
    states, run = rng.normal(size=(60, 24)), np.repeat([0, 1, 2], 20)
    assert scores(states, run, np.full(60, -np.inf)).shape == (60,)
    scores.settle()
    found = scores.upper(states, run)
    np.testing.assert_allclose(found, scores(states, run, np.full(60, -np.inf)), atol=1e-5)
    others = rng.normal(size=(60, 24))
    bound = scores.upper(others, run)
    exact = scores(others, run, np.full(60, -np.inf))
    assert (bound >= exact - 1e-5).all()
    assert (bound > exact + 1e-3).any()  # tokens that were not met are not known
    np.testing.assert_array_equal(bound, scores.upper(others, run))  # nor are those met since
    parts = [scores.upper(others[i : i + 1], run[i : i + 1]) for i in range(60)]
    np.testing.assert_allclose(np.concatenate(parts), bound, atol=1e-5)
