"""What holds between the numbers of any model, checked by enumeration of all candidates."""

import itertools
import math

import numpy as np
import pytest
import torch
from attribution_truth import check_measures, enumerated, lse, random_table, table_rows
from fixtures import plain_rows, random_gpt2

from likely.attribution import attribute, frame_case
from likely.models.transformers import TransformersModel

TOLERANCE = 1e-9
BOS = (3,)
PROMPT = (7, 1, 12, 30, 5, 22)
RESPONSE = (9, 2, 17, 4)
N_SMALL = 40


def _gpt2(n_vocab, *, dtype="float64", attention="eager"):
    module = random_gpt2(n_vocab, seed=7).eval().to(getattr(torch, dtype))
    module.set_attn_implementation(attention)
    return TransformersModel(module, _small_tokenizer(n_vocab), name="gpt2")


def _small_tokenizer(n_vocab):
    """Return a tokenizer of the first bytes alone, so that no id lies beyond the output layer."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())[:n_vocab]
    backend = Tokenizer(models.BPE(vocab={c: i for i, c in enumerate(alphabet)}, merges=[]))
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    backend.decoder = decoders.ByteLevel()
    return PreTrainedTokenizerFast(tokenizer_object=backend)


class World:
    """A model, a case, its exact attribution, and the truth of each position."""

    def __init__(self, model, rows, case, n_tokens):
        self.model, self.case, self.n_tokens = model, case, n_tokens
        self.found = attribute(
            model, case.prompt, case.response, context=case.context, method="exact", kept=None
        )
        self.truths = [
            enumerated(rows, case, i, n_tokens=n_tokens) for i in range(len(case.prompt))
        ]

    def pairs(self):
        return zip(self.found.places, self.truths, strict=True)


def _transformer_world():
    model = _gpt2(N_SMALL)
    case = frame_case(model, PROMPT, RESPONSE, context=BOS)
    return World(model, lambda ids: plain_rows(model, ids), case, N_SMALL)


def _table_world():
    model = random_table(5, seed=21)
    case = frame_case(model, "acdbe", "eacb")
    return World(model, table_rows(model), case, 5)


@pytest.fixture(scope="module", params=[_transformer_world, _table_world],
                ids=["transformer", "table"])  # fmt: skip
def world(request):
    return request.param()


def test_every_number_is_the_enumerated_one(world):
    for place, truth in world.pairs():
        check_measures(place.measures, truth, atol=TOLERANCE)


def test_every_candidate_is_the_enumerated_one(world):
    for place, truth in world.pairs():
        found = place.candidates
        assert len(found) == world.n_tokens
        ids = found.tokens[:, 0]
        assert sorted(ids.tolist()) == list(range(world.n_tokens))
        for name, expected in (
            ("log_prior", truth.log_w), ("log_posterior", truth.log_q),
            ("log_posterior_response", truth.log_q_response), ("log_response", truth.log_b),
            ("score", truth.scores),
        ):  # fmt: skip
            np.testing.assert_allclose(getattr(found, name), expected[ids], atol=TOLERANCE)
        assert (np.diff(found.log_posterior) <= 1e-12).all()
        assert (found.weight == 1.0).all()


def test_the_score_is_the_pointwise_mutual_information(world):
    for place in world.found.places:
        found = place.measures
        pmi = found.surprisal.value - found.response_surprisal.value
        assert found.score.value == pytest.approx(pmi, abs=TOLERANCE)


def test_the_last_position_has_the_prompt_for_sure(world):
    assert world.found.places[-1].measures.log_prompt_likelihood.value == pytest.approx(
        0.0, abs=TOLERANCE
    )


def test_rows_of_the_matrix_sum_to_the_scores(world):
    np.testing.assert_allclose(world.found.matrix.sum(axis=1), world.found.scores, atol=TOLERANCE)


def test_the_mean_of_exponentiated_scores_is_one(world):
    for place in world.found.places:
        found = place.candidates
        assert lse(found.log_posterior + found.score) == pytest.approx(0.0, abs=TOLERANCE)


def test_means_of_the_scores_are_the_two_divergences(world):
    for place in world.found.places:
        found, measures = place.candidates, place.measures
        gained = float(np.exp(found.log_posterior_response) @ found.score)
        lost = float(np.exp(found.log_posterior) @ found.score)
        assert gained == pytest.approx(measures.information.value, abs=TOLERANCE)
        assert lost == pytest.approx(-measures.reverse_information.value, abs=TOLERANCE)
        assert gained >= 0.0 >= lost
        assert 0.0 <= measures.jensen_shannon.value <= math.log(2.0)


def test_a_score_lies_between_its_bounds(world):
    for place in world.found.places:
        most = float(place.candidates.log_response.max())
        score = place.measures.score.value
        assert world.found.log_response - most - TOLERANCE <= score
        assert score <= place.measures.surprisal.value + TOLERANCE
        assert place.bounds == pytest.approx((score, score), abs=TOLERANCE)
        assert place.assumed_bounds == pytest.approx((score, score), abs=TOLERANCE)


def test_traces_begin_with_the_prompt_and_end_with_the_response(world):
    for place in world.found.places:
        found = place.measures
        ends = found.entropy_trace[[0, -1]]
        assert ends == pytest.approx(
            [found.context_entropy.value, found.response_entropy.value], abs=TOLERANCE
        )
        assert found.information_trace[0] == pytest.approx(0.0, abs=TOLERANCE)
        assert found.information_trace[-1] == pytest.approx(found.information.value, abs=TOLERANCE)


def _again(world, prompt, response, **options):
    return attribute(
        world.model, prompt, response, context=world.case.context, method="exact", **options
    )


def test_an_empty_response_says_nothing(world):
    found = _again(world, world.case.prompt, ())
    np.testing.assert_allclose(found.scores, 0.0, atol=TOLERANCE)
    np.testing.assert_allclose(found.response_entropy, found.context_entropy, atol=TOLERANCE)
    np.testing.assert_allclose(found.context_entropy, world.found.context_entropy, atol=TOLERANCE)
    for place in found.places:
        np.testing.assert_allclose(
            place.candidates.log_posterior_response, place.candidates.log_posterior, atol=TOLERANCE
        )
        assert place.measures.matrix.shape == (0,)
        assert place.measures.entropy_trace.shape == (1,)
    assert found.log_response == 0.0


@pytest.mark.parametrize("cut", [1, 2, 3])
def test_a_response_in_two_parts_scores_as_the_sum_of_both(world, cut):
    prompt, response = world.case.prompt, world.case.response
    positions = range(len(prompt))
    first = _again(world, prompt, response[:cut])
    second = _again(world, prompt + response[:cut], response[cut:], positions=positions)
    np.testing.assert_allclose(first.scores + second.scores, world.found.scores, atol=TOLERANCE)
    np.testing.assert_allclose(
        np.hstack([first.matrix, second.matrix]), world.found.matrix, atol=TOLERANCE
    )


def test_a_position_does_not_depend_on_which_others_are_asked_about(world):
    for i in range(len(world.case.prompt)):
        alone = _again(world, world.case.prompt, world.case.response, positions=[i])
        assert alone.scores == pytest.approx([world.found.scores[i]], abs=1e-12)


# All responses of two tokens.


@pytest.fixture(scope="module")
def small():
    """Return a small model, its prompt, and log q and log b of each candidate, a position."""
    model = _gpt2(6)
    case = frame_case(model, (4, 1, 5), (0, 0), context=BOS)
    pairs = list(itertools.product(range(6), repeat=2))
    tables = []
    for i in range(3):
        truth = enumerated(lambda ids: plain_rows(model, ids), case, i, n_tokens=6)
        log_b = []
        for v in range(6):
            held = case.context + case.prompt[:i] + (v,) + case.prompt[i + 1 :]
            rows = [plain_rows(model, (*held, r))[-2:] for r in range(6)]
            log_b.append([rows[r][0, r] + rows[r][1, s] for r, s in pairs])
        tables.append((truth.log_q, np.array(log_b)))
    return model, case, pairs, tables


def test_responses_given_the_rest_are_a_law(small):
    _, _, _, tables = small
    for log_q, log_b in tables:
        assert lse(lse(log_q[:, None] + log_b, axis=0)) == pytest.approx(0.0, abs=TOLERANCE)


@pytest.mark.parametrize("position", range(3))
def test_attributions_of_all_responses_add_up(small, position):
    model, case, pairs, tables = small
    log_q, log_b = tables[position]
    log_rest = lse(log_q[:, None] + log_b, axis=0)
    own = log_b[case.prompt[position]]
    scores, informations, entropies, posteriors = [], [], [], []
    for response in pairs:
        [place] = attribute(
            model, case.prompt, response, context=case.context, method="exact", kept=None,
            positions=[position],
        ).places  # fmt: skip
        scores.append(place.measures.score.value)
        informations.append(place.measures.information.value)
        entropies.append(place.measures.response_entropy.value)
        order = np.argsort(place.candidates.tokens[:, 0])
        posteriors.append(np.exp(place.candidates.log_posterior_response[order]))
    rest = np.exp(log_rest)
    np.testing.assert_allclose(scores, own - log_rest, atol=TOLERANCE)
    # The mean score of responses to the prompt is a divergence, so at least 0.
    mean = float(np.exp(own) @ scores)
    assert mean == pytest.approx(float(np.exp(own) @ (own - log_rest)), abs=TOLERANCE)
    assert mean > 0.0
    # The information is the entropy less what is left of it on average.
    q = np.exp(log_q)
    joint = q[:, None] * np.exp(log_b)
    mutual = float(np.sum(joint * (log_b - log_rest)))
    entropy = float(-q @ log_q)
    assert mutual == pytest.approx(entropy - float(rest @ entropies), abs=TOLERANCE)
    assert mutual == pytest.approx(float(rest @ informations), abs=TOLERANCE)
    # The posterior is a martingale: over responses given the rest it averages to what it was.
    np.testing.assert_allclose(rest @ np.array(posteriors), q, atol=TOLERANCE)


# However it is evaluated.


def test_kept_keys_and_whole_sequences_give_the_same_attribution():
    """The other engine is a table that asks the module for each row, without any cache."""
    import likely

    model = _gpt2(8)
    names = [chr(ord("a") + i) for i in range(8)]

    def law(before):
        probs = np.exp(plain_rows(model, [names.index(piece) for piece in before])[-1])
        return dict(zip(names, (probs / probs.sum()).tolist(), strict=True))

    table = likely.TableModel(names, law, bos=None)
    asked = {"context": BOS, "method": "exact"}
    one = attribute(model, (7, 1, 5), (0, 2, 4), **asked)
    other = attribute(table, (7, 1, 5), (0, 2, 4), **asked)
    np.testing.assert_allclose(one.scores, other.scores, atol=1e-12)
    np.testing.assert_allclose(one.matrix, other.matrix, atol=1e-12)
    np.testing.assert_allclose(one.context_entropy, other.context_entropy, atol=1e-12)


@pytest.mark.parametrize(("dtype", "atol"), [("float64", 1e-12), ("float32", 1e-5)])
def test_the_size_of_batches_changes_nothing(dtype, atol, monkeypatch):
    from likely.attribution import search
    from likely.models import branching

    model = _gpt2(N_SMALL, dtype=dtype)
    asked = {"context": BOS, "method": "exact", "positions": [1, 5]}
    whole = attribute(model, PROMPT, RESPONSE, **asked)
    monkeypatch.setattr(branching, "_PASS_TOKENS", 1)
    alone = attribute(model, PROMPT, RESPONSE, **asked)
    assert alone.cost.model_calls > 10 * whole.cost.model_calls
    monkeypatch.setattr(search, "AT_ONCE", 7)
    sevens = attribute(model, PROMPT, RESPONSE, **asked)
    for other in (alone, sevens):
        np.testing.assert_allclose(other.scores, whole.scores, atol=atol)
        np.testing.assert_allclose(other.matrix, whole.matrix, atol=atol)
        assert other.cost.token_evaluations == whole.cost.token_evaluations


@pytest.mark.parametrize("attention", ["eager", "sdpa"])
def test_single_precision_is_close_to_double(world, attention):
    exact = attribute(_gpt2(N_SMALL), PROMPT, RESPONSE, context=BOS, method="exact")
    single = attribute(
        _gpt2(N_SMALL, dtype="float32", attention=attention), PROMPT, RESPONSE, context=BOS,
        method="exact",
    )  # fmt: skip
    np.testing.assert_allclose(single.scores, exact.scores, atol=1e-5)
    np.testing.assert_allclose(single.matrix, exact.matrix, atol=1e-5)


def test_the_order_of_candidates_changes_nothing():
    """A model whose ids are permuted is the same model."""
    model = _gpt2(N_SMALL)
    order = np.random.default_rng(5).permutation(N_SMALL)
    module = random_gpt2(N_SMALL, seed=7).eval().double()
    with torch.no_grad():  # the output layer is tied to these
        rows = module.transformer.wte.weight
        rows[torch.from_numpy(order)] = rows.clone()
    permuted = TransformersModel(module, _small_tokenizer(N_SMALL), name="permuted")
    one = attribute(model, PROMPT, RESPONSE, context=BOS, method="exact")
    renamed = [tuple(int(order[i]) for i in ids) for ids in (PROMPT, RESPONSE, BOS)]
    other = attribute(permuted, renamed[0], renamed[1], context=renamed[2], method="exact")
    np.testing.assert_allclose(other.scores, one.scores, atol=1e-12)
    np.testing.assert_allclose(other.response_entropy, one.response_entropy, atol=1e-12)
    for i in range(len(PROMPT)):
        assert other.substitutes(i, k=1)[0].tokens == (
            int(order[one.substitutes(i, k=1)[0].tokens[0]]),
        )


def test_exact_costs_what_the_cost_model_says():
    """The prompt once, then for every candidate and position all that comes after it but one."""
    model = _gpt2(N_SMALL)
    m, n_response = len(PROMPT), len(RESPONSE)
    found = attribute(model, PROMPT, RESPONSE, context=BOS, method="exact")
    per_candidate = m * (m + 1) // 2 + m * (n_response - 1)
    read = 2 * (1 + m + n_response - 1)  # once to keep it, and once to see what that changes
    assert found.cost.token_evaluations == read + N_SMALL * per_candidate
    for place in found.places:
        assert place.cost.token_evaluations == N_SMALL * (m - place.positions[0] + n_response - 1)
