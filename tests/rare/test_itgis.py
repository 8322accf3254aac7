"""Importance sampling with tilted places: unbiased, exact without a tilt, never too sure."""

import math
import tracemalloc

import numpy as np
import pytest
import torch
from rare_toys import (
    BOTH,
    RARE,
    HandNetwork,
    answers,
    both_network,
    constant_network,
    law_of,
    needle_network,
    skewed_law,
    tiny_transformer,
)  # fmt: skip

import likely
from likely import rare
from likely.errors import CapabilityError, InputError
from likely.rare.itgis import Itgis
from likely.rare.method import Task
from likely.rare.reading import Reader
from likely.stats.intervals import clopper_pearson


@pytest.fixture(scope="module")
def transformers(tmp_path_factory):
    """Random transformers of five tokens; with six skewed places they have 15,625 inputs."""
    return {
        seed: tiny_transformer(tmp_path_factory.mktemp(f"five-{seed}"), seed=seed)
        for seed in (2, 3)
    }


@pytest.mark.parametrize(
    ("seed", "event", "temperature"),
    [
        (2, rare.Event(name="one", steps=((0,),), above=2.149), 0.05),
        (3, rare.Event(name="set", steps=((0, 1),), above=1.2), 0.4),
        (2, rare.Event(name="steps", steps=((0,), (1,)), above=-0.093), 0.2),
    ],
    ids=["one", "set", "steps"],
)
def test_the_mean_over_seeds_is_the_enumerated_probability(transformers, seed, event, temperature):
    """Within four standard errors of 24 seeds, half of which are within a third of it.

    95 % intervals cover in 18 or more of the seeds, but for 1e-4 of choices of them.
    """
    law = skewed_law(seed=seed, power=2.0 if len(event.steps) == 2 else 3.0)
    method = Itgis(temperature=temperature, batch=256, gradient_share=0.5)
    truth, found = answers(method, transformers[seed], law, event, budget=4096, seeds=24)
    assert 1e-10 < truth < 2e-3
    ratios = np.exp(np.array([one.log_prob for one in found]) - math.log(truth))
    assert np.mean(np.abs(np.log(ratios)) < math.log(1.5)) > 0.5
    assert abs(ratios.mean() - 1.0) < 4 * ratios.std(ddof=1) / math.sqrt(24)
    assert sum(one.low <= math.log(truth) <= one.high for one in found) >= 18


def test_a_region_that_the_tilt_leads_away_from_is_met_by_warmer_inputs(transformers):
    """A set of two tokens whose tilts lead apart, far too cold: more than twice as near."""
    event, law = rare.Event(name="set", steps=((0, 1),), above=1.2), skewed_law(seed=3, power=3.0)
    errors, covered = [], []
    for share in (0.0, 0.5):
        method = Itgis(temperature=0.15, warmer_share=share)
        truth, found = answers(method, transformers[3], law, event, budget=4096, seeds=40)
        ratios = np.exp(np.array([one.log_prob for one in found]) - math.log(truth))
        errors.append(math.sqrt(np.square(ratios - 1.0).mean()))
        covered.append(sum(one.low <= math.log(truth) <= one.high for one in found))
    assert errors[0] > 2 * errors[1]
    assert covered[0] + 5 < covered[1]


def test_at_an_infinite_temperature_it_counts_the_very_inputs_of_the_law():
    model, law = both_network(), law_of([0.3, 0.2, 0.3, 0.2], [0.3, 0.2, 0.3, 0.2])
    event = rare.token(0, model)
    task = Task(model=model, distribution=law, events=(event,), budget=1000, seed=3)
    (found,) = Itgis(temperature=math.inf).run(task)
    hits = 0
    for batch, size in enumerate([256, 256, 256, 232]):
        inputs = law.at(task.stream(event, "itgis", batch).random((size, 2)))
        hits += int(Reader(model).hits(inputs, [event]).sum())
    assert 50 < hits < 150
    assert found.log_prob == pytest.approx(math.log(hits / 1000), abs=1e-15)
    assert np.exp([found.low, found.high]) == pytest.approx(clopper_pearson(hits, 1000))
    assert found.diagnostics["effective_hits"] == pytest.approx(hits)


def test_the_budget_is_spent_to_the_last_call_and_a_share_goes_backward():
    model, law = both_network(), law_of(RARE, RARE)
    found = rare.estimate(model, law, 0, method=Itgis(temperature=1.0), budget=1000)
    assert (found.spent.gradients, found.spent.forwards) == (3 * 32 + 29, 3 * 224 + 203)
    assert found.spent.calls == 1000
    assert found.spent.token_evaluations == 2000
    piloted = rare.estimate(model, law, 0, method="itgis", budget=4096)
    assert piloted.spent.calls == 4096
    assert piloted.log_prob.diagnostics["pilot_calls"] == 1008
    every = rare.estimate(
        model, law, 0, method=Itgis(temperature=1.0, gradient_share=1.0), budget=300
    )
    assert (every.spent.gradients, every.spent.forwards) == (300, 0)


@pytest.mark.parametrize(
    ("gain", "law", "truth"),
    [
        (2.0, law_of(RARE, RARE, [1, 1, 1, 1]), BOTH),
        (2.0, law_of([1.0], RARE, [1, 1]), 0.001 / 1.001),
        (4.0, law_of([1e-6, 1, 1], [1e-6, 1], [1, 1]), 1e-12 / (2 + 1e-6) / (1 + 1e-6)),
    ],
    ids=["both", "one place", "one in a trillion"],
)
def test_products_of_places_come_out_right_and_covered(gain, law, truth):
    """95 % intervals cover in 31 or more of forty seeds, but for 1e-4 of choices of them."""
    model = both_network(gain=gain)
    event = rare.token(0, model)
    prob, found = answers(
        Itgis(temperature=0.2, batch=128), model, law, event, budget=1152, seeds=40
    )
    assert prob == pytest.approx(truth, rel=1e-9)
    ratios = np.exp(np.array([one.log_prob for one in found]) - math.log(truth))
    assert ratios.std() < 0.5
    assert abs(ratios.mean() - 1.0) < 4 * ratios.std(ddof=1) / math.sqrt(40) + 1e-9
    covered = sum(one.low <= math.log(truth) <= one.high for one in found)
    assert covered >= 31


def test_a_pilot_finds_the_way_by_itself():
    model, law = both_network(gain=4.0), law_of(RARE, RARE, [1, 1, 1, 1])
    _, found = answers(Itgis(), model, law, rare.token(0, model), budget=4608, seeds=5)
    for one in found:
        assert one.log_prob == pytest.approx(math.log(BOTH), abs=0.2)
        assert one.low <= math.log(BOTH) <= one.high
        assert one.warnings == ()


def test_certain_and_impossible_events_are_known_only_as_well_as_they_were_tried():
    model, law = constant_network(winner=1), law_of(RARE, RARE)
    certain, never = rare.estimate_many(model, law, [1, 2], method="itgis", budget=2048)
    assert certain.log_prob.value == 0.0
    n = 2048 - certain.log_prob.diagnostics["pilot_calls"]
    assert certain.prob.low == pytest.approx(0.025 ** (1 / n))
    assert never.is_zero
    assert never.prob.high == pytest.approx(1 - 0.025 ** (1 / n))  # nothing was tilted
    assert "no hit" in never.warnings[0]


def test_a_needle_is_a_zero_that_excludes_nothing():
    model, law = needle_network(), law_of(*[RARE] * 6)
    found = rare.estimate(model, law, 0, method="itgis", budget=2048)
    assert found.is_zero
    assert found.log_prob.low == -math.inf
    assert found.prob.high > 1e-4
    assert "no hit" in found.warnings[0]


def test_no_hit_under_a_tilt_says_no_more_than_the_draws_of_the_law_do():
    """The tilt leads along the logit of a token that another one always beats."""

    def logits(one_hot):
        rise = 3.0 * one_hot[:, :, 0].sum(dim=1)
        return torch.stack([rise, rise + 1.0, 0.0 * rise], dim=1)

    model, law = HandNetwork(3, logits), law_of(*[[0.1, 0.9]] * 4)
    found = rare.estimate(model, law, 0, method=Itgis(temperature=1.0), budget=4096)
    assert found.is_zero
    assert found.log_prob.diagnostics["plain_draws"] == 256
    assert found.prob.high == pytest.approx(clopper_pearson(0, 256)[1])


def test_a_few_hits_come_with_a_warning():
    model, law = both_network(gain=4.0), law_of(RARE, RARE)
    found = rare.estimate(model, law, 0, method=Itgis(temperature=1.0), budget=4096, seed=1)
    assert 0 < found.log_prob.diagnostics["effective_hits"] < 30
    assert any("equal weight" in text for text in found.warnings)
    assert found.log_prob.high - found.log_prob.low > 1.0


def test_slopes_of_a_batch_are_forgotten_once_it_has_taught():
    """A batch holds 120 kB of slopes and 60 kB of inputs, of which 2 kB are asked for again."""
    model, law = needle_network(), law_of(*[RARE] * 30)
    method, peaks = Itgis(temperature=1.0, gradient_share=1.0), []
    for n_batches in (8, 40):
        tracemalloc.start()
        rare.estimate(model, law, 0, method=method, budget=256 * n_batches)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] - peaks[0] < 32 * 20_000


def test_scores_of_thousands_overflow_nothing():
    """A logit that rises by 3,000 at a temperature of 0.3: float32 would end at exp(88)."""
    model, law = both_network(gain=3000.0, radius=1e5), law_of(RARE, RARE)
    for temperature in (0.3, "auto"):
        found = rare.estimate(model, law, 0, method=Itgis(temperature=temperature), budget=2048)
        assert found.log_prob.value == pytest.approx(math.log(BOTH), abs=0.3)


def test_answers_do_not_depend_on_other_events_and_follow_the_seed(transformers):
    model, law = transformers[3], skewed_law(seed=3, power=1.0)
    method = Itgis(temperature=1.0, batch=32)
    alone = rare.estimate(model, law, 1, method=method, budget=128, seed=4)
    together = rare.estimate_many(model, law, [3, 1], method=method, budget=128, seed=4)[1]
    assert alone.log_prob.value == together.log_prob.value
    other = rare.estimate(model, law, 1, method=method, budget=128, seed=5)
    assert other.log_prob.value != alone.log_prob.value


@pytest.mark.parametrize(
    ("options", "part"),
    [
        ({"temperature": 0.0}, "got 0.0"),
        ({"temperature": math.nan}, "got nan"),
        ({"decay": 1.0}, "got 1.0"),
        ({"batch": 0}, "got 0"),
        ({"gradient_share": 0.0}, "got 0.0"),
        ({"warmer_share": 1.0}, "got 1.0"),
    ],
)
def test_unusable_options_get_one_line(options, part):
    with pytest.raises(InputError, match=part) as caught:
        Itgis(**options)
    assert "\n" not in str(caught.value)


def test_laws_and_models_that_do_not_fit_get_one_line():
    model = both_network()
    listed = rare.listed([[0, 1], [1, 0]], model)
    with pytest.raises(InputError, match="independent places"):
        rare.estimate(model, listed, 0, method="itgis", budget=64)
    with pytest.raises(InputError, match="has one input"):
        rare.estimate(model, law_of([1.0], [0, 1.0]), 0, method="itgis", budget=64)
    table = likely.TableModel(["a", "b"], lambda before: {"a": 0.6, "b": 0.4})
    with pytest.raises(CapabilityError):
        rare.estimate(table, law_of([1, 1]), "a", method="itgis", budget=64)
