"""ITGIS and MHIS for one target, against the published formulas at as many calls.

Both sides run in one process, in turn, at the same temperature, batch and number of chains; chains
are burnt in for a third of their calls on both sides. The reference is `rare_reference.py`. Of the
rounds, the medians are taken. Goals: ITGIS 10 times as fast, MHIS 5 times.

    python benchmarks/within_rare_gradients.py --model tiny-2l --distribution hex
"""

import argparse
import math
import statistics
import time
from collections.abc import Callable

import numpy as np
import torch
from rare_reference import Reference, itgis, mhis, tokens_read

import likely
from likely import rare
from likely.rare.method import Method

GOALS = {"itgis": 10.0, "mhis": 5.0}
TEMPERATURES = {"itgis": 1.5, "mhis": 0.67}  # published for hex and two layers
CHAINS = 32


def main() -> None:
    """Print one line for each method."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", default="tiny-2l")
    parser.add_argument("--distribution", default="hex")
    parser.add_argument("--target", type=int, help="a token; by default one that seldom wins")
    parser.add_argument("--calls", type=int, default=3072)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=1)
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    model = likely.load(arguments.model)
    law = rare.distribution(arguments.distribution, model)
    target = seldom_winner(model, law) if arguments.target is None else arguments.target
    reference = Reference.of(model, law, target)
    steps = arguments.calls // CHAINS
    sides: dict[str, tuple[Callable[[int], float], Method]] = {
        "itgis": (
            lambda seed: itgis(
                reference, temperature=TEMPERATURES["itgis"], n=arguments.calls, seed=seed
            ),
            rare.Itgis(temperature=TEMPERATURES["itgis"]),
        ),
        "mhis": (
            lambda seed: mhis(
                reference, temperature=TEMPERATURES["mhis"], n_steps=steps - steps // 3 - 1,
                burn_in=steps // 3, chains=CHAINS, seed=seed,
            ),
            rare.Mhis(
                temperature=TEMPERATURES["mhis"], estimator="self-normalised", chains=CHAINS,
                burn_in=steps // 3,
            ),
        ),
    }  # fmt: skip
    for name, (plain, method) in sides.items():
        print(line(name, plain, method, (model, law, target), arguments), flush=True)


def line(
    name: str,
    plain: Callable[[int], float],
    method: Method,
    what: tuple[likely.LanguageModel, rare.IndependentDistribution, int],
    arguments: argparse.Namespace,
) -> str:
    """Return what both sides took, and how their estimates compare."""
    model, law, target = what
    theirs, ours, estimates = [], [], []
    for seed in range(arguments.rounds):
        began = time.perf_counter()
        reference = plain(seed)
        theirs.append(time.perf_counter() - began)
        began = time.perf_counter()
        found = rare.estimate(model, law, target, method=method, budget=arguments.calls, seed=seed)
        ours.append(time.perf_counter() - began)
        estimates.append((reference, found.log_prob.value))
    read, tokens = tokens_read(law, arguments.calls), found.spent.token_evaluations
    ratios = [one / other for one, other in zip(theirs, ours, strict=True)]
    shown = ", ".join(f"{a / math.log(10):.2f}/{b / math.log(10):.2f}" for a, b in estimates)
    return (
        f"{name}, {rare.token(target, model).name!r} after {arguments.distribution} on "
        f"{arguments.model}, {arguments.calls} calls "
        f"({found.spent.gradients} of ours go backward): reference {statistics.median(theirs):.2f} "
        f"s, likely {statistics.median(ours):.2f} s, ratio {statistics.median(ratios):.1f} (goal "
        f"{GOALS[name]:.0f}; rounds {', '.join(f'{one:.1f}' for one in ratios)}); token positions "
        f"{read} and {tokens}, ratio {read / tokens:.2f}; log10 of the estimates {shown}"
    )


def seldom_winner(model: likely.LanguageModel, law: rare.IndependentDistribution) -> int:
    """Return the token whose probability is nearest to 1e-3, by what is known of the law."""
    truth = rare.stored_truth(model, law) or rare.truth(model, law, n=2**18)
    with np.errstate(divide="ignore"):
        return int(np.argmin(np.abs(np.log10(truth.probs) + 3.0)))


if __name__ == "__main__":
    main()
