"""Greedy texts and samples follow the model's own law, which a table tells exactly."""

import math
from collections import Counter
from itertools import product

import numpy as np
import pytest
from scipy.stats import chisquare

import likely
from likely.core.generation import ExactSampler, Sampler, greedy, sample
from likely.errors import InputError


def chain(**options):
    """A law over a, b and the end that depends on the last token."""
    rows = {
        "a": {"a": 0.1, "b": 0.6, "</s>": 0.3},
        "b": {"a": 0.5, "b": 0.25, "</s>": 0.25},
        "<s>": {"a": 0.45, "b": 0.45, "</s>": 0.1},
    }
    return likely.TableModel(["a", "b"], lambda c: rows[c[-1]], eos="</s>", **options)


def law_of_texts(model, context, max_tokens):
    """The probability of each sequence of ids, by enumeration."""
    eos = model.info.eos_id
    found = {}
    for ids in product(range(model.info.n_vocab), repeat=max_tokens):
        end = next((i + 1 for i, token in enumerate(ids) if token == eos), max_tokens)
        steps = [model.row((*context, *ids[:n]))[ids[n]] for n in range(end)]
        found[ids[:end]] = math.exp(sum(steps))
    return {ids: prob for ids, prob in found.items() if prob > 0}


def test_greedy_takes_the_likeliest_token_and_of_equal_ones_the_lowest_id():
    model = chain()
    first, second = greedy(model, ["", "a"], max_tokens=4)
    assert first.text == "abab"  # a and b tie at the start
    assert second.text == "baba"
    assert first.finish == "length"
    assert first.log_prob == pytest.approx(math.log(0.45 * 0.6 * 0.5 * 0.6))


def test_greedy_ends_with_the_text_and_with_a_stop():
    model = likely.TableModel(
        ["x", "y", "z"],
        lambda c: {"x": 0.6, "y": 0.4} if len(c) < 4 else {"</s>": 0.9, "x": 0.1},
        eos="</s>",
    )
    (one,) = greedy(model, [""], max_tokens=9)
    assert (one.text, one.finish, len(one.tokens)) == ("xxx", "end", 4)
    assert one.log_prob == pytest.approx(math.log(0.6**3 * 0.9))
    (one,) = greedy(model, [""], max_tokens=9, stop=["xx"])
    assert (one.text, one.finish, len(one.tokens)) == ("", "stop", 2)
    (one,) = greedy(model, [""], max_tokens=9, stop=lambda text: text.endswith("x"))
    assert (one.text, one.finish) == ("x", "stop")


def test_greedy_stops_where_the_context_is_full():
    (one,) = greedy(chain(max_tokens=3), ["a"], max_tokens=9)
    assert (one.text, one.finish) == ("ba", "length")


def test_greedy_is_the_same_alone_and_in_company():
    model = chain()
    together = greedy(model, ["", "a", "b", "ab"], max_tokens=5)
    alone = [greedy(model, [c], max_tokens=5)[0] for c in ["", "a", "b", "ab"]]
    assert list(together) == alone


def test_samples_follow_the_law_of_whole_texts():
    model = chain()
    n = 40_000
    drawn = sample(model, [""], n, max_tokens=3, seed=1)[0]
    law = law_of_texts(model, (model.info.bos_id,), 3)
    counts = Counter(one.tokens for one in drawn)
    assert set(counts) <= set(law)
    ids = sorted(law)
    expected = np.array([law[i] for i in ids]) * n
    assert chisquare([counts[i] for i in ids], expected).pvalue > 1e-4
    for one in drawn[:50]:
        assert one.log_prob == pytest.approx(math.log(law[one.tokens]))


def test_the_order_of_samples_tells_nothing():
    drawn = sample(chain(), [""], 20_000, max_tokens=1, seed=3)[0]
    is_a = np.array([one.text == "a" for one in drawn])
    halves = is_a[:10_000].mean() - is_a[10_000:].mean()
    assert abs(halves) < 4 * math.sqrt(2 * 0.25 / 10_000)
    pairs = np.mean(is_a[1:] == is_a[:-1])
    assert abs(pairs - (0.45**2 + 0.55**2)) < 4 * math.sqrt(0.25 / 20_000)


def test_a_context_has_draws_of_its_own_whatever_its_company():
    model = chain()
    together = sample(model, ["a", "b", "a"], 50, max_tokens=3, seed=5)
    assert together[1] == sample(model, ["b"], 50, max_tokens=3, seed=5)[0]
    assert together[0] == sample(model, ["a"], 50, max_tokens=3, seed=5)[0]
    assert together[2] != together[0]


def test_equal_beginnings_are_evaluated_once():
    drawn = sample(chain(), [""], 10_000, max_tokens=2)
    # one row at the start, one after a, one after b
    assert drawn.cost.token_evaluations == 1 + 3
    assert len(drawn[0]) == 10_000


def test_impossible_tokens_are_never_drawn():
    model = likely.TableModel(list("abc"), lambda c: {"b": 1.0})
    assert {one.text for one in sample(model, [""], 1000, max_tokens=1)[0]} == {"b"}


def test_a_local_sampler_is_a_sampler():
    sampler = ExactSampler(model=chain(), stop=["b"])
    assert isinstance(sampler, Sampler)
    texts = sampler.sample_texts("", 200, max_tokens=4, seed=0)
    assert len(texts) == 200
    assert not any("b" in text for text in texts)


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda m: greedy(m, ["a"], max_tokens=0), "max_tokens is at least 1"),
        (lambda m: greedy(m, "a", max_tokens=1), "got the text 'a'"),
        (lambda m: sample(m, ["a"], 0, max_tokens=1), "at least 1 sample"),
    ],
)
def test_what_cannot_be_generated_is_refused(ask, message):
    with pytest.raises(InputError, match=message):
        ask(chain())
