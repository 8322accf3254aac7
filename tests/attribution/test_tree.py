"""Draws of tuples are unbiased, and their intervals hold what they say, on laws that are known."""

from itertools import product

import numpy as np
import pytest
from attribution_truth import found_exactly, found_within, unchecked_shapes
from recurrent_law import N_VOCAB, tree, typical_text

from likely.attribution.intervals import assumed, score_interval, truncated
from likely.attribution.measures import measure
from likely.attribution.thinning import Lineage, Thinned
from likely.core.logspace import logsumexp
from likely.errors import InputError


def exact(group, **options):
    search = tree(group, **options)
    return found_exactly(search)


def log_sums(evidence):
    """Estimates of log N, of log D from the same candidates, and of D from all that read so far."""
    done = evidence.inclusion > 0.0
    log_x = evidence.log_prior + evidence.log_prompt
    log_b = evidence.log_response[done].sum(axis=1)
    log_weight = -np.log(evidence.inclusion[done])
    return np.array(
        [
            logsumexp(log_x[done] + log_b + log_weight),
            logsumexp(log_x[done] + log_weight),
            logsumexp(log_x - np.log(evidence.prompt_inclusion)),
        ]
    )


def test_the_variance_of_a_tree_of_draws_is_unbiased_by_enumeration():
    """Two nodes of two children each; the second draws depend on what the first ones left."""
    weight = np.array([1.0, -2.0, 0.5, 3.0])
    first = np.array([0.4, 0.7])
    mean, square, estimated = 0.0, 0.0, 0.0
    for nodes in product([0, 1], repeat=2):
        prob = np.prod([p if kept else 1 - p for kept, p in zip(nodes, first, strict=True)])
        share = 0.3 if sum(nodes) == 2 else 0.8
        later = np.array([share, 0.5, 0.6, share])
        for leaves in product([0, 1], repeat=4):
            kept = np.array(leaves, dtype=bool) & np.repeat(nodes, 2).astype(bool)
            chance = np.where(leaves, later, 1 - later).prod() * prob
            parent = np.repeat(first, 2)
            thinned = Thinned(
                (parent * later)[kept], (parent * later)[kept], 1e-9,
                Lineage(
                    label=np.repeat([0, 1], 2)[kept][:, None], chance=parent[kept][:, None]
                ),
            )  # fmt: skip
            total = float((weight[kept] / (parent * later)[kept]).sum())
            spread = thinned.spread(weight[kept])
            mean += chance * total
            square += chance * total**2
            estimated += chance * spread.error**2 / (1.0 + spread.largest_share)
    assert mean == pytest.approx(weight.sum())
    assert estimated == pytest.approx(square - mean**2)


def test_without_kin_a_lineage_changes_nothing():
    rng = np.random.default_rng(0)
    chance, influence = rng.random(20), rng.normal(size=20)
    earlier = chance + (1.0 - chance) * rng.random(20)
    plain = Thinned(chance, earlier, 0.1)
    alone = Lineage(label=np.full((20, 2), -1), chance=np.ones((20, 2)))
    with_lineage = Thinned(chance, earlier, 0.1, alone)
    for of in (influence, -influence):
        one, other = plain.spread(of, earlier=influence), with_lineage.spread(of, earlier=influence)
        assert one.error == pytest.approx(other.error)
        assert one.df == other.df


@pytest.mark.parametrize("group", [(1, 4), (5, 6), (0, 2, 3)])
def test_sums_are_unbiased_after_one_round_and_after_two(group):
    truth = log_sums(exact(group).evidence)
    found = np.empty((2, 150, 3))
    with unchecked_shapes():
        for seed in range(found.shape[1]):
            search = tree(group, seed=seed)
            for n_rounds, size in enumerate((60.0, 120.0)):
                search.draw(size)
                found[n_rounds, seed] = np.exp(log_sums(search.evidence()) - truth)
    error = found.std(axis=1) / np.sqrt(found.shape[1])
    assert np.all(np.abs(found.mean(axis=1) - 1.0) < 3.0 * error), (found.mean(axis=1) - 1) / error
    assert np.all(found[1].std(axis=0) < found[0].std(axis=0))


@pytest.mark.parametrize(("group", "law", "n"), [((1, 2), 1, 400), ((2, 4), 3, 300)])
def test_intervals_of_a_pair_hold_the_truth_as_often_as_they_say(group, law, n):
    truth = exact(group, law=law).measures
    names = ("score", "surprisal", "log_prompt_likelihood")
    hits = dict.fromkeys(names, 0)
    for seed in range(n):
        search = tree(group, law=law, seed=seed)
        search.draw(250.0)
        found = measure(search.evidence(), level=0.95, method="adaptive")
        for name in names:
            one, value = getattr(found, name), getattr(truth, name).value
            hits[name] += one.low <= value <= one.high
    assert min(hits.values()) >= 0.9 * n, hits


def test_bounds_that_always_hold_do():
    for group, seed in product([(1, 2), (5, 6), (1, 4)], range(5)):
        truth = exact(group).measures.score.value
        search = tree(group, seed=seed)
        for _ in range(2):
            search.draw(40.0)
            evidence = search.evidence()
            log_b = float(evidence.log_response[0].sum())
            low, high = score_interval(log_b, truncated(evidence))
            assert low <= truth <= high
            narrow = score_interval(log_b, assumed(evidence))
            assert low <= narrow[0] <= narrow[1] <= high


def test_a_round_that_leaves_nothing_out_is_exact():
    search = tree((1, 2), n_vocab=5)
    search.draw(1e9)
    found, truth = search.evidence(), exact((1, 2), n_vocab=5)
    assert found.is_exact
    assert log_sums(found) == pytest.approx(log_sums(truth.evidence))
    assert search.n_left == 0


def test_exhausting_after_draws_evaluates_each_tuple_once():
    search = tree((1, 3), n_vocab=12)
    search.draw(30.0)
    assert 0 < len(search.heard[0].done) < 144
    search.exhaust()
    evidence = search.evidence()
    assert len({tuple(row) for row in evidence.tokens.tolist()}) == len(evidence.tokens) == 144
    assert log_sums(evidence) == pytest.approx(log_sums(exact((1, 3), n_vocab=12).evidence))


def test_the_actual_tuple_comes_first_and_is_certain():
    for seed in range(20):
        search = tree((1, 4), seed=seed)
        search.draw(3.0)
        evidence = search.evidence()
        assert evidence.tokens[0].tolist() == search.line.actual.tolist()
        assert evidence.inclusion[0] == 1.0


def test_the_driver_reaches_the_tolerance_or_says_that_it_did_not():
    group, options = (1, 2), {"n_vocab": 80, "law": 2}
    truth = exact(group, **options).measures.score.value
    found = {}
    for name, tolerance, budget in [("wide", 0.3, 1e9), ("narrow", 0.05, 1e9), ("poor", 0.01, 1.0)]:
        search = tree(group, **options)
        found[name] = found_within(search, tolerance=tolerance, budget=budget)
        score = found[name].measures.score
        assert score.low - 0.1 <= truth <= score.high + 0.1
        if name != "poor":
            assert found[name].converged
            assert max(score.high - score.value, score.value - score.low) <= tolerance
    assert (found["poor"].converged, found["poor"].reason) == (False, "budget")
    assert found["poor"].n_rounds == 1


def test_mass_that_is_excluded_is_estimated_without_bias():
    allowed = np.arange(N_VOCAB - 6)
    options = {"law": 2, "allowed": allowed}
    stem = tree((1, 2), **options).stem
    text = typical_text(N_VOCAB, 7, seed=2, scale=0.7)
    if max(text[1:3]) >= len(allowed):  # the actual ones must be allowed
        pytest.fail(f"choose a law whose text keeps clear of the excluded ids, got {text}")
    search = tree((1, 2), **options)
    search.exhaust()
    log_w = search.evidence().log_prior
    first = np.exp(logsumexp(stem.row(2)[allowed]))
    assert search.aside == pytest.approx(first - np.exp(logsumexp(log_w)))
    found = []
    for seed in range(200):
        search = tree((1, 2), seed=seed, **options)
        search.draw(60.0)
        found.append(search.aside)
    error = np.std(found) / np.sqrt(len(found))
    assert abs(np.mean(found) - (first - np.exp(logsumexp(log_w)))) < 3.5 * error


def test_more_tuples_than_fit_are_not_evaluated_one_by_one():
    search = tree((0, 1, 2, 3, 4), n_vocab=40)
    with pytest.raises(InputError, match="adaptive"):
        search.exhaust()
