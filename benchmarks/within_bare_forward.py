"""Batched next-token rows against a bare transformers forward at its best batch shape.

Same weights, process and machine; both sides take in turn, and the ratio is that of the medians of
token rates. Rows come out as float64 log-probabilities; the bare forward stops at float32 logits.
"""

import statistics
import time
from collections.abc import Callable
from functools import partial

import numpy as np
import torch

import likely
from likely.core.engine import Reduction, Row, evaluate

SHAPES = [(b, t) for b in (8, 16, 32, 64) for t in (32, 64, 128) if b * t <= 4096]
GOAL = 0.85
FIRST_COLUMN = Reduction(name="first column", apply=lambda rows: rows[:, 0])


def main() -> None:
    """Print the best bare shape and our rate on the same tokens."""
    model = likely.load("smollm2")
    module = model.module
    rng = np.random.default_rng(0)

    def bare(ids: np.ndarray) -> Callable[[], object]:
        tensor = torch.from_numpy(ids)

        def run() -> object:
            with torch.inference_mode():
                return module(input_ids=tensor, logits_to_keep=1, use_cache=False).logits

        return run

    rates = {}
    for shape in SHAPES:
        ids = rng.integers(100, model.info.n_vocab, shape)
        rates[shape] = ids.size / min(_timed(bare(ids)) for _ in range(2))
    best = max(rates, key=lambda shape: rates[shape])
    ours, theirs = [], []
    for _ in range(5):
        ids = rng.integers(100, model.info.n_vocab, best)
        requests = [Row(prefix=tuple(row), reduction=FIRST_COLUMN) for row in ids.tolist()]
        theirs.append(ids.size / _timed(bare(ids)))
        ours.append(ids.size / _timed(partial(evaluate, model, requests)))
    ratio = statistics.median(ours) / statistics.median(theirs)
    print(
        f"next-token rows: best bare shape {best[0]}x{best[1]}, {statistics.median(theirs):.0f} "
        f"tokens/s; likely on the same tokens {statistics.median(ours):.0f} tokens/s, "
        f"ratio {ratio:.2f} (goal {GOAL})"
    )


def _timed(run: Callable[[], object]) -> float:
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


if __name__ == "__main__":
    main()
