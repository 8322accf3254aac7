"""Splitting under fitted activations: the law's own probability, the same in any company."""

import math

import numpy as np
import pytest

import likely
from likely import rare
from likely.errors import InputError
from likely.rare.activations import collect
from likely.rare.method import Task
from likely.rare.prior.fit import fit_prior

FEW = {"n_particles": 200, "n_steps": 5, "n_replicates": 4, "prior": "student"}


@pytest.fixture(scope="module")
def law(gpt2):
    rng = np.random.default_rng(0)
    ids = rng.choice(gpt2.info.n_tokens, size=30, replace=False).tolist()
    return rare.independent([dict.fromkeys(ids, 1.0)] * 7, gpt2)


@pytest.fixture(scope="module")
def draws(gpt2, law):
    """Winners of many states of the law that is fitted at budget 2048, by plain sampling."""
    import torch

    task = Task(model=gpt2, distribution=law, events=(rare.token(0, gpt2),), budget=2048)
    activations = collect(task)
    prior = fit_prior(activations.states, kind="student")
    states = prior.to_states(prior.sample(150_000, rng=np.random.default_rng(1)))
    logits = activations.readout.logits(torch.from_numpy(states))
    return np.bincount(logits.argmax(dim=1).numpy(), minlength=gpt2.info.n_vocab)


def some(draws, model, n):
    """Return the ids of tokens that win seldom, and often enough to be counted."""
    order = [int(t) for t in np.argsort(-draws) if t < model.info.n_tokens]
    found = [t for t in order if 30 <= draws[t] <= 3000][:n]
    assert len(found) == n
    return found


def test_estimates_are_the_fitted_laws_probabilities(gpt2, law, draws):
    targets = some(draws, gpt2, 3)
    found = rare.estimate_many(gpt2, law, targets, budget=2048, level=0.999, **FEW)
    for one, target in zip(found, targets, strict=True):
        counted = math.log(draws[target] / draws.sum())
        slack = 4.0 / math.sqrt(draws[target])
        assert one.log_prob.low - slack <= counted <= one.log_prob.high + slack
        assert one.quantity == "activations"
        assert one.spent.scores > 0
        assert len(one.replicates) == 4
        assert one.levels[-1]["level"] == 0.0


def test_an_estimate_does_not_depend_on_company(gpt2, law, draws):
    targets = [
        int(t) for t in np.argsort(-draws) if t < gpt2.info.n_tokens and 30 <= draws[t] <= 3000
    ][:2]
    alone = rare.estimate(gpt2, law, targets[1], budget=512, **FEW)
    both = rare.estimate_many(gpt2, law, targets, budget=512, **FEW)[1]
    assert alone.log_prob.value == pytest.approx(both.log_prob.value, abs=1e-6)


def test_the_hybrid_takes_the_bulk_from_the_sample(gpt2, law, draws):
    target = int(np.argsort(-draws)[1])
    whole = rare.estimate(gpt2, law, target, budget=2048, **FEW)
    hybrid = rare.estimate(gpt2, law, target, budget=2048, start="empirical", **FEW)
    assert hybrid.log_prob.value == pytest.approx(
        whole.log_prob.diagnostics["hybrid_log_prob"], abs=1e-9
    )
    share = rare.estimate(gpt2, law, target, method="naive", budget=20_000)
    assert abs(hybrid.log_prob.value - share.log_prob.value) < 0.3


@pytest.mark.parametrize(
    ("options", "part"),
    [
        ({"start": "nowhere"}, "got 'nowhere'"),
        ({"start": "empirical", "mode": "adaptive"}, "got 'adaptive'"),
        ({"kernel": "walk"}, "no kernel named 'walk'"),
        ({"prior": "cauchy"}, "no prior named 'cauchy'"),
    ],
)
def test_unusable_options_get_one_line(gpt2, law, options, part):
    with pytest.raises(InputError, match=part):
        rare.estimate(gpt2, law, 3, budget=256, **options)


def test_events_of_several_steps_are_refused(gpt2, law):
    with pytest.raises(InputError, match="events of one token"):
        rare.estimate(gpt2, law, rare.continuation([1, 2], gpt2), budget=256)


def test_by_default_the_law_is_that_of_the_last_place_where_it_can_be(gpt2, law):
    few = {"n_particles": 20, "n_steps": 1, "n_replicates": 2}
    listed = rare.listed(law.sample(200, rng=np.random.default_rng(4)).tolist(), gpt2)
    kinds = [
        rare.estimate(gpt2, one, 3, budget=budget, **few).log_prob.diagnostics["prior"]
        for one, budget in ((law, 256), (law, 100), (listed, 256))
    ]
    assert kinds == ["last_place", "student", "student"]


def test_given_the_last_token_the_law_of_states_is_nearer_to_the_truth():
    model = likely.load("tiny-1l")
    rng = np.random.default_rng(6)
    places = [
        dict(zip(rng.choice(3000, size=30, replace=False).tolist(), weights, strict=True))
        for weights in 0.7 ** rng.permuted(np.tile(np.arange(30), (3, 1)), axis=1)
    ]
    law = rare.independent(places, model)
    truth = rare.truth(model, law)
    assert truth.is_exact
    targets = truth.tokens_between(1e-6, 1e-4)[:4].tolist()
    few = {"budget": 1024, "n_particles": 200, "n_steps": 4, "n_replicates": 2}
    errors = {}
    for prior in ("last_place", "student"):
        found = rare.estimate_many(model, law, targets, prior=prior, **few)
        logs = np.array([one.log_prob.value for one in found])
        errors[prior] = float(np.abs(logs - np.log(truth.probs[targets])).mean())
    assert errors["last_place"] < 2.0
    assert errors["last_place"] < errors["student"] - 1.0
