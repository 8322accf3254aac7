"""Sampled texts by way of another model: against every text there is."""

import itertools
import math

import pytest

import likely
from likely import rare
from likely.core.nucleus import Cut
from likely.errors import InputError
from likely.rare.outputs import Writing, output_probability

TOKENS = ["a", "b", "."]


def bold(before):
    return {"a": 0.3, "b": 0.5, ".": 0.2}


def shy(before):
    """Write "b" one time in a thousand, and more often after another "b"."""
    b = 0.02 if before[-1:] == ("b",) else 0.001
    return {"a": 0.75 - b, "b": b, ".": 0.25}


def models():
    return (
        likely.TableModel(TOKENS, shy, eos="."),
        likely.TableModel(TOKENS, bold, eos="."),
    )


def truth(model, writing, predicate):
    """Return the probability of the predicate, summed over every text."""
    cut, total = Cut(temperature=writing.temperature, top_p=writing.top_p), 0.0
    for n in range(1, writing.max_tokens + 1):
        for ids in itertools.product(range(3), repeat=n):
            ended = ids[-1] == 2
            if 2 in ids[:-1] or (n < writing.max_tokens and not ended):
                continue
            log_prob, before = 0.0, (model.info.bos_id, 0)
            for token in ids:
                row = likely.next_token(model, before).log_probs
                log_prob += cut.law(row).log_prob(token)
                before = (*before, token)
            text = model.tokenizer.decode(ids[:-1] if ended else ids)
            total += math.exp(log_prob) * predicate(text)
    return total


def says_bb(text):
    return "bb" in text


@pytest.mark.parametrize(
    "options", [{}, {"temperature": 1.4}, {"temperature": 2.0, "top_p": 0.999}], ids=str
)
def test_the_estimate_is_that_of_all_texts_under_the_models_own_settings(options):
    model, proposal = models()
    writing = Writing(max_tokens=4, **options)
    exact = truth(model, writing, says_bb)
    assert exact < (1e-2 if options else 1e-4)
    found = output_probability(
        model, proposal, "a", says_bb, writing=writing, n=3000, level=0.999, seed=1
    )
    assert found.log_prob.low <= math.log(exact) <= found.log_prob.high
    assert found.log_prob.value == pytest.approx(math.log(exact), abs=0.25)
    assert found.log_prob.diagnostics["effective_hits"] > 50
    assert all(says_bb(text) for text in found.examples)
    assert len(found.examples) > 1
    assert found.log_prob.cost.token_evaluations > 0


def test_one_model_for_both_is_plain_counting():
    model, _ = models()
    found = output_probability(
        model, model, "a", lambda text: text == "", writing=Writing(max_tokens=3), n=2000
    )
    hits = found.log_prob.diagnostics["hits"]
    assert found.log_prob.value == pytest.approx(math.log(hits / 2000))
    assert found.log_prob.diagnostics["effective_hits"] == pytest.approx(hits)
    assert found.warnings == ()
    assert rare.OutputEstimate.from_dict(found.to_dict()) == found
    assert "2,000 texts" in found.summary()


def test_texts_that_the_proposal_hardly_writes_are_missed_and_it_says_so():
    model, proposal = models()
    swapped = output_probability(
        proposal, model, "a", says_bb, writing=Writing(max_tokens=6), n=300
    )
    assert swapped.log_prob.diagnostics["log_mean_weight"] < 0.0
    assert any("hits may be missed" in text for text in swapped.warnings)
    if swapped.log_prob.value == -math.inf:
        assert swapped.log_prob.high == 0.0  # nothing is known from above


def test_models_of_other_tokens_and_texts_without_room_are_refused():
    model, _ = models()
    other = likely.TableModel(["b", "a", "."], bold, eos=".")
    with pytest.raises(InputError, match="id 0 is b'a'"):
        output_probability(model, other, "a", says_bb, writing=Writing(max_tokens=2))
    fewer = likely.TableModel(["a", "b"], lambda before: {"a": 0.5, "b": 0.5})
    with pytest.raises(InputError, match="same tokens"):
        output_probability(model, fewer, "a", says_bb, writing=Writing(max_tokens=2))
    short = likely.TableModel(TOKENS, bold, eos=".", max_tokens=4)
    with pytest.raises(InputError, match="lower max_tokens"):
        output_probability(model, short, "a", says_bb, writing=Writing(max_tokens=4))
