"""Time and peak memory of the pigeonhole bootstrap on a data set of the full size of `colors`.

165,000 items: 5 templates x 55 sets of colours x 150 pairs of numbers x both orders of each; 10
metrics, each undefined for items of its own, and 2,000 resamples. Memory is the resident peak.
"""

import resource
import time

import numpy as np

from likely.core.streams import generator
from likely.stats.pigeonhole import pigeonhole_bootstrap_many

SHAPE = {"template": 5, "option_set": 55, "number_pair": 150, "order": 4}
N_METRICS = 10
N_RESAMPLES = 2000
GOAL_S, GOAL_GB = 5.0, 4.0


def main() -> None:
    """Print the time of all metrics and the peak."""
    levels = np.meshgrid(*(np.arange(n) for n in SHAPE.values()), indexing="ij")
    codes = {name: level.ravel() for name, level in zip(SHAPE, levels, strict=True)}
    factors = {name: codes[name] for name in ("template", "option_set", "number_pair")}
    rng = generator(0, "benchmarks", "bootstrap")
    n_items = len(codes["order"])
    values = rng.normal(size=(n_items, N_METRICS))
    for name, level in factors.items():
        values += rng.normal(size=(SHAPE[name], N_METRICS))[level]
    values[rng.random(values.shape) < 0.01] = np.nan
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start = time.perf_counter()
    pigeonhole_bootstrap_many(values, factors, n_resamples=N_RESAMPLES)
    seconds = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(
        f"bootstrap: {n_items} items, {N_METRICS} metrics, {N_RESAMPLES} resamples of 3 factors; "
        f"{seconds:.2f} s (goal under {GOAL_S:.0f}), {GOAL_S / seconds:.1f} times within; peak "
        f"{peak / 2**20:.2f} GB, {(peak - before) / 2**20:.2f} GB of it here (goal under "
        f"{GOAL_GB:.0f})"
    )


if __name__ == "__main__":
    main()
