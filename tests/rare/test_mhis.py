"""Chains weighted back to the law: right on average, and doubtful where they should be."""

import math

import numpy as np
import pytest
from rare_toys import (
    BOTH,
    RARE,
    answers,
    both_network,
    constant_network,
    law_of,
    needle_network,
    skewed_law,
    tiny_transformer,
)  # fmt: skip

from likely import rare
from likely.errors import InputError
from likely.rare.gradient.places import Places
from likely.rare.gradient.whole import Gradients
from likely.rare.mhis import Mhis, _draws_of, ladder
from likely.rare.reading import Meter
from likely.rare.walk.walkers import Trace, Walkers
from likely.stats.intervals import clopper_pearson

ESTIMATORS = ["self-normalised", "bridge", "ladder"]


@pytest.fixture(scope="module")
def transformer(tmp_path_factory):
    """A random transformer of five tokens; with six skewed places it has 15,625 inputs."""
    return tiny_transformer(tmp_path_factory.mktemp("five"), seed=3)


ONE = rare.Event(name="one", steps=((1,),))
SET = rare.Event(name="set", steps=((0, 1),), above=1.2)
STEPS = rare.Event(name="steps", steps=((0,), (1,)), above=-0.365)


@pytest.mark.parametrize(
    ("estimator", "event", "temperature"),
    [
        ("ladder", SET, 0.4),
        ("ladder", STEPS, 0.4),
        ("bridge", SET, 1.6),
        ("self-normalised", ONE, 1.6),
    ],
    ids=["set", "steps", "bridge", "self-normalised"],
)
def test_the_mean_over_seeds_is_the_enumerated_probability(
    transformer, estimator, event, temperature
):
    """Within four standard errors of six seeds, and a bias that short chains may have."""
    method = Mhis(temperature=temperature, estimator=estimator, burn_in=64)
    law = skewed_law(seed=3, power=2.0)
    truth, found = answers(method, transformer, law, event, budget=6144, seeds=6)
    assert 1e-3 < truth < 2e-2
    ratios = np.exp(np.array([one.log_prob for one in found]) - math.log(truth))
    error = ratios.std(ddof=1) / math.sqrt(6)
    assert error < 0.2
    assert abs(ratios.mean() - 1.0) < 4 * error + 0.03
    covered = sum(one.low <= math.log(truth) <= one.high for one in found)
    assert covered >= 3  # of six at 95 %: fewer but for 1e-4 of seeds


def test_single_chains_get_stuck_where_a_ladder_does_not_and_say_so(transformer):
    """At a temperature of 0.2 a chain keeps to the region that it cooled into."""
    law = skewed_law(seed=3, power=2.0)
    alone = Mhis(temperature=0.2, estimator="bridge", burn_in=64)
    truth, stuck = answers(alone, transformer, law, STEPS, budget=4096, seeds=1)
    for one in stuck:
        assert one.log_prob < math.log(truth) - 2.0
        assert one.diagnostics["r_hat_scores"] > 1.5
        assert any("interval is that of the" in text for text in one.warnings)
        assert one.low <= math.log(truth) <= one.high
    method = Mhis(temperature=0.2, burn_in=64)
    _, found = answers(method, transformer, law, STEPS, budget=8192, seeds=1)
    for one in found:
        assert abs(one.log_prob - math.log(truth)) < 1.0
        assert one.diagnostics["r_hat_scores"] < 1.1
        assert one.diagnostics["arrivals"] > 0


def test_few_ways_from_the_law_to_the_event_are_warned_of(transformer):
    """Two groups of chains that share one region agree: only the count of arrivals tells."""
    law = skewed_law(seed=3, power=2.0)
    method = Mhis(temperature=0.2, burn_in=16, chains=16)
    _, found = answers(method, transformer, law, STEPS, budget=1600, seeds=1)
    for one in found:
        assert one.diagnostics["arrivals"] < 30
        assert one.diagnostics["hits"] > 0
        assert any("reached from the law" in text for text in one.warnings)


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_a_millionth_is_found_and_covered(estimator):
    model, law = both_network(gain=10.0), law_of(RARE, RARE, [1, 1, 1, 1])
    found = rare.estimate(model, law, 0, method="mhis", budget=8192, estimator=estimator)
    low, high = found.log_prob.low, found.log_prob.high
    assert low <= math.log(BOTH) <= high
    assert high - low < 2.0
    assert found.log_prob.diagnostics["r_hat_hits"] < 1.05
    if estimator != "self-normalised":
        assert found.warnings == ()


@pytest.mark.parametrize(
    ("temperature", "part"), [(1.0, "below all that the chains"), (2.0, "rests on 2.0 draws")]
)
def test_self_normalised_weights_that_rest_on_nothing_are_warned_of(temperature, part):
    """So cold that chains seldom or never see the bulk of the law, where the weights are."""
    model, law = both_network(gain=40.0), law_of(RARE, RARE)
    cold = Mhis(temperature=temperature, estimator="self-normalised")
    found = rare.estimate(model, law, 0, method=cold, budget=2048)
    assert found.log_prob.value > math.log(BOTH) + 3.0
    assert found.log_prob.low <= math.log(BOTH)
    assert any(part in text for text in found.warnings)
    assert any("usually" in text for text in found.warnings)


def test_at_an_infinite_temperature_every_proposal_is_taken_and_weights_are_equal():
    model = both_network()
    law = law_of([0.3, 0.2, 0.3, 0.2], [0.3, 0.2, 0.3, 0.2])
    for estimator in ESTIMATORS:
        method = Mhis(temperature=math.inf, estimator=estimator, chains=128)
        found = rare.estimate(model, law, 0, method=method, budget=4096)
        seen = found.log_prob.diagnostics
        assert seen["acceptance"] == 1.0
        assert seen["log_z"] == pytest.approx(0.0, abs=1e-9)
        assert found.prob.value == pytest.approx(0.09, abs=0.03)
        n = seen["steps"] * seen["groups"] * seen["rungs"]
        if estimator == "self-normalised":
            assert found.prob.value == pytest.approx(seen["hits"] / n, rel=1e-12)
        assert seen["exchange"] == 1.0


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_the_budget_holds_the_burn_in_and_is_never_exceeded(estimator):
    model, law = both_network(), law_of(RARE, RARE)
    method = Mhis(temperature=1.0, estimator=estimator, burn_in=12)
    found = rare.estimate(model, law, 0, method=method, budget=1028)
    seen = found.log_prob.diagnostics
    assert 1028 - 64 < found.spent.calls <= 1028
    n_chains = seen["groups"] * seen["rungs"]
    assert n_chains == 32
    plain = seen["plain_draws"] - 32
    assert plain == (256 if estimator == "bridge" else 0)
    assert (seen["burn_in"] + seen["steps"]) * 32 + plain == found.spent.calls
    assert seen["burn_in"] == 12
    halved = Mhis(temperature=1.0, estimator=estimator)
    short = rare.estimate(model, law, 0, method=halved, budget=1028).log_prob.diagnostics
    assert short["burn_in"] in (short["steps"], short["steps"] - 1)


def test_a_small_budget_runs_fewer_chains_and_too_small_a_one_none():
    model, law = both_network(), law_of(RARE, RARE)
    for budget in (64, 100, 300):
        seen = rare.estimate(model, law, 0, method="mhis", budget=budget).log_prob.diagnostics
        assert seen["groups"] * seen["rungs"] * 16 <= budget
        assert seen["groups"] >= 2
    for estimator, least in (("ladder", 64), ("bridge", 42), ("self-normalised", 32)):
        method = Mhis(estimator=estimator)
        with pytest.raises(InputError, match=f"{least} calls at least, got {least - 1}"):
            rare.estimate(model, law, 0, method=method, budget=least - 1)
        found = rare.estimate(model, law, 0, method=method, budget=least)
        assert 0.75 * least < found.spent.calls <= least


def test_chains_of_a_bridge_are_no_shorter_for_the_draws_beside_them(gpt2):
    """Sixteen calls give four steps even where one place varies and every step reads anew."""
    law = rare.independent([{40: 1}, {42: 3, 43: 1, 44: 2}], gpt2)
    for budget in (42, 43, 47, 48, 64, 100, 600):
        found = rare.estimate(gpt2, law, 5, method="mhis", budget=budget, estimator="bridge")
        seen = found.log_prob.diagnostics
        n_plain = seen["plain_draws"] - seen["groups"]
        assert budget - n_plain >= 16 * seen["groups"]
        assert n_plain >= budget // 4 - seen["groups"]
        assert seen["steps"] >= 4
        assert found.spent.calls <= budget


def test_draws_of_a_rung_stand_together_so_that_stepping_stones_are_near():
    """Normal scores: a tilt of beta moves their mean by beta, and its constant is beta^2 / 2."""
    rungs = ladder(0.3, 8)
    scores = np.random.default_rng(0).normal(size=(500, 4, 8)) + rungs
    hits = scores > 3.5
    trace = Trace(scores=scores, hits=hits, acceptance=1.0, exchange=1.0, n_arrived=0)
    draws = _draws_of(trace, rungs)
    assert rungs[-1] ** 2 / 2 > 5.0
    np.testing.assert_allclose(draws._stepping_stones(), rungs**2 / 2, atol=0.25)
    np.testing.assert_array_equal(draws.hits, draws.scores > 3.5)
    np.testing.assert_array_equal(np.sort(draws.scores[2]), np.sort(scores[:, 2], axis=None))


def test_rows_that_met_the_first_rung_while_chains_were_cooled_are_not_arrivals():
    model, law = both_network(), law_of(RARE, RARE)
    landscape = Gradients(model, rare.token(0, model), Places.of(law), Meter())
    walkers = Walkers(landscape, np.zeros(4), 8, rng=np.random.default_rng(0))
    for _ in range(9):
        walkers.step()
    assert walkers._is_fresh.any()
    _, walkers = Mhis(temperature=1.0)._burnt_in(walkers, walkers.n_calls)  # no call is left
    np.testing.assert_array_equal(walkers.ladder, ladder(1.0, 4))
    assert not walkers._is_fresh.any()


def test_certain_and_impossible_events_are_known_only_as_well_as_the_law_was_tried():
    model, law = constant_network(winner=1), law_of(RARE, RARE)
    certain, never = rare.estimate_many(model, law, [1, 2], method="mhis", budget=1024)
    assert certain.log_prob.value == pytest.approx(0.0, abs=1e-9)
    assert certain.prob.low == pytest.approx(clopper_pearson(32, 32)[0])
    assert never.is_zero
    assert never.prob.high == pytest.approx(clopper_pearson(0, 32)[1])
    assert "no hit" in never.warnings[0]
    bridged = rare.estimate(model, law, 2, method="mhis", estimator="bridge", budget=1024)
    assert bridged.prob.high == pytest.approx(clopper_pearson(0, 32 + 256)[1])


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_a_needle_is_a_zero_that_excludes_nothing(estimator):
    model, law = needle_network(), law_of(*[RARE] * 6)
    found = rare.estimate(model, law, 0, method="mhis", budget=1024, estimator=estimator)
    assert found.is_zero
    assert found.log_prob.low == -math.inf
    assert found.prob.high > 1e-3
    assert "no hit" in found.warnings[0]


def test_scores_of_thousands_overflow_nothing():
    """A logit that rises by 3,000 at a temperature of 100: float32 would end at exp(88)."""
    model, law = both_network(gain=3000.0, radius=1e5), law_of(RARE, RARE)
    method = Mhis(temperature=300.0, chains=128)
    found = rare.estimate(model, law, 0, method=method, budget=8192)
    assert found.log_prob.low <= math.log(BOTH) <= found.log_prob.high
    frozen = rare.estimate(model, law, 0, method=Mhis(temperature=0.3), budget=1024)
    assert not math.isnan(frozen.log_prob.value)


def test_answers_do_not_depend_on_other_events_and_follow_the_seed(transformer):
    law = skewed_law(seed=3, power=1.0)
    method = Mhis(temperature=1.0, estimator="self-normalised", chains=8)
    alone = rare.estimate(transformer, law, 3, method=method, budget=128, seed=4)
    together = rare.estimate_many(transformer, law, [1, 3], method=method, budget=128, seed=4)[1]
    assert alone.log_prob.value == together.log_prob.value
    other = rare.estimate(transformer, law, 3, method=method, budget=128, seed=5)
    assert other.log_prob.value != alone.log_prob.value


def test_results_come_back_from_json_with_what_the_chains_did(tmp_path):
    model, law = both_network(), law_of(RARE, RARE)
    found = rare.estimate(model, law, 0, method="mhis", budget=1024)
    found.to_json(tmp_path / "a.json")
    assert rare.RareEstimate.from_json(tmp_path / "a.json") == found


def test_a_ladder_begins_with_the_law_itself():
    np.testing.assert_allclose(ladder(0.5, 3), [0.0, 4 / 3, 2.0])
    np.testing.assert_allclose(ladder(0.5, 1), [2.0])
    assert not ladder(math.inf, 4).any()


@pytest.mark.parametrize(
    ("options", "part"),
    [
        ({"temperature": -1.0}, "got -1.0"),
        ({"burn_in": -1}, "got -1"),
        ({"chains": 1, "estimator": "bridge"}, "got 8 rungs and 1"),
        ({"chains": 15}, "16 chains at least"),
        ({"rungs": 1}, "got 1 rungs"),
    ],
)
def test_unusable_options_get_one_line(options, part):
    with pytest.raises(InputError, match=part) as caught:
        Mhis(**options)
    assert "\n" not in str(caught.value)
