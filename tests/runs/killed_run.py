"""A run of 100 items in batches of ten that can be made to stand still, for a test to kill.

Usage: killed_run.py OUT MARKER STOP_AFTER; 0 never stops. Prints how often the model was asked.
"""

import sys
import time
from pathlib import Path

import likely
from likely.runs.items import Item
from likely.runs.scoring import run_scores

DIGITS = "0123456789"


def main(out, marker, stop_after):
    asked = []

    def law(context):
        """Return a distribution that differs after each digit."""
        asked.append(context)
        if len(asked) == stop_after:
            marker.touch()
            time.sleep(600)
        weights = {d: int(d) + int(context[-1]) + 1 for d in DIGITS}
        return {d: weight / sum(weights.values()) for d, weight in weights.items()}

    model = likely.TableModel(list(DIGITS), law, fingerprint="killed run")
    items = [
        Item(id=f"item {i}", context=f"{(i * 37) % 100:02d}", continuation=str(i % 10))
        for i in range(100)
    ]
    run_scores(model, items, out=out, batch=10)
    print(len(asked))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]))
