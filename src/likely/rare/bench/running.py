"""Runs a comparison and yields one row for each estimate. Unit: nats where a name says log."""

import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass

from likely.core.model import LanguageModel
from likely.rare.bench.plan import BenchConfig
from likely.rare.bench.targets import BenchTarget, choose_targets
from likely.rare.estimation import estimate_many
from likely.rare.ground_truth import Truth
from likely.rare.inputs import InputDistribution

Row = dict[str, str | int | float]
Key = tuple[str, str, str, str, int]
"""Arm, model, distribution, method and seed: what is run, and can be gone on from, as one."""

_LEAST = 64  # calls of a method in the arm of equal seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """One model under one law of inputs."""

    model: LanguageModel
    distribution: InputDistribution
    truth: Truth
    targets: tuple[BenchTarget, ...]


Open = Callable[[str, str], tuple[LanguageModel, InputDistribution, Truth]]
"""From the names of a model and a law to both, and the truth of them."""


def bench_keys(config: BenchConfig) -> tuple[Key, ...]:
    """Return what there is to run, in order; the number of a key is its place in it."""
    return tuple(
        (arm, model, law, method, number)
        for model in config.models
        for law in config.distributions
        for arm in config.arms
        for method in config.methods
        for number in range(config.seeds)
    )


def iter_bench(
    config: BenchConfig, open_setting: Open, *, seed: int, done: dict[Key, list[Row]]
) -> Iterator[tuple[Key, list[Row]]]:
    """Yield what is not yet done: the rows of all targets of one method and seed at a time.

    Args:
        config: The comparison.
        open_setting: Loads a model, a law and its truth.
        seed: Of targets and estimates.
        done: Rows of an earlier run by their key; they are not made again, and the arm of equal
            seconds takes its times from them.
    """
    rows = dict(done)
    setting: Setting | None = None
    names = ("", "")
    for key in bench_keys(config):
        if key in rows:
            continue
        arm, model_name, law_name, _, _ = key
        if setting is None or names != (model_name, law_name):
            names = (model_name, law_name)
            setting = _setting(config, open_setting, model_name, law_name, seed=seed)
        rows[key] = []
        if setting.targets:
            rows[key] = _estimates(setting, key, _budget(config, arm, key, rows), seed=seed)
        yield key, rows[key]


def _setting(
    config: BenchConfig, open_setting: Open, model_name: str, law_name: str, *, seed: int
) -> Setting:
    model, law, truth = open_setting(model_name, law_name)
    targets = choose_targets(model, truth, config, seed=seed)
    return Setting(model=model, distribution=law, truth=truth, targets=targets)


def _estimates(setting: Setting, key: Key, budget: int, *, seed: int) -> list[Row]:
    arm, model_name, law_name, method, number = key
    began = time.perf_counter()
    found = estimate_many(
        setting.model, setting.distribution, [one.token for one in setting.targets],
        method=method, budget=budget, seed=seed * 1000 + number,
    )  # fmt: skip
    seconds = (time.perf_counter() - began) / len(found)
    return [
        {
            "arm": arm,
            "model": model_name,
            "distribution": law_name,
            "method": method,
            "seed": number,
            **asdict(target),
            "log_prob": one.log_prob.value,
            "log_low": one.log_prob.low,
            "log_high": one.log_prob.high,
            "quantity": one.quantity,
            "budget": budget,
            "forwards": one.spent.forwards,
            "gradients": one.spent.gradients,
            "scores": one.spent.scores,
            "token_evaluations": one.spent.token_evaluations,
            "seconds": seconds,
            "warnings": " | ".join(one.warnings),
        }
        for target, one in zip(setting.targets, found, strict=True)
    ]


def _budget(config: BenchConfig, arm: str, key: Key, rows: dict[Key, list[Row]]) -> int:
    """Return the calls that a target gets: in the arm of equal seconds, by the time of a call."""
    if arm == "calls":
        return config.budget
    _, model_name, law_name, method, _ = key
    given = _seconds(config, model_name, law_name, config.reference, rows)
    own = _seconds(config, model_name, law_name, method, rows)
    return max(_LEAST, round(config.budget * given / own))


def _seconds(
    config: BenchConfig, model_name: str, law_name: str, method: str, rows: dict[Key, list[Row]]
) -> float:
    """Return the mean seconds of a target in the arm of equal calls."""
    found = [
        float(row["seconds"])
        for number in range(config.seeds)
        for row in rows[("calls", model_name, law_name, method, number)]
    ]
    return sum(found) / len(found)
