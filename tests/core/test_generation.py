"""Greedy texts and samples follow the model's own law, which a table tells exactly."""

import math
from collections import Counter
from itertools import product

import numpy as np
import pytest
from scipy.stats import chisquare

import likely
from likely.core.generation import ExactSampler, Sampler, greedy, sample
from likely.core.model import Settings
from likely.core.nucleus import Cut
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


LEANS = {
    "<s>": {"a": 0.3, "b": 0.3, "c": 0.3, "</s>": 0.1},  # a tie runs through the cut
    "a": {"a": 0.1, "b": 0.5, "c": 0.2, "</s>": 0.2},
    "b": {"a": 0.4, "b": 0.05, "c": 0.4, "</s>": 0.15},
    "c": {"c": 1.0},
}


def leaning():
    return likely.TableModel(list("abc"), lambda c: LEANS[c[-1]], eos="</s>")


def nucleus(probs, *, top_p, temperature):
    """The law after the cut, by taking tokens one by one from the likeliest on."""
    heated = {token: prob ** (1 / temperature) for token, prob in probs.items() if prob > 0}
    total = math.fsum(heated.values())
    order = ["a", "b", "c", "<s>", "</s>"]  # by id
    kept, mass = {}, 0.0
    for token in sorted(heated, key=lambda t: (-heated[t], order.index(t))):
        if mass >= top_p - 1e-9:
            break
        kept[token] = heated[token]
        mass += heated[token] / total
    return {token: prob / math.fsum(kept.values()) for token, prob in kept.items()}


@pytest.mark.parametrize(
    ("top_p", "temperature"), [(0.6, 1.0), (0.55, 1.0), (0.7, 2.0), (0.9, 0.5), (1.0, 0.7)]
)
def test_cut_samples_follow_the_law_of_the_nucleus(top_p, temperature):
    n = 20_000
    drawn = sample(
        leaning(), [""], n, max_tokens=3, top_p=top_p, temperature=temperature, seed=1
    )[0]  # fmt: skip
    laws = {t: nucleus(p, top_p=top_p, temperature=temperature) for t, p in LEANS.items()}
    cut = likely.TableModel(list("abc"), lambda c: laws[c[-1]], eos="</s>")
    law = law_of_texts(cut, (cut.info.bos_id,), 3)
    counts = Counter(one.tokens for one in drawn)
    assert set(counts) <= set(law)
    ids = sorted(law)
    if len(ids) > 1:
        assert chisquare([counts[i] for i in ids], [law[i] * n for i in ids]).pvalue > 1e-4
    whole = law_of_texts(leaning(), (cut.info.bos_id,), 3)
    for one in drawn[:50]:
        assert one.law_log_prob == pytest.approx(math.log(law[one.tokens]))
        assert one.log_prob == pytest.approx(math.log(whole[one.tokens]))
    exact = -math.fsum(p * math.log(p) for p in law.values())
    steps = [one.law_entropy for one in drawn]
    assert abs(np.mean(steps) - exact) < 4 * np.std(steps) / math.sqrt(n) + 1e-9


def test_a_nucleus_of_one_token_is_the_likeliest_text():
    model = chain()
    (one,) = sample(model, ["a"], 1, max_tokens=4, top_p=1e-9)[0]
    (best,) = greedy(model, ["a"], max_tokens=4)
    assert one == best


def test_a_mass_that_is_reached_exactly_takes_no_more():
    row = np.log(np.full(10, 0.1))  # ten tenths do not add to 0.3 and 0.7 in floating point
    assert [len(Cut(top_p=m).law(row).tokens) for m in (0.1, 0.3, 0.31, 0.7, 1.0)] == [
        1, 3, 4, 7, 10,
    ]  # fmt: skip
    assert Cut(top_p=0.3).law(row).tokens.tolist() == [0, 1, 2]


def test_texts_run_through_the_end_where_asked():
    ending = likely.TableModel(["x"], lambda c: {"</s>": 0.6, "x": 0.4}, eos="</s>")
    drawn = sample(ending, [""], 300, max_tokens=4, stop_at_end=False, seed=2)[0]
    assert {len(one.tokens) for one in drawn} == {4}
    assert any(ending.info.eos_id in one.tokens[:-1] for one in drawn)
    (one,) = greedy(ending, [""], max_tokens=2, stop_at_end=False)
    assert (one.text, one.finish) == ("</s></s>", "length")


@pytest.mark.parametrize("kind", ["gpt2", "window"])
def test_a_model_that_keeps_what_it_read_writes_the_same_texts(kind, request):
    model = request.getfixturevalue(kind)
    whole = Settings(method="full")
    contexts = [[3, 4, 5, 6], [3, 4, 9, 6], [3, 4, 5, 6], [8, 4], [7]]
    fast, slow = (greedy(model, contexts, max_tokens=6, settings=s) for s in (None, whole))
    assert [one.tokens for one in fast] == [one.tokens for one in slow]
    assert [one.log_prob for one in fast] == pytest.approx([o.log_prob for o in slow], abs=1e-4)
    options = {"max_tokens": 6, "top_p": 0.4, "seed": 4}
    fast, slow = (sample(model, contexts[:2], 40, settings=s, **options) for s in (None, whole))
    for mine, theirs in zip(fast.items, slow.items, strict=True):
        assert [one.tokens for one in mine] == [one.tokens for one in theirs]
        assert [o.law_log_prob for o in mine] == pytest.approx(
            [o.law_log_prob for o in theirs], abs=1e-4
        )


def test_each_token_of_a_likeliest_text_is_evaluated_once(gpt2):
    contexts = [[3, 4, 5, 6, 7, 8], [3, 4, 9, 6, 7, 8], [3, 4, 10, 6, 7, 8]]
    made = greedy(gpt2, contexts, max_tokens=5, stop_at_end=False)
    # two shared, four of each context, and all new tokens but the last
    assert made.cost.token_evaluations == 2 + 3 * 4 + 3 * 4


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"top_p": 0.0}, "top_p is a mass"),
        ({"top_p": 1.5}, "top_p is a mass"),
        ({"temperature": 0.0}, "use greedy"),
    ],
)
def test_a_cut_out_of_range_is_refused(options, message):
    with pytest.raises(InputError, match=message):
        sample(chain(), ["a"], 1, max_tokens=1, **options)
