"""The method as a user calls it: options, company, degenerate laws, and what it warns of."""

import math

import numpy as np
import pytest
from jaxtyping import TypeCheckError

import likely
from likely import rare
from likely.errors import InputError
from likely.rare.activations import collect
from likely.rare.method import Task
from likely.stats.intervals import clopper_pearson


def letters(model, n=6):
    return rare.independent([{i: 1.0 + i % 3 for i in range(30, 60)}] * n, model)


@pytest.fixture(scope="module")
def tokens(gpt2):
    """Tokens by how often they win: a common one, a rarer one, and one that never does."""
    law, events = letters(gpt2), [rare.token(i, gpt2) for i in range(gpt2.info.n_tokens)]
    found = rare.estimate_many(gpt2, law, events, method="naive", budget=3000, seed=1)
    order = sorted(events, key=lambda event: -found[events.index(event)].prob.value)
    hits = [found[events.index(event)].log_prob.diagnostics["hits"] for event in order]
    rarer = next(i for i, k in enumerate(hits) if k < 150)
    return order[0], order[rarer], order[-1]


def test_the_answer_of_an_event_does_not_depend_on_its_company(gpt2, tokens):
    law = letters(gpt2)
    together = rare.estimate_many(gpt2, law, tokens, method="qld", budget=1200, seed=2)
    for event, one in zip(tokens, together, strict=True):
        alone = rare.estimate(gpt2, law, event, method="qld", budget=1200, seed=2)
        # Directions are multiplied together, so positions agree up to float32 rounding.
        assert alone.log_prob.value == pytest.approx(one.log_prob.value, abs=1e-5)
        assert alone.log_prob.low == pytest.approx(one.log_prob.low, abs=1e-4)
        assert alone.log_prob.high == pytest.approx(one.log_prob.high, abs=1e-4)
        assert alone.quantity == "activations"
    assert together[0].spent.forwards == 400  # a third of the inputs that all share
    assert together[0].log_prob.low < together[0].log_prob.value < together[0].log_prob.high


def test_where_the_event_is_common_pairs_and_plain_counts_agree(gpt2, tokens):
    law = letters(gpt2)
    found = rare.estimate(gpt2, law, tokens[0], method="qld", budget=3000)
    activations = collect(Task(model=gpt2, distribution=law, events=tokens[:1], budget=3000))
    share = float((activations.margins(tokens[:1])[:, 0] > 0.0).mean())
    assert found.prob.value == pytest.approx(share, rel=0.5)
    misfit = found.log_prob.diagnostics["misfit_log_ratio"]
    assert misfit == pytest.approx(found.log_prob.value - math.log(share), abs=0.15)
    assert found.log_prob.diagnostics["misfit_margin"] == 0.0


def test_tails_go_on_below_the_resolution_and_report_the_count_too(gpt2, tokens):
    law, far = letters(gpt2), rare.token(tokens[1].winners[0], gpt2, above=2.0)
    counted = rare.estimate(gpt2, law, far, method="qld", budget=600)
    normal = rare.estimate(gpt2, law, far, method="qld", budget=600, tail="gaussian")
    assert counted.is_zero
    assert any("resolution of 2.8e-06" in text for text in counted.warnings)
    assert counted.prob.high == pytest.approx(1 - 0.025 ** (1 / 600))
    assert -200.0 < normal.log_prob.value < -2.0 * math.log(600)
    assert normal.log_prob.diagnostics["log_prob_counted"] == -math.inf
    assert normal.log_prob.diagnostics["tail_part"] == pytest.approx(1.0)
    assert normal.log_prob.low < normal.log_prob.value < normal.log_prob.high
    pareto = rare.estimate(gpt2, law, tokens[1], method="qld", budget=600, tail="gpd")
    plain = rare.estimate(gpt2, law, tokens[1], method="qld", budget=600)
    assert pareto.log_prob.diagnostics["log_prob_counted"] == plain.log_prob.value
    assert pareto.log_prob.value == pytest.approx(plain.log_prob.value, abs=0.3)
    for found in (counted, normal, pareto):
        assert rare.RareEstimate.from_dict(found.to_dict()) == found
        assert "independent of the rest" in found.warnings[0]


def test_margins_and_sets_are_nested(gpt2, tokens):
    law = letters(gpt2)
    one, other = tokens[0].winners[0], tokens[1].winners[0]
    near, plain, far = (
        rare.estimate(gpt2, law, rare.token(one, gpt2, above=above), method="qld", budget=800)
        for above in (-0.5, 0.0, 0.3)
    )
    assert near.prob.value > plain.prob.value > far.prob.value > 0.0
    both = rare.estimate(gpt2, law, rare.any_of([one, other], gpt2), method="qld", budget=800)
    assert both.prob.value > plain.prob.value


def test_a_law_of_one_input_is_counted(gpt2):
    law = rare.independent([{40: 1}, {41: 1}], gpt2, bos=False)
    winner = int(np.argmax(likely.next_token(gpt2, [40, 41]).log_probs))
    certain = rare.estimate(gpt2, law, winner, method="qld", budget=300)
    never = rare.estimate(gpt2, law, (winner + 1) % 90, method="qld", budget=300)
    assert certain.log_prob.value == 0.0
    assert never.is_zero
    assert never.prob.high == pytest.approx(1 - 0.025 ** (1 / 300))
    assert "all activations are the same" in never.warnings[0]


@pytest.mark.parametrize("tail", ["none", "gaussian", "gpd"])
def test_a_law_of_a_few_inputs_gives_no_nan(gpt2, tail):
    law = rare.independent([{40: 1, 41: 1}, {42: 3, 43: 1}], gpt2)
    found = rare.estimate_many(gpt2, law, list(range(90)), method="qld", budget=400, tail=tail)
    assert sum(one.prob.value for one in found) == pytest.approx(1.0, abs=0.3)
    assert any("no activation in the span" in one.warnings[0] for one in found)
    for one in found:
        assert one.log_prob.low <= one.log_prob.value <= one.log_prob.high <= 0.0


@pytest.mark.parametrize("tail", ["gaussian", "gpd"])
def test_where_parts_are_tied_pairs_are_counted_whatever_the_tail(gpt2, tail):
    law = rare.independent([{40: 1, 41: 1, 44: 1}, {42: 3, 43: 1, 60: 1}], gpt2)
    asked = np.argsort(-rare.truth(gpt2, law, n=100).probs)[:5].tolist()
    counted = rare.estimate_many(gpt2, law, asked, method="qld", budget=400)
    found = rare.estimate_many(gpt2, law, asked, method="qld", budget=400, tail=tail)
    for one, plain in zip(found, counted, strict=True):
        assert sum("no tail is fitted" in text for text in one.warnings) == 1
        assert not any("goes on below" in text or "a tail helps" in text for text in one.warnings)
        assert one.log_prob.value == plain.log_prob.value
        assert (one.log_prob.low, one.log_prob.high) == (plain.log_prob.low, plain.log_prob.high)


@pytest.mark.parametrize("tail", ["none", "gaussian", "gpd"])
def test_where_every_pair_hits_the_event_is_as_certain_as_counting_makes_it(gpt2, tail):
    event = rare.token(5, gpt2, above=-1000.0)
    for budget in (300, 500):
        found = rare.estimate(gpt2, letters(gpt2), event, method="qld", budget=budget, tail=tail)
        assert found.prob.value == pytest.approx(1.0, abs=1e-6)
        assert found.prob.low == pytest.approx(clopper_pearson(budget, budget)[0], rel=1e-9)
        assert found.prob.high == 1.0


def test_what_was_scored_and_read_is_counted(gpt2, tokens):
    found = rare.estimate(gpt2, letters(gpt2), tokens[1], method="qld", budget=700)
    assert found.spent.forwards == 700
    assert found.spent.token_evaluations == 4900  # with the BOS
    assert found.spent.scores == 700


@pytest.mark.parametrize(
    ("options", "part"),
    [({"tail": "fat"}, "'fat'"), ({"ridge": -1.0}, "-1.0"), ({"block": 3}, "no option 'block'")],
)
def test_unusable_options_get_one_line(gpt2, options, part):
    with pytest.raises((InputError, TypeCheckError), match=part):
        rare.estimate(gpt2, letters(gpt2), 5, method="qld", budget=100, **options)
