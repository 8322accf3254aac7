"""Runs a comparison and yields one row for each estimate. Unit: nats where a name says log."""

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass

from likely.core.jsonio import dumps
from likely.core.model import LanguageModel
from likely.errors import InputError
from likely.rare.bench.plan import BenchConfig
from likely.rare.bench.targets import BenchTarget, choose_targets
from likely.rare.estimation import estimate_many
from likely.rare.ground_truth import Truth
from likely.rare.inputs import InputDistribution
from likely.rare.method import make_method
from likely.rare.result import RareEstimate

Row = dict[str, str | int | float]
Key = tuple[str, str, str, str, int]
"""Arm, model, distribution, method and seed: what is run, and can be gone on from, as one."""
Rows = Mapping[Key, list[Row]]

_LEAST = 256  # calls of a method in the arm of equal seconds
_PILOT = 4  # the part of the budget on which the time of a method is tried, as a divisor


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


def check_budget(config: BenchConfig) -> None:
    """Raise unless every method is known, takes its options, and can work with the budget.

    Raises:
        UnknownNameError: No method has that name.
        InputError: A method has no such option, or needs more calls.
    """
    for name in config.methods:
        least = _least_budget(config, name)
        if config.budget < least:
            raise InputError(
                f"method {name!r} needs a budget of {least} calls, got {config.budget!r}; "
                "raise it or leave the method out"
            )


def iter_bench(
    config: BenchConfig, open_setting: Open, *, seed: int, done: Rows
) -> Iterator[tuple[Key, list[Row]]]:
    """Yield what is not yet done: the rows of all targets of one method and seed at a time.

    The reference has the same calls in both arms, and is run in the first alone.

    Args:
        config: The comparison.
        open_setting: Loads a model, a law and its truth.
        seed: Of targets and estimates.
        done: Rows of an earlier run by their key; they are not made again, and the arm of equal
            seconds takes its times and budgets from them.
    """
    rows = dict(done)
    setting: Setting | None = None
    names = ("", "")
    for key in bench_keys(config):
        if key in rows:
            continue
        arm, model_name, law_name, method, number = key
        if setting is None or names != (model_name, law_name):
            names = (model_name, law_name)
            setting = _setting(config, open_setting, model_name, law_name, seed=seed)
        rows[key] = []
        if setting.targets and (arm, method) == ("seconds", config.reference):
            same = rows[("calls", model_name, law_name, method, number)]
            rows[key] = [{**row, "arm": arm, "levels": ""} for row in same]
        elif setting.targets:
            budget = _budget(config, setting, key, rows, seed=seed)
            rows[key] = _rows(config, setting, key, budget, seed=seed)
        yield key, rows[key]


def _setting(
    config: BenchConfig, open_setting: Open, model_name: str, law_name: str, *, seed: int
) -> Setting:
    model, law, truth = open_setting(model_name, law_name)
    targets = choose_targets(model, truth, config, seed=seed)
    return Setting(model=model, distribution=law, truth=truth, targets=targets)


def _timed(
    config: BenchConfig, setting: Setting, method: str, budget: int, *, seed: int
) -> tuple[tuple[RareEstimate, ...], float]:
    """Return the estimates of all targets, and the seconds that one of them took on average."""
    began = time.perf_counter()
    found = estimate_many(
        setting.model, setting.distribution, [one.token for one in setting.targets],
        method=make_method(method, config.options_of(method)), budget=budget, seed=seed,
    )  # fmt: skip
    return found, (time.perf_counter() - began) / len(found)


def _rows(config: BenchConfig, setting: Setting, key: Key, budget: int, *, seed: int) -> list[Row]:
    arm, model_name, law_name, method, number = key
    found, seconds = _timed(config, setting, method, budget, seed=seed * 1000 + number)
    rarest = min(setting.targets, key=lambda one: one.truth)
    shown = rarest if (arm, number) == ("calls", 0) else None
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
            "n_targets": len(found),
            "forwards": one.spent.forwards,
            "gradients": one.spent.gradients,
            "scores": one.spent.scores,
            "token_evaluations": one.spent.token_evaluations,
            "seconds": seconds,
            "warnings": " | ".join(one.warnings),
            "levels": _levels(one) if target is shown else "",
        }
        for target, one in zip(setting.targets, found, strict=True)
    ]


def _levels(found: RareEstimate) -> str:
    """Return the levels of a run of splitting as JSON; nothing of another method."""
    if not found.levels:
        return ""
    return dumps({"runs": max(1, len(found.replicates)), "levels": list(found.levels)})


def _least_budget(config: BenchConfig, method: str) -> int:
    """Return the calls that a method needs at least."""
    made = make_method(method, config.options_of(method))
    return int(getattr(made, "least_budget", 1))


def _budget(config: BenchConfig, setting: Setting, key: Key, rows: Rows, *, seed: int) -> int:
    """Return the calls that a target gets; all seeds of a method get the same.

    In the arm of equal seconds a method's time is taken to be a part that every run takes and a
    part for each call. The arm of equal calls tells it at one budget, a run that is thrown away at
    a smaller one.
    """
    arm, model_name, law_name, method, _ = key
    if arm == "calls":
        return config.budget
    for number in range(config.seeds):
        earlier = rows.get((arm, model_name, law_name, method, number))
        if earlier:
            return int(earlier[0]["budget"])
    given = _seconds(rows, (model_name, law_name, config.reference), config.seeds)
    own = _seconds(rows, (model_name, law_name, method), config.seeds)
    least = max(min(_LEAST, config.budget), _least_budget(config, method))
    smaller = max(least, config.budget // _PILOT)
    _, pilot = _timed(config, setting, method, smaller, seed=seed * 1000 + config.seeds)
    return max(least, calls_for(given, (smaller, pilot), (config.budget, own)))


def calls_for(given: float, first: tuple[int, float], second: tuple[int, float]) -> int:
    """Return how many calls take a time, by two numbers of calls whose time is known.

    Where more calls took no longer, time is taken to be in proportion to calls.

    Args:
        given: Seconds.
        first: Calls and seconds.
        second: More calls, and seconds.

    Returns:
        At least 1; more than the second only in proportion to the time.

    >>> calls_for(5.0, (100, 2.0), (200, 3.0)), calls_for(6.0, (100, 3.0), (100, 3.0))
    (400, 200)
    """
    (fewer, short), (more, long) = first, second
    if more <= fewer or long <= short:
        return max(1, round(more * given / long))
    slope = (long - short) / (more - fewer)
    return max(1, round(more + (given - long) / slope))


def _seconds(rows: Rows, names: tuple[str, str, str], seeds: int) -> float:
    """Return the mean seconds of a target in the arm of equal calls."""
    found = [
        float(row["seconds"]) for number in range(seeds) for row in rows[("calls", *names, number)]
    ]
    return sum(found) / len(found)
