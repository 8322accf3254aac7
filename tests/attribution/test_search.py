"""A search of one place: what it reads is the law's, and its sums are right on average."""

import dataclasses
import math

import numpy as np
import pytest
from attribution_truth import Law, check_measures, lse, peaked_law, peaked_laws

from likely.attribution.measures import final_sample, measure
from likely.attribution.search import guide
from likely.errors import InputError

ROUNDS = (40.0, 150.0, 600.0)


@pytest.fixture(scope="module")
def law():
    return peaked_law("small", seed=11, n_vocab=400, n_prompt=4, n_response=4, rank=5)


@pytest.fixture(scope="module")
def last():
    return peaked_law("small", seed=12, n_vocab=400, n_prompt=0, n_response=5, response=1.0)


def _drawn(law, seed, sizes=ROUNDS):
    search = law.search(seed)
    for size in sizes:
        search.draw(size)
    return search


def _sums(evidence):
    """Return the estimates of D and N, linear."""
    done = evidence.inclusion > 0.0
    log_x = evidence.log_prior + evidence.log_prompt
    d = np.exp(log_x) / evidence.prompt_inclusion
    n = np.exp(log_x + evidence.log_response.sum(axis=1))[done] / evidence.inclusion[done]
    return float(d.sum()), float(n.sum())


def _check_evidence(law, evidence):
    done = evidence.inclusion > 0.0
    tokens, truth = evidence.tokens[:, 0], law.truth
    assert tokens[0] == law.actual
    assert evidence.inclusion[0] == evidence.prompt_inclusion[0] == 1.0
    assert len(set(tokens.tolist())) == len(tokens)
    np.testing.assert_array_equal(evidence.log_prior, truth.log_w[tokens])
    np.testing.assert_allclose(evidence.log_prompt, truth.log_a[tokens], atol=1e-12)
    np.testing.assert_allclose(evidence.log_response[done], truth.steps[tokens[done]], atol=1e-12)
    assert (evidence.log_response[~done] == -np.inf).all()
    assert (evidence.inclusion <= evidence.prompt_inclusion).all()
    assert ((evidence.prompt_inclusion > 0.0) & (evidence.prompt_inclusion <= 1.0)).all()
    omitted = np.setdiff1d(np.flatnonzero(np.isfinite(law.log_w)), tokens[done])
    found = evidence.omitted
    assert found.n == len(omitted)
    np.testing.assert_array_equal(found.log_prior, truth.log_w[omitted])
    for bound, exact in (
        (found.log_prompt_bound, truth.log_w + truth.log_a),
        (found.log_response_bound, truth.log_w + truth.log_a + truth.log_b),
        (found.log_b_bound, truth.log_b),
    ):
        assert (bound >= exact[omitted] - 1e-12).all()
    return done


def test_what_was_read_is_the_laws_and_what_was_not_is_bounded(law, last):
    for one in (law, last, *peaked_laws()):
        search = one.search(0)
        n_done = 0
        for size in ROUNDS:
            search.draw(size)
            done = _check_evidence(one, search.evidence())
            assert done.sum() >= n_done
            n_done = int(done.sum())
            assert search.n_left == search.n_candidates - n_done
        assert not search.evidence().is_exact


def test_at_the_last_position_the_prompt_is_known_of_every_candidate(last):
    evidence = _drawn(last, 0, (30.0,)).evidence()
    assert len(evidence.tokens) == 400
    assert (evidence.prompt_inclusion == 1.0).all()
    d, _ = _sums(evidence)
    assert d == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize("sizes", [(60.0,), (40.0, 60.0), (10.0, 20.0, 40.0)])
@pytest.mark.parametrize("which", ["law", "last"])
def test_both_sums_are_right_on_average(which, sizes, request):
    law = request.getfixturevalue(which)
    n_seeds = 300
    found = np.array([_sums(_drawn(law, seed, sizes).evidence()) for seed in range(n_seeds)])
    for values, log_truth in zip(found.T, (law.truth.log_d, law.truth.log_n), strict=True):
        ratio = values / math.exp(log_truth)
        error = float(ratio.std(ddof=1)) / math.sqrt(n_seeds)
        assert float(ratio.mean()) == pytest.approx(1.0, abs=3.0 * error + 1e-12)
        assert error < 0.1


def test_each_candidate_counts_one_on_average(law):
    """Its weight, 0 where it is not there, has mean 1 at both points."""
    n_seeds = 400
    final, prompt = np.zeros((2, n_seeds, 400))
    for seed in range(n_seeds):
        evidence = _drawn(law, seed, (80.0,)).evidence()
        done = evidence.inclusion > 0.0
        tokens = evidence.tokens[:, 0]
        prompt[seed, tokens] = 1.0 / evidence.prompt_inclusion
        final[seed, tokens[done]] = 1.0 / evidence.inclusion[done]
    for weights in (final, prompt):
        often = np.flatnonzero((weights > 0.0).sum(axis=0) >= 40)
        assert len(often) >= 20
        error = weights[:, often].std(axis=0, ddof=1) / math.sqrt(n_seeds)
        gap = np.abs(weights[:, often].mean(axis=0) - 1.0)
        assert (gap <= 4.5 * error + 1e-12).all()


def test_the_posterior_steers_who_is_kept(law):
    """Those that prompt and response make likely are read to the end far more often."""
    truth = law.truth
    ranks = np.argsort(np.argsort(-truth.log_q_response))
    kept = []
    for seed in range(20):
        evidence = _drawn(law, seed, (100.0,)).evidence()
        kept.append(ranks[evidence.tokens[evidence.inclusion > 0.0, 0]])
    found = np.bincount(np.concatenate(kept), minlength=400) / 20
    assert found[:10].mean() > 5.0 * found[100:].mean() > 0.0


def test_a_guide_finds_what_the_prior_hides_and_biases_nothing():
    """One candidate is rare before and takes half of the posterior after."""
    law = peaked_law("small", seed=13, n_vocab=400, n_prompt=3, n_response=3, first=0.5)
    rare = int(np.argmin(law.log_w))
    read = law.read.copy()
    read[rare] = -1e-9
    law = dataclasses.replace(law, read=read)
    truth = law.truth
    assert math.exp(truth.log_q[rare]) > 0.02
    topic = np.full(400, -12.0)
    topic[rare] = 0.0
    nothing = np.full(400, -np.inf)
    slope = np.where(np.arange(400) == rare, 12.0, 0.0)
    guides = (
        guide(law.log_w, nothing), guide(law.log_w, topic), guide(law.log_w, nothing, slope),
    )  # fmt: skip
    often, spread = [], []
    for one in guides:
        found, seen = [], 0
        for seed in range(200):
            search = law.search(seed, guide=one)
            search.draw(60.0)
            evidence = search.evidence()
            seen += rare in evidence.tokens[:, 0]
            found.append(_sums(evidence))
        ratios = np.array(found) / np.exp([truth.log_d, truth.log_n])
        error = ratios.std(axis=0, ddof=1) / math.sqrt(200)
        assert (np.abs(ratios.mean(axis=0) - 1.0) <= 3.5 * error + 1e-12).all()
        often.append(seen / 200)
        spread.append(error[1])
    assert min(often[1:]) > 3.0 * often[0]
    assert max(spread[1:]) < spread[0]


def test_a_guide_is_a_law_that_leaves_nobody_out(law):
    rng = np.random.default_rng(0)
    found = guide(law.log_w, rng.standard_normal(400) * 5.0 - 10.0)
    assert lse(found) == pytest.approx(0.0, abs=1e-12)
    with_slope = guide(law.log_w, np.full(400, -12.0), rng.standard_normal(400) * 9.0)
    assert lse(with_slope) == pytest.approx(0.0, abs=1e-12)
    by_prior = guide(law.log_w, np.full(400, -np.inf))
    assert (with_slope >= by_prior + math.log(0.75 / 2.0) - 1e-12).all()
    assert lse(by_prior) == pytest.approx(0.0, abs=1e-12)
    assert (found >= by_prior - math.log(2.0) - 1e-12).all()
    assert (np.argsort(by_prior) == np.argsort(law.log_w)).all()


@pytest.mark.parametrize("before", [(), (50.0,), (20.0, 100.0, 300.0)])
def test_evaluating_all_gives_the_truth_whatever_was_drawn_before(law, last, before):
    for one in (law, last):
        search = _drawn(one, 5, before)
        search.exhaust()
        evidence = search.evidence()
        assert evidence.is_exact
        assert search.n_left == 0
        _check_evidence(one, evidence)
        check_measures(measure(evidence, level=0.95, method="exact"), one.truth, atol=1e-9)


def test_no_suffix_token_is_read_twice_of_what_is_done(law):
    search = _drawn(law, 2, (50.0,))
    n_done = search.n_candidates - search.n_left
    spent = search.stem.spending.cost.token_evaluations
    search.exhaust()
    after = search.stem.spending.cost.token_evaluations
    assert after - spent == (400 - n_done) * law.read.shape[1]


def test_candidates_without_prior_are_none(law):
    ruled_out = law.log_w.copy()
    ruled_out[50:] = -np.inf
    ruled_out[: law.actual + 1] = law.log_w[: law.actual + 1]
    some = Law("some", ruled_out - lse(ruled_out), law.read, law.n_prompt, law.actual)
    n_possible = int(np.isfinite(ruled_out).sum())
    search = _drawn(some, 1, (10.0,))
    assert search.n_candidates == n_possible
    search.exhaust()
    evidence = search.evidence()
    assert sorted(evidence.tokens[:, 0].tolist()) == np.flatnonzero(np.isfinite(ruled_out)).tolist()
    check_measures(measure(evidence, level=0.95, method="exact"), some.truth, atol=1e-9)


def test_the_same_seed_draws_the_same(law):
    one, same, other = (_drawn(law, seed).evidence() for seed in (4, 4, 5))
    np.testing.assert_array_equal(one.tokens, same.tokens)
    np.testing.assert_array_equal(one.inclusion, same.inclusion)
    assert one.tokens.shape != other.tokens.shape or (one.tokens != other.tokens).any()


def test_a_larger_round_reads_more(law):
    spent = [
        np.mean([
            _drawn(law, seed, (size,)).stem.spending.cost.token_evaluations for seed in range(20)
        ])
        for size in (10.0, 40.0, 160.0)
    ]  # fmt: skip
    assert spent == sorted(spent)
    assert spent[2] > 2 * spent[0]


def test_a_suffix_of_nothing_needs_no_reading():
    law = Law("nothing", np.log(np.full(3, 1 / 3)), np.empty((3, 0)), 0, 1)
    search = law.search(0)
    search.exhaust()
    found = measure(search.evidence(), level=0.95, method="exact")
    assert found.score.value == pytest.approx(0.0, abs=1e-12)
    assert search.stem.spending.cost.token_evaluations == 0


def test_when_all_were_drawn_nothing_is_left_to_weigh():
    """Draws may happen to take everyone; then the sums are known, and 1 / chance is wrong."""
    rng = np.random.default_rng(0)
    log_w = np.log(rng.dirichlet(np.full(4, 50.0)))
    law = Law("few", log_w, np.log(rng.uniform(0.4, 0.6, (4, 2))), 1, 0)
    n_all = 0
    for seed in range(60):
        search = law.search(seed)
        search.draw(3.0)
        if search.n_left:
            continue
        n_all += 1
        evidence = search.evidence()
        assert evidence.omitted.n == 0
        found = measure(evidence, level=0.95, method="adaptive")
        assert found.score.is_exact
        assert found.score.value == pytest.approx(law.truth.numbers()["score"], abs=1e-12)
        assert found.log_prompt_likelihood.value == pytest.approx(law.truth.log_d, abs=1e-12)
    assert n_all > 0


def test_an_actual_token_that_the_prior_rules_out_is_not_taken_for_another():
    log_w = np.array([-np.inf, math.log(0.5), math.log(0.5)])
    law = Law("impossible", log_w, np.log(np.full((3, 2), 0.5)), 1, 0)
    with pytest.raises(InputError, match="impossible at position 0"):
        law.search(0)


def test_final_sample_holds_those_read_to_the_end(law):
    evidence = _drawn(law, 1, (200.0,)).evidence()
    sample = final_sample(evidence)
    n_done = int((evidence.inclusion > 0.0).sum())
    assert len(sample.log_b) == n_done < len(evidence.tokens)
    d = float(np.sum(np.exp(sample.log_x) / evidence.inclusion[evidence.inclusion > 0.0]))
    assert math.exp(sample.log_d) == pytest.approx(d, rel=1e-12)
