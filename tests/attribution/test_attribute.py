"""The one function: its options, what it refuses, and what it says about itself."""

import math

import numpy as np
import pytest
from attribution_truth import chain, enumerated, lse, random_table, table_rows
from fixtures import N_UNUSED, plain_rows, random_gpt2
from jaxtyping import TypeCheckError

import likely
from likely.attribution import attribute, frame_case, reference_cost
from likely.attribution.gathering import BUDGET_SHARE, LEAST_BUDGET, Terms, default_budget
from likely.errors import InputError, UnknownNameError
from likely.models.transformers import TransformersModel


@pytest.fixture(scope="module")
def table():
    return random_table(5, seed=4)


N_WIDE = 8000


@pytest.fixture(scope="module")
def wide():
    """Return a random model of so many tokens that not all of them are evaluated."""
    import torch
    from tokenizers import Tokenizer, models
    from transformers import PreTrainedTokenizerFast

    module = random_gpt2(N_WIDE, seed=5).eval()
    with torch.no_grad():
        module.transformer.ln_f.weight.mul_(4.0)  # peaked rows, as trained models have them
    words = {f"w{i}": i for i in range(N_WIDE)}
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=Tokenizer(models.WordLevel(vocab=words, unk_token="w0"))
    )
    return TransformersModel(module, tokenizer, name="wide")


def test_excluded_ids_are_no_candidates_and_the_rest_is_renormalised(table):
    case = frame_case(table, "abcd", "ea")
    found = attribute(table, "abcd", "ea", method="exact", exclude=[4, 4], positions=[1], kept=None)
    assert sorted(found.at(1).candidates.tokens[:, 0].tolist()) == [0, 1, 2, 3]
    row = table.row(case.context + case.prompt[:1])
    assert found.excluded_mass == pytest.approx([math.exp(row[4])], abs=1e-12)
    truth = enumerated(table_rows(table), case, 1, n_tokens=4)
    assert found.scores == pytest.approx([truth.numbers()["score"]], abs=1e-12)
    whole = attribute(table, "abcd", "ea", method="exact", positions=[1])
    assert whole.scores[0] != pytest.approx(found.scores[0], abs=1e-7)
    assert whole.excluded_mass == pytest.approx([0.0], abs=1e-12)


def test_at_the_last_position_what_is_left_is_a_law(table):
    found = attribute(table, "abcd", "ea", method="exact", exclude=[0, 1], positions=[3])
    assert found.at(3).measures.log_prompt_likelihood.value == pytest.approx(0.0, abs=1e-12)


def test_ids_that_mean_nothing_are_no_candidates(gpt2):
    """The output layer has rows that no token uses: they stay in the softmax, and are counted."""
    n_tokens = gpt2.info.n_tokens
    assert gpt2.info.n_vocab == n_tokens + N_UNUSED
    case = frame_case(gpt2, (5, 9), (4,))
    found = attribute(gpt2, (5, 9), (4,), method="exact", kept=None)
    assert found.places[0].n_candidates == n_tokens
    assert int(found.places[0].candidates.tokens.max()) < n_tokens
    for i, mass in enumerate(found.excluded_mass):
        row = plain_rows(gpt2, case.context + case.prompt[:i])[-1]
        assert mass == pytest.approx(math.exp(lse(row[n_tokens:])), abs=1e-6)
        assert mass > 1e-3
        truth = enumerated(lambda ids: plain_rows(gpt2, ids), case, i, n_tokens=n_tokens)
        assert found.scores[i] == pytest.approx(truth.numbers()["score"], abs=1e-5)


def test_an_actual_token_cannot_be_excluded(table):
    with pytest.raises(InputError, match="position 1 of the prompt and is no candidate"):
        attribute(table, "abcd", "ea", exclude=[1], positions=[1])
    assert attribute(table, "abcd", "ea", exclude=[1], positions=[0]).scores.shape == (1,)


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"tolerance": 0.0}, InputError, "tolerance .* got 0.0"),
        ({"tolerance": float("nan")}, InputError, "tolerance .* got nan"),
        ({"level": 1.0}, InputError, "level .* got 1.0"),
        ({"kappa": 0.5}, InputError, "kappa .* got 0.5"),
        ({"seed": -1}, InputError, "seed .* got -1"),
        ({"exclude": [99]}, InputError, "excluded ids are 0..5, got 99"),
        ({"exclude": [-1]}, InputError, "got -1"),
        ({"roles": ("nobody",)}, InputError, "no token of the prompt"),
        ({"positions": []}, InputError, "no token of the prompt"),
        ({"positions": [7]}, InputError, "got 7"),
    ],
)
def test_unusable_options_are_named(table, options, error, words):
    with pytest.raises(error, match=words) as caught:
        attribute(table, "abcd", "ea", **options)
    assert "\n" not in str(caught.value)


def test_an_unknown_method_is_told_the_known_ones():
    with pytest.raises((UnknownNameError, TypeCheckError), match="exact"):
        Terms(
            method="exakt", tolerance=0.02, level=0.95, seed=0, rule="all", kappa=2.0, kept=None,
            budget=None,
        )  # fmt: skip


@pytest.mark.parametrize("options", [{"budget": -1.0}, {"budget": float("nan")}, {"kept": -3}])
def test_numbers_that_mean_nothing_are_refused(table, options):
    with pytest.raises(InputError, match=next(iter(options))):
        attribute(table, "abcd", "ea", **options)


def test_a_response_that_cannot_be_is_refused():
    model = chain(((1.0, 0.0), (0.5, 0.5)), (0.5, 0.5))
    with pytest.raises(InputError, match="impossible"):
        attribute(model, "aa", "b")


def test_a_prompt_that_cannot_be_is_refused():
    model = chain(((1.0, 0.0), (0.5, 0.5)), (0.5, 0.5))
    with pytest.raises(InputError, match="impossible"):
        attribute(model, "ab", "a", positions=[1])


def test_an_empty_response_has_a_matrix_of_no_columns(table):
    found = attribute(table, "abc", "", method="exact")
    assert found.scores == pytest.approx([0.0] * 3, abs=1e-12)
    assert found.log_response == 0.0
    assert found.response_log_probs.shape == (0,)


def test_a_model_of_one_token_has_nothing_to_say():
    model = likely.TableModel(["a"], lambda before: {"a": 1.0})
    found = attribute(model, "aaa", "aa")
    assert found.scores == pytest.approx([0.0] * 3, abs=1e-12)
    assert found.context_entropy == pytest.approx([0.0] * 3, abs=1e-12)


def test_what_it_says_about_itself(table):
    found = attribute(table, "abcd", "ea", tolerance=0.1, level=0.9, seed=7, kappa=3.0)
    assert (found.method, found.tolerance, found.level) == ("adaptive", 0.1, 0.9)
    assert (found.seed, found.kappa) == (7, 3.0)
    assert found.model.name == "table"
    assert found.model.identity == table.info.identity
    assert found.model.likely == likely.__version__
    assert found.converged
    assert found.positions == (0, 1, 2, 3)
    score = likely.score(table, [("abcd", "ea")])[0]
    assert found.log_response == pytest.approx(score.log_prob, abs=1e-12)
    np.testing.assert_allclose(found.response_log_probs, score.token_log_probs, atol=1e-12)


def test_costs_of_the_places_sum_to_the_whole_less_reading_the_text(gpt2):
    found = attribute(gpt2, "we were", " wo", method="exact")
    text = 2 * (len(found.case.stem + found.case.response) - 1)  # kept, and by a plain forward
    spent = sum(place.cost.token_evaluations for place in found.places)
    assert found.cost.token_evaluations == text + spent
    assert found.cost.model_calls > len(found.places)


def test_progress_is_told_in_token_evaluations(gpt2):
    class Meter:
        done = 0

        def expect(self, tokens):
            pass

        def advance(self, tokens):
            self.done += tokens

    meter = Meter()
    found = attribute(gpt2, "we we", " wo", method="exact", meter=meter)
    assert meter.done == sum(place.cost.token_evaluations for place in found.places)


def test_the_published_procedure_costs_what_its_formula_says(table):
    case = frame_case(table, "abcd", "ea")
    assert reference_cost(1000, case) == 1000 * 4 * (2 * 4 + 2 + 1)
    assert default_budget(10**6, case) == reference_cost(10**6, case) / BUDGET_SHARE
    assert default_budget(1000, case) == LEAST_BUDGET * len(case.positions)


# A vocabulary that is not read whole.


def test_adaptive_scores_are_close_to_the_exact_ones(wide):
    prompt, response = (9, 500, 77, 3), (41, 7, 1200)
    asked = {"context": (2,), "positions": [1, 3]}
    exact = attribute(wide, prompt, response, method="exact", **asked)
    asked |= {"tolerance": 0.1, "budget": 1e9}
    found = attribute(wide, prompt, response, **asked)
    assert {place.method for place in found.places} == {"adaptive"}
    assert found.cost.token_evaluations < exact.cost.token_evaluations
    assert found.converged
    for place, truth in zip(found.places, exact.places, strict=True):
        score = place.measures.score
        exact_score = truth.measures.score.value
        assert score.value == pytest.approx(exact_score, abs=0.2)
        assert score.high - score.low <= 0.2
        assert place.bounds[0] - 1e-6 <= exact_score <= place.bounds[1] + 1e-6
        assert place.n_candidates < truth.n_candidates == N_WIDE
    again = attribute(wide, prompt, response, **asked)
    np.testing.assert_array_equal(again.scores, found.scores)
    alone = attribute(wide, prompt, response, **(asked | {"positions": [3]}))
    assert alone.scores[0] == pytest.approx(found.scores[1], abs=1e-9)  # draws of its own
    other = attribute(wide, prompt, response, **asked, seed=1)
    assert (other.scores != found.scores).all()


def test_a_budget_that_does_not_suffice_is_told(wide):
    found = attribute(
        wide, (9, 500, 77, 3), (41, 7, 1200), context=(2,), positions=[1], tolerance=1e-4,
        budget=20000.0,
    )  # fmt: skip
    assert not found.converged
    assert found.places[0].reason == "budget"
    assert found.places[0].method == "adaptive"


def test_candidates_that_are_kept_are_the_likeliest_and_the_actual_one(wide):
    found = attribute(wide, (9, 500, 77), (41,), context=(2,), positions=[1], tolerance=0.2, kept=5)
    kept = found.at(1).candidates
    assert 5 <= len(kept) <= 6
    assert 500 in kept.tokens[:, 0]
    assert (kept.weight >= 1.0).all()
    assert found.at(1).n_candidates > 6
