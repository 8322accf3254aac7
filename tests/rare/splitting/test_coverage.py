"""Intervals of 95 % hold the probability that often, for every mode, over replicated answers."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import norm
from scipy.stats import t as student

from likely.core.streams import generator
from likely.rare.splitting.config import SplittingConfig
from likely.rare.splitting.drive import split
from likely.stats.intervals import clopper_pearson

N = 40
CONFIG = SplittingConfig(n_particles=50, n_steps=3, n_replicates=4)
P = 0.01


def covered(prior, config, cut, *, seed):
    """Return how many of N answers hold the probability, and their mean ratio to it."""
    found = split(
        lambda states, run, floor: states[:, 0] - cut, prior, config, n_targets=N,
        streams=lambda target, part: generator(seed, "coverage", target, part),
    )  # fmt: skip
    held = sum(one.combined.low <= math.log(P) <= one.combined.high for one in found)
    return held, found


@pytest.mark.parametrize(
    ("mode", "tail"),
    [("two_stage", 4.0), ("clones", math.inf)],
)
def test_intervals_hold_the_probability_as_often_as_they_say(spherical, mode, tail):
    prior = spherical(3, tail)
    cut = float(norm.isf(P) if math.isinf(tail) else student(tail).isf(P))
    config = replace(CONFIG, mode=mode)
    held, found = covered(prior, config, cut, seed=11)
    _, high = clopper_pearson(held, N, level=1.0 - 1e-4)
    assert high > 0.95  # not below what they say, as far as N answers can tell
    assert held / N > 0.8
    if mode == "two_stage":
        ratios = np.array([math.exp(one.log_prob) / P for one in found])
        assert abs(ratios.mean() - 1.0) < 4.0 * ratios.std(ddof=1) / math.sqrt(N)
