"""Every number against its definition, and what moves it against numerical differentiation."""

import dataclasses
import math

import numpy as np
import pytest
from attribution_truth import Law, check_measures, lse, peaked_law

from likely.attribution import measures as module
from likely.attribution.evidence import NOTHING_OMITTED, Evidence, Omitted
from likely.attribution.measures import Measures, measure
from likely.attribution.thinning import Thinned
from likely.errors import InputError


def _law(seed, *, n_vocab=8, n_prompt=2, n_response=3):
    rng = np.random.default_rng(seed)
    log_w = rng.standard_normal(n_vocab)
    read = -np.logaddexp(0.0, rng.standard_normal((n_vocab, n_prompt + n_response)))
    return Law("random", log_w - lse(log_w), read, n_prompt, int(rng.integers(n_vocab)))


def _whole(law):
    search = law.search(0)
    search.exhaust()
    return search.evidence()


@pytest.mark.parametrize("seed", range(6))
def test_every_number_follows_its_definition(seed):
    law = _law(seed, n_prompt=seed % 3, n_response=1 + seed % 4)
    check_measures(measure(_whole(law), level=0.9, method="exact"), law.truth, atol=1e-12)


def test_candidates_that_prompt_or_response_rule_out_weigh_nothing():
    law = _law(1)
    read = law.read.copy()
    others = [v for v in range(8) if v != law.actual]
    read[others[0], 0] = -np.inf  # neither q nor q^r
    read[others[1], 3] = -np.inf  # q alone
    law = dataclasses.replace(law, read=read)
    found = measure(_whole(law), level=0.9, method="exact")
    truth = law.truth
    numbers = truth.numbers()
    assert found.reverse_information.value == numbers["reverse_information"] == math.inf
    for name in ("score", "information", "jensen_shannon", "context_entropy", "response_entropy"):
        assert getattr(found, name).value == pytest.approx(numbers[name], abs=1e-12)
    np.testing.assert_allclose(found.matrix, truth.matrix(), atol=1e-12)
    np.testing.assert_allclose(found.entropy_trace, truth.entropy_trace(), atol=1e-12)
    np.testing.assert_allclose(found.information_trace, truth.information_trace(), atol=1e-12)


def test_numbers_far_below_what_exp_can_hold():
    law = _law(2)
    deep = dataclasses.replace(law, read=law.read - 400.0)
    found = measure(_whole(deep), level=0.9, method="exact")
    plain = measure(_whole(law), level=0.9, method="exact")
    for name in ("score", "information", "context_entropy", "response_entropy", "interventional"):
        shallow = getattr(plain, name).value
        assert getattr(found, name).value == pytest.approx(shallow, abs=1e-9)
    assert found.log_prompt_likelihood.value == pytest.approx(
        plain.log_prompt_likelihood.value - 800.0, abs=1e-9
    )


def test_a_candidate_that_is_all_but_ruled_out_is_not_impossible():
    """After a long response a candidate may be e^-800 times less likely, and q^r is still not 0."""
    law = _law(3)
    read = law.read.copy()
    read[(law.actual + 1) % 8, 2:] = -300.0
    law = dataclasses.replace(law, read=read)
    found = measure(_whole(law), level=0.9, method="exact")
    truth = law.truth
    expected = -float(np.exp(truth.log_q) @ truth.scores)  # KL(q || q^r) is minus the mean score
    assert math.isfinite(expected)
    assert found.reverse_information.value == pytest.approx(expected, abs=1e-9)


def test_a_response_that_cannot_be_is_refused():
    law = _law(4)
    read = law.read.copy()
    read[law.actual, -1] = -np.inf
    with pytest.raises(InputError, match="impossible"):
        measure(_whole(dataclasses.replace(law, read=read)), level=0.9, method="exact")


def test_a_prompt_that_cannot_be_is_refused():
    law = _law(4)
    read = law.read.copy()
    read[:, 0] = -np.inf
    with pytest.raises(InputError, match="impossible"):
        measure(_whole(dataclasses.replace(law, read=read)), level=0.9, method="exact")


def test_a_prompt_that_cannot_follow_its_own_token_is_refused():
    law = _law(4)
    read = law.read.copy()
    read[law.actual, 0] = -np.inf
    with pytest.raises(InputError, match="impossible"):
        measure(_whole(dataclasses.replace(law, read=read)), level=0.9, method="exact")


def test_the_names_of_the_estimates():
    assert Measures.estimates() == (
        "score", "interventional", "context_entropy", "response_entropy", "entropy_change",
        "information", "reverse_information", "jensen_shannon", "surprisal",
        "response_surprisal", "log_prompt_likelihood", "log_response_rest",
    )  # fmt: skip


# What moves each number.

N_PARTS = 3


@pytest.fixture
def evidence():
    """Return evidence in which some candidates were thinned twice and some left after the prompt.

    The estimates of D from both samples are made equal, as they are on average.
    """
    law = _law(9, n_vocab=10, n_prompt=2, n_response=3)
    rng = np.random.default_rng(9)
    order = np.argsort(np.arange(10) != law.actual, kind="stable")
    chance = rng.uniform(0.2, 0.7, 10)
    earlier = np.minimum(1.0, chance * rng.uniform(1.05, 1.4, 10))
    chance[:2] = earlier[:2] = 1.0
    done = slice(0, 10 - N_PARTS)
    x = np.exp(law.truth.log_w + law.truth.log_a)[order]
    wanted = float(np.sum(x[done] / chance[done])) - float(np.sum(x[done] / earlier[done]))
    left = float(np.sum(x[7:] / earlier[7:]))
    log_w = law.log_w[order].copy()
    log_w[7:] += math.log(wanted / left)
    inclusion = chance.copy()
    inclusion[7:] = 0.0
    steps = law.truth.steps[order].copy()
    steps[7:] = -np.inf
    return Evidence(
        places=(0,), tokens=order[:, None], log_prior=log_w,
        log_prompt=law.truth.log_a[order], log_response=steps, inclusion=inclusion,
        prompt_inclusion=earlier, resolution=1e-3,
        omitted=Omitted(log_prior=np.full(20, -9.0), log_prompt_bound=np.full(20, -9.0),
                        log_response_bound=np.full(20, -9.0), log_b_bound=np.zeros(20)),
    )  # fmt: skip


def _measured(evidence, monkeypatch):
    """Return the measures, and what each number was said to be moved by."""
    plain_spread, plain_estimate = Thinned.spread, Thinned.estimate
    spreads, said = [], {}

    def spread(self, influence, *, earlier=None):
        spreads.append((influence, earlier))
        return plain_spread(self, influence, earlier=earlier)

    def estimate(self, value, influence, *, earlier=None, **options):
        found = plain_estimate(self, value, influence, earlier=earlier, **options)
        spreads.pop()
        said[id(found)] = (influence, earlier)
        return found

    monkeypatch.setattr(Thinned, "spread", spread)
    monkeypatch.setattr(Thinned, "estimate", estimate)
    found = measure(evidence, level=0.95, method="adaptive")
    monkeypatch.undo()
    named = {name: said[id(getattr(found, name))] for name in Measures.estimates()}
    return found, named, spreads


def _moved(evidence, i, *, prompt=0.0, final=0.0):
    """Return the evidence with the weights of one candidate moved."""
    earlier, chance = evidence.prompt_inclusion.copy(), evidence.inclusion.copy()
    earlier[i] = 1.0 / (1.0 / earlier[i] + prompt)
    if chance[i] > 0.0:
        chance[i] = 1.0 / (1.0 / chance[i] + final)
    return dataclasses.replace(evidence, prompt_inclusion=earlier, inclusion=chance)


def _slopes(evidence, value, n, **by):
    """Return the derivative of ``value(measures)`` by the weight of each candidate."""
    step = 1e-5
    slopes = []
    for i in range(n):
        ends = [
            value(measure(
                _moved(evidence, i, **{name: sign * step for name in by}),
                level=0.95, method="adaptive",
            ))
            for sign in (1.0, -1.0)
        ]  # fmt: skip
        slopes.append((ends[0] - ends[1]) / (2.0 * step))
    return np.array(slopes)


@pytest.fixture
def lean(evidence, monkeypatch):
    """Hold the mixing weight of both estimates of D where it is: it is chosen, not estimated."""
    sample = module.final_sample(evidence)
    variance = sample.thinned.stage_variance
    held = float(np.sum(variance * sample.q * sample.q_response) / np.sum(variance * sample.q**2))
    assert held > 0.05
    held = min(0.6, held)
    monkeypatch.setattr(module.Measuring, "_lean", property(lambda self: held))
    return held


OF_PROMPT = {"context_entropy", "surprisal", "log_prompt_likelihood"}


@pytest.mark.parametrize("name", Measures.estimates())
def test_influences_are_the_derivatives_by_the_weights(name, evidence, lean):
    with pytest.MonkeyPatch.context() as patch:
        _, named, _ = _measured(evidence, patch)
    influence, earlier = named[name]

    def value(found):
        return getattr(found, name).value

    if name in OF_PROMPT:
        slopes = _slopes(evidence, value, 10, prompt=True)
        assert earlier is None
    else:
        slopes = _slopes(evidence, value, 7, final=True)
    # The sign of a whole influence does not matter, as it is squared.
    sign = 1.0 if float(slopes @ influence) > 0.0 else -1.0
    np.testing.assert_allclose(sign * influence, slopes, atol=1e-6)
    if earlier is not None:
        both = _slopes(evidence, value, 7, prompt=True, final=True)
        np.testing.assert_allclose(sign * earlier, both, atol=1e-6)
    assert np.abs(slopes).max() > 1e-3


def test_influences_of_the_matrix_are_the_derivatives_by_the_weights(evidence, lean):
    with pytest.MonkeyPatch.context() as patch:
        found, _, spreads = _measured(evidence, patch)
    assert len(spreads) == len(found.matrix) == 3
    for t, (influence, earlier) in enumerate(spreads):
        slopes = _slopes(evidence, lambda m, t=t: float(m.matrix[t]), 7, final=True)
        both = _slopes(evidence, lambda m, t=t: float(m.matrix[t]), 7, prompt=True, final=True)
        np.testing.assert_allclose(influence, slopes, atol=1e-6)
        np.testing.assert_allclose(earlier, both, atol=1e-6)
    assert (found.matrix_error > 0.0).all()


def test_estimates_are_plug_in_numbers_of_the_weighted_candidates(evidence):
    found = measure(evidence, level=0.95, method="adaptive")
    done = evidence.inclusion > 0.0
    weight = np.log(1.0 / evidence.inclusion[done])
    log_x = (evidence.log_prior + evidence.log_prompt)[done] + weight
    log_b = evidence.log_response[done].sum(axis=1)
    rest = lse(log_x + log_b) - lse(log_x)
    assert found.score.value == pytest.approx(log_b[0] - rest, abs=1e-12)
    assert found.matrix.sum() == pytest.approx(found.score.value, abs=1e-12)
    q_response = np.exp(log_x + log_b - lse(log_x + log_b))
    information = float(q_response @ (log_b - rest))
    assert found.information.value == pytest.approx(information, abs=1e-12)
    assert found.score.low < found.score.value < found.score.high
    assert found.left_surprisal == -evidence.log_prior[0]


def test_a_wider_level_gives_a_wider_interval(evidence):
    narrow, wide = (measure(evidence, level=level, method="adaptive") for level in (0.5, 0.99))
    for name in Measures.estimates():
        one, other = getattr(narrow, name), getattr(wide, name)
        assert one.value == other.value
        assert other.low <= one.low < one.high <= other.high


def test_what_is_left_out_is_a_share():
    law = peaked_law("small", seed=11, n_vocab=400, n_prompt=4, n_response=4, rank=5)
    search = law.search(1)
    search.draw(60.0)
    found = measure(search.evidence(), level=0.95, method="adaptive")
    done = search.evidence().tokens[search.evidence().inclusion > 0.0, 0]
    assert 0.0 < found.omitted_context < 1.0
    exact = 1.0 - math.exp(lse(law.truth.log_q[done]))
    assert found.omitted_context == pytest.approx(exact, abs=0.15)
    exact = 1.0 - math.exp(lse(law.truth.log_q_response[done]))
    assert found.omitted_response == pytest.approx(exact, abs=0.15)


def test_nothing_omitted_has_no_mass():
    assert NOTHING_OMITTED.n == 0
    assert len(NOTHING_OMITTED.log_prior) == 0


def test_candidates_that_were_all_there_by_chance_are_not_known_for_sure():
    law = peaked_law("small", seed=1, n_vocab=12, n_prompt=2, n_response=6, response=3.0)
    search = law.search(0)
    search.lot = np.where(np.arange(12) % 2 == 0, 0.04, 0.005)
    search.draw(2.0)
    evidence = search.evidence()
    assert len(evidence.tokens) == 12
    assert evidence.prompt_inclusion.min() < 1.0
    found = measure(evidence, level=0.95, method="adaptive").log_prompt_likelihood
    truth = law.truth.numbers()["log_prompt_likelihood"]
    assert found.low <= truth <= found.high
