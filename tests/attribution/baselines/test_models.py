"""The same baselines on a transformer and behind servers: plain scores of plain prompts."""

import numpy as np
import pytest
from fixtures import plain_rows

import likely
from likely import attribution
from likely.errors import CapabilityError

PROBE = "abba"
LETTERS = "abc"


def law(before):
    """Leans on how many a's there are and on the last letter."""
    share = 0.2 + 0.5 * before.count("a") / (1 + len(before))
    rest = 1.0 - share
    one = 0.75 if before[-1] == "b" else 0.25
    return {"a": share, "b": rest * one, "c": rest * (1.0 - one)}


def test_on_a_transformer_deletion_is_two_plain_forward_passes(gpt2):
    case = attribution.frame_case(gpt2, "Answer: two", " words")
    found = attribution.baseline(gpt2, case, name="deletion")

    def log_prob(prompt):
        ids = [*case.context, *prompt, *case.response]
        rows = plain_rows(gpt2, ids)
        start = len(ids) - len(case.response)
        return sum(rows[i - 1, ids[i]] for i in range(start, len(ids)))

    whole = log_prob(case.prompt)
    expected = [
        whole - log_prob(case.prompt[:i] + case.prompt[i + 1 :]) for i in range(len(case.prompt))
    ]
    np.testing.assert_allclose(found.scores, expected, atol=1e-5)
    assert found.log_response == pytest.approx(whole, abs=1e-5)
    n_all = sum(len(case.stem) + len(case.response) - 1 for _ in range(len(case.prompt) + 1))
    assert found.cost.token_evaluations < n_all  # shared prefixes once


@pytest.mark.parametrize(
    ("name", "options"),
    [("deletion", {}), ("replacement", {"token": "c"}), ("shapley", {}), ("context_cite", {})],
)
def test_a_server_that_tells_prompt_log_probs_gives_the_tables_scores(
    loopback, connect, name, options
):
    table = likely.TableModel(LETTERS, law)
    loopback.serve(table, "vllm")
    model = connect()
    expected = attribution.baseline(table, "abc", "ab", name=name, **options)
    ids = tuple(expected.case.prompt)
    found = attribution.baseline(model, ids, expected.case.response, name=name, **options)
    np.testing.assert_allclose(found.scores, expected.scores, atol=1e-6)


def test_a_server_that_only_bounds_probabilities_is_refused(loopback, connect):
    table = likely.TableModel(LETTERS, law)
    loopback.serve(table, "llama.cpp")
    model = connect(top_k=1)
    with pytest.raises(CapabilityError, match="only bounds the probability"):
        attribution.baseline(model, "abc", "ab", name="deletion")
