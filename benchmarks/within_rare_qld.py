"""Quadratic logit decomposition of 256 targets together, against the published formulas.

Same activations, process and machine. The reference takes each target by itself, so it is timed on
some of the targets and its time for all is theirs in proportion; ours is timed on all of them. The
goal is a ratio of 50. Model calls are the same on both sides and left out.

    python benchmarks/within_rare_qld.py --model tiny-2l
"""

import argparse
import math
import statistics
import time

import numpy as np
import torch
from rare_reference_qld import log_probability, prepare, search_direction

import likely
from likely import rare
from likely.rare.activations import Activations, collect
from likely.rare.method import Task

GOAL = 50.0
PLACES, WORDS = 24, 300


def main() -> None:
    """Print both times, their ratio, and how the scores agree."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", default="tiny-2l")
    parser.add_argument("--budget", type=int, default=65536)
    parser.add_argument("--targets", type=int, default=256)
    parser.add_argument("--timed", type=int, default=6, help="targets of the reference")
    parser.add_argument("--threads", type=int, default=1)
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    model = likely.load(arguments.model)
    law = words(model)
    probe = Task(
        model=model, distribution=law, events=(rare.token(5, model),), budget=arguments.budget
    )
    activations = collect(probe)
    events = rare_tokens(model, activations, arguments.targets)

    began = time.perf_counter()
    found = rare.Qld().of_activations(activations, events, level=0.95)
    ours = time.perf_counter() - began

    chosen = np.linspace(0, len(events) - 1, arguments.timed).astype(int).tolist()
    theirs, differences = timed_reference(
        activations, events, chosen, [one.log_prob for one in found]
    )
    ratio = theirs * len(events) / ours
    print(
        f"QLD, {len(events)} targets, {len(activations):,} activations: reference "
        f"{theirs * len(events):.0f} s ({theirs:.2f} s a target, {len(chosen)} timed), likely "
        f"{ours:.1f} s, ratio {ratio:.0f} (goal {GOAL:.0f}); log-probabilities differ by "
        f"{statistics.median(differences):.2f} nats in the median, {max(differences):.2f} at most"
    )


def words(model: likely.LanguageModel) -> rare.IndependentDistribution:
    """Return a law of inputs of many words, the first of them more frequent."""
    rng = np.random.default_rng(0)
    ids = rng.choice(np.arange(300, model.info.n_tokens), WORDS, replace=False)
    weights = {int(token): 1.0 / (1.0 + rank) ** 0.7 for rank, token in enumerate(ids)}
    return rare.independent([weights] * PLACES, model, name="words")


def rare_tokens(
    model: likely.LanguageModel, activations: Activations, n: int
) -> tuple[rare.Event, ...]:
    """Return tokens that win with a probability between 1e-9 and 1e-5, as far as QLD can tell."""
    rng = np.random.default_rng(1)
    order = rng.permutation(model.info.n_tokens).tolist()
    kept: list[rare.Event] = []
    for start in range(0, len(order), n):
        events = tuple(rare.token(token, model) for token in order[start : start + n])
        found = rare.Qld().of_activations(activations, events, level=0.95)
        kept += [
            event
            for event, one in zip(events, found, strict=True)
            if math.log(1e-9) <= one.log_prob <= math.log(1e-5)
        ]
        if len(kept) >= n:
            break
    return tuple(kept[:n])


def timed_reference(
    activations: Activations,
    events: tuple[rare.Event, ...],
    chosen: list[int],
    ours: list[float],
) -> tuple[float, list[float]]:
    """Return seconds a target, and by how much log-probabilities differ where both have one."""
    layer = activations.readout
    reference = prepare(torch.from_numpy(activations.normed()), layer.weight, layer.bias)
    generator = torch.Generator().manual_seed(0)
    seconds, differences = [], [0.0]
    for place in chosen:
        target = events[place].winners[0]
        began = time.perf_counter()
        direction = search_direction(reference, target, generator)
        log_prob = -math.inf
        if direction is not None:
            log_prob = log_probability(reference, target, direction)
        seconds.append(time.perf_counter() - began)
        if math.isfinite(log_prob) and math.isfinite(ours[place]):
            differences.append(abs(log_prob - ours[place]))
    return statistics.mean(seconds), differences


if __name__ == "__main__":
    main()
