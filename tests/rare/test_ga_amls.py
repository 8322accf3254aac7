"""Splitting under fitted activations: the law's own probability, the same in any company."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch

from likely import rare
from likely.errors import InputError
from likely.rare.activations import collect
from likely.rare.last_place import collect_by_last_place
from likely.rare.method import Task
from likely.rare.prior.fit import fit_prior
from likely.rare.prior.grouped_fit import fit_grouped
from likely.rare.prior.options import FitOptions

FEW = {"n_particles": 200, "n_steps": 5, "n_replicates": 4, "prior": "student"}


@pytest.fixture(scope="module")
def law(gpt2):
    rng = np.random.default_rng(0)
    ids = rng.choice(gpt2.info.n_tokens, size=30, replace=False).tolist()
    return rare.independent([dict.fromkeys(ids, 1.0)] * 7, gpt2)


@pytest.fixture(scope="module")
def draws(gpt2, law):
    """Winners of many states of the law that is fitted at budget 2048, by plain sampling."""
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


def assert_agrees(found, counted, error):
    """Check that an estimate is within four standard errors, its own and the count's, of a log."""
    own = found.log_prob.diagnostics["relative_error"]
    assert 0.0 < own < 0.3
    assert abs(found.log_prob.value - counted) < 4.0 * math.hypot(max(own, 0.1), error)


def test_estimates_are_the_fitted_laws_probabilities(gpt2, law, draws):
    targets = some(draws, gpt2, 3)
    found = rare.estimate_many(gpt2, law, targets, budget=2048, **FEW)
    for one, target in zip(found, targets, strict=True):
        counted = math.log(draws[target] / draws.sum())
        assert_agrees(one, counted, 1.0 / math.sqrt(draws[target]))
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
    assert "log_floor" in whole.log_prob.diagnostics  # which is of the law's estimate alone
    assert not {"log_floor", "relative_error"} & set(hybrid.log_prob.diagnostics)
    share = rare.estimate(gpt2, law, target, method="naive", budget=20_000)
    assert abs(hybrid.log_prob.value - share.log_prob.value) < 0.3


@pytest.mark.parametrize(
    ("options", "part"),
    [
        ({"start": "nowhere"}, "got 'nowhere'"),
        ({"start": "empirical", "mode": "adaptive"}, "got 'adaptive'"),
        ({"kernel": "walk"}, "no kernel named 'walk'"),
        ({"kernel": "mala", "prior": "last_place"}, "needs the kernel 'aug'"),
        ({"check_steps": True, "mode": "adaptive"}, "check_steps=True needs .* got 'adaptive'"),
        ({"survival": 1.5}, "got 1.5"),
        ({"prior": "cauchy"}, "no prior named 'cauchy'"),
    ],
)
def test_unusable_options_get_one_line(gpt2, law, options, part):
    with pytest.raises(InputError, match=part):
        rare.estimate(gpt2, law, 3, budget=256, **options)


def test_unusable_options_are_refused_before_anything_is_read():
    for options in ({"kernel": "walk"}, {"prior": "cauchy"}):
        with pytest.raises(InputError, match="named"):
            rare.GaAmls(**options)


@pytest.mark.parametrize("options", [{"kernel": "mala_radial"}, {"drop_null": True}])
def test_what_cannot_move_groups_takes_a_law_of_all_states(gpt2, law, draws, options):
    few = {"n_particles": 20, "n_steps": 1, "n_replicates": 2}
    found = rare.estimate(gpt2, law, int(draws.argmax()), budget=256, **few, **options)
    assert found.log_prob.diagnostics["prior"] == "student"


def test_one_place_that_varies_is_no_reason_to_fail(gpt2):
    ids = list(range(40, 48))
    inputs = rare.independent([{3: 1}, dict.fromkeys(ids, 1.0)], gpt2)
    few = {"n_particles": 20, "n_steps": 1, "n_replicates": 2}
    found = rare.estimate(gpt2, inputs, 5, budget=256, method="ga-amls", **few)
    assert found.log_prob.diagnostics["prior"] == "student"


def test_twice_the_steps_are_told(gpt2, law, draws):
    target = some(draws, gpt2, 1)[0]
    plain = rare.estimate(gpt2, law, target, budget=2048, **FEW)
    found = rare.estimate(gpt2, law, target, budget=2048, check_steps=True, **FEW)
    told = found.log_prob.diagnostics
    assert found.log_prob.value == plain.log_prob.value
    assert "double_steps_log_ratio" not in plain.log_prob.diagnostics
    assert abs(told["double_steps_log_ratio"]) < 4.0 * max(told["double_steps_error"], 0.1)
    assert found.spent.scores > 2 * plain.spent.scores


def test_particles_that_die_one_by_one_have_poisson_intervals(gpt2, law, draws):
    common = int(np.argsort(-draws)[1])
    options = {**FEW, "n_particles": 30, "mode": "last_particle"}
    found = rare.estimate(gpt2, law, common, budget=512, **options)
    told = found.log_prob.diagnostics
    assert told["log_poisson_low"] < found.log_prob.value < told["log_poisson_high"]
    assert "log_floor" not in told  # these levels bias it


def test_events_of_several_steps_are_refused(gpt2, law):
    with pytest.raises(InputError, match="events of one token"):
        rare.estimate(gpt2, law, rare.continuation([1, 2], gpt2), budget=256)


def test_by_default_the_law_is_that_of_the_last_place_where_it_can_be(gpt2, law, draws):
    few = {"n_particles": 20, "n_steps": 1, "n_replicates": 2}
    listed = rare.listed(law.sample(200, rng=np.random.default_rng(4)).tolist(), gpt2)
    kinds = [
        rare.estimate(gpt2, one, int(draws.argmax()), budget=budget, **few).log_prob.diagnostics[
            "prior"
        ]
        for one, budget in ((law, 256), (law, 100), (listed, 256))
    ]
    assert kinds == ["last_place", "student", "student"]


def test_estimates_by_the_last_place_are_the_fitted_laws_probabilities(gpt2, law):
    task = Task(model=gpt2, distribution=law, events=(rare.token(0, gpt2),), budget=1024)
    found = collect_by_last_place(task)
    prior = fit_grouped(
        found.activations.states, found.groups, found.log_weights, FitOptions(n_components=2)
    )
    rng = np.random.default_rng(1)
    drawn = replace(prior, log_drawn=prior.log_weights).draw_mixing(100_000, rng=rng)
    states = prior.assemble(prior.draw_gaussian(100_000, rng=rng), drawn)
    logits = found.activations.readout.logits(torch.from_numpy(states))
    counts = np.bincount(logits.argmax(dim=1).numpy(), minlength=gpt2.info.n_vocab)
    targets = some(counts, gpt2, 2)
    options = {**FEW, "prior": "last_place", "n_components": 2}
    for one, target in zip(
        rare.estimate_many(gpt2, law, targets, budget=1024, **options), targets, strict=True
    ):
        counted = math.log(counts[target] / 100_000)
        assert_agrees(one, counted, 1.0 / math.sqrt(counts[target]))
        assert abs(one.log_prob.diagnostics["bulk_log_ratio"]) < 1.0
