"""How often intervals of the adaptive engine hold the truth, on tables of all of SmolLM2's tokens.

The tables are what `exact_attribution.py` leaves in its working folder. Searches are run on them as
on the model, each with draws of its own, guided as `likely.attribution` guides them, until they
stop by themselves:

    PYTHONPATH=tests python docs/replication/attribution_coverage.py --work FOLDER --runs 60
"""

import argparse
import sys
from pathlib import Path

import numpy as np
from attribution_truth import Law, found_within
from exact_attribution import PROMPT, every_candidate

import likely
from likely import attribution
from likely.attribution.opening import Topic
from likely.attribution.prior import NextLaws
from likely.attribution.search import guide
from likely.attribution.slopes import Slopes, open_slopes
from likely.core.branches import open_stem
from likely.core.logspace import logsumexp

NAMES = (
    "score", "interventional", "context_entropy", "response_entropy", "information", "surprisal",
)  # fmt: skip
ROUNDING = 1e-9


def main() -> None:
    """Print a line a position."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--runs", type=int, default=60)
    parser.add_argument("--positions", type=int, nargs="+")
    parser.add_argument("--tolerance", type=float, default=0.02)
    arguments = parser.parse_args()
    model = likely.load("smollm2")
    case = attribution.frame_case(model, PROMPT, generate=4)
    text = (*case.stem, *case.response)
    stem = open_stem(model, text[:-1])
    topic = Topic(NextLaws(model, stem))
    slopes = open_slopes(model, text, settings=None, spending=stem.spending)
    if not isinstance(slopes, Slopes):
        sys.exit(f"{model.info.name!r} gives no slopes")
    for position in sorted(arguments.positions or case.positions, reverse=True):
        read = every_candidate(open_stem(model, case.stem), case, position, arguments.work)
        log_prior = read[:, 0] - float(logsumexp(read[:, 0]))
        law = Law(
            str(position), log_prior, read[:, 1:], len(case.prompt) - 1 - position,
            case.prompt[position],
        )  # fmt: skip
        place = len(case.context) + position
        ids = np.arange(len(log_prior))
        allotted = guide(
            log_prior, topic.after(place)[ids], slopes.at(place, ids, case.prompt[position])
        )
        numbers = law.truth.numbers()
        truth = float(numbers["score"])
        held, near, spent = dict.fromkeys(NAMES, 0), 0, []
        for seed in range(arguments.runs):
            search = law.search(seed, guide=allotted)
            found = found_within(search, tolerance=arguments.tolerance).measures
            for name in NAMES:
                one = getattr(found, name)
                # What is exact is so up to the rounding of sums in another order.
                held[name] += one.low - ROUNDING <= numbers[name] <= one.high + ROUNDING
            near += abs(found.score.value - truth) <= arguments.tolerance
            spent.append(search.stem.spending.cost.token_evaluations)
        n = arguments.runs
        shares = ", ".join(f"{name} {number / n:.2f}" for name, number in held.items())
        token = model.tokenizer.decode([case.prompt[position]])
        sys.stdout.write(
            f"{position} {token!r} score {truth:.4f}: held: {shares}; score within "
            f"{arguments.tolerance} {near / n:.2f} of {n} runs, {np.mean(spent):.0f} token "
            f"evaluations, one in {read[:, 1:].size / np.mean(spent):.0f} of all\n"
        )
        sys.stdout.flush()


if __name__ == "__main__":
    main()
