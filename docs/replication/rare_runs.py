"""Run what rare.md says of QLD's faults, of kernels and of rankings: rare-runs.json.

    python docs/replication/rare_runs.py                      # every model and law with a truth
    python docs/replication/rare_runs.py --models tiny-1l --laws hex --out other.json

Each model under each law is one part; a run that is broken off goes on from the parts in the file.
Truths are those that come with the package. Every method over activations sees the same ones.
"""

import argparse
import json
import math
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
from rare_qld_faults import every_variant, gaussian_rows
from scipy.stats import t as student

import likely
from likely import rare
from likely.core.streams import generator
from likely.rare.activations import collect
from likely.rare.bench.plan import BenchConfig
from likely.rare.bench.targets import BenchTarget, choose_targets
from likely.rare.inputs import InputDistribution
from likely.rare.method import Task
from likely.rare.named import DISTRIBUTIONS
from likely.rare.prior.student import StudentPrior
from likely.rare.prior.whitening import Whitening
from likely.rare.splitting.config import SplittingConfig
from likely.rare.splitting.drive import split

RESULT = Path(__file__).parent / "rare-runs.json"
MODELS = ("tiny-1l", "tiny-2l", "tiny-4l")
KERNELS = ("aug", "mala_radial", "mala")
TOY_KERNELS = ("aug", "aug_separate", "mala_radial", "mala")
TOY = {"dim": 16, "tail": 4.0, "probs": (1e-5, 1e-7)}
SPLITTING = {"prior": "student", "n_particles": 200, "n_steps": 8, "n_replicates": 4}
"""Of the runs on models by each kernel, under the law that the paper names."""
AS_IT_COMES = "as_it_comes"
BUDGET = 8192
"""Inputs of the method as it comes: a law for each last token needs four of each."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the parts that are missing."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--models", nargs="+", default=MODELS)
    parser.add_argument("--laws", nargs="+", default=DISTRIBUTIONS.names())
    parser.add_argument("--budget", type=int, default=2048)
    parser.add_argument("--per-decade", type=int, default=2)
    parser.add_argument("--out", type=Path, default=RESULT)
    asked = parser.parse_args(arguments)
    head = {"budget": asked.budget, "splitting": SPLITTING, "per_decade": asked.per_decade}
    found = {"head": head, "parts": {}}
    if asked.out.exists():
        found = json.loads(asked.out.read_text("utf-8"))
        if found["head"] != head:
            sys.exit(f"{asked.out} was run with other numbers; give --out FILE of its own")
    for name, make in parts(asked):
        if name not in found["parts"]:
            made = make()
            if made is not None:
                found["parts"][name] = made
                keep(asked.out, found)


def parts(asked: argparse.Namespace) -> Iterator[tuple[str, Callable[[], list[dict] | None]]]:
    """Yield each part by name; None of one that has no truth."""
    yield "gaussian", lambda: gaussian(asked.budget)
    yield "student", student_toy
    for model in asked.models:
        for law in asked.laws:
            name = f"{model} {law}"
            yield name, lambda model=model, law=law: model_part(model, law, asked)
            yield (
                f"{name} {AS_IT_COMES}",
                lambda name=name: as_it_comes(name, saved_part(asked.out, name)),
            )


def gaussian(budget: int) -> list[dict]:
    """Return the variants of QLD on Gaussian activations, whose truth is an integral."""
    return [
        {"token": token, "log_truth": short(truth), "log_probs": logs(found)}
        for token, truth, found in gaussian_rows(4 * budget, 11, seed=0)
    ]


def student_toy() -> list[dict]:
    """Return what each kernel says of a tail of a Student t law in many dimensions."""
    dim, tail = int(TOY["dim"]), float(TOY["tail"])
    eye = np.eye(dim)
    unit = Whitening(centre=np.zeros(dim), factor=eye, inverse=eye, log_det=0.0)
    rows = []
    for prob in TOY["probs"]:
        cut = float(student(tail).isf(prob))
        for kernel in TOY_KERNELS:
            config = SplittingConfig(kernel=kernel, n_particles=500, n_steps=15, n_replicates=16)
            [found] = split(
                lambda states, run, floor, cut=cut: states[:, 0] - cut,
                StudentPrior(whitening=unit, tail=tail),
                config,
                streams=lambda target, part, names=(kernel, str(prob)): generator(
                    0, "toy", *names, part
                ),
            )
            rows.append({"prob": prob, "kernel": kernel, **of_splitting(found.runs)})
    return rows


def of_splitting(runs: Sequence[object]) -> dict[str, object]:
    """Return the logs of replicates, and how often moves at the walls were accepted."""
    moves = [one.moves[0].acceptance for run in runs for one in run.levels if one.moves]
    return {
        "replicates": [None if run.log_prob == -math.inf else short(run.log_prob) for run in runs],
        "acceptance": short(float(np.mean(moves))),
    }


def model_part(model_name: str, law_name: str, asked: argparse.Namespace) -> list[dict] | None:
    """Return a row for each target of a model under a law, or None if no truth is stored."""
    model = likely.load(model_name)
    law = rare.distribution(law_name, model)
    truth = rare.stored_truth(model, law)
    if truth is None:
        return None
    plan = BenchConfig(methods=("naive",), budget=1, arms=("calls",), per_decade=asked.per_decade)
    targets = choose_targets(model, truth, plan, seed=0)
    if not targets:
        return None
    rows = [framed(target) for target in targets]
    for row, found in zip(rows, variants(model, law, targets, asked.budget), strict=True):
        row["log_probs"] = logs(found)
    kernels(model, law, rows, asked.budget)
    return rows


def framed(target: BenchTarget) -> dict:
    """Return what is known of a target."""
    return {
        "token": target.token, "text": target.text, "truth": short(target.truth),
        "low": short(target.low), "high": short(target.high), "stems": target.stems,
    }  # fmt: skip


def variants(
    model: likely.LanguageModel,
    law: InputDistribution,
    targets: Sequence[BenchTarget],
    budget: int,
) -> Iterator[dict[str, float]]:
    """Yield what QLD with and without its faults says, and GLD, from the same activations."""
    events = tuple(rare.token(one.token, model) for one in targets)
    task = Task(model=model, distribution=law, events=events, budget=budget, seed=0)
    activations = collect(task)
    normed = activations.normed()
    layer = activations.readout
    for target in targets:
        yield every_variant(normed, layer.weight.numpy(), layer.bias.numpy(), target.token)


def kernels(
    model: likely.LanguageModel, law: InputDistribution, rows: Sequence[dict], budget: int
) -> None:
    """Add to each row what splitting says by each kernel, under the same fitted law."""
    for kernel in KERNELS:
        found = rare.estimate_many(
            model, law, [row["token"] for row in rows], method="ga-amls", kernel=kernel,
            budget=budget, seed=0, **SPLITTING,
        )  # fmt: skip
        for row, one in zip(rows, found, strict=True):
            row.setdefault("kernels", {})[kernel] = {
                **logs({"log_prob": one.log_prob.value}),
                "replicates": [short(x) if x > -math.inf else None for x in one.replicates],
                "tail": short(float(one.log_prob.diagnostics.get("prior_tail", math.nan))),
            }


def as_it_comes(name: str, rows: Sequence[dict]) -> list[dict] | None:
    """Return what the method says of the targets of a part, with which law."""
    if not rows:
        return None
    model = likely.load(name.split()[0])
    law = rare.distribution(name.split()[1], model)
    tokens = [row["token"] for row in rows]
    found = rare.estimate_many(model, law, tokens, method="ga-amls", budget=BUDGET, seed=0)
    return [
        {
            "token": token, **logs({"log_prob": one.log_prob.value}),
            "prior": one.log_prob.diagnostics["prior"],
        }
        for token, one in zip(tokens, found, strict=True)
    ]  # fmt: skip


def saved_part(path: Path, name: str) -> list[dict]:
    """Return a part of the file; none where it has none."""
    return json.loads(path.read_text("utf-8"))["parts"].get(name, []) if path.exists() else []


def logs(found: dict[str, float]) -> dict[str, float | str | None]:
    """Return log-probabilities for JSON: None for an estimate of 0."""
    return {name: None if x == -math.inf else short(x) for name, x in found.items()}


def short(value: float) -> float | str:
    """Return a number with six digits, and what JSON has no number for as text."""
    return float(f"{value:.6g}") if math.isfinite(value) else str(value)


def keep(path: Path, found: dict) -> None:
    """Write the file, whole or not at all."""
    part = path.with_suffix(".part")
    part.write_text(json.dumps(found, ensure_ascii=False, allow_nan=False) + "\n", "utf-8")
    part.replace(path)


if __name__ == "__main__":
    main()
