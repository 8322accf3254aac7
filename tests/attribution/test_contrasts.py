"""A contrast is the difference of two attributions, at the cost of little more than one."""

import math
from itertools import product

import numpy as np
import pytest
from attribution_truth import unchecked_shapes
from recurrent_law import N_VOCAB, tree, typical_text

import likely
from likely import attribution
from likely.attribution.adaptive import run_hunts
from likely.attribution.contrasts import Difference, hunt_difference
from likely.core.logspace import logsumexp
from likely.errors import InputError


def chain(*, n_vocab=5, seed=0):
    """A random law over the last two tokens."""
    rng = np.random.default_rng(seed)
    tokens = [f"<{i}>" for i in range(n_vocab)]
    law = rng.dirichlet(np.full(n_vocab, 0.7), size=(n_vocab + 1, n_vocab + 1))
    place = {token: i for i, token in enumerate([*tokens, "<s>"])}

    def next_probs(before):
        row = law[place[before[-1]], place[before[-2]] if len(before) > 1 else n_vocab]
        return dict(zip(tokens, row.tolist(), strict=True))

    return likely.TableModel(tokens, next_probs)


@pytest.mark.parametrize(("first", "second"), [((1,), (2, 3, 0)), ((4, 4), ()), ((1, 2), (1, 3))])
@pytest.mark.parametrize("groups", ["tokens", [(0, 2), (1, 2)]])
def test_a_contrast_is_the_difference_of_two_exact_attributions(first, second, groups):
    model, prompt = chain(), (3, 0, 2)
    found = attribution.contrast(model, prompt, first, second, groups=groups, method="exact")
    one, other = (
        attribution.attribute(model, prompt, text, groups=groups, method="exact")
        for text in (first, second)
    )
    assert found.differences == pytest.approx(one.scores - other.scores, abs=1e-12)
    assert found.first.scores == pytest.approx(one.scores, abs=1e-12)
    assert found.second.scores == pytest.approx(other.scores, abs=1e-12)
    assert found.log_odds == pytest.approx(one.log_response - other.log_response)
    rest = [
        a.measures.log_response_rest.value - b.measures.log_response_rest.value
        for a, b in zip(one.places, other.places, strict=True)
    ]
    assert found.log_odds_rest == pytest.approx(np.array(rest), abs=1e-12)
    assert found.log_odds - found.log_odds_rest == pytest.approx(found.differences)
    assert all(place.difference.is_exact for place in found.places)
    assert found.first.matrix == pytest.approx(one.matrix, abs=1e-12)
    assert found.first.context_entropy == pytest.approx(other.context_entropy)
    assert found.converged


TEXTS = ((3, 7, 1), (12, 5))


def exact_difference(group, law):
    search = tree(group, law=law, texts=TEXTS)
    search.exhaust()
    return Difference.of(search).estimate(level=0.95, method="exact").value


def test_the_rest_of_the_prompt_is_read_once_for_both_responses():
    """Of 7 tokens 4 are read after position 2, then 3 and 2 of the responses."""
    spent = []
    for texts in (TEXTS, TEXTS[:1], TEXTS[1:]):
        search = tree((2,), texts=texts)
        before = search.stem.spending.cost.token_evaluations
        search.exhaust()
        spent.append(search.stem.spending.cost.token_evaluations - before)
    assert spent == [N_VOCAB * (1 + 4 + 3 + 2), N_VOCAB * (1 + 4 + 3), N_VOCAB * (1 + 4 + 2)]


@pytest.mark.parametrize("group", [(2,), (1, 2)])
def test_sums_of_both_responses_are_unbiased(group):
    search = tree(group, texts=TEXTS)
    search.exhaust()
    truth = np.array(Difference.of(search).log_n)
    log_d = logsumexp(search.evidence(1).log_prior + search.evidence(1).log_prompt)
    n, found = 200, []
    sizes = (25.0, 50.0) if len(group) == 1 else (60.0, 120.0)
    with unchecked_shapes():
        for seed, n_rounds in product(range(n), (1, 2)):
            search = tree(group, seed=seed, texts=TEXTS)
            for size in sizes[:n_rounds]:
                search.draw(size)
            log_n = np.array(Difference.of(search).log_n)
            evidence = search.evidence(1)
            log_x = evidence.log_prior + evidence.log_prompt - np.log(evidence.prompt_inclusion)
            found.append(np.exp([*(log_n - truth), logsumexp(log_x) - log_d]))
    found = np.array(found).reshape(n, 2, 3)
    error = found.std(axis=0) / math.sqrt(n)
    assert np.all(np.abs(found.mean(axis=0) - 1.0) < 3.0 * error + 1e-12), found.mean(axis=0)


def test_what_shared_draws_do_to_a_difference_is_estimated_without_bias():
    """N / N' of both responses, each divided by what it is, is linear in what was drawn."""
    options = {"law": 1, "texts": TEXTS}
    search = tree((1, 2), **options)
    search.exhaust()
    truth = Difference.of(search).log_n
    found, variances, n = [], [], 400
    with unchecked_shapes():
        for seed in range(n):
            search = tree((1, 2), seed=seed, **options)
            search.draw(150.0)
            difference = Difference.of(search)
            is_first = np.arange(len(difference.influence)) < len(search.heard[0].done)
            ratio = np.exp(np.array(difference.log_n) - truth)
            moved = difference.influence * np.where(is_first, ratio[0], ratio[1])
            spread = difference.thinned.spread(moved)
            found.append(ratio[1] - ratio[0])
            plain = spread.error**2 - difference.thinned.resolution**2
            variances.append(plain / (1.0 + spread.largest_share))
    square = np.square(found)
    noise = np.std(square - variances) / math.sqrt(n)
    assert abs(np.mean(square) - np.mean(variances)) < 3.0 * noise
    assert noise < 0.3 * np.mean(square)


def test_the_interval_of_a_difference_holds_it_as_often_as_it_says(monkeypatch):
    """In a single round, and where rounds stop when the difference is known."""
    monkeypatch.setattr("likely.attribution.adaptive.FIRST_SIZE", 150.0)
    group, law, n = (1, 2), 1, 150
    truth = exact_difference(group, law)
    hits = np.zeros(2, dtype=np.int64)
    with unchecked_shapes():
        for seed, stops in product(range(n), (0, 1)):
            search = tree(group, law=law, seed=seed, texts=TEXTS)
            if stops:
                run_hunts([hunt_difference(search, tolerance=0.3, level=0.95)], budget=math.inf)
                assert not search.is_whole
            else:
                search.draw(250.0)
            found = Difference.of(search).estimate(level=0.95, method="adaptive")
            hits[stops] += found.low <= truth <= found.high
    assert np.all(hits >= 0.9 * n), hits


def test_both_responses_go_on_by_lots_of_their_own():
    """A text read twice as two responses: what is kept after one is not what is kept after both."""
    text = (3, 7, 1)
    search = tree((1, 2), texts=(text, text))
    search.draw(100.0)
    first, second = (set(heard.done.tolist()) for heard in search.heard)
    assert first & second
    assert first - second
    assert second - first


def test_what_one_response_read_to_its_end_is_not_read_again():
    search = tree((6,), texts=TEXTS, n_vocab=200)
    search.draw(60.0)
    done = [set(heard.done.tolist()) for heard in search.heard]
    n_both, n_all = len(done[0] & done[1]), len(search.nodes.tokens)
    assert 0 < n_both < len(done[0] | done[1])
    assert search.n_left == 200 - n_both
    before = search.stem.spending.cost.token_evaluations
    search.exhaust()
    spent = search.stem.spending.cost.token_evaluations - before
    assert n_all < 200
    whole = sum(map(len, TEXTS))
    known = len(done[0] - done[1]) * len(TEXTS[0]) + len(done[1] - done[0]) * len(TEXTS[1])
    assert spent == (200 - n_both) * (1 + whole) - known


def test_draws_that_both_responses_share_cancel_in_the_difference():
    """Of two responses that begin alike the scores go together, and their difference is narrow."""
    text = typical_text(30, 11, seed=1, scale=0.7)
    texts = (text[7:], (*text[7:10], (text[10] + 1) % 30))
    widths = []
    for seed in range(10):
        search = tree((1, 2), law=1, seed=seed, texts=texts)
        search.draw(250.0)
        found = Difference.of(search)
        is_first = np.arange(len(found.influence)) < len(search.heard[0].done)
        alone = [
            found.thinned.spread(np.where(of, found.influence, 0.0)) for of in (is_first, ~is_first)
        ]
        both = found.thinned.spread(found.influence)
        widths.append(both.error / math.hypot(*(one.error for one in alone)))
    assert np.mean(widths) < 0.95


def test_the_driver_stops_where_the_difference_is_known(monkeypatch):
    monkeypatch.setattr("likely.attribution.adaptive.FIRST_SIZE", 200.0)
    model = chain(n_vocab=25, seed=4)
    prompt, first, second = (3, 0, 2, 1), (1, 2), (2, 3, 5)
    options = {"groups": [(1, 2)], "tolerance": 0.4}
    found = attribution.contrast(model, prompt, first, second, seed=1, budget=1e9, **options)
    place = found.places[0]
    assert place.converged
    assert place.method == "adaptive"
    assert place.reason == "tolerance"
    half = max(
        place.difference.high - place.difference.value,
        place.difference.value - place.difference.low,
    )
    assert 0.0 < half <= 0.4
    again = attribution.contrast(model, prompt, first, second, seed=1, budget=1e9, **options)
    assert again.differences.tolist() == found.differences.tolist()
    poor = attribution.contrast(
        model, prompt, first, second, groups=[(1, 2)], tolerance=1e-3, budget=1.0
    )
    assert not poor.converged
    assert poor.places[0].reason == "budget"


def test_a_contrast_as_a_table_and_in_a_few_lines():
    found = attribution.contrast(chain(), (3, 0, 2), (1,), (2, 3), method="exact")
    frame = found.to_frame()
    assert list(frame["position"]) == [0, 1, 2]
    assert list(frame["difference"]) == found.differences.tolist()
    assert list(frame["difference"]) == pytest.approx(
        list(frame["score_first"] - frame["score_second"])
    )
    assert list(frame["log_odds"]) == [found.log_odds] * 3
    assert len(found.summary().splitlines()) == 4
    assert found.low.tolist() == found.high.tolist() == found.differences.tolist()


def test_responses_that_need_different_prompts_are_refused():
    tokens = ["a", "b", "ab", " "]
    model = likely.TableModel(tokens, lambda before: dict.fromkeys(tokens, 0.25))
    with pytest.raises(InputError, match="separate"):
        attribution.contrast(model, "aa", "b", "a")
    found = attribution.contrast(model, "aa", "b", "a", boundary="separate", method="exact")
    assert found.differences == pytest.approx([0.0, 0.0])


def test_cases_are_contrasted_where_they_are_of_one_prompt():
    model = likely.TableModel(["a", "b"], lambda before: {"a": 0.25, "b": 0.75})
    first = attribution.frame_case(model, "aa", generate=1)
    second = attribution.frame_case(model, "aa", "a")
    found = attribution.contrast_cases(model, first, second, method="exact")
    assert found.log_odds == pytest.approx(math.log(3.0))
    assert "generated" in found.first.case.flags
    for other in (
        attribution.frame_case(model, "ab", "a"),
        attribution.frame_case(model, "aa", "a", context="b"),
        attribution.frame_case(model, "aa", "a", positions=[1]),
    ):
        with pytest.raises(InputError, match=r"different tokens|frame them alike"):
            attribution.contrast_cases(model, first, other)


def test_a_response_that_cannot_be_is_refused():
    model = likely.TableModel(["a", "b"], lambda before: {"a": 1.0})
    with pytest.raises(InputError, match="impossible"):
        attribution.contrast(model, "aa", "a", "b")
