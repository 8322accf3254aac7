"""The five invariants on every local adapter, over random texts, batch shapes and cuts."""

import numpy as np
import pytest
from fixtures import plain_rows
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import likely
from likely.testing import check_model

pytest.importorskip("torch")

NEAR = 1e-5
NEURAL = ["toy_bytes", "gpt2", "window"]

sequences = st.lists(
    st.lists(st.integers(0, 40), min_size=2, max_size=30).map(tuple), min_size=1, max_size=5
)
shapes = st.builds(
    likely.Settings,
    method=st.sampled_from(["auto", "tree", "cache", "full"]),
    row_tokens=st.sampled_from([None, 1, 2, 5, 9]),
    batch_rows=st.sampled_from([None, 1, 2, 4]),
)
slow = settings(suppress_health_check=[HealthCheck.too_slow])


@pytest.mark.parametrize("name", ["toy_bpe", *NEURAL])
def test_every_adapter_keeps_the_contract(request, name):
    check_model(request.getfixturevalue(name), texts=["the sky is blue", "Answer: C", "An", "wor"])


@pytest.mark.parametrize("attention", ["eager", "sdpa"])
@pytest.mark.parametrize("dtype", ["float64", "bfloat16"])
def test_other_attention_and_dtypes_keep_the_contract(random_window_folder, attention, dtype):
    model = likely.load(f"hf:{random_window_folder}", attention=attention, dtype=dtype)
    assert model.info.dtype == dtype
    assert attention in model.info.backend
    # Eager attention takes its softmax in float32, whatever the weights are.
    tolerance = 1e-5 if (attention, dtype) == ("eager", "float64") else None
    check_model(model, texts=["the sky is blue and wide", "Answer: C"], tolerance=tolerance)


@pytest.mark.parametrize("name", NEURAL)
@slow
@given(data=st.data())
def test_any_shape_of_work_gives_what_the_plain_forward_gives(request, name, data):
    model = request.getfixturevalue(name)
    texts = data.draw(sequences)
    cuts = [data.draw(st.integers(1, len(ids) - 1)) for ids in texts]
    pairs = [(ids[:cut], ids[cut:]) for ids, cut in zip(texts, cuts, strict=True)]
    scores = likely.score(model, pairs, settings=data.draw(shapes))
    for ids, cut, score in zip(texts, cuts, scores, strict=True):
        rows = plain_rows(model, ids)
        expected = [rows[i - 1, ids[i]] for i in range(cut, len(ids))]
        assert score.token_log_probs == pytest.approx(expected, abs=NEAR)
        assert score.tokens == ids[cut:]
        assert score.context_tokens == ids[:cut]


@pytest.mark.parametrize("name", NEURAL)
@slow
@given(texts=sequences, how=shapes)
def test_each_distinct_prefix_is_evaluated_once(request, name, texts, how):
    model = request.getfixturevalue(name)
    scores = likely.score(model, [(ids[:1], ids[1:]) for ids in texts], settings=how)
    distinct = {ids[:n] for ids in texts for n in range(1, len(ids))}
    if how.method in ("tree", "cache"):
        assert scores.cost.token_evaluations == len(distinct)
    else:
        assert scores.cost.token_evaluations >= len(distinct)


@pytest.mark.parametrize("name", NEURAL)
@slow
@given(ids=st.lists(st.integers(0, 40), min_size=2, max_size=20).map(tuple), how=shapes)
def test_every_row_is_the_plain_forwards_and_sums_to_one(request, name, ids, how):
    model = request.getfixturevalue(name)
    prefixes = [ids[:n] for n in range(1, len(ids) + 1)]
    expected = plain_rows(model, ids)
    for n, row in enumerate(likely.next_tokens(model, prefixes, settings=how)):
        assert row.log_probs == pytest.approx(expected[n], abs=NEAR)
        assert np.exp(row.log_probs).sum() == pytest.approx(1.0, abs=1e-9)


def one_of(*words):
    return st.lists(st.sampled_from(words), min_size=1, max_size=8).map("".join)


@given(st.lists(st.tuples(one_of("A", "B"), one_of("A", "B")), min_size=1, max_size=6))
def test_on_a_table_every_pair_is_the_product_of_its_law(pairs):
    def law(context):
        share = (1 + sum(token == "A" for token in context)) / (2 + len(context))
        return {"A": share, "B": 1 - share}

    model = likely.TableModel(["A", "B"], law)
    for (context, continuation), score in zip(pairs, likely.score(model, pairs), strict=True):
        before = ["<s>", *context]
        total = 0.0
        for token in continuation:
            total += np.log(law(tuple(before))[token])
            before.append(token)
        assert score.log_prob == pytest.approx(total, abs=1e-12)
