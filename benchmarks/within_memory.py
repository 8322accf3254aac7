"""Peak memory of one continuation token after 4,000 tokens, over weights and stored K/V.

The resident size is read every 2 ms by a thread; what is reported is its peak during the call,
less its size before, less the bytes of keys and values of 4,000 tokens.
"""

import threading
import time
from pathlib import Path

import likely

N_CONTEXT = 4000
GOAL_MB = 50


def main() -> None:
    """Print the extra peak."""
    model = likely.load("smollm2")
    text = Path(__file__).with_name("declaration.txt").read_text(encoding="utf-8")
    ids = (model.tokenizer.encode(text).tokens * 8)[: N_CONTEXT + 1]
    likely.score(model, [(ids[:64], ids[64:65])])
    before = _resident_mb()
    peak = [before]
    done = threading.Event()

    def watch() -> None:
        while not done.is_set():
            peak[0] = max(peak[0], _resident_mb())
            time.sleep(0.002)

    watcher = threading.Thread(target=watch)
    watcher.start()
    scores = likely.score(model, [(ids[:N_CONTEXT], ids[N_CONTEXT:])])
    done.set()
    watcher.join()
    config = model.module.config
    per_token = 2 * config.num_hidden_layers * config.num_key_value_heads * config.head_dim * 4
    stored = N_CONTEXT * per_token / 2**20
    extra = peak[0] - before - stored
    print(
        f"memory: {N_CONTEXT} tokens of context, V = {model.info.n_vocab}; extra peak "
        f"{extra:.0f} MB over weights and {stored:.0f} MB of K/V (goal under {GOAL_MB}); "
        f"logits of every position would be {N_CONTEXT * model.info.n_vocab * 4 / 2**20:.0f} MB; "
        f"{scores.cost.seconds:.1f} s in {scores.cost.model_calls} passes"
    )


def _resident_mb() -> float:
    status = Path("/proc/self/status").read_text()
    line = next(line for line in status.splitlines() if line.startswith("VmRSS"))
    return int(line.split()[1]) / 1024


if __name__ == "__main__":
    main()
