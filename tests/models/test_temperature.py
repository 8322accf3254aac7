"""A model at a temperature has the laws of its logits divided by it, in every way they are read."""

import math

import numpy as np
import pytest
import torch
from attribution_truth import random_table
from fixtures import plain_rows, random_gpt2, toy_bytes_tokenizer

import likely
from likely.core.branches import open_stem
from likely.core.model import Tempering
from likely.errors import InputError
from likely.models.transformers import TransformersModel

N_VOCAB = 256
TEXT = (3, 141, 59, 26)


def gpt2():
    module = random_gpt2(N_VOCAB, seed=5).eval().to(torch.float64)
    return TransformersModel(module, toy_bytes_tokenizer(), name="random")


def at(log_probs, temperature):
    powers = log_probs / temperature
    return powers - np.logaddexp.reduce(powers, axis=-1)[..., None]


@pytest.mark.parametrize("temperature", [0.5, 1.0, 3.0])
def test_rows_branches_and_logits_are_those_of_divided_logits(temperature):
    model = gpt2()
    other = model.at_temperature(temperature)
    assert isinstance(other, Tempering)
    expected = at(plain_rows(model, TEXT), temperature)
    row = likely.next_token(other, TEXT, bos="never").log_probs
    np.testing.assert_allclose(row, expected[-1], atol=1e-10)
    grown = open_stem(other, TEXT[:1]).branches(1, 1).grow(np.array([TEXT[1:]]))
    wanted = [expected[i, token] for i, token in enumerate(TEXT[1:])]
    np.testing.assert_allclose(grown[0], wanted, atol=1e-10)
    logits = other.logits(tokens=torch.tensor([TEXT]))[0].log_softmax(dim=-1).detach().numpy()
    np.testing.assert_allclose(logits, expected, atol=1e-10)
    weight = other.unembedding().weight
    np.testing.assert_allclose(weight, model.unembedding().weight / temperature, rtol=1e-6)


def test_the_model_itself_stays_as_it_was_and_temperatures_multiply():
    model = gpt2()
    before = likely.next_token(model, TEXT, bos="never").log_probs
    twice = model.at_temperature(2.0).at_temperature(1.5)
    row = likely.next_token(twice, TEXT, bos="never").log_probs
    np.testing.assert_allclose(row, at(before, 3.0), atol=1e-10)
    assert np.array_equal(likely.next_token(model, TEXT, bos="never").log_probs, before)
    assert len({one.info.identity for one in (model, twice, model.at_temperature(3.0))}) == 3


def test_a_table_has_temperatures_too():
    table = random_table(4, seed=3)
    row = table.row((0, 1))
    np.testing.assert_allclose(table.at_temperature(2.0).row((0, 1)), at(row, 2.0), atol=1e-12)
    certain = likely.TableModel(["a", "b"], lambda before: {"a": 1.0})
    assert certain.at_temperature(9.0).row((0,)).tolist()[:2] == [0.0, -math.inf]


@pytest.mark.parametrize("temperature", [0.0, -1.0, math.inf, math.nan])
@pytest.mark.parametrize("make", [gpt2, random_table])
def test_a_temperature_is_positive_and_finite(make, temperature):
    with pytest.raises(InputError, match="a temperature is positive and finite, got"):
        make().at_temperature(temperature)
