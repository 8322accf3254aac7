"""Intervals of 95 % hold the probability that often, for every mode, over replicated answers."""

import math

import numpy as np
import pytest
from scipy.stats import norm
from scipy.stats import t as student

from likely.core.streams import generator
from likely.rare.splitting.config import SplittingConfig
from likely.rare.splitting.drive import split

P = 0.01
FEW = {"n_particles": 50, "n_steps": 3, "n_replicates": 4}
SMALL = {"n_particles": 12, "n_steps": 5, "n_replicates": 4}


def answers(prior, tail, *, n, **options):
    """Return n answers of one question, each from its own random numbers."""
    cut = float(norm.isf(P) if math.isinf(tail) else student(tail).isf(P))
    return split(
        lambda states, run, floor: states[:, 0] - cut, prior, SplittingConfig(**options),
        n_targets=n, streams=lambda target, part: generator(3, "coverage", target, part),
    )  # fmt: skip


def share_held(found):
    return np.mean([one.combined.low <= math.log(P) <= one.combined.high for one in found])


@pytest.mark.parametrize(
    ("mode", "tail", "n", "options"),
    [
        ("two_stage", 4.0, 120, FEW),
        ("adaptive", math.inf, 120, FEW),
        ("clones", math.inf, 120, FEW),
        ("last_particle", math.inf, 60, SMALL),
    ],
)
def test_intervals_hold_the_probability_as_often_as_they_say(spherical, mode, tail, n, options):
    found = answers(spherical(3, tail), tail, n=n, mode=mode, **options)
    assert 0.90 <= share_held(found) <= 0.99
    ratios = np.array([math.exp(one.log_prob) / P for one in found])
    assert abs(ratios.mean() - 1.0) < 4.0 * ratios.std(ddof=1) / math.sqrt(n)
