"""Prefixes cut from texts: which windows there are, and that each is as likely as every other."""

import math

import numpy as np
import pytest
from scipy.stats import chi2

import likely
from likely import rare
from likely.errors import InputError

TEXTS = ["abcabd", "dd", "a", "ccc"]


def model(*, bos="<s>", max_tokens=None):
    return likely.TableModel(list("abcd"), dict, bos=bos, max_tokens=max_tokens)


def windows(length):
    return [text[i : i + length] for text in TEXTS for i in range(len(text) - length + 1)]


def test_every_window_of_every_document_is_as_likely():
    """Five of "abcabd", one of "dd", two of "ccc", which are the same."""
    n = 8000
    law = rare.prefixes(TEXTS, model(), length=2, n=n, seed=3)
    assert law.details["windows"] == len(windows(2)) == 8
    texts = ["".join("abcd"[token] for token in row[1:]) for row in law.inputs]
    kinds = sorted(set(windows(2)))
    seen = np.array([texts.count(kind) for kind in kinds])
    expected = np.array([windows(2).count(kind) / 8 * n for kind in kinds])
    assert seen.sum() == n  # nothing else was cut
    assert ((seen - expected) ** 2 / expected).sum() < chi2.isf(1e-4, len(kinds) - 1)


def test_the_bos_stands_first_and_length_counts_what_follows_it():
    with_bos = rare.prefixes(TEXTS, model(), length=3, n=10)
    assert with_bos.length == 4
    assert set(with_bos.inputs[:, 0].tolist()) == {model().info.bos_id}
    without = rare.prefixes(TEXTS, model(bos=None), length=3, n=10)
    np.testing.assert_array_equal(without.inputs, with_bos.inputs[:, 1:])


def test_a_longer_draw_begins_with_the_shorter_one_and_seeds_differ():
    short, long = (rare.prefixes(TEXTS, model(), length=2, n=n, seed=1) for n in (20, 300))
    np.testing.assert_array_equal(short.inputs, long.inputs[:20])
    assert (rare.prefixes(TEXTS, model(), length=2, n=20, seed=2).inputs != short.inputs).any()


def test_a_window_that_is_drawn_twice_is_twice_as_likely():
    law = rare.prefixes(["aab"], model(), length=2, n=100)
    aa = (law.inputs[:, 2] == 0).sum()
    assert 0 < aa < 100
    found = law.log_prob(np.array([[4, 0, 0], [4, 0, 1], [4, 1, 0]]))
    np.testing.assert_allclose(found[:2], [math.log(aa / 100), math.log(1 - aa / 100)])
    assert found[2] == -math.inf


@pytest.mark.parametrize(
    ("options", "part"),
    [
        ({"length": 7, "n": 1}, "has 6"),
        ({"length": 0, "n": 1}, "length >= 1, got 0"),
        ({"length": 1, "n": 0}, "n >= 1, got 0"),
    ],
)
def test_impossible_prefixes_get_one_line(options, part):
    with pytest.raises(InputError, match=part):
        rare.prefixes(TEXTS, model(), **options)


def test_prefixes_longer_than_the_model_reads_are_refused():
    with pytest.raises(InputError, match="reads 3"):
        rare.prefixes(TEXTS, model(max_tokens=3), length=3, n=1)
