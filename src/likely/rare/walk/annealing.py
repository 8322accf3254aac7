"""Cools chains until they meet an event, to find the temperature for it. Unit: nats."""

import numpy as np

from likely.rare.gradient.pilot import GRID
from likely.rare.walk.walkers import Walkers

ENOUGH = 0.05
"""Share of inputs that hit, at which cooling stops."""


def anneal(walkers: Walkers, n_calls: int) -> float:
    """Return a temperature at which the chains hit often enough, and leave them there.

    Every temperature of the grid, the warmest first, gets an equal share of the calls; hits are
    counted in the second half of each. If none has enough, the one with most of them is taken, and
    the coldest of those.

    Args:
        walkers: Chains, whose ladder is flat while they cool.
        n_calls: Inputs that may have been read in all when it ends.
    """
    start, best, best_rate = walkers.n_calls, GRID[-1], -1.0
    for number, temperature in enumerate(reversed(GRID), start=1):
        walkers.set_ladder(np.full(len(walkers.ladder), 1.0 / temperature))
        until = start + (n_calls - start) * number // len(GRID)
        rates = [float(step.hits.mean()) for step in walkers.walk(until)]
        later = rates[len(rates) // 2 :]
        rate = sum(later) / max(1, len(later))
        if rate >= best_rate:
            best, best_rate = temperature, rate
        if rate >= ENOUGH:
            break
    walkers.set_ladder(np.full(len(walkers.ladder), 1.0 / best))
    return best
