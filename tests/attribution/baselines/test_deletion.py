"""Leave-one-out on tables whose every answer is known, and how tokens are taken out."""

import math

import numpy as np
import pytest

import likely
from likely import attribution
from likely.attribution.removal import (
    Deletion,
    Fixed,
    draw_marginal,
    log_probs_without,
    make_removal,
    replacement_token,
)
from likely.errors import CapabilityError, InputError, UnknownNameError

V = ("a", "b", "c", "d")


def copy_model(d=0.1, n=2):
    """From n tokens on, each repeats the first with probability 1 - d; those before are free."""

    def law(before):
        if len(before) <= n:
            return dict.fromkeys(V, 0.25)
        return {t: 1 - d if t == before[1] else d / 3 for t in V}

    return likely.TableModel(V, law)


def test_deletion_in_a_copy_model_asks_what_the_next_token_would_give():
    model = copy_model()
    found = attribution.baseline(model, "ab", "a", name="deletion")
    # Without "a" the prompt is "b": too short to be copied from, every token has 1/4.
    # Without "b" it is "a", likewise. The tokens move up, which is not a hole.
    assert found.scores.tolist() == pytest.approx([math.log(0.9 / 0.25)] * 2)
    whole = attribution.baseline(model, "abc", "a", name="deletion")
    assert whole.scores.tolist() == pytest.approx([math.log(0.9 / (0.1 / 3)), 0.0, 0.0])
    exact = attribution.attribute(copy_model(n=3), "abc", "a", method="exact")
    assert exact.scores[0] == pytest.approx(math.log(4 * 0.9))  # by Bayes' rule: log(V (1 - d))
    assert all(one.is_exact for one in whole.estimates)
    assert whole.log_response == pytest.approx(math.log(0.9))


def test_replacement_puts_a_named_token_there_and_no_other_moves():
    model = copy_model()
    found = attribution.baseline(model, "abc", "a", name="replacement", token="d")
    assert found.scores.tolist() == pytest.approx([math.log(0.9 / (0.1 / 3)), 0.0, 0.0])
    same = attribution.baseline(model, "abc", "a", name="replacement", token="a")
    assert same.scores.tolist() == pytest.approx([0.0] * 3)
    assert (found.options, found.diagnostics) == ({"token": "d"}, {"token": 3})
    assert found.removal == "replacement"


def test_the_default_replacement_is_a_space_else_the_end_else_the_bos():
    assert replacement_token(likely.TableModel(["a", " "], lambda b: {"a": 1.0}, eos="</s>")) == 1
    assert replacement_token(likely.TableModel(["a"], lambda b: {"a": 1.0}, eos="</s>")) == 2
    assert replacement_token(likely.TableModel(["a"], lambda b: {"a": 1.0})) == 1
    with pytest.raises(InputError, match="give token="):
        replacement_token(likely.TableModel(["a"], lambda b: {"a": 1.0}, bos=None))
    with pytest.raises(InputError, match=r"'ab' is 2 of"):
        replacement_token(copy_model(), "ab")
    with pytest.raises(InputError, match=r"ids 0..4, got 9"):
        replacement_token(copy_model(), 9)


def test_a_token_without_which_the_response_is_impossible_scores_infinity():
    def law(before):
        return {"b": 1.0} if "a" in before else {"a": 1.0}

    model = likely.TableModel(["a", "b"], law)
    found = attribution.baseline(model, "a", "b", name="deletion")
    assert found.scores.tolist() == [math.inf]
    assert '"inf"' in found.to_json()
    with pytest.raises(InputError, match="probability 0 after the whole prompt"):
        attribution.baseline(model, "a", "a", name="deletion")


def test_shared_prefixes_are_evaluated_once():
    model = copy_model()
    found = attribution.baseline(model, "abcd", "a", name="deletion")
    # bos; abcd, then abc | abd | acd | bcd past their shared starts: 5 + 0 + 1 + 2 + 3 prefixes.
    assert found.cost.token_evaluations == 11
    assert found.cost.model_calls == 1


def test_the_positions_are_those_of_the_case_and_no_others():
    model = copy_model()
    case = attribution.frame_case(model, "abcd", "a", positions=[2, 0])
    found = attribution.baseline(model, case, name="deletion")
    assert found.positions == (0, 2)
    whole = attribution.baseline(model, "abcd", "a", name="deletion")
    assert found.scores.tolist() == whole.scores[[0, 2]].tolist()
    with pytest.raises(InputError, match="give these to frame_case"):
        attribution.baseline(model, case, "a", name="deletion")


def test_an_empty_response_was_made_likely_by_nothing():
    found = attribution.baseline(copy_model(), "abc", "", name="deletion")
    assert found.scores.tolist() == [0.0] * 3
    assert found.cost.token_evaluations == 0


def test_names_and_options_are_checked():
    model = copy_model()
    with pytest.raises(UnknownNameError, match=r"did you mean \['deletion'\]"):
        attribution.baseline(model, "ab", "a", name="deletions")
    with pytest.raises(InputError, match=r"has the options \['token'\], got 'tokens'"):
        attribution.baseline(model, "ab", "a", name="replacement", tokens="a")
    with pytest.raises(InputError, match=r"cannot be run with \{'n_pairs': 'many'\}"):
        attribution.baseline(model, "ab", "a", name="shapley", n_pairs="many")
    with pytest.raises(InputError, match="level"):
        attribution.baseline(model, "ab", "a", name="deletion", level=1.0)
    with pytest.raises(InputError, match="no token of the prompt"):
        attribution.baseline(model, attribution.frame_case(model, "ab", "a", positions=[]),
                             name="deletion")  # fmt: skip
    with pytest.raises(UnknownNameError, match="no removal named"):
        make_removal(model, "drop")
    with pytest.raises(InputError, match="puts nothing"):
        make_removal(model, "deletion", "a")


@pytest.mark.parametrize("name", ["gradient_x_input", "integrated_gradients"])
def test_a_table_has_no_gradients_and_is_told_who_has(name):
    with pytest.raises(CapabilityError, match=r"transformers models \(tiny-1l, .*smollm2, hf:"):
        attribution.baseline(copy_model(), "ab", "a", name=name)


def test_every_baseline_of_the_table_can_be_loaded_and_made():
    for name in attribution.BASELINES:
        assert hasattr(attribution.BASELINES.load(name)(), "run")


def test_the_record_as_a_table_text_and_json():
    import json

    found = attribution.baseline(copy_model(), "abc", "a", name="deletion")
    frame = found.to_frame()
    assert frame["text"].tolist() == ["a", "b", "c"]
    np.testing.assert_array_equal(frame["score"], found.scores)
    assert frame["score_low"].tolist() == found.low.tolist()
    assert "deletion on table: 3 positions" in found.summary()
    record = json.loads(found.to_json())
    assert record["case"]["prompt"] == [0, 1, 2]
    assert [one["value"] for one in record["estimates"]] == found.scores.tolist()
    assert record["cost"]["token_evaluations"] == found.cost.token_evaluations


def test_removals_give_the_prompts_they_say():
    case = attribution.frame_case(copy_model(), "abcd", "a")
    assert Deletion().prompts(case, {1, 3}) == ((0, 2),)
    assert Fixed(token=3).prompts(case, {1}) == ((0, 3, 2, 3),)
    assert Deletion().prompts(case, set()) == (case.prompt,)


def test_the_mean_over_the_marginal_of_one_hole_is_the_attribution_score():
    model = copy_model(n=3)
    exact = attribution.attribute(model, "abc", "a", method="exact", kept=None)
    marginal = draw_marginal(exact, n_draws=4000, seed=1)
    assert marginal.mass == pytest.approx(1.0)
    case = exact.case
    found = log_probs_without(model, case, [set(), {0}, {1}], removal=marginal)
    scores = found.log_probs[0] - found.log_probs[1:]
    # Pr(r | rest) = 1/4; one draw gives .9 or .0333: standard error of the log at 4000 is .024.
    assert scores[0] == pytest.approx(exact.scores[0], abs=4 * 0.024)
    assert scores[1] == pytest.approx(0.0, abs=1e-12)
    with pytest.raises(InputError, match="position 2 is not known"):
        draw_marginal(exact.select([0]), n_draws=2).prompts(case, {2})
    with pytest.raises(InputError, match="at least 2 draws"):
        draw_marginal(exact, n_draws=1)
