"""The temperature that a pilot takes, against the variance that enumeration gives each."""

import math

import numpy as np
import pytest
from rare_toys import Enumerated, both_network, law_of, needle_network

from likely import rare
from likely.core.logspace import logsumexp
from likely.rare.gradient.guide import log_ratio
from likely.rare.gradient.pilot import GRID, LEAST_PILOT, run_pilot
from likely.rare.gradient.places import Places
from likely.rare.gradient.whole import Gradients
from likely.rare.reading import Meter

RARE = [0.001, 0.3, 0.3, 0.4]


def landscape_of(model, law):
    return Enumerated(Gradients(model, rare.token(0, model), Places.of(law), Meter()))


def log_variance(landscape, ratios):
    """Return the log of the relative mean square of weighted hits, exact."""
    hits = landscape.reading.hits
    whole = landscape.log_probs - log_ratio(ratios, landscape.choices)
    return float(logsumexp(whole[hits])) - 2 * math.log(landscape.prob)


@pytest.mark.parametrize("gain", [2.0, 10.0, 40.0])
def test_the_chosen_temperature_is_nearly_the_best_of_the_grid(gain):
    landscape = landscape_of(both_network(gain=gain), law_of(RARE, RARE, [1, 1, 1, 1]))
    found = run_pilot(landscape, 2048, decay=0.9, gradient_share=0.25, rng=np.random.default_rng(0))
    assert found.temperature in GRID
    assert found.guide.n_batches == 12
    # The gradient is the same everywhere, so that every guide of the pilot is the same.
    every = [log_variance(landscape, found.guide.log_ratios(landscape.places, t)) for t in GRID]
    assert every[GRID.index(found.temperature)] <= min(every) + 0.3
    assert max(every) > min(every) + 1.0  # there was something to choose


def test_calls_are_counted_and_draws_of_the_law_itself_too():
    landscape = landscape_of(both_network(), law_of(RARE, RARE))
    found = run_pilot(
        landscape, 3 * LEAST_PILOT + 5, decay=0.9, gradient_share=1.0,
        rng=np.random.default_rng(0),
    )  # fmt: skip
    assert found.n_calls == 3 * LEAST_PILOT
    assert found.n_plain == 3 * len(GRID)
    assert found.n_plain_hits == 0


def test_a_pilot_that_meets_nothing_still_chooses():
    landscape = landscape_of(needle_network(), law_of(*[RARE] * 6))
    found = run_pilot(
        landscape, LEAST_PILOT, decay=0.9, gradient_share=0.25, rng=np.random.default_rng(0)
    )
    assert found.temperature in GRID
