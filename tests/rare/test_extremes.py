"""The tail of the largest margins: exact tails, their intervals, and when there is none."""

import math

import numpy as np
import pytest
from scipy.stats import genpareto

import likely
from likely import rare
from likely.errors import InputError
from likely.rare.extremes import Forecast, extend
from likely.rare.result import Spent

WINS = rare.Event(name="wins", steps=((0,),))


def exponential_quantiles(n):
    return -np.log1p(-(np.arange(n) + 0.5) / n)


def forecast(margins, **options):
    return Forecast(**options).of_margins(np.asarray(margins), WINS, level=0.95, spent=Spent())


def test_an_exponential_tail_is_extended_over_many_decades():
    scores = exponential_quantiles(20_000)
    for threshold in (12.0, 27.6):
        found = extend(scores, threshold, tail="exponential", top=200)
        # Above the start, the mean excess of quantiles is short of 1 by under 1 in 200.
        start, mean = found.diagnostics["tail_start"], found.diagnostics["tail_mean_excess"]
        assert mean == pytest.approx(1.0, abs=0.005)
        assert found.log_prob == pytest.approx(-start - (threshold - start) / mean, abs=0.01)
        assert found.low < -threshold < found.high
    assert extend(scores, 27.6, tail="gpd", top=200).high > -27.6


@pytest.mark.parametrize(("tail", "shape", "runs"), [("exponential", 0.0, 300), ("gpd", 0.2, 60)])
def test_intervals_cover_the_truth_where_the_tail_is_of_that_kind(tail, shape, runs):
    rng = np.random.default_rng(0)
    truth, covered = float(genpareto.logsf(18.0, shape)), 0
    for _ in range(runs):
        scores = genpareto.rvs(shape, size=2000, random_state=rng)
        found = extend(scores, 18.0, tail=tail, top=80)
        covered += found.low <= truth <= found.high
    # between .9 and .99 but for 1e-4
    assert (248 if runs == 300 else 44) <= covered <= runs


def test_the_level_and_the_number_of_margins_set_the_width():
    scores = np.random.default_rng(1).exponential(size=5000)
    widths = [
        extend(scores, 20.0, tail="exponential", top=top, level=level)
        for top, level in ((400, 0.5), (400, 0.95), (50, 0.95))
    ]
    spans = [one.high - one.low for one in widths]
    assert spans == sorted(spans)


def test_counts_are_used_where_the_event_is_seen_often_enough():
    margins = exponential_quantiles(4000) - 3.0
    found = forecast(margins)
    hits = int((margins > 0).sum())
    assert found.log_prob == math.log(hits / 4000)
    assert "no tail was needed" in found.warnings[0]
    far = forecast(margins - 9.0)
    assert far.log_prob == pytest.approx(-12.0, abs=0.5)
    assert far.low < -12.0 < far.high
    assert far.diagnostics["hits"] == 0


@pytest.mark.parametrize(
    "margins",
    [np.full(500, -1.0), np.full(500, -np.inf), [-1.0] * 10, [-3.0] * 490 + [np.inf] * 10],
)
def test_without_a_tail_hits_are_counted_and_nothing_is_nan(margins):
    found = forecast(margins)
    hits = int((np.asarray(margins) > 0).sum())
    assert found.diagnostics["hits"] == hits
    assert found.log_prob == (math.log(hits / 500) if hits else -math.inf)
    assert found.low <= found.log_prob < found.high <= 0.0
    assert "make no tail" in found.warnings[0]


@pytest.mark.parametrize("tail", ["exponential", "gpd"])
def test_a_law_of_few_inputs_has_no_tail(tail):
    """Nine margins drawn over and over: their ties are no straight line to follow."""
    rng = np.random.default_rng(0)
    for m in (400, 4000):
        for _ in range(20):
            nine = np.array([-0.5, *rng.uniform(-4.0, -0.5, 8)])
            weights = np.array([0.004, *rng.dirichlet(np.ones(8)) * 0.996])
            found = forecast(rng.choice(nine, m, p=weights), tail=tail)
            assert found.log_prob == found.low == -math.inf
            assert math.exp(found.high) == pytest.approx(1 - 0.025 ** (1 / m))
            assert "mostly equal" in found.warnings[0]


def test_a_few_margins_that_are_equal_by_rounding_do_not_end_a_tail():
    scores = np.random.default_rng(0).exponential(size=5000)
    rounded = scores.round(2)
    assert len(np.unique(np.sort(rounded)[-51:])) < 51
    found = extend(rounded, 20.0, tail="exponential", top=50)
    plain = extend(scores, 20.0, tail="exponential", top=50)
    assert found.log_prob == pytest.approx(plain.log_prob, rel=0.01)


def test_a_tail_that_bends_down_is_found_out_on_trial():
    """Margins that end: a straight line over-predicts what the whole sample shows already."""
    rng = np.random.default_rng(2)
    bounded = forecast(rng.beta(2.0, 0.6, size=40_000) - 1.2)
    assert bounded.diagnostics["trial_log_ratio"] > 1.0
    assert "over-predicts" in bounded.warnings[1]
    assert bounded.diagnostics["tail_shape"] < -0.3
    assert forecast(rng.beta(2.0, 0.6, size=40_000) - 1.2, tail="gpd").log_prob == -math.inf
    straight = forecast(rng.exponential(size=40_000) - 25.0)
    assert abs(straight.diagnostics["trial_log_ratio"]) < 1.0
    assert len(straight.warnings) == 1


def test_events_of_several_steps_and_models_without_tensors_are_forecast():
    def law(before):
        places = 0.9 * sum({"a": 1, "b": 2, "c": 4}.get(token, 0) for token in before[-6:])
        odds = math.exp(-8.0 + 0.45 * places)
        return {"a": odds / (1 + odds), "b": 0.6 / (1 + odds), "c": 0.4 / (1 + odds)}

    model = likely.TableModel(["a", "b", "c"], law)
    inputs = rare.independent([{"a": 5.0, "b": 2.0, "c": 1.0}] * 6, model)
    events = [rare.token("a", model), rare.continuation("ab", model)]
    found = rare.estimate_many(model, inputs, events, method="forecast", budget=600, top=20)
    assert found[0].quantity == "inputs"
    assert found[0].spent.forwards == 450  # 600 first steps, read together, and 300 second ones
    answer = rare.estimate(model, inputs, events[1], method="forecast", budget=1200, top=20)
    assert answer.log_prob.value <= found[0].log_prob.value + 1e-12  # from the same 600 inputs
    again = rare.estimate(model, inputs, events[0], method="forecast", budget=600, top=20)
    assert again.log_prob.value == found[0].log_prob.value
    assert rare.RareEstimate.from_dict(again.to_dict()) == again


def test_a_tail_of_too_few_margins_is_refused():
    with pytest.raises(InputError, match="top=3"):
        Forecast(top=3)
