"""Tests of the order of draws are those of all orders, and keep their level."""

import math
from collections import Counter
from fractions import Fraction
from itertools import pairwise, permutations

import numpy as np
import pytest
from sampled_words import TWO, item

from likely.calibration.access.batches import (
    OTHER,
    batch_prompt,
    batch_tests,
    draw_batches,
    read_draws,
    runs_law,
)
from likely.errors import InputError


@pytest.mark.parametrize(("first", "second"), [(1, 1), (2, 3), (4, 4), (5, 1), (0, 4)])
def test_the_law_of_runs_is_that_of_all_orders(first, second):
    series = [0] * first + [1] * second
    seen = Counter(
        1 + sum(a != b for a, b in pairwise(order)) for order in set(permutations(series))
    )
    total = sum(seen.values())
    assert runs_law(first, second) == {runs: Fraction(seen[runs], total) for runs in sorted(seen)}


def test_independent_draws_pass_at_the_stated_level():
    rng = np.random.default_rng(1)
    ideal, repeats = np.array([0.2, 0.3, 0.5]), 300
    low = Counter()
    for _ in range(repeats):
        draws = rng.choice(3, size=40, p=ideal).tolist()
        found = batch_tests(draws, ideal, values=np.arange(3.0), n_shuffles=199)
        tests = {"runs": found.runs, "repeats": found.repeats, "lag": found.correlations[0]}
        for name, test in tests.items():
            low[name] += test.p_value <= 0.05
        low["fit"] += found.fit.p_value <= 0.05
    limit = 0.05 + 4 * math.sqrt(0.05 * 0.95 / repeats)
    assert all(count / repeats <= limit for count in low.values()), low


def test_alternating_draws_have_too_many_runs_and_too_few_repeats():
    found = batch_tests([0, 1] * 20, np.array([0.5, 0.5]))
    assert found.fit.p_value > 0.9
    assert found.runs.seen == 40 > found.runs.expected
    assert found.runs.p_value < 1e-6
    assert found.repeats.seen == 0.0
    assert found.repeats.p_value <= 0.001
    assert found.correlations[1].seen == 1.0


def test_draws_that_stick_are_correlated_at_every_lag():
    draws = np.repeat([0, 1, 2, 1, 0, 2], 8)
    found = batch_tests(draws.tolist(), np.full(3, 1 / 3), values=np.arange(3.0))
    assert all(test.seen > 0.5 and test.p_value < 0.01 for test in found.correlations)
    assert found.runs.p_value < 0.01


def test_equal_draws_have_one_order_only():
    found = batch_tests([1] * 12, np.array([0.5, 0.5]))
    assert (found.runs.seen, found.runs.p_value) == (1.0, 1.0)
    assert found.fit.p_value == pytest.approx(2 * 0.5**12)
    even = batch_tests([1] * 12, np.array([0.5, 0.5]), values=np.array([0.0, 1.0]))
    assert all(test.seen == 0.0 and test.p_value == 1.0 for test in even.correlations)


def test_replies_are_read_word_by_word():
    assert read_draws("Red, blue, RED; then\n4) blue", TWO) == (0, 1, 0, OTHER, 1)
    numbers = item(["7", "8"], ["1/2", "1/2"], [7, 8])
    assert read_draws("7, 8, 9", numbers) == (0, 1, OTHER)
    found = batch_tests((0, 1, OTHER, 1, 0, OTHER), np.array([0.5, 0.5]))
    assert (found.n_draws, found.n_other) == (4, 2)


class Scripted:
    """A sampler with one reply."""

    def __init__(self):
        self.asked = []

    def sample_texts(self, context, n, *, max_tokens, seed):
        self.asked.append((context, n, max_tokens))
        return [" red, blue, red, red"]


def test_a_batch_is_one_reply():
    sampler = Scripted()
    assert draw_batches(sampler, [TWO], 3) == ((0, 1, 0),)
    ((context, n, max_tokens),) = sampler.asked
    assert context == batch_prompt(TWO, 3)
    assert context.startswith("It is ...")
    assert (n, max_tokens) == (1, 18)


def test_too_few_draws_are_refused():
    with pytest.raises(InputError, match="at least 2 draws are needed"):
        batch_tests([0, OTHER], np.array([0.5, 0.5]))
    with pytest.raises(InputError, match="places of 2 options"):
        batch_tests([0, 2], np.array([0.5, 0.5]))
    with pytest.raises(InputError, match="at least 2 draws"):
        batch_prompt(TWO, 1)
