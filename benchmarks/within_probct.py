"""The whole of ProbCT with its controls on smollm2: wall seconds, and tokens over what is needed.

What is needed is counted apart from the engine: the distinct prefixes of every context with every
answer and candidate behind it, each without its last token.
"""

import argparse
import time
from collections.abc import Iterator, Sequence

import likely
from likely.core.text.surfaces import encode_surface
from likely.logic.events import Event, spellings
from likely.logic.instances import instances
from likely.logic.probct.controls import CONTROLS
from likely.logic.probct.run import run
from likely.logic.probct.suites import FAMILIES, load_family

GOAL_MINUTES = 15
GOAL_RATIO = 1.05
SEED = 0


def main() -> None:
    """Print one line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--families", nargs="+", choices=FAMILIES, default=list(FAMILIES))
    parser.add_argument("--no-controls", action="store_true")
    arguments = parser.parse_args()
    controls = () if arguments.no_controls else tuple(CONTROLS)
    model = likely.load("smollm2")
    events = list(needed_events(arguments.families, controls))
    n_nodes = len(prefixes(model, events))
    start = time.perf_counter()
    result = run(model, families=arguments.families, controls=controls, seed=SEED)
    seconds = time.perf_counter() - start
    cost = result.cost
    print(
        f"probct: {len(arguments.families)} families, {1 + len(controls)} versions, "
        f"{result.n_items} items and {len(events)} events; {seconds:.0f} s "
        f"({seconds / 60:.1f} minutes, goal under {GOAL_MINUTES}), of these {cost.seconds:.0f} s "
        f"in the model; token evaluations {cost.token_evaluations}, distinct prefixes {n_nodes} "
        f"({cost.token_evaluations / n_nodes:.3f}, goal at most {GOAL_RATIO}); "
        f"{cost.token_evaluations / cost.seconds:.0f} tokens/s in {cost.model_calls} calls"
    )


def needed_events(families: Sequence[str], controls: Sequence[str]) -> Iterator[Event]:
    """Yield the events of every family and control."""
    for family in families:
        theory = load_family(family)
        for version in (theory, *(CONTROLS[name](theory, seed=SEED) for name in controls)):
            for instance in instances(version):
                yield from instance.events.values()


def prefixes(model: likely.LanguageModel, events: Sequence[Event]) -> set[tuple[int, ...]]:
    """Return every prefix after which a row is read, or that leads to one."""
    found: set[tuple[int, ...]] = set()
    for event in events:
        words = (*event.answers, *(event.candidates or ()))
        surfaces = (*(event.spellings or ()), *spellings(model, event.context, words))
        for surface in dict.fromkeys(surfaces):
            pair = encode_surface(model, event.context, surface)
            ids = tuple(pair.context + pair.target[:-1])
            while ids and ids not in found:
                found.add(ids)
                ids = ids[:-1]
    return found


if __name__ == "__main__":
    main()
