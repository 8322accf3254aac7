"""Counts how often each token wins, for the small models and the named distributions.

Usage: python training/truth.py [MODEL ...] [--distributions NAMES] [--inputs N] [--seconds S]

It goes on where it stopped: after every few blocks the counts so far are written to
src/likely/rare/truths/MODEL-DISTRIBUTION.parquet, and blocks are numbered, so two runs give what
one would. A file that was made for other weights or another law is refused, not mixed in.
"""

import argparse
import os
import sys
import time
from itertools import islice
from pathlib import Path

import likely
from likely import rare
from likely.rare.counting import STEMS, Counts, endings_of, iter_counts
from likely.rare.ground_truth import Truth, framed
from likely.rare.named import DISTRIBUTIONS

MODELS = ("tiny-1l", "tiny-2l", "tiny-4l")
FOLDER = Path(__file__).parents[1] / "src" / "likely" / "rare" / "truths"
SEED = 20_261_130
SAVE_SECONDS = 60.0
MEMORY = {  # glibc keeps what is freed: else much of the time goes into page faults
    "MALLOC_MMAP_THRESHOLD_": "4294967296",
    "MALLOC_TRIM_THRESHOLD_": "8589934592",
    "MALLOC_TOP_PAD_": "268435456",
}


def count(model_name: str, distribution_name: str, *, n_inputs: int, until: float) -> bool:
    """Count one pair up to ``n_inputs``; return whether it is done."""
    model = likely.load(model_name)
    law = rare.distribution(distribution_name, model)
    path = FOLDER / f"{model_name}-{distribution_name}.parquet"
    counts = Counts.none(model.info.n_vocab)
    if path.exists():
        found = Truth.load(path)
        if (found.fingerprint, found.law, found.seed) != (
            model.info.fingerprint, law.fingerprint, SEED,
        ):  # fmt: skip
            sys.exit(f"{path.name} is of other weights, another law or another seed; remove it")
        counts = found.counts
    n_endings = len(endings_of(law).probs)
    n_blocks = -(-n_inputs // (STEMS * n_endings))
    first = counts.n_stems // STEMS
    saved = time.monotonic()
    run = iter_counts(model, law, seed=SEED, first_block=first)
    for more in islice(run, max(0, n_blocks - first)):
        counts += more
        now = time.monotonic()
        if now - saved > SAVE_SECONDS or now > until:
            framed(model, law, counts, seed=SEED).save(path)
            saved = now
        if now > until:
            return False
    truth = framed(model, law, counts, seed=SEED)
    truth.save(path)
    effective = truth.effective_inputs[truth.tokens_between(1e-9, 1e-3, n_stems=20)]
    middle = sorted(effective)[len(effective) // 2] if len(effective) else 0.0
    sys.stdout.write(
        f"{path.stem}: {counts.n_inputs:,} inputs of {counts.n_stems:,} stems in "
        f"{counts.spent.seconds:,.0f} s; {len(effective)} tokens from 1e-9 to 1e-3 rest on 20 "
        f"stems, median of {middle:,.0f} effective inputs; tied {truth.tied:.1e}\n"
    )
    sys.stdout.flush()
    return True


def main() -> None:
    """Count every pair that is asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="*", default=MODELS)
    parser.add_argument("--distributions", default=",".join(DISTRIBUTIONS.names()))
    parser.add_argument("--inputs", type=int, default=2**26)
    parser.add_argument("--seconds", type=float, default=1e9)
    asked = parser.parse_args()
    FOLDER.mkdir(exist_ok=True)
    until = time.monotonic() + asked.seconds
    pairs = [(m, d) for d in asked.distributions.split(",") for m in asked.models]
    done = [count(m, d, n_inputs=asked.inputs, until=until) for m, d in pairs]
    sys.exit(0 if all(done) else 1)


if __name__ == "__main__":
    if not MEMORY.keys() <= os.environ.keys():  # read when a process starts
        os.execve(sys.executable, [sys.executable, *sys.argv], {**os.environ, **MEMORY})
    main()
