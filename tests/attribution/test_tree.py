"""Draws of tuples are unbiased, and their intervals hold what they say, on laws that are known."""

from itertools import product

import numpy as np
import pytest
from attribution_truth import found_exactly, found_within, unchecked_shapes
from recurrent_law import N_VOCAB, tree, typical_text
from scipy.stats import binom

from likely.attribution.intervals import assumed, score_interval, truncated
from likely.attribution.measures import measure
from likely.attribution.search import Search
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


def test_the_error_that_larger_chances_would_have_is_unbiased_by_enumeration():
    """Of the same tree with chances that do not depend on draws."""
    weight = np.array([1.0, -2.0, 0.5, 3.0])
    chances = np.array([0.4, 0.7, 0.12, 0.2, 0.42, 0.35])  # of two nodes, and of two leaves each

    def every_draw(chances):
        first, later = chances[:2], chances[2:] / np.repeat(chances[:2], 2)
        for nodes in product([False, True], repeat=2):
            prob = np.prod(np.where(nodes, first, 1.0 - first))
            for leaves in product([False, True], repeat=4):
                chance = prob * np.where(leaves, later, 1.0 - later).prod()
                yield float(chance), np.array(leaves) & np.repeat(nodes, 2)

    for factor in (1.0, 1.5, 2.0, 4.0, 8.0):
        grown = np.minimum(1.0, factor * chances)
        totals = [(p, (weight / grown[2:])[kept].sum()) for p, kept in every_draw(grown)]
        wanted = sum(p * total**2 for p, total in totals) - weight.sum() ** 2
        found = 0.0
        for prob, kept in every_draw(chances):
            label, above = np.repeat([0, 1], 2)[kept], np.repeat(chances[:2], 2)[kept]
            leaf = chances[2:][kept]
            lineage = Lineage(label=label[:, None], chance=above[:, None])
            thinned = Thinned(leaf, leaf, 0.0, lineage)
            error = thinned.forecast(weight[kept], earlier=weight[kept], factor=factor)
            found += prob * error**2
        assert found == pytest.approx(wanted, abs=1e-12)


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


@pytest.mark.parametrize(("group", "law", "n"), [((1, 2), 1, 300), ((2, 4), 3, 200)])
def test_intervals_of_a_pair_hold_the_truth_as_often_as_they_say(group, law, n):
    truth = exact(group, law=law).measures
    names = ("score", "surprisal", "log_prompt_likelihood")
    hits = dict.fromkeys(names, 0)
    with unchecked_shapes():
        for seed in range(n):
            search = tree(group, law=law, seed=seed)
            search.draw(250.0)
            found = measure(search.evidence(), level=0.95, method="adaptive")
            for name in names:
                one, value = getattr(found, name), getattr(truth, name).value
                hits[name] += one.low <= value <= one.high
    assert min(hits.values()) >= 0.9 * n, hits


def test_searches_that_stop_when_they_know_enough_do_know(monkeypatch):
    """Rounds are much smaller than by default, and so are the laws."""
    monkeypatch.setattr("likely.attribution.adaptive.FIRST_SIZE", 150.0)
    laws = [((1, 2), 1, 30), ((2, 4), 3, 30), ((1, 4), 0, 30), ((5, 6), 0, 30), ((0, 2, 3), 2, 15)]
    tolerance, n, hits, near = 0.2, 50, [], 0
    for group, law, n_vocab in laws:
        truth = exact(group, law=law, n_vocab=n_vocab).measures.score.value
        with unchecked_shapes():
            scores = [
                found_within(
                    tree(group, law=law, n_vocab=n_vocab, seed=seed), tolerance=tolerance
                ).measures.score
                for seed in range(n)
            ]
        assert not any(score.is_exact for score in scores)
        hits.append(sum(score.low <= truth <= score.high for score in scores))
        near += sum(abs(score.value - truth) <= tolerance for score in scores)
    assert min(hits) >= binom.ppf(1e-4, n, 0.9), hits
    assert sum(hits) >= 0.9 * n * len(laws), hits
    assert near >= 0.95 * n * len(laws)


def kept(search):
    """What the latest round read to the end, by tuple, with the chance that it had."""
    done = search.heard[0].done
    names = map(tuple, search.nodes.tokens[done].tolist())
    return dict(zip(names, search.heard[0].chance[done].tolist(), strict=True))


@pytest.mark.parametrize("group", [(6,), (5, 6)])
def test_a_larger_round_holds_a_smaller_one_where_chances_grow(group):
    """Nothing is read after the group, and its law is so flat that all first tokens are drawn."""
    for seed in range(10):
        search = tree(group, seed=seed, n_vocab=20, scale=0.05, texts=((),))
        rounds = []
        for size in (7.0, 14.0) if len(group) == 1 else (120.0, 240.0):
            search.draw(size)
            rounds.append(kept(search))
        assert set(rounds[0]) < set(rounds[1])
        assert all(rounds[0][name] <= rounds[1][name] for name in rounds[0])


def test_chances_that_follow_the_posterior_leave_most_in_a_larger_round():
    lost, lost_afresh, n = 0, 0, 0
    for seed in range(20):
        search = tree((1, 4), seed=seed)
        search.draw(100.0)
        before = set(kept(search))
        search.draw(200.0)
        afresh = tree((1, 4), seed=100 + seed)
        afresh.draw(200.0)
        n, lost = n + len(before), lost + len(before - set(kept(search)))
        lost_afresh += len(before - set(kept(afresh)))
    assert lost < 0.25 * n
    assert lost < 0.5 * lost_afresh, (lost, lost_afresh, n)


@pytest.mark.parametrize("group", [(1, 4), (3, 4, 6), (5,)])
def test_a_round_does_not_depend_on_batches_nor_on_earlier_rounds(group, monkeypatch):
    whole = tree(group)
    whole.draw(100.0)
    later = tree(group)
    for size in (300.0, 30.0, 100.0):
        later.draw(size)
    monkeypatch.setattr("recurrent_law.RecurrentStem.n_at_once", 3)
    batched = tree(group)
    batched.draw(100.0)
    assert len(kept(whole)) > 1
    for other in (later, batched):
        assert list(kept(other)) == list(kept(whole))
        assert list(kept(other).values()) == pytest.approx(list(kept(whole).values()))
        assert log_sums(other.evidence()) == pytest.approx(log_sums(whole.evidence()), abs=1e-10)


def test_every_node_has_a_lot_of_its_own():
    search = tree((1, 2, 4))
    lots = np.stack([search.lots(before) for before in [(), (3,), (3, 4), (4, 3)]])
    assert len(np.unique(lots)) == 4 * N_VOCAB
    assert np.array_equal(lots[2], search.lots((3, 4)))
    assert not np.array_equal(lots[0], tree((1, 2, 4), seed=1).lots(()))


@pytest.mark.parametrize("group", [(6,), (5,)])
def test_a_group_of_one_position_is_drawn_like_a_lone_token(group):
    options = {"n_vocab": 300, "law": 2, "scale": 0.2}
    for seed, size in product(range(3), (100.0, 250.0)):
        one = tree(group, seed=seed, **options)
        one.draw(size)
        line = one.line
        other = Search(
            stem=one.stem, length=line.length, place=group[0], actual=int(line.actual[0]),
            allowed=one.allowed[0], log_prior=one.log_first,
            suffix=np.concatenate([line.tokens[1:], *line.responses]), n_prompt=line.n_last,
            rng=np.random.default_rng(0), log_guide=one.log_guide,
        )  # fmt: skip
        other.lot = one.lots(())
        other.draw(size)
        found, wanted = one.evidence(), other.evidence()
        order, same = np.argsort(found.tokens[:, 0]), np.argsort(wanted.tokens[:, 0])
        assert np.array_equal(found.tokens[order], wanted.tokens[same])
        for name in ("inclusion", "prompt_inclusion", "log_prior", "log_prompt"):
            assert getattr(found, name)[order] == pytest.approx(getattr(wanted, name)[same])
        assert log_sums(found) == pytest.approx(log_sums(wanted))
        one_bounds, other_bounds = truncated(found), truncated(wanted)
        assert one_bounds.log_x == pytest.approx(other_bounds.log_x)


def test_what_the_prompt_says_of_its_last_token_is_known():
    """D is 1 there, whatever was drawn."""
    search = tree((6,), n_vocab=200)
    search.draw(20.0)
    found = measure(search.evidence(), level=0.95, method="adaptive")
    assert len(search.nodes.tokens) < 100
    assert found.log_prompt_likelihood.is_exact
    assert found.log_prompt_likelihood.value == pytest.approx(0.0, abs=1e-12)
    assert found.context_entropy.is_exact
    assert not found.score.is_exact


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


@pytest.mark.parametrize(("group", "n_before"), [((1, 3), 2), ((3,), 0)])
def test_exhausting_after_draws_evaluates_each_tuple_once(group, n_before):
    """Beginnings are read again: a token, and the one between the positions."""
    search = tree(group, n_vocab=12)
    search.draw(30.0)
    n, n_known = 12 ** len(group), len(kept(search))
    assert 0 < n_known < n
    assert search.n_left == n - n_known
    before = search.stem.spending.cost.token_evaluations
    search.exhaust()
    spent = search.stem.spending.cost.token_evaluations - before
    assert spent == 12 * n_before + (n - n_known) * (1 + 3 + 4)
    evidence = search.evidence()
    assert len({tuple(row) for row in evidence.tokens.tolist()}) == len(evidence.tokens) == n
    assert log_sums(evidence) == pytest.approx(log_sums(exact(group, n_vocab=12).evidence))
    before = search.stem.spending.cost.token_evaluations
    search.draw(30.0)
    spent = search.stem.spending.cost.token_evaluations - before
    assert spent <= 12 * n_before
    assert not search.evidence().is_exact


def test_what_was_read_to_an_end_is_not_read_again():
    """A second round like the first reads beginnings, and what the first one dropped."""
    search = tree((5, 6), n_vocab=40)
    spent = []
    for _ in range(2):
        before = search.stem.spending.cost.token_evaluations
        search.draw(200.0)
        spent.append(search.stem.spending.cost.token_evaluations - before)
    n_dropped = len(search.nodes.tokens) - len(kept(search))
    n_roots = len(set(search.nodes.tokens[:, 0].tolist()))
    assert len(kept(search)) > 20
    assert spent[1] <= 40 + n_dropped * (1 + 4)
    assert spent[0] - spent[1] == len(kept(search)) * (1 + 4)
    assert spent[1] >= n_roots + n_dropped


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


@pytest.mark.parametrize("group", [(0,), (0, 1)])
def test_what_cannot_stand_there_is_refused(group):
    search = tree(group, n_vocab=8)
    search.log_first[:] = -np.inf
    for run in (search.exhaust, lambda: search.draw(10.0)):
        run()
        with pytest.raises(InputError, match="impossible"):
            search.evidence()


def test_more_tuples_than_fit_are_not_evaluated_one_by_one():
    search = tree((0, 1, 2, 3, 4), n_vocab=40)
    with pytest.raises(InputError, match="adaptive"):
        search.exhaust()
