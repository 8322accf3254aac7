"""The items of the study of calibration on smollm2 against the bare forward of what they need.

What is needed is counted apart from the engine: the distinct prefixes of every context with every
spelling behind it, each without its last token unless its word must end. The bare forward runs at
its best batch shape before and after, in the same process; it stops at logits of the last token.
Processor time is told beside the clock's: what else runs on the machine weighs less there.
"""

import argparse
import statistics
import time
from collections.abc import Sequence

import numpy as np
import torch
from within_bare_forward import SHAPES

import likely
from likely.calibration.data_sets.family import FAMILIES, PAPER, build
from likely.calibration.data_sets.items import Item
from likely.calibration.scoring import score_items
from likely.calibration.surface_kinds import option_surfaces
from likely.core.answers import plan_answers
from likely.core.engine import Continuation
from likely.core.trie import build_trie

GOAL_TIME = 1.3
GOAL_TOKENS = 1.05


def main() -> None:
    """Print one line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--families", nargs="+", choices=list(FAMILIES), default=list(PAPER))
    parser.add_argument("--preset", default="lite")
    parser.add_argument("--sample", type=int, help="so many items, evenly spaced, of all of them")
    arguments = parser.parse_args()
    items = [item for name in arguments.families for item in build(name, preset=arguments.preset)]
    if arguments.sample:
        items = [items[i * len(items) // arguments.sample] for i in range(arguments.sample)]
    model = likely.load("smollm2")
    n_nodes = needed(model, items)
    shape = best_shape(model, most=max(512, n_nodes // 4))
    score_items(model, items[:8])
    bare = [bare_seconds(model, shape) for _ in range(2)]
    start, start_cpu = time.perf_counter(), time.process_time()
    cost = score_items(model, items).cost
    seconds, cpu = time.perf_counter() - start, time.process_time() - start_cpu
    bare += [bare_seconds(model, shape) for _ in range(2)]
    wall_each, cpu_each = (statistics.median(times) for times in zip(*bare, strict=True))
    print(
        f"calibration: {len(items)} items of {', '.join(arguments.families)}; {seconds:.1f} s, of "
        f"these {cost.seconds:.1f} s in the model; bare forward of {n_nodes} tokens at "
        f"{shape[0]}x{shape[1]} ({1 / wall_each:.0f} tokens/s) {n_nodes * wall_each:.1f} s, ratio "
        f"{seconds / (n_nodes * wall_each):.2f} (goal at most {GOAL_TIME}), of processor time "
        f"{cpu / (n_nodes * cpu_each):.2f}; token evaluations {cost.token_evaluations}, distinct "
        f"prefixes {n_nodes} ({cost.token_evaluations / n_nodes:.4f}, goal at most {GOAL_TOKENS}) "
        f"in {cost.model_calls} calls"
    )


def needed(model: likely.LanguageModel, items: Sequence[Item]) -> int:
    """Return how many distinct prefixes the items take."""
    plan = plan_answers(
        model,
        [item.context for item in items],
        [{o.label: option_surfaces(o, item.lead) for o in item.options} for item in items],
    )
    trie, _ = build_trie(
        [
            asked.prefix + asked.target[:-1] if isinstance(asked, Continuation) else asked.prefix
            for asked in plan.requests
        ]
    )
    return len(trie)


def best_shape(model: likely.LanguageModel, *, most: int) -> tuple[int, int]:
    """Return the batch shape of least time a token, of those of at most ``most`` tokens.

    The search is then never longer than the job.
    """
    shapes = [(b, t) for b, t in SHAPES if b * t <= most]
    return min(shapes, key=lambda shape: min(bare_seconds(model, shape)[0] for _ in range(2)))


def bare_seconds(model: likely.LanguageModel, shape: tuple[int, int]) -> tuple[float, float]:
    """Return the seconds a token of one forward, by the clock and of the processor."""
    ids = torch.from_numpy(np.random.default_rng(0).integers(100, model.info.n_vocab, shape))
    start, start_cpu = time.perf_counter(), time.process_time()
    with torch.inference_mode():
        model.module(input_ids=ids, logits_to_keep=1, use_cache=False)  # type: ignore[attr-defined]
    n = ids.numel()
    return (time.perf_counter() - start) / n, (time.process_time() - start_cpu) / n


if __name__ == "__main__":
    main()
