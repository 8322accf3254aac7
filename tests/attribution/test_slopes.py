"""The slope at a place is the derivative of all later text by what stands there."""

import dataclasses

import numpy as np
import pytest
import torch
from attribution_truth import random_table
from fixtures import random_gpt2, toy_bytes_tokenizer

from likely.attribution.slopes import open_slopes
from likely.core.branches import Spending
from likely.core.model import Settings
from likely.models.transformers import TransformersModel

N_VOCAB = 256
TEXT = (3, 141, 59, 26, 53, 58)


def model_of(dtype="float64"):
    module = random_gpt2(N_VOCAB, seed=5).eval().to(getattr(torch, dtype))
    return TransformersModel(module, toy_bytes_tokenizer(), name="random")


def slopes_of(model, *, settings=None):
    spending = Spending()
    return open_slopes(model, TEXT, settings=settings, spending=spending), spending.cost


def log_prob(model, embeddings):
    rows = model.logits(embeddings=embeddings)[0, :-1].double().log_softmax(dim=-1)
    return float(rows[torch.arange(len(TEXT) - 1), list(TEXT[1:])].sum().detach())


@pytest.mark.parametrize("place", [0, 2, 4])
def test_a_slope_is_the_derivative_by_finite_differences(place):
    model = model_of()
    slopes, cost = slopes_of(model)
    ids = np.array([7, TEXT[place], 200])
    found = slopes.at(place, ids, TEXT[place])
    assert found[1] == pytest.approx(0.0, abs=1e-12)
    own = model.embed(torch.tensor([list(TEXT)]))
    for i in (0, 2):
        toward = torch.zeros_like(own)
        toward[0, place] = model.embed(torch.tensor([[ids[i]]]))[0, 0] - own[0, place]
        ends = [log_prob(model, own + step * toward) for step in (1e-5, -1e-5)]
        assert found[i] == pytest.approx((ends[0] - ends[1]) / 2e-5, rel=1e-5)
    assert cost.token_evaluations == len(TEXT)


def test_the_last_token_of_a_text_moves_nothing_after_it():
    slopes, _ = slopes_of(model_of())
    assert np.array_equal(slopes.at(5, np.arange(N_VOCAB), TEXT[5]), np.zeros(N_VOCAB))


def test_blocks_of_ids_change_nothing(monkeypatch):
    slopes, _ = slopes_of(model_of())
    whole = slopes.at(1, np.arange(N_VOCAB), TEXT[1])
    monkeypatch.setattr("likely.attribution.slopes._IDS", 100)
    assert slopes.at(1, np.arange(N_VOCAB), TEXT[1]) == pytest.approx(whole, abs=1e-14)


def test_there_are_none_where_the_model_tells_none():
    table, spending = random_table(), Spending()
    assert open_slopes(table, (0, 1, 2), settings=None, spending=spending) is None
    assert spending.cost.token_evaluations == 0
    least = 20 * len(TEXT) * N_VOCAB
    for memory, is_there in ((least, True), (least - 1, False)):
        settings = dataclasses.replace(Settings(), memory=memory)
        assert (slopes_of(model_of(), settings=settings)[0] is not None) == is_there


def test_a_gradient_that_is_not_finite_is_no_hint():
    model = model_of("float32")
    with torch.no_grad():
        model.module.get_input_embeddings().weight[TEXT[1]] = float("nan")
    assert slopes_of(model)[0] is None
