"""The adaptive engine of attribution on smollm2 against the published procedure.

The procedure evaluates for each of m prompt positions all V candidates: the prompt again, and R
forced steps after it, which is ``m V (2 m + R + 1)`` token evaluations; that count is the limit it
is compared with. Seconds are compared with those that the same procedure takes here, from a batch
of its candidates at the middle position, written plainly: a forward of each prompt, then one step a
response token with keys and values kept, a softmax over the vocabulary each time. What the
processor can do at best is a bare forward of as many tokens, output layer included: timed too.
"""

import argparse
import json
import resource
import time
from pathlib import Path

import torch

import likely
from likely import attribution
from likely.models.transformers import TransformersModel

PROMPTS = Path(__file__).parent.parent / "docs" / "replication" / "attribution-prompts.json"
GOAL_RATIO = {"P6": 150.0}
GOAL_OTHERS = 200.0
GOAL_SECONDS = {"P6": 90.0}
GOAL_OTHERS_SECONDS = 1800.0
GOAL_MEMORY = 2.0  # GB beyond the weights
BATCH = 50
BARE = (16, 64)  # rows and tokens of the bare forward, near its best shape


def main() -> None:
    """Print a line a prompt."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--prompts", nargs="+", default=["P6"])
    parser.add_argument("--generate", type=int, default=20)
    parser.add_argument("--tolerance", type=float, default=0.02)
    arguments = parser.parse_args()
    texts = json.loads(PROMPTS.read_text(encoding="utf-8"))["prompts"]
    model = likely.load("smollm2")
    likely.next_token(model, "warm")
    resident = _resident()
    bare = bare_rate(model)
    for name in arguments.prompts:
        case = attribution.frame_case(model, texts[name], generate=arguments.generate)
        start = time.perf_counter()
        found = attribution.attribute_case(model, case, tolerance=arguments.tolerance)
        seconds = time.perf_counter() - start
        peak = (_peak() - resident) / 1e9
        each = plain_seconds(model, case)
        m, n_vocab = len(case.positions), model.info.n_tokens
        reference = attribution.reference_cost(n_vocab, case)
        reference_seconds = each * m * n_vocab
        n_known = sum(place.converged for place in found.places)
        print(
            f"attribution {name}: {m} prompt and {len(case.response)} response tokens, tolerance "
            f"{found.tolerance} nats; {found.cost.token_evaluations} token evaluations, published "
            f"procedure {reference}, ratio {reference / found.cost.token_evaluations:.0f} (goal "
            f"{GOAL_RATIO.get(name, GOAL_OTHERS):.0f}); {seconds:.0f} s (goal under "
            f"{GOAL_SECONDS.get(name, GOAL_OTHERS_SECONDS):.0f}), {seconds / m:.1f} s a position; "
            f"the procedure here {reference_seconds / 3600:.1f} h, ratio "
            f"{reference_seconds / seconds:.0f}; {found.cost.token_evaluations / seconds:.0f} "
            f"tokens/s, bare forward {bare:.0f}; {n_known} of {m} positions converged; peak "
            f"{peak:.2f} GB over the weights (goal under {GOAL_MEMORY:.0f})",
            flush=True,
        )


@torch.inference_mode()
def plain_seconds(model: TransformersModel, case: attribution.Case) -> float:
    """Return the seconds that the published procedure takes for one candidate, of a batch."""
    middle = len(case.context) + len(case.prompt) // 2
    ids = torch.tensor([case.stem] * BATCH)
    ids[:, middle] = torch.arange(1000, 1000 + BATCH)
    start = time.perf_counter()
    torch.softmax(model.module(input_ids=ids, use_cache=False).logits, dim=-1)
    output = model.module(input_ids=ids, use_cache=True)
    for token in case.response:
        torch.softmax(output.logits[:, -1], dim=-1)
        step = torch.full((BATCH, 1), token)
        output = model.module(
            input_ids=step, past_key_values=output.past_key_values, use_cache=True
        )
    return (time.perf_counter() - start) / BATCH


@torch.inference_mode()
def bare_rate(model: TransformersModel) -> float:
    """Return how many tokens a second go through model and output layer, the best of three."""
    ids = torch.arange(1000, 1000 + BARE[0] * BARE[1]).view(BARE)
    seconds = []
    for _ in range(3):
        start = time.perf_counter()
        model.module(input_ids=ids, use_cache=False)
        seconds.append(time.perf_counter() - start)
    return ids.numel() / min(seconds)


def _resident() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize()


def _peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


if __name__ == "__main__":
    main()
