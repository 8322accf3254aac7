"""Models without whole next-token rows are attributed as those that have them."""

import numpy as np
import pytest
from attribution.listing_models import Listing, wide_table

import likely
from likely.attribution import adaptive, attribute, frame_case, gathering
from likely.attribution.intervals import score_interval, truncated
from likely.attribution.measures import final_sample, measure
from likely.attribution.opening import open_search
from likely.attribution.prior import NextLaws
from likely.core.branches import open_stem
from likely.core.logspace import logsumexp
from likely.errors import CapabilityError, InputError

PROBE = "ABBA"


def agree(one, other, *, abs_tol=1e-9):
    """Raise unless two attributions say the same of every place."""
    for a, b in zip(one.places, other.places, strict=True):
        for name in a.measures.estimates():
            ours, theirs = getattr(a.measures, name), getattr(b.measures, name)
            assert ours.value == pytest.approx(theirs.value, abs=abs_tol), name
            assert ours.low == ours.high
        assert a.measures.matrix == pytest.approx(b.measures.matrix, abs=abs_tol)
        assert a.measures.left_surprisal == pytest.approx(b.measures.left_surprisal, abs=abs_tol)
        assert a.bounds == pytest.approx(b.bounds, abs=abs_tol)
        assert a.n_candidates == b.n_candidates
    assert one.excluded_mass == pytest.approx(other.excluded_mass, abs=abs_tol)


@pytest.mark.parametrize("k", [1, 3, 11, 12])
def test_a_list_of_any_length_gives_the_exact_answer(k):
    table = wide_table(12)
    case = {"prompt": [3, 1, 4, 1], "response": [5, 9], "context": [2], "method": "exact"}
    agree(attribute(Listing(table, k=k), **case), attribute(table, **case))


def test_excluded_ids_are_asked_for_and_their_mass_is_told():
    table = wide_table(12)
    case = {"prompt": [3, 1, 4, 1], "response": [5, 9], "context": [2], "method": "exact"}
    found = attribute(Listing(table, k=2), **case, exclude=[0, 7, 8])
    agree(found, attribute(table, **case, exclude=[0, 7, 8]))
    assert found.excluded_mass.min() > 0.0


def test_an_empty_response_makes_nothing_likely_without_rows_either():
    found = attribute(Listing(wide_table(9), k=2), [3, 1], [], context=[2], method="exact")
    assert found.scores == pytest.approx([0.0, 0.0], abs=1e-12)


def opened(model):
    case = frame_case(model, [3, 1, 4], [5, 9], context=[2])
    return NextLaws(model, open_stem(model, case.stem)), case


def searched(laws, case, *, seed, size, position, n=30):
    search, _ = open_search(laws, case, position, np.arange(n), seed)
    search.draw(size)
    return search


@pytest.mark.parametrize(("position", "rounds"), [(0, 2), (2, 1), (2, 2)])
def test_sums_are_unbiased_though_the_prior_of_most_was_not_known(position, rounds):
    n_seeds = 200
    model = Listing(wide_table(30), k=4)
    laws, case = opened(model)
    exact = attribute(model, [3, 1, 4], [5, 9], context=[2], method="exact").at(position)
    log_d = exact.measures.log_prompt_likelihood.value
    log_n = log_d + exact.measures.log_response_rest.value
    d, total, whole = np.empty((3, n_seeds))
    for seed in range(n_seeds):
        search = searched(laws, case, seed=seed, size=6.0, position=position)
        for _ in range(rounds - 1):
            search.draw(6.0)
        evidence = search.evidence()
        sample = final_sample(evidence)
        d[seed], total[seed] = np.exp([sample.log_d - log_d, sample.log_n - log_n])
        log_x = evidence.log_prior + evidence.log_prompt
        whole[seed] = np.sum(np.exp(log_x - log_d) / evidence.prompt_inclusion)
    for ratio in (d, total, whole):
        assert ratio.std() > 0.0
        assert abs(ratio.mean() - 1.0) < 4.0 * ratio.std() / np.sqrt(n_seeds)


@pytest.mark.parametrize("position", [0, 1, 2])
def test_bounds_hold_and_use_the_mass_that_is_left(position):
    model = Listing(wide_table(30), k=4)
    exact = attribute(model, [3, 1, 4], [5, 9], context=[2], method="exact").at(position)
    laws, case = opened(model)
    for seed in range(5):
        search = searched(laws, case, seed=seed, size=6.0, position=position)
        evidence = search.evidence()
        left = 1.0 - np.exp(evidence.log_prior[evidence.inclusion > 0.0]).sum()
        assert np.exp(logsumexp(evidence.omitted.log_prior)) == pytest.approx(left, abs=1e-9)
        found = measure(evidence, level=0.95, method="adaptive")
        low, high = score_interval(float(evidence.log_response[0].sum()), truncated(evidence))
        assert low - 1e-9 <= exact.measures.score.value <= high + 1e-9
        assert found.left_surprisal == pytest.approx(exact.measures.left_surprisal, abs=1e-12)


def test_a_token_whose_probability_is_not_told_is_left_out_and_its_mass_told():
    law = {"A": 0.6, "B": 0.4 - 1e-5, "C": 1e-5}
    table = likely.TableModel(list(law), lambda context: law, bos=None)
    model = Listing(table, k=2, untold=(2,))
    found = attribute(model, [0, 1], [0], context=[1], method="exact")
    assert found.excluded_mass == pytest.approx([1e-5, 1e-5])
    assert found.places[0].n_candidates == 2
    with pytest.raises(CapabilityError, match="tells no log-probability of token 1"):
        attribute(Listing(table, k=1, untold=(1,)), [0, 0], [0], context=[1], method="exact")


def test_adaptive_finds_the_score_from_a_list_and_evaluations(monkeypatch):
    monkeypatch.setattr(adaptive, "FIRST_SIZE", 100.0)
    table = wide_table(300, order=2)
    case = {"prompt": [3, 1, 4], "response": [5, 9], "context": [2]}
    exact = attribute(table, **case, method="exact")
    found = attribute(Listing(table, k=50), **case, tolerance=0.2, budget=1e9, seed=1)
    assert found.converged
    assert "adaptive" in {place.method for place in found.places}
    for place, truth in zip(found.places, exact.scores, strict=True):
        assert place.measures.score.low - 1e-9 <= truth <= place.measures.score.high + 1e-9


# servers -----------------------------------------------------------------------------------------


def wavy(**options):
    """A law over A, B, C and AB that depends on the whole context, all tokens possible."""
    tokens = ["A", "B", "C", "AB"]

    def law(context):
        seed = sum((i + 2) * (1 + tokens.index(t)) for i, t in enumerate(context))
        weights = {t: 1.0 + (seed * (j + 3)) % 7 for j, t in enumerate(tokens)}
        return {t: w / sum(weights.values()) for t, w in weights.items()}

    return likely.TableModel(tokens, law, bos=None, **options)


CASE = {"prompt": "BCA", "response": "CC", "context": "A", "method": "exact"}


@pytest.mark.parametrize("dialect", ["vllm", "openai"])
@pytest.mark.parametrize("top_k", [2, 4])
def test_a_server_with_prompt_log_probs_gives_the_exact_answer(loopback, connect, dialect, top_k):
    table = wavy()
    state = loopback.serve(table, dialect)
    model = connect(top_k=top_k, n_vocab=4)
    state.hits.clear()
    found = attribute(model, **CASE)
    agree(found, attribute(table, **CASE))
    # One list a place, one request a candidate, and one for the text alone.
    assert state.hits["/v1/completions"] == found.cost.model_calls
    assert found.cost.model_calls == 3 * (1 + 4) + 1
    lists, texts = 1 + 2 + 3, (3 * 4 + 1) * (1 + 3 + 2)
    assert found.cost.token_evaluations == lists + texts


def test_blocks_are_few_where_each_reads_the_text_anew(loopback, connect):
    table = wide_table(300, order=2)
    state = loopback.serve(table, "vllm")
    model = connect(probe="00010002", n_vocab=300)
    case = frame_case(model, list(range(12)), [5] * 12, context=[2])
    stem = open_stem(model, case.stem)
    assert stem.reads_anew
    search, _ = open_search(NextLaws(model, stem), case, 11, np.arange(300), 0)
    state.bodies.clear()
    before = stem.spending.cost.token_evaluations
    search.draw(20.0)
    n_done = int((search.evidence().inclusion > 0.0).sum())
    spent = stem.spending.cost.token_evaluations - before
    lengths = sorted({len(body["prompt"]) for body in state.bodies})
    assert lengths[-1] == 12 + 1 + 12
    assert n_done * lengths[-1] < spent < 300 * lengths[-1]
    assert len(lengths) <= 4


def test_a_server_that_lists_only_likely_tokens_is_refused_in_one_line(loopback, connect):
    loopback.serve(wavy(), "llama.cpp")
    model = connect(top_k=2)
    with pytest.raises(CapabilityError, match="server with prompt log-probs") as raised:
        attribute(model, **CASE)
    assert "\n" not in str(raised.value)


def test_a_server_that_lists_every_token_is_as_good(loopback, connect):
    table = wavy()
    loopback.serve(table, "llama.cpp")
    agree(attribute(connect(top_k=4), **CASE), attribute(table, **CASE), abs_tol=1e-6)


def test_a_server_of_unknown_vocabulary_is_refused(loopback, connect):
    loopback.serve(wavy(), "vllm")
    with pytest.raises(InputError, match="n_vocab="):
        attribute(connect(), **CASE)


def test_a_token_whose_bytes_a_server_does_not_tell_still_has_a_name(monkeypatch):
    model = wide_table(30)
    whole = attribute(model, [3, 1, 4], [5], context=[2], method="exact")

    def untold(token):
        raise CapabilityError(f"the server does not tell the bytes of token {token}")

    told = model.tokenizer.token_bytes
    monkeypatch.setattr(
        model.tokenizer, "token_bytes", lambda token: untold(token) if token == 7 else told(token)
    )
    piece = gathering._piece(model, [7], [0])
    assert piece == model.tokenizer.decode([7])
    assert gathering._piece(model, [3], [0]) == whole.places[0].text
