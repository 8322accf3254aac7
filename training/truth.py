"""Counts how often each token wins, for the small models and the named distributions.

Usage: python training/truth.py [MODEL ...] [--distributions NAMES] [--inputs N] [--workers N]

All pairs are counted to 2^23 inputs, then to 2^22 more, and so on. A pair is done when N inputs
are read, or when half of its rare tokens are known as well as N independent inputs would tell
(`Truth.effective_rare`). It goes on where it stopped: after every few blocks the counts so far are
written to src/likely/rare/truths/MODEL-DISTRIBUTION.parquet, and blocks are numbered, so two runs
give what one would. A file that was made for other weights, another law or other endings is
refused, not mixed in.
"""

import argparse
import math
import multiprocessing
import os
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import islice
from pathlib import Path

import likely
from likely import rare
from likely.rare.counting import STEMS, Counts, endings_of, iter_counts
from likely.rare.ground_truth import Truth, framed
from likely.rare.named import DISTRIBUTIONS
from likely.rare.threads import few_threads

MODELS = ("tiny-1l", "tiny-2l", "tiny-4l")
FOLDER = Path(__file__).parents[1] / "src" / "likely" / "rare" / "truths"
SEED = 20_261_130
FEWEST, STEP = 2**23, 2**22
SAVE_SECONDS = 60.0
MEMORY = {  # glibc keeps what is freed: else much of the time goes into page faults
    "MALLOC_MMAP_THRESHOLD_": "4294967296",
    "MALLOC_TRIM_THRESHOLD_": "8589934592",
    "MALLOC_TOP_PAD_": "268435456",
}


def count(pair: tuple[str, str], *, n_inputs: int, rounds: Sequence[int]) -> str:
    """Count one pair up to a number of inputs, unless it is done; return a line about it.

    Args:
        pair: Names of model and distribution.
        n_inputs: To count up to.
        rounds: Inputs at the end of each round, where alone a pair may be called done; the last is
            the number of effective inputs that half of its rare tokens should rest on.
    """
    model = likely.load(pair[0])
    law = rare.distribution(pair[1], model)
    path = FOLDER / f"{pair[0]}-{pair[1]}.parquet"
    counts = Counts.none(model.info.n_vocab)
    block = STEMS * len(endings_of(law).probs)
    if path.exists():
        found = Truth.load(path)
        if (found.fingerprint, found.law, found.seed, found.n_endings) != (
            model.info.fingerprint, law.fingerprint, SEED, len(endings_of(law).probs),
        ):  # fmt: skip
            sys.exit(
                f"{path.name} is of other weights, another law, another seed or other endings; "
                "remove it"
            )
        counts = found.counts
        ends = [math.ceil(one / block) * block for one in rounds]
        if counts.n_inputs in ends and found.effective_rare >= rounds[-1]:
            return f"{path.stem}: done"
    first, end = counts.n_stems // STEMS, math.ceil(n_inputs / block)
    if first >= end:
        return f"{path.stem}: {counts.n_inputs:,} inputs before"
    saved = time.monotonic()
    with few_threads(model):
        for more in islice(iter_counts(model, law, seed=SEED, first_block=first), end - first):
            counts += more
            if time.monotonic() - saved > SAVE_SECONDS:
                framed(model, law, counts, seed=SEED).save(path)
                saved = time.monotonic()
    truth = framed(model, law, counts, seed=SEED)
    truth.save(path)
    return (
        f"{path.stem}: {counts.n_inputs:,} inputs of {counts.n_stems:,} stems in "
        f"{counts.spent.seconds:,.0f} s; half of the rare tokens rest on "
        f"{truth.effective_rare:,.0f} effective inputs; tied {truth.tied:.1e}"
    )


def rounds_up_to(n_inputs: int) -> list[int]:
    """Return the inputs at the end of each round: as many more as in every other, then all."""
    return [*range(FEWEST, n_inputs, STEP), n_inputs]


def main() -> None:
    """Count every pair that is asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="*", default=MODELS)
    parser.add_argument("--distributions", default=",".join(DISTRIBUTIONS.names()))
    parser.add_argument("--inputs", type=int, default=2**26)
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    asked = parser.parse_args()
    FOLDER.mkdir(exist_ok=True)
    pairs = [(m, d) for d in asked.distributions.split(",") for m in asked.models]
    rounds = rounds_up_to(asked.inputs)
    with ProcessPoolExecutor(asked.workers, multiprocessing.get_context("spawn")) as pool:
        for size in rounds:
            for line in pool.map(partial(count, n_inputs=size, rounds=rounds), pairs):
                sys.stdout.write(f"{line}\n")
                sys.stdout.flush()


if __name__ == "__main__":
    if not MEMORY.keys() <= os.environ.keys():  # read when a process starts
        os.execve(sys.executable, [sys.executable, *sys.argv], {**os.environ, **MEMORY})
    main()
