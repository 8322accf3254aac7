"""How often intervals hold the truth: 1001 single rounds, and searches that stop by themselves.

The laws have 5,000 candidates and heavy tails, as language models have them, and are known whole.
"""

from collections import Counter

import numpy as np
import pytest
from attribution_truth import found_within, peaked_laws, unchecked_shapes
from scipy.stats import binom, norm

from likely.attribution.adaptive import FIRST_SIZE
from likely.attribution.measures import Measures, measure

LEVEL = 0.95
LEAST = 0.90
N_ROUNDS = 143
LAWS = {law.name: law for law in peaked_laws()}
NUMBERS = (*Measures.estimates(), "matrix")


@pytest.fixture(scope="module")
def hits():
    """Return how many rounds of each law hold the truth of each number, the matrix on average."""
    with unchecked_shapes():
        return _count_hits()


def _count_hits():
    found = {}
    z = float(norm.isf((1.0 - LEVEL) / 2.0))
    for law in LAWS.values():
        numbers, matrix = law.truth.numbers(), law.truth.matrix()
        counts = Counter()
        for seed in range(N_ROUNDS):
            search = law.search(seed)
            search.draw(FIRST_SIZE)
            measures = measure(search.evidence(), level=LEVEL, method="adaptive")
            for name in Measures.estimates():
                estimate = getattr(measures, name)
                slack = 1e-9  # some are exact, up to rounding
                counts[name] += estimate.low - slack <= numbers[name] <= estimate.high + slack
            near = np.abs(measures.matrix - matrix) <= z * measures.matrix_error + 1e-9
            counts["matrix"] += float(near.mean())
        found[law.name] = counts
    return found


def _pooled(hits, name):
    return sum(counts[name] for counts in hits.values()) / (N_ROUNDS * len(hits))


@pytest.mark.parametrize("name", NUMBERS)
def test_nine_of_ten_intervals_hold_the_truth(hits, name):
    assert _pooled(hits, name) >= LEAST


@pytest.mark.parametrize("name", NUMBERS)
@pytest.mark.parametrize("law", LAWS)
def test_no_law_is_far_worse(hits, law, name):
    """With nine of ten in the long run, fewer than this come once in ten thousand times."""
    assert hits[law][name] >= binom.ppf(1e-4, N_ROUNDS, LEAST)


def test_intervals_are_not_so_wide_that_they_say_nothing():
    """Of intervals at a level of a half about half hold the truth."""
    law = LAWS["ordinary"]
    exact = law.truth.numbers()["score"]
    narrow = 0
    for seed in range(60):
        search = law.search(seed)
        search.draw(FIRST_SIZE)
        score = measure(search.evidence(), level=0.5, method="adaptive").score
        narrow += score.low <= exact <= score.high
    assert 15 <= narrow <= 51


def test_searches_that_stop_when_they_know_enough_do_know():
    """Stopping at a narrow interval must not favour those that are narrow by chance."""
    tolerance, n_each = 0.02, 43
    holds = near = 0
    with unchecked_shapes():
        for law in LAWS.values():
            exact = law.truth.numbers()["score"]
            for seed in range(n_each):
                search = law.search(seed)
                score = found_within(search, tolerance=tolerance, level=LEVEL).measures.score
                holds += score.low - 1e-9 <= exact <= score.high + 1e-9
                near += abs(score.value - exact) <= tolerance
    n_all = n_each * len(LAWS)
    assert holds / n_all >= LEAST
    assert near / n_all >= LEVEL
