"""Inputs drawn from another law: against enumeration, with honest intervals."""

import math
import types

import numpy as np
import pytest
from jaxtyping import TypeCheckError

import likely
from likely import rare
from likely.errors import InputError
from likely.rare.method import Task
from likely.rare.proposal import ProposalImportance, largest_log_weight, weighted
from likely.rare.reading import Reader
from likely.rare.result import Spent


def counting_model():
    """Answer with "b" where the input has at least five of them among six, else with "a"."""

    def law(before):
        often = sum(token == "b" for token in before[-6:]) >= 5
        return {"a": 0.2, "b": 0.8} if often else {"a": 0.8, "b": 0.2}

    return likely.TableModel(["a", "b"], law)


def coins(model, share, n=6, name="coins"):
    return rare.independent([{"a": 1.0 - share, "b": share}] * n, model, name=name)


def test_a_proposal_is_an_option_that_must_be_given():
    with pytest.raises(InputError, match="method 'proposal' needs its option 'proposal'"):
        rare.estimate(counting_model(), coins(counting_model(), 0.5), "b", method="proposal")


def test_whoever_watches_is_told_what_is_read():
    model, told = counting_model(), []
    watch = types.SimpleNamespace(expect=told.append, advance=told.append)
    law = coins(model, 0.5)
    method = ProposalImportance(proposal=law)
    rare.estimate(model, law, "b", method=method, budget=30, progress=watch)
    assert sum(told) == 30 * law.length


TRUTH = 6 * 0.01**5 * 0.99 + 0.01**6  # 5.95e-10


def run(model, proposal, seed, *, law=None, budget=400, target="b"):
    method = ProposalImportance(proposal=proposal)
    law = coins(model, 0.01) if law is None else law
    return rare.estimate(model, law, target, method=method, budget=budget, seed=seed)


def test_weights_times_proposal_are_the_law_for_every_input():
    model = counting_model()
    law, proposal = coins(model, 0.01), coins(model, 0.6)
    event = rare.token("b", model)
    reader = Reader(model)
    total = 0.0
    for inputs, log_probs in proposal.iter_inputs(size=64):
        weights = law.log_prob(inputs) - proposal.log_prob(inputs)
        total += float((np.exp(log_probs + weights) * reader.hits(inputs, [event])[:, 0]).sum())
    assert total == pytest.approx(TRUTH, rel=1e-12)


def test_the_mean_over_seeds_is_the_truth_and_the_intervals_cover_it():
    """Draws of all inputs by their probabilities under the proposal, as the method makes them."""
    model = counting_model()
    law, proposal = coins(model, 0.01), coins(model, 0.6)
    inputs, log_probs = next(iter(proposal.iter_inputs(size=64)))
    weights = law.log_prob(inputs) - proposal.log_prob(inputs)
    hits = Reader(model).hits(inputs, [rare.token("b", model)])[:, 0]
    log_hits = np.where(hits, weights, -np.inf)
    rng, found = np.random.default_rng(0), []
    for _ in range(400):
        drawn = rng.choice(64, size=200, p=np.exp(log_probs))
        found.append(
            weighted(log_hits[drawn], weights[drawn], level=0.95, most=np.inf, spent=Spent())
        )
    probs = np.exp([one.log_prob for one in found])
    error = probs.std() / math.sqrt(len(probs))
    assert abs(probs.mean() - TRUTH) < 4.0 * error < TRUTH / 5
    truth = math.log(TRUTH)
    covered = sum(one.low <= truth <= one.high for one in found)
    assert 340 <= covered <= 398  # between .9 and .99 but for 1e-4
    whole = run(model, proposal, 0, budget=1500)
    assert whole.prob.low <= TRUTH <= whole.prob.high
    assert whole.log_prob.diagnostics["effective_hits"] > 10
    assert whole.warnings == ()


def test_the_law_itself_as_proposal_is_plain_counting():
    model = counting_model()
    law = coins(model, 0.7)
    found = run(model, law, 0, law=law, budget=1000)
    hits = found.log_prob.diagnostics["hits"]
    assert found.prob.value == pytest.approx(hits / 1000)
    assert found.log_prob.diagnostics["effective_hits"] == pytest.approx(hits)
    assert found.log_prob.diagnostics["log_mean_weight"] == pytest.approx(0.0)
    certain = rare.independent([{"b": 1}] * 6, model)
    sure = run(model, certain, 0, law=certain)
    assert sure.prob.value == pytest.approx(1.0)
    assert 0.98 < sure.prob.low < 1.0
    assert sure.prob.high == pytest.approx(1.0)


def test_no_hit_is_bounded_by_the_largest_weight_where_that_is_known():
    model = counting_model()
    law, proposal = coins(model, 0.01), coins(model, 0.02)
    most = 6 * math.log(0.99 / 0.98)
    assert largest_log_weight(law, proposal) == pytest.approx(most)
    found = run(model, proposal, 0, budget=100)
    assert found.is_zero
    assert found.prob.high == pytest.approx(math.exp(most) * -math.log(0.025) / 100)
    assert "only the upper end" in found.warnings[0]


def test_one_heavy_hit_is_called_what_it_is():
    model = counting_model()
    found = run(model, coins(model, 0.3), 3, budget=60)
    assert 0 < found.log_prob.diagnostics["effective_hits"] < 10
    assert "far too small" in found.warnings[0]


def test_a_mean_above_one_stays_and_is_called_what_it_is():
    """A proposal that hardly draws what is certain: of unbiased means some must be above 1."""
    model = counting_model()
    law, proposal = coins(model, 0.9), coins(model, 0.3)
    found = [run(model, proposal, seed, law=law, budget=60) for seed in range(60)]
    above = [one for one in found if one.log_prob.value > 0.0]
    assert above
    for one in above:
        assert one.log_prob.low <= 0.0 < one.log_prob.value == one.log_prob.high
        [said] = [text for text in one.warnings if "no probability is" in text]
        assert f"{one.prob.value:.3g}" in said
        assert "\n" not in said
    for one in found:
        if one.log_prob.value <= 0.0:
            assert one.log_prob.high <= 0.0
            assert not any("no probability is" in text for text in one.warnings)
    truth = 6 * 0.9**5 * 0.1 + 0.9**6
    probs = np.array([one.prob.value for one in found])
    assert abs(probs.mean() - truth) < 4.0 * probs.std() / math.sqrt(len(probs))


def test_rounding_alone_puts_no_mean_above_one():
    for n in (17, 400, 49_999):
        certain = np.full(n, 3e-16)
        found = weighted(certain, certain, level=0.95, most=0.0, spent=Spent())
        assert (found.log_prob, found.high, found.warnings) == (0.0, 0.0, ())


def test_a_proposal_that_leaves_something_out_is_refused():
    model = counting_model()
    never = rare.independent([{"b": 1}] + [{"a": 1, "b": 1}] * 5, model)
    with pytest.raises(InputError, match="never has token 'a' in place 1"):
        run(model, never, 0)
    with pytest.raises(InputError, match="same length"):
        run(model, coins(model, 0.5, n=5), 0)
    ids = [model.info.bos_id, 0, 0, 0, 0, 0, 0]
    short = rare.listed([ids], model)
    with pytest.raises(InputError, match="never draws the input"):
        run(model, short, 0)
    with pytest.raises((InputError, TypeCheckError), match="proposal"):
        ProposalImportance(proposal="hex")


def test_listed_laws_are_weighed_as_well():
    model = counting_model()
    bos = model.info.bos_id
    inputs = [[bos, *(1 if place < k else 0 for place in range(6))] for k in range(7)]
    law = rare.listed(inputs, model, weights=[1e6, 1, 1, 1, 1, 1e-3, 1e-3], name="few")
    even = rare.listed(inputs, model, name="even")
    found = run(model, even, 1, law=law, budget=2000)
    truth = 2e-3 / (1e6 + 4 + 2e-3)
    assert found.prob.low <= truth <= found.prob.high
    assert found.prob.value == pytest.approx(truth, rel=0.2)
    assert largest_log_weight(law, even) == pytest.approx(math.log(7 * 1e6 / (1e6 + 4.002)))


def test_company_changes_nothing():
    model = counting_model()
    method = ProposalImportance(proposal=coins(model, 0.6))
    task = Task(
        model=model, distribution=coins(model, 0.01), budget=300,
        events=(rare.token("a", model), rare.token("b", model)),
    )  # fmt: skip
    together = method.run(task)
    alone = run(model, coins(model, 0.6), 0, budget=300)
    assert together[1].log_prob == alone.log_prob.value
