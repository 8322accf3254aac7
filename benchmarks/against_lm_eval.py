"""Time and tokens against lm-evaluation-harness 0.4.13: same weights, requests and process.

Run ``make bench``, which installs the harness into an environment of its own. Each workload runs
on both sides in turn; the ratio is that of the medians.
"""

import argparse
import statistics
import time
from collections.abc import Callable

import numpy as np
from workloads import Pairs, colors, shared_prefix, surface_forms, unrelated

import likely
from likely.core.text.encode import encode_pair
from likely.core.trie import build_trie


def main() -> None:
    """Print one line a workload."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--only", choices=["shared_prefix", "surface_forms", "colors", "unrelated"])
    arguments = parser.parse_args()
    model = likely.load("smollm2")
    harness = _harness(model)
    workloads = {
        "shared_prefix": (shared_prefix(), 30.0),
        "surface_forms": (surface_forms(), 2.5),
        "colors": (colors(), 2.5),
        "unrelated": (unrelated(model), 1.0),
    }
    for name, (pairs, goal) in workloads.items():
        if arguments.only in (None, name):
            _compare(name, pairs, goal, model, harness, arguments.repeats)


def _harness(model: likely.LanguageModel) -> Callable[[Pairs], list[float]]:
    """Return the harness's own scorer over the very same module and tokenizer."""
    from lm_eval.api.instance import Instance
    from lm_eval.models.huggingface import HFLM

    lm = HFLM(
        pretrained=model.module,  # type: ignore[attr-defined]
        tokenizer=model.tokenizer.inner,  # type: ignore[attr-defined]
        batch_size=16,
    )

    def run(pairs: Pairs) -> list[float]:
        requests = [
            Instance(request_type="loglikelihood", doc={}, arguments=pair, idx=i)
            for i, pair in enumerate(pairs)
        ]
        return [score for score, _ in lm.loglikelihood(requests, disable_tqdm=True)]

    return run


def _compare(
    name: str,
    pairs: Pairs,
    goal: float,
    model: likely.LanguageModel,
    harness: Callable[[Pairs], list[float]],
    repeats: int,
) -> None:
    encoded = [encode_pair(model, context, after) for context, after in pairs]
    trie, _ = build_trie([e.context + e.target[:-1] for e in encoded])
    apart = sum(len(e.context) + len(e.target) - 1 for e in encoded)
    likely.score(model, pairs[:8])
    harness(pairs[:8])
    ours, theirs, ratios = [], [], []
    scores = likely.score(model, pairs)
    for _ in range(repeats):
        start = time.perf_counter()
        scores = likely.score(model, pairs)
        ours.append(time.perf_counter() - start)
        start = time.perf_counter()
        reference = harness(pairs)
        theirs.append(time.perf_counter() - start)
        ratios.append(theirs[-1] / ours[-1])
    # Where a token spans the join the harness scores its rest after it: the event of another text.
    is_merged = np.array(["boundary_merge" in s.flags for s in scores])
    gaps = np.abs(np.array([s.log_prob for s in scores]) - np.array(reference))
    gap = gaps[~is_merged].max()
    ratio = statistics.median(theirs) / statistics.median(ours)
    tokens = scores.cost.token_evaluations
    print(
        f"{name}: {len(pairs)} requests; likely {statistics.median(ours):.2f} s, harness "
        f"{statistics.median(theirs):.2f} s, ratio {ratio:.1f} (goal {goal}); token evaluations "
        f"{tokens}, trie {len(trie)} ({tokens / len(trie):.3f}), each alone {apart}; "
        f"calls {scores.cost.model_calls}; largest difference {gap:.1e} nats"
        f"{f', {is_merged.sum()} merged with the context apart' if is_merged.any() else ''}; "
        f"ratios of the runs {', '.join(f'{r:.1f}' for r in ratios)}",
        flush=True,
    )


if __name__ == "__main__":
    main()
