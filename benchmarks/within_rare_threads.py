"""One thread against all, for methods that take many small steps: idle, and beside another process.

Estimates two tokens of `hex` on `tiny-1l`. The other process multiplies matrices on one core.
"""

import multiprocessing
import time
from unittest.mock import patch

import numpy as np
import torch

import likely
from likely import rare
from likely.rare import threads

BUDGET = 1024
METHODS = ("itgis", "mhis", "ga-amls")
TARGETS = (" of", "ed")


def main() -> None:
    """Print a line for each method and circumstance."""
    model = likely.load("tiny-1l")
    law = rare.distribution("hex", model)
    other = multiprocessing.get_context("spawn").Process(target=load_one_core, daemon=True)
    for beside in ("an idle machine", "another process on one core"):
        if beside != "an idle machine":
            other.start()
            time.sleep(3.0)
        for method in METHODS:
            one = seconds(model, law, method)
            with patch.object(threads, "SMALL", 0):
                more = seconds(model, law, method)
            print(
                f"{method}, {BUDGET:,} calls, {beside}: {one:.1f} s with one thread, {more:.1f} s "
                f"with {torch.get_num_threads()}, ratio {more / one:.1f}",
                flush=True,
            )
    other.terminate()


def seconds(model: likely.LanguageModel, law: rare.InputDistribution, method: str) -> float:
    """Return the wall time of two estimates."""
    start = time.perf_counter()
    rare.estimate_many(model, law, TARGETS, method=method, budget=BUDGET, seed=1)
    return time.perf_counter() - start


def load_one_core() -> None:
    """Multiply without end, in one thread."""
    from threadpoolctl import threadpool_limits

    with threadpool_limits(limits=1):
        square = np.ones((512, 512))
        while True:
            square @ square


if __name__ == "__main__":
    main()
