"""Laws of inputs: what is drawn, how likely it is, and that streams do not depend on batches."""

import inspect
import math

import numpy as np
import pytest
from jaxtyping import TypeCheckError

import likely
from likely import rare
from likely.errors import InputError
from likely.rare.inputs import BLOCK, iter_sample
from likely.rare.support import Support, read_token


def model():
    return likely.TableModel(["a", "b", "c"], lambda before: {"a": 0.5, "b": 0.3, "c": 0.2})


def law(*, bos=True):
    return rare.independent(
        [{"a": 3, "b": 1}, {0: 1.0}, {"a": 1, "b": 1, "c": 2}], model(), bos=bos
    )


def test_every_input_comes_once_and_their_probabilities_sum_to_one():
    d = law()
    parts = list(d.iter_inputs(size=4))
    inputs = np.concatenate([part for part, _ in parts])
    log_probs = np.concatenate([part for _, part in parts])
    assert len(inputs) == d.n_inputs == 6
    assert len({tuple(one) for one in inputs.tolist()}) == 6
    assert math.fsum(np.exp(log_probs)) == pytest.approx(1.0, abs=1e-15)
    np.testing.assert_allclose(d.log_prob(inputs), log_probs, rtol=1e-14)


def test_draws_follow_the_law():
    d = law()
    n = 40_000
    drawn = d.sample(n, rng=np.random.default_rng(5))
    for inputs, log_probs in d.iter_inputs(size=100):
        for one, log_prob in zip(inputs, log_probs, strict=True):
            p = math.exp(log_prob)
            z = ((drawn == one).all(axis=1).mean() - p) / math.sqrt(p * (1 - p) / n)
            assert abs(z) < 4.5


def test_a_number_stands_for_the_token_whose_share_it_falls_in():
    support = Support.of({4: 1.0, 9: 3.0})
    assert support.draw(np.array([0.0, 0.2499, 0.25, 0.999999])).tolist() == [4, 4, 9, 9]
    assert support.log_prob(np.array([4, 5, 9, 10])).tolist() == [
        math.log(0.25), -math.inf, math.log(0.75), -math.inf,
    ]  # fmt: skip


def test_blocks_have_streams_of_their_own_so_more_inputs_begin_with_the_same():
    d = law()
    few = np.concatenate(list(iter_sample(d, BLOCK + 10, seed=3, names=("x",))))
    many = np.concatenate(list(iter_sample(d, 3 * BLOCK, seed=3, names=("x",))))
    assert len(few) == BLOCK + 10
    np.testing.assert_array_equal(few, many[: len(few)])
    assert (few[:BLOCK] != many[BLOCK : 2 * BLOCK]).any()


def test_the_bos_of_the_model_stands_first_unless_it_is_not_wanted():
    assert law().supports[0].tokens.tolist() == [model().info.bos_id]
    assert law(bos=False).length == law().length - 1


def test_a_law_says_what_its_inputs_look_like_and_its_estimates_do_too():
    law = rare.independent([{"a": 1, "b": 1}], model(), name="hex", sentence="one of two letters")
    assert rare.estimate(model(), law, "a", method="naive", budget=2).inputs == "one of two letters"
    silent = rare.listed([[1], [2]], model(), name="hex")
    assert rare.estimate(model(), silent, "a", method="naive", budget=2).inputs == ""
    whole = likely.TableModel(["Foo", "x"], dict)
    camel = rare.distribution("camel", whole, texts=["FooxFoo"])
    assert camel.sentence == rare.DISTRIBUTIONS.load("camel").sentence
    windows = rare.prefixes(["Foox"], whole, length=2, n=5)
    assert windows.sentence == "2 tokens cut from given texts, 5 times, anywhere in its documents"


def test_listed_inputs_add_up_where_one_stands_twice():
    d = rare.listed([[0, 1], [0, 1], [1, 1], [2, 2]], model(), weights=[1, 1, 2, 0])
    assert d.n_inputs == 3
    np.testing.assert_allclose(
        np.exp(d.log_prob(np.array([[0, 1], [1, 1], [2, 2]]))), [0.5, 0.5, 0]
    )
    drawn = d.sample(4000, rng=np.random.default_rng(0))
    assert abs((drawn[:, 0] == 0).mean() - 0.5) < 0.04


def test_a_list_of_any_integers_knows_its_own_inputs():
    log_probs = np.log([0.25, 0.75])
    for kind in (np.int16, np.int32, np.int64):
        inputs = np.array([[1, 2], [2, 0]], dtype=kind)
        d = rare.ListedDistribution(name="own", inputs=inputs, log_probs=log_probs, details={})
        np.testing.assert_array_equal(d.log_prob(inputs), log_probs)
        np.testing.assert_array_equal(d.log_prob(inputs.astype(np.int64)), log_probs)


@pytest.mark.parametrize("scale", [1.0, 1e308, 2.0**-1040])
def test_shares_do_not_depend_on_the_scale_of_the_weights(scale):
    """Nor does a sum overflow: the shares of 1 and 0.5 are 2/3 and 1/3, and 3 * 2^-1041 exists."""
    support = Support.of({3: scale, 5: 0.5 * scale})
    np.testing.assert_array_equal(np.exp(support.log_probs), np.exp(np.log([2 / 3, 1 / 3])))


def test_shares_are_weights_over_their_exact_sum_to_the_last_bit():
    rng = np.random.default_rng(0)
    for _ in range(50):
        weights = np.exp(20.0 * rng.standard_normal(30)).tolist()
        total = math.fsum(weights)
        expected = np.log(np.array([weight / total for weight in weights]))
        found = Support.of(dict(enumerate(weights))).log_probs
        np.testing.assert_array_equal(found, expected)


def test_a_token_is_a_whole_number_or_a_text():
    for target in (1.7, np.float64(1.0), None, [1]):
        with pytest.raises(InputError, match="a token is an id"):
            inspect.unwrap(read_token)(target, model())
    assert inspect.unwrap(read_token)(np.int32(1), model()) == 1
    with pytest.raises((InputError, TypeCheckError), match="token"):
        rare.token(1.7, model())
    record = {"name": "x", "steps": [[1.7]], "above": 0.0}
    with pytest.raises(InputError, match=r"are ids, got \[\[1\.7\]\]"):
        rare.Event.from_dict(record)


def test_fingerprints_tell_laws_apart_and_names_do_not_matter():
    same = rare.independent(
        [{"a": 0.75, "b": 0.25}, {"a": 2}, {"c": 0.5, "a": 0.25, "b": 0.25}], model(), name="other"
    )
    assert same.fingerprint == law().fingerprint
    assert law(bos=False).fingerprint != law().fingerprint
    one = rare.listed([[0, 1], [1, 1]], model())
    assert one.fingerprint != rare.listed([[0, 1, 1, 1]], model()).fingerprint


@pytest.mark.parametrize(
    ("places", "part"),
    [
        ([], "no place"),
        ([{"ab": 1.0}], "2 tokens"),
        ([{"a": -1.0}], "got -1.0"),
        ([{"a": math.nan}], "got nan"),
        ([{"a": 0.0}], "positive weight"),
        ([{"a": 1.0, 0: 1.0}], "stands twice"),
        ([{99: 1.0}], "got 99"),
        ([{0: 5e-324, 1: 1e10}], "weight of token 0 is too small beside the others .* got 5e-324;"),
        ([{0: 10**400}], "weight of token 0 is a number >= 0, got 10000"),
    ],
)
def test_unusable_places_get_one_line(places, part):
    with pytest.raises(InputError, match=part) as caught:
        rare.independent(places, model(), bos=False)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("inputs", "options", "part"),
    [
        ([], {}, "got lengths"),
        ([[0], [0, 1]], {}, r"got lengths \[1, 2\]"),
        ([[0], [77]], {}, "ids 0 to 3, got 77"),
        ([[0], [-1]], {}, "got -1"),
        ([[1], [1.7]], {}, r"whole numbers.*got \[1\.7\]"),
        ([[0], [1]], {"weights": [1.0]}, "as many weights"),
    ],
)
def test_unusable_lists_get_one_line(inputs, options, part):
    with pytest.raises((InputError, TypeCheckError), match=part):
        inspect.unwrap(rare.listed)(inputs, model(), **options)


def test_rows_of_the_output_layer_that_no_token_has_are_no_ids(gpt2):
    first = gpt2.info.n_tokens
    assert first < gpt2.info.n_vocab
    with pytest.raises(InputError, match=f"ids 0 to {first - 1}, got {first}"):
        rare.listed([[1], [first]], gpt2)


def test_inputs_longer_than_the_model_reads_are_refused():
    short = likely.TableModel(["a"], lambda before: {"a": 1.0}, max_tokens=2)
    with pytest.raises(InputError, match="reads 2"):
        rare.independent([{"a": 1}] * 3, short)


def test_what_events_read_after_an_input_needs_room_too(gpt2):
    """128 tokens: an event of one step reads no more than the input, one of three two more."""
    full, shorter = (rare.listed([[1] * n, [2] * n], gpt2) for n in (128, 126))
    one, three = rare.token(5, gpt2), rare.continuation([5, 6, 7], gpt2)
    assert gpt2.info.max_tokens == 128
    part = "have 128 tokens and .* reads 2 more, .* reads 128; take shorter"
    for method in (rare.Naive(), rare.Forecast(), rare.ProposalImportance(proposal=full)):
        with pytest.raises(InputError, match=part):
            rare.estimate_many(gpt2, full, [one, three], method=method, budget=12)
    with pytest.raises(InputError, match=part):
        rare.enumerate_events(gpt2, full, [three])
    for law, event in ((full, one), (shorter, three)):
        counted = rare.estimate(gpt2, law, event, method="naive", budget=12)
        assert counted.prob.low <= rare.enumerate_events(gpt2, law, [event])[0].value
    with pytest.raises(InputError, match="have 129 tokens"):
        rare.listed([[1] * 129], gpt2)
    long = rare.ListedDistribution(
        name="long", inputs=np.ones((1, 129), dtype=np.int64), log_probs=np.zeros(1), details={}
    )
    for ask in (rare.truth, lambda *pair: rare.enumerate_events(*pair, [one])):
        with pytest.raises(InputError, match="have 129 tokens"):
            ask(gpt2, long)
