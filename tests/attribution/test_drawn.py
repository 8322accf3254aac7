"""Numbers of drawn responses against the law of all responses, by enumeration."""

import json
import math
from itertools import product

import numpy as np
import pytest

import likely
from likely.attribution import stability
from likely.core.generation import greedy
from likely.core.nucleus import Cut
from likely.errors import InputError

ROWS = {
    "<s>": {"a": 0.5, "b": 0.3, "</s>": 0.2},
    "a": {"a": 0.1, "b": 0.6, "</s>": 0.3},
    "b": {"a": 0.55, "b": 0.3, "</s>": 0.15},
}


def chain():
    return likely.TableModel(["a", "b"], lambda c: ROWS[c[-1]], eos="</s>")


def law_of_responses(model, context, *, top_p, max_tokens):
    """The probability of each response under the cut law."""
    cut, end = Cut(top_p=top_p), model.info.eos_id
    found = {}
    for ids in product(range(model.info.n_vocab), repeat=max_tokens):
        stop = next((i + 1 for i, token in enumerate(ids) if token == end), max_tokens)
        steps = [cut.law(model.row((*context, *ids[:i]))).log_prob(ids[i]) for i in range(stop)]
        found[ids[:stop]] = math.exp(sum(steps))
    return {ids: prob for ids, prob in found.items() if prob > 0}


def shannon(probs):
    return -math.fsum(p * math.log(p) for p in probs if p > 0)


@pytest.mark.parametrize("top_p", [0.3, 0.7, 0.9, 1.0])
def test_a_law_that_was_seen_whole_is_known_exactly(top_p):
    model = chain()
    (found,) = stability(model, "ab", top_p=[top_p], n=2000, max_tokens=3)
    law = law_of_responses(model, (model.info.bos_id, 0, 1), top_p=top_p, max_tokens=3)
    best = greedy(model, ["ab"], max_tokens=3)[0].tokens
    assert found.n_distinct == len(law)
    assert found.seen_prob.value == pytest.approx(1.0)
    assert found.entropy.is_exact
    assert found.entropy.value == pytest.approx(shannon(law.values()), abs=1e-9)
    assert found.modal_prob.value == pytest.approx(law[found.modal_tokens])
    assert found.modal_prob.value == pytest.approx(max(law.values()), abs=0.05)
    assert found.greedy_prob.value == pytest.approx(law[best])
    assert found.modal_share.value == found.modal_count / 2000
    assert found.count_entropy <= math.log(found.n_distinct) + 1e-12


def test_intervals_hold_for_the_law_of_long_responses():
    model = chain()
    law = law_of_responses(model, (model.info.bos_id, 0), top_p=0.9, max_tokens=5)
    true = shannon(law.values())
    n, held, shares, values = 30, 0, 0, []
    for seed in range(n):
        (found,) = stability(model, "a", top_p=[0.9], n=15, max_tokens=5, seed=seed)
        assert not found.entropy.is_exact
        assert found.entropy.diagnostics["least"] <= true + 1e-9
        held += found.entropy.low <= true <= found.entropy.high
        shares += found.greedy_share.low <= found.greedy_prob.value <= found.greedy_share.high
        values.append(found.entropy.value)
    assert held >= 24  # 95 % of 30: fewer have a chance of 3e-4
    assert shares >= 24
    assert abs(np.mean(values) - true) < 4 * np.std(values) / math.sqrt(n)


def test_counts_are_a_floor_where_all_responses_differ():
    letters = [f"<{i}>" for i in range(30)]
    flat = likely.TableModel(letters, lambda c: dict.fromkeys(letters, 1 / 30))
    (found,) = stability(flat, "<0>", top_p=[1.0], n=200, max_tokens=8)
    assert found.is_saturated
    assert found.count_entropy == pytest.approx(math.log(200))  # 5.298317, as published
    assert found.entropy.value == pytest.approx(8 * math.log(30))
    assert found.modal_count == 1


def test_responses_may_go_on_through_the_end():
    rows = {**ROWS, "</s>": {"a": 1.0}}
    model = likely.TableModel(["a", "b"], lambda c: rows[c[-1]], eos="</s>")
    found = stability(model, "a", top_p=[1.0], n=4000, max_tokens=2, stop_at_end=False)[0]
    first = {"a": 0.1, "b": 0.6, "</s>": 0.3}
    law = [p * q for token, p in first.items() for q in rows[token].values()]
    assert found.n_distinct == len(law) == 7
    assert found.entropy.value == pytest.approx(shannon(law))
    stopped = stability(model, "a", top_p=[1.0], n=4000, max_tokens=2)[0]
    law = [p * q for token, p in first.items() for q in rows[token].values() if token != "</s>"]
    assert stopped.entropy.value == pytest.approx(shannon([0.3, *law]))
    greedy_one = stability(model, "b", max_tokens=3, top_p=[0.01], n=2, stop_at_end=False)
    assert len(greedy_one.greedy_tokens) == 3


def test_a_narrow_cut_leaves_the_likeliest_response_alone():
    found = stability(chain(), "ab", top_p=[0.01, 1.0], n=50, max_tokens=4)
    first = found[0]
    assert first.n_distinct == 1
    assert first.modal_tokens == found.greedy_tokens
    assert first.entropy.is_exact
    assert first.entropy.value == 0.0
    assert first.greedy_prob.value == 1.0
    assert 0.0 < found[1].greedy_prob.value < 1.0
    assert first.modal_log_prob == pytest.approx(math.log(found[1].greedy_prob.value))


def test_a_transformer_reads_each_beginning_once(toy_bpe):
    found = stability(toy_bpe, "Ans wer", top_p=[0.02], n=30, max_tokens=4)
    (draws,) = found
    n_context = 1 + len(toy_bpe.tokenizer.encode("Ans wer").tokens)
    # the likeliest response and its rows, the context of the draws, and their distinct beginnings
    most = 2 * (n_context + 3) + n_context + 3 * draws.n_distinct
    assert found.cost.token_evaluations <= most
    assert draws.modal_share.low <= draws.modal_prob.value <= draws.modal_share.high


def test_results_are_tables_text_and_strict_json():
    found = stability(chain(), "ab", top_p=[0.5, 1.0], n=20, max_tokens=3)
    frame = found.to_frame()
    assert frame["top_p"].tolist() == [0.5, 1.0]
    assert (frame["entropy_low"] <= frame["entropy"]).all()
    read = json.loads(found.to_json())
    assert read["draws"][1]["entropy"]["value"] == found[1].entropy.value
    assert found.summary().count("\n") == 2


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n": 1}, "at least 2 responses"),
        ({"top_p": []}, "at least one"),
        ({"top_p": [1.2]}, "top_p is a mass"),
        ({"level": 0.0}, "level of an interval"),
        ({"max_tokens": 0}, "at least 1"),
    ],
)
def test_what_cannot_be_asked_is_refused(options, message):
    with pytest.raises(InputError, match=message):
        stability(chain(), "ab", **options)
