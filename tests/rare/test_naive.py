"""Counting hits: against every input there is, for every kind of event and of model."""

import math

import numpy as np
import pytest
from scipy.stats import beta

import likely
from likely import rare
from likely.errors import InputError, UnknownNameError
from likely.rare.event import Event, margins
from likely.rare.reading import Reader


def two_place_model():
    """Answer with the last token unless both are "a": then with "b"."""

    def law(before):
        last = "b" if before[-2:] == ("a", "a") else before[-1]
        return {"a": 0.2, "b": 0.2, "c": 0.2, last: 0.6}

    return likely.TableModel(["a", "b", "c"], law)


def two_place_law(model):
    return rare.independent([{"a": 0.1, "c": 0.9}, {"a": 0.2, "b": 0.3, "c": 0.5}], model)


def exact(model, law, event):
    reader = Reader(model)
    return math.fsum(
        math.exp(log_prob)
        for inputs, log_probs in law.iter_inputs(size=50)
        for log_prob, hit in zip(log_probs, reader.hits(inputs, [event])[:, 0], strict=True)
        if hit
    )


def test_the_interval_is_that_of_the_counts_and_covers_the_truth():
    model = two_place_model()
    law = two_place_law(model)
    truth = {"a": 0.2 * 0.9, "b": 0.3 + 0.02, "c": 0.5}
    found = rare.estimate_many(model, law, list(truth), method="naive", budget=3000, level=0.999)
    for one, prob in zip(found, truth.values(), strict=True):
        assert exact(model, law, one.event) == pytest.approx(prob, abs=1e-15)
        hits = one.log_prob.diagnostics["hits"]
        assert one.prob.value == pytest.approx(hits / 3000)
        assert one.prob.low <= prob <= one.prob.high
        assert one.prob.high == pytest.approx(beta.isf(0.0005, hits + 1, 3000 - hits))
    assert sum(one.prob.value for one in found) == pytest.approx(1.0)  # one winner an input


def test_no_hit_gives_zero_with_an_upper_limit_and_says_so():
    model = two_place_model()
    law = rare.independent([{"c": 1}, {"c": 1}], model)
    found = rare.estimate(model, law, "a", method="naive", budget=500)
    assert found.is_zero
    assert found.log_prob.low == -math.inf
    assert found.prob.high == pytest.approx(1 - 0.025 ** (1 / 500))
    assert "no hit among 500" in found.warnings[0]


def test_certain_events_have_probability_one():
    model = two_place_model()
    law = rare.independent([{"c": 1}, {"c": 1}], model)
    found = rare.estimate(model, law, "c", method="naive", budget=500)
    assert found.log_prob.value == 0.0
    assert found.log_prob.high == 0.0


def test_a_tie_at_the_top_is_nobodys_win():
    model = likely.TableModel(["a", "b"], lambda before: {"a": 0.5, "b": 0.5})
    law = rare.independent([{"a": 1, "b": 1}], model)
    for name in ("a", "b"):
        assert rare.estimate(model, law, name, method="naive", budget=64).is_zero


def test_answers_do_not_depend_on_other_events_nor_on_smaller_budgets_reading():
    model = two_place_model()
    law = two_place_law(model)
    alone = rare.estimate(model, law, "b", method="naive", budget=2000, seed=4)
    together = rare.estimate_many(model, law, ["a", "b"], method="naive", budget=2000, seed=4)[1]
    assert alone.log_prob.value == together.log_prob.value
    other = rare.estimate(model, law, "b", method="naive", budget=2000, seed=5)
    assert other.log_prob.value != alone.log_prob.value


def test_sets_continuations_and_margins_are_events():
    model = two_place_model()
    law = two_place_law(model)
    either = rare.any_of(["a", "b"], model)
    assert exact(model, law, either) == pytest.approx(0.18 + 0.32)
    # After "a a" comes "b", then (the last token again) "b": the answer begins with "bb".
    answer = rare.continuation("bb", model)
    assert exact(model, law, answer) == pytest.approx(0.32)
    assert answer.steps == ((1,), (1,))
    # "a" after "c a", and then "a a" makes "b".
    turned = rare.continuation("ab", model)
    assert exact(model, law, turned) == pytest.approx(0.18)
    lead = math.log(0.6 / 0.2)
    assert exact(model, law, rare.token("c", model, above=lead - 0.01)) == pytest.approx(0.5)
    assert exact(model, law, rare.token("c", model, above=lead + 0.01)) == 0.0
    near = rare.token("a", model, above=-lead - 0.01)
    assert exact(model, law, near) == pytest.approx(1.0)  # never more than log 3 behind
    found = rare.estimate_many(
        model, law, [either, answer, turned, near], method="naive", budget=2000, level=0.999
    )
    for one, prob in zip(found, [0.5, 0.32, 0.18, 1.0], strict=True):
        assert one.prob.low <= prob <= one.prob.high


def test_winners_of_several_steps_may_be_all_tokens_together():
    """Two tokens: "ab" asks for both, one at each step; only a step that asks for all is none."""
    names = {"a": "b", "b": "a"}
    model = likely.TableModel(
        list(names), lambda before: {names[before[-1]]: 0.6, before[-1]: 0.4}, bos=None
    )
    assert model.info.n_vocab == 2
    law = rare.independent([{"a": 0.3, "b": 0.7}], model)
    answer = rare.continuation("ab", model)
    assert rare.enumerate_events(model, law, [answer])[0].value == pytest.approx(0.7)
    for steps in (((0, 1),), ((0,), (0, 1))):
        with pytest.raises(InputError, match="leaves at least one token out, got all 2"):
            rare.enumerate_events(model, law, [Event(name="all", steps=steps)])
    with pytest.raises(InputError, match="got all 2"):
        rare.any_of(["a", "b"], model)


def test_a_network_is_read_like_its_own_rows(gpt2):
    """Batches of last states give the margins that whole rows of log-probabilities give."""
    rng = np.random.default_rng(0)
    inputs = rng.integers(0, gpt2.info.n_tokens, (40, 9))
    rows = np.stack([row.log_probs for row in likely.next_tokens(gpt2, inputs.tolist())])
    reader = Reader(gpt2)
    assert reader._batched is not None
    winner = int(np.bincount(rows.argmax(axis=1)).argmax())
    events = [rare.token(winner, gpt2), rare.any_of([3, 5, 8], gpt2)]
    found = reader.margins(inputs, events)
    np.testing.assert_allclose(found[:, 0], margins(rows, [winner]), atol=2e-5)
    np.testing.assert_allclose(found[:, 1], margins(rows, [3, 5, 8]), atol=2e-5)
    np.testing.assert_array_equal(reader.winners(inputs), rows.argmax(axis=1))
    two = rare.continuation([winner, 7], gpt2)
    longer = np.hstack([inputs, np.full((40, 1), winner)])
    after = np.stack([row.log_probs for row in likely.next_tokens(gpt2, longer.tolist())])
    expected = np.minimum(margins(rows, [winner]), margins(after, [7]))
    np.testing.assert_allclose(reader.margins(inputs, [two])[:, 0], expected, atol=2e-5)
    assert reader.meter.spent.token_evaluations == 40 * (9 + 9 + 9 + 10)


def test_events_with_steps_after_the_same_tokens_are_read_together(gpt2):
    for model in (gpt2, two_place_model()):
        inputs = np.random.default_rng(0).integers(0, 3, (10, 3))
        sets = ((0,), (1,), (0, 2))
        events = [
            *(Event(name="one", steps=(one,)) for one in sets),
            *(Event(name="two", steps=((1,), one)) for one in sets),
        ]
        reader, alone = Reader(model), Reader(model)
        together = reader.margins(inputs, events)
        apart = [alone.margins(inputs, [event])[:, 0] for event in events]
        np.testing.assert_array_equal(together, np.stack(apart, axis=1))
        assert reader.meter.spent.forwards == 10 * 2  # as they are, and after token 1


def test_what_was_spent_is_counted():
    model = two_place_model()
    found = rare.estimate(model, two_place_law(model), "a", method="naive", budget=100)
    assert found.spent.forwards == 100
    assert found.spent.token_evaluations == 300
    assert found.log_prob.cost.model_calls == 100


def meeting_methods(law):
    return {
        "naive": {}, "forecast": {}, "itgis": {}, "mhis": {}, "proposal": {"proposal": law},
    }  # fmt: skip


@pytest.mark.parametrize("method", ["naive", "forecast", "itgis", "mhis", "proposal"])
def test_a_budget_holds_whatever_the_steps_of_an_event(gpt2, method):
    law = rare.independent([{1: 1.0, 2: 2.0, 3: 3.0}] * 3, gpt2)
    options = meeting_methods(law)[method]
    events = [rare.continuation([5, 6, 7][:n], gpt2) for n in (1, 2, 3)]
    for event in events:
        found = rare.estimate(gpt2, law, event, method=method, budget=500, **options)
        assert 0.8 * 500 < found.spent.calls <= 500
    found = rare.estimate_many(gpt2, law, events, method=method, budget=500, **options)
    assert sum(one.spent.calls for one in found) <= 3 * 500


@pytest.mark.parametrize("method", ["naive", "forecast", "proposal"])
def test_events_of_more_steps_have_fewer_of_the_same_inputs(method):
    model = two_place_model()
    law = two_place_law(model)
    options = meeting_methods(law)[method]
    events = [rare.continuation(text, model) for text in ("b", "bb", "bbb")]
    budget = 3001  # an input more than a whole number for two steps and three
    together = rare.estimate_many(model, law, events, method=method, budget=budget, **options)
    numbers = [
        one.log_prob.diagnostics["draws" if method == "proposal" else "inputs"] for one in together
    ]
    assert numbers == [3001, 1500, 1000]
    for event, one in zip(events, together, strict=True):
        alone = rare.estimate(model, law, event, method=method, budget=budget, **options)
        assert alone.log_prob.value == one.log_prob.value
        assert one.prob.low <= exact(model, law, event) <= one.prob.high
    with pytest.raises(InputError, match="'bbb' takes 3 model calls for each input, got a budget"):
        rare.estimate_many(model, law, events, method=method, budget=2, **options)


@pytest.mark.parametrize(
    ("target", "options", "error", "part"),
    [
        ("ab", {}, InputError, "2 tokens"),
        (55, {}, InputError, "got 55"),
        ("a", {"budget": 0}, InputError, "got 0"),
        ("a", {"level": 1.0}, InputError, "got 1.0"),
        ("a", {"method": "niave"}, UnknownNameError, "naive"),
        ("a", {"temperature": 2}, InputError, "no option 'temperature'"),
    ],
)
def test_unusable_questions_get_one_line(target, options, error, part):
    model = two_place_model()
    options = {"method": "naive", "budget": 10, **options}
    with pytest.raises(error, match=part) as caught:
        rare.estimate(model, two_place_law(model), target, **options)
    assert "\n" not in str(caught.value)


def test_results_come_back_from_json(tmp_path):
    model = two_place_model()
    found = rare.estimate(model, two_place_law(model), "a", method="naive", budget=100)
    path = tmp_path / "a.json"
    found.to_json(path)
    assert rare.RareEstimate.from_json(path) == found
    assert found.to_frame().loc[0, "event"] == "a"
    assert "naive" in found.summary()


def test_tokens_and_near_misses_are_counted_from_one_reading(gpt2):
    law = rare.independent([{1: 1.0, 2: 2.0}, {3: 1.0, 4: 1.0}], gpt2)
    events = [rare.token(5, gpt2), rare.token(5, gpt2, above=-1.0)]
    found = rare.estimate_many(gpt2, law, events, method="naive", budget=64)
    assert sum(one.spent.forwards for one in found) == 64
    alone = [rare.estimate(gpt2, law, one, method="naive", budget=64) for one in events]
    assert [one.log_prob.value for one in found] == [one.log_prob.value for one in alone]
