"""Laws of inputs: what is drawn, how likely it is, and that streams do not depend on batches."""

import math

import numpy as np
import pytest

import likely
from likely import rare
from likely.errors import InputError
from likely.rare.inputs import BLOCK, iter_sample
from likely.rare.support import Support


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
        ([[0], [77]], {}, "got 77"),
        ([[0], [1]], {"weights": [1.0]}, "as many weights"),
    ],
)
def test_unusable_lists_get_one_line(inputs, options, part):
    with pytest.raises(InputError, match=part):
        rare.listed(inputs, model(), **options)


def test_inputs_longer_than_the_model_reads_are_refused():
    short = likely.TableModel(["a"], lambda before: {"a": 1.0}, max_tokens=2)
    with pytest.raises(InputError, match="reads 2"):
        rare.independent([{"a": 1}] * 3, short)
