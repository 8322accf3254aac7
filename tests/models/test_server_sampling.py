"""Texts that a server draws follow the law of the model behind it, however few come at once."""

from collections import Counter

import numpy as np
import pytest
from scipy.stats import chisquare

import likely
from likely.core.generation import Sampler
from likely.errors import InputError, ServerError

PROBE = "ABBA"

LAW = {"A": 0.5, "B": 0.3, "C": 0.2}


@pytest.mark.parametrize("dialect", ["vllm", "openai", "llama.cpp", "llama-cpp-python"])
def test_drawn_texts_follow_the_law(loopback, connect, dialect):
    state = loopback.serve(likely.TableModel(list("ABC"), lambda context: LAW), dialect)
    model = connect()
    assert isinstance(model, Sampler)
    texts = model.sample_texts("AB", 300, max_tokens=1, seed=0)
    counts = Counter(texts)
    assert len(texts) == 300
    assert chisquare([counts[t] for t in "ABC"], 300 * np.array([0.5, 0.3, 0.2])).pvalue > 1e-4
    asked = [body for body in state.bodies if "logprobs" not in body and body.get("seed", 0)]
    assert len({body["seed"] for body in asked}) == len(asked)
    assert all(body["temperature"] == 1.0 and body["top_p"] == 1.0 for body in asked)


def test_what_a_server_leaves_out_is_asked_for_again(loopback, connect):
    loopback.serve(likely.TableModel(list("ABC"), lambda context: LAW), "vllm", most_texts=20)
    model = connect()
    texts = model.sample_texts("AB", 110, max_tokens=2, seed=4)
    assert len(texts) == 110
    assert {len(text) for text in texts} == {2}
    assert texts == model.sample_texts("AB", 110, max_tokens=2, seed=4)
    assert texts != model.sample_texts("AB", 110, max_tokens=2, seed=5)


def test_no_text_at_all_is_an_error(loopback, connect):
    loopback.serve(likely.TableModel(list("ABC"), lambda context: LAW), "vllm", most_texts=0)
    with pytest.raises(ServerError, match="5 texts were asked for, 0 came"):
        connect().sample_texts("AB", 5, max_tokens=1, seed=0)


def test_no_samples_are_refused(loopback, connect):
    loopback.serve(likely.TableModel(list("ABC"), lambda context: LAW), "vllm")
    with pytest.raises(InputError, match="n and max_tokens"):
        connect().sample_texts("AB", 0, max_tokens=1, seed=0)
