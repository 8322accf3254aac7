"""Splitting over inputs: exact small probabilities, and nothing claimed of needles."""

import math

import numpy as np
import pytest
from scipy.stats import binom, kstest

import likely
from likely import rare
from likely.core.logspace import logsumexp
from likely.errors import InputError
from likely.rare.amls_inputs import AmlsInputs, RedrawMove
from likely.rare.splitting.particles import Particles


def stairs():
    """Return a model that comes nearer to "x" with every "a" it has read."""

    def law(before):
        logits = {"x": 2.0 * before.count("a") - 9.0, "a": 0.0, "b": -1.0}
        total = math.fsum(math.exp(one) for one in logits.values())
        return {name: math.exp(one) / total for name, one in logits.items()}

    return likely.TableModel(["a", "b", "x"], law)


def needle():
    """Return a model that says "x" after one input of 3^6, and is as far from it after the rest."""
    key = tuple("aaabab")

    def law(before):
        winner = "x" if before[1:] == key else "a"
        return {"a": 0.2, "b": 0.2, "x": 0.2, winner: 0.6}

    return likely.TableModel(["a", "b", "x"], law)


def test_the_mean_of_estimates_is_the_probability():
    model = stairs()
    law = rare.independent([{"a": 0.1, "b": 0.9}] * 7, model)
    [exact] = rare.enumerate_events(model, law, ["x"])
    assert exact.value == pytest.approx(binom.sf(4, 7, 0.1), rel=1e-9)
    method = AmlsInputs(n_steps=2, n_replicates=4)
    found = [
        rare.estimate(model, law, "x", method=method, budget=8_000, seed=seed) for seed in range(40)
    ]
    logs = np.array([one.log_prob.value for one in found])
    assert np.isfinite(logs).mean() >= 4 / 6  # the others are estimates of 0, and count as such
    mean = float(logsumexp(logs)) - math.log(len(logs))
    error = float(np.std(np.exp(logs - mean), ddof=1)) / math.sqrt(len(logs))
    assert abs(1.0 - math.exp(math.log(exact.value) - mean)) < 4.0 * error
    held = sum(one.log_prob.low <= math.log(exact.value) <= one.log_prob.high for one in found)
    assert 0.90 <= held / len(found) <= 0.99
    assert all(one.spent.forwards <= 8_000 for one in found)
    assert all(len(one.replicates) == 4 and one.levels for one in found)
    assert found[0].quantity == "inputs"


def test_a_needle_gives_no_estimate_and_says_so():
    model = needle()
    law = rare.independent([{"a": 1, "b": 1, "x": 1}] * 6, model)
    found = rare.estimate(model, law, "x", method="amls-inputs", budget=6_000)
    assert found.is_given_up  # a 0 that was estimated is another thing than no estimate
    assert found.log_prob.low == -math.inf
    assert "no estimate" in found.summary()
    assert found.log_prob.high > math.log(3.0**-6)
    assert found.warnings


def test_redrawing_keeps_the_law_and_moves_one_place_at_least():
    rng = np.random.default_rng(0)
    move = RedrawMove(n_places=5)
    particles = Particles(position=rng.random((4000, 5)), mixing=np.empty((4000, 0)))
    proposal = move.propose(particles, step=0.3, rng=rng)
    changed = (proposal.states != particles.position).sum(axis=1)
    assert changed.min() >= 1
    assert abs(changed.mean() - (1 + 4 * 0.3)) < 0.06
    for place in range(5):
        assert kstest(proposal.states[:, place], "uniform").pvalue > 1e-4


def test_a_tie_is_nobodys_win():
    def law(before):
        n = before[::-1].index("b") if "b" in before else len(before)  # how many "a" came last
        if n >= 3:
            return {"x": 0.7, "a": 0.2, "b": 0.1}
        x = (0.1, 0.2, 0.45)[n]
        return {"x": x, "a": 0.9 - x if n < 2 else x, "b": 0.1}

    model = likely.TableModel(["a", "b", "x"], law)
    inputs = rare.independent([{"b": 1}, *[{"a": 0.2, "b": 0.8}] * 3], model)
    [exact] = rare.enumerate_events(model, inputs, ["x"])
    assert exact.value == pytest.approx(0.008)
    found = [
        rare.estimate(model, inputs, "x", method="amls-inputs", budget=20_000, seed=seed).prob
        for seed in range(8)
    ]
    mean = np.mean([one.value for one in found])
    error = np.std([one.value for one in found], ddof=1) / math.sqrt(8)
    assert abs(mean - 0.008) < 4.0 * error < 0.02  # with ties it would be 0.04


def test_events_of_several_steps_are_split_too():
    model = stairs()
    law = rare.independent([{"a": 0.2, "b": 0.8}] * 6, model)
    event = rare.continuation("xx", model)
    [exact] = rare.enumerate_events(model, law, [event])
    found = rare.estimate(model, law, event, method="amls-inputs", budget=12_000, level=0.999)
    assert found.log_prob.low <= math.log(exact.value) <= found.log_prob.high
    assert found.spent.forwards <= 12_000  # two for each input


def test_an_estimate_does_not_depend_on_company():
    model = stairs()
    law = rare.independent([{"a": 0.2, "b": 0.8}] * 6, model)
    alone = rare.estimate(model, law, "x", method="amls-inputs", budget=4_000)
    both = rare.estimate_many(model, law, ["b", "x"], method="amls-inputs", budget=4_000)[1]
    assert alone.log_prob.value == both.log_prob.value


@pytest.mark.parametrize(
    ("options", "budget", "part"),
    [
        ({"n_steps": 0}, 20_000, "got 0 and 4"),
        ({}, 100, "needs a budget of 2410 calls .* of 1 steps, got 100"),
    ],
)
def test_unusable_options_get_one_line(options, budget, part):
    model = stairs()
    law = rare.independent([{"a": 0.2, "b": 0.8}] * 6, model)
    with pytest.raises(InputError, match=part):
        rare.estimate(model, law, "x", method="amls-inputs", budget=budget, **options)


def test_a_law_that_is_not_of_independent_places_is_refused():
    model = stairs()
    with pytest.raises(InputError, match="independent places"):
        rare.estimate(model, rare.listed([[0, 1]], model), "x", method=AmlsInputs(), budget=20_000)
