"""The truth of laws of inputs: stems read once for all endings, against a full pass an input.

Both find the token with the largest logit after inputs of `tiny-2l`, with one thread. The plain
side reads whole inputs by the model's own forward, in its best batch, with logits of the last place
alone, and takes their argmax; the ratio is that of inputs a second, and least where few tokens may
stand at the last place. Shares of both are compared for tokens that won ten times on either side.

    python benchmarks/within_rare_truth.py --distributions hex,camel,ifelse,english
"""

import argparse
import statistics
import time

import numpy as np
import torch

import likely
from likely import rare
from likely.rare.counting import STEMS, Counts, endings_of, iter_counts

GOAL = 20.0
ROUNDS = 3
SECONDS = 3.0  # of our side in a round
PLAIN_INPUTS = 16_384
BATCHES = (64, 128, 256, 512)


def main() -> None:
    """Print a line for each law."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--distributions", default="hex,camel,ifelse,english")
    torch.set_num_threads(1)
    model = likely.load("tiny-2l")
    for name in parser.parse_args().distributions.split(","):
        print(compared(model, rare.distribution(name, model)), flush=True)


def compared(model: likely.LanguageModel, law: rare.InputDistribution) -> str:
    """Return a line about one law."""
    n_endings = len(endings_of(law).probs)
    run = iter_counts(model, law, seed=1)
    next(run)
    draws = np.random.default_rng(0)
    warm = law.sample(2048, rng=draws)
    batch = max(BATCHES, key=lambda size: plain(model, warm, size)[1])
    ours, theirs = [], []
    counts, wins = Counts.none(model.info.n_vocab), np.zeros(model.info.n_vocab)
    for _ in range(ROUNDS):
        start, before = time.perf_counter(), counts.n_inputs
        while time.perf_counter() - start < SECONDS:
            counts += next(run)
        ours.append((counts.n_inputs - before) / (time.perf_counter() - start))
        winners, rate = plain(model, law.sample(PLAIN_INPUTS, rng=draws), batch)
        theirs.append(rate)
        wins += np.bincount(winners, minlength=model.info.n_vocab)
    share, own = wins / wins.sum(), counts.total[:-1] / counts.n_stems
    errors = np.sqrt(share * (1 - share) / wins.sum() + counts.squares[:-1] / counts.n_stems**2)
    often = (wins >= 10) & (counts.stems[:-1] >= 10)
    worst = float(np.max(np.abs(share - own)[often] / errors[often]))
    return (
        f"truth of {law.name} on tiny-2l: {n_endings} endings of each of {STEMS} stems a block; "
        f"{statistics.median(ours):,.0f} inputs/s, full passes {statistics.median(theirs):,.0f} "
        f"inputs/s in batches of {batch}, ratio "
        f"{statistics.median(ours) / statistics.median(theirs):.1f} (goal {GOAL:.0f}); token "
        f"evaluations an input {counts.spent.token_evaluations / counts.n_inputs:.2f} against "
        f"{law.length}; largest difference of {often.sum()} shares {worst:.1f} standard "
        f"errors; 2^26 inputs take "
        f"{2**26 / statistics.median(ours) / 60:.0f} min here"
    )


def plain(model: likely.LanguageModel, inputs: np.ndarray, batch: int) -> tuple[np.ndarray, float]:
    """Return the winner after each input by full passes, and inputs a second."""
    start = time.perf_counter()
    found = []
    with torch.inference_mode():
        for first in range(0, len(inputs), batch):
            ids = torch.from_numpy(np.ascontiguousarray(inputs[first : first + batch]))
            logits = model.module(input_ids=ids, logits_to_keep=1, use_cache=False).logits
            found.append(logits[:, -1].argmax(dim=-1).numpy())
    return np.concatenate(found), len(inputs) / (time.perf_counter() - start)


if __name__ == "__main__":
    main()
