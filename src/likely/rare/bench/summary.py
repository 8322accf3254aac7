"""What a comparison says of each method: bias, spread, zeros, coverage, losses, cost.

Estimates of a target are averaged as probabilities, never as logs, and an estimate of 0 is one of
them. Unit: decades (powers of ten) for bias and spread, shares for rates, that of each loss.
"""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias, TypedDict

import numpy as np
from jaxtyping import Float

from likely.core.logspace import logsumexp
from likely.rare.bench.running import Key, Row
from likely.rare.loss.data_set import LossSummary, mean_loss_log, median_of
from likely.rare.loss.kinds import ITAKURA_SAITO, LOG_SQUARED, Loss, Spb
from likely.rare.recalibration import recalibrate

ALPHAS = (1.0, 1.5, 2.0, 2.5)
GAMMAS = (0.0, 0.25)
TargetKey: TypeAlias = tuple[str, str, int]
"""Model, law of inputs and token."""
Run: TypeAlias = Key
"""Arm, model, law, method and seed."""
POOLED = ""
"""Stands for the law of what is fitted over several laws."""
Fitted: TypeAlias = tuple[int, float, float]
"""Targets, and their mean Itakura-Saito loss after an affine fit: in sample, and left out."""

LEAST_FITTED = 5
"""Targets that an affine fit is made of, at least: it has three numbers."""
_Z = 1.959963984540054  # standard errors in half an interval at 95 %


def losses() -> dict[str, Loss]:
    """Return the losses of the table by a short name."""
    found: dict[str, Loss] = {"IS": ITAKURA_SAITO, "logMSE": LOG_SQUARED}
    for gamma in GAMMAS:
        for alpha in ALPHAS:
            name = f"SPB {alpha:g}" + (f" premium {gamma:g}" if gamma else "")
            found[name] = Spb(alpha=alpha, gamma=gamma, weighting="shifted")
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class MethodSummary:
    """One method under one budget, over some targets and all seeds.

    Attributes:
        arm: Which budget was equal.
        method: Its name.
        models: Names of the models that the targets are of.
        n_targets: Targets.
        n_estimates: Targets times seeds.
        zero_rate: Share of the estimates that are 0.
        bias: Median over targets of log10 of the mean estimate over the truth; ``-inf`` where that
            is 0.
        spread: Median over targets of the standard deviation of log10 of the estimates above 0;
            None if no target has two.
        coverage: Share of the intervals that hold the truth.
        coverage_overlap: Share that meet the truth's own interval.
        losses: By name: all estimates against their truths.
        log_error: Standard error of the mean log-squared error, from the spread of targets; None
            where it is infinite or there is one target.
        fitted_is: Mean Itakura-Saito loss after an affine fit of each of `fit_sets`; None where
            there is none.
        left_out_is: The same with each target fitted by the others.
        calls: Mean model calls of an estimate; what targets share is divided among them.
        seconds: Mean seconds of an estimate, likewise.
        run_calls: Mean model calls of a run, for all targets of a model and law at once.
        run_seconds: Mean seconds of a run.
    """

    arm: str
    method: str
    models: tuple[str, ...]
    n_targets: int
    n_estimates: int
    zero_rate: float
    bias: float
    spread: float | None
    coverage: float
    coverage_overlap: float
    losses: dict[str, LossSummary]
    log_error: float | None
    fitted_is: float | None
    left_out_is: float | None
    calls: float
    seconds: float
    run_calls: float
    run_seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class DecadeSummary:
    """One method under one budget on the targets of one decade, over all models and laws.

    Attributes:
        arm: Which budget was equal.
        method: Its name.
        low: Lower edge of the decade, a probability.
        high: Upper edge.
        n_targets: Targets.
        zero_rate: As in `MethodSummary`, as are the next three.
        bias: Median, decades.
        spread: Median, decades.
        coverage: A share.
    """

    arm: str
    method: str
    low: float
    high: float
    n_targets: int
    zero_rate: float
    bias: float
    spread: float | None
    coverage: float


def summarise(rows: Sequence[Row]) -> list[MethodSummary]:
    """Return the summaries of every arm and method, over all models and then model by model.

    Args:
        rows: As `likely.rare.bench.running.iter_bench` made them.
    """
    groups: dict[tuple[str, str, tuple[str, ...]], list[Row]] = {}
    names = tuple(dict.fromkeys(str(row["model"]) for row in rows))
    for row in rows:
        arm, method, model = str(row["arm"]), str(row["method"]), str(row["model"])
        groups.setdefault((arm, method, names), []).append(row)
        if len(names) > 1:
            groups.setdefault((arm, method, (model,)), []).append(row)
    fits = _fits(rows)
    found = [
        _summary(arm, method, models, part, fits) for (arm, method, models), part in groups.items()
    ]
    return sorted(found, key=lambda one: (one.arm, -len(one.models), one.models))


def summarise_decades(rows: Sequence[Row], decades: Sequence[float]) -> list[DecadeSummary]:
    """Return the summaries of every arm and method, decade by decade, where there is a target.

    Args:
        rows: As for `summarise`.
        decades: Edges, rising probabilities.
    """
    edges = list(itertools.pairwise(decades))
    groups: dict[tuple[str, str, tuple[float, float]], list[Row]] = {}
    for row in rows:
        for low, high in edges:
            if low <= float(row["truth"]) < high:
                key = (str(row["arm"]), str(row["method"]), (low, high))
                groups.setdefault(key, []).append(row)
    return [
        DecadeSummary(arm=arm, method=method, low=low, high=high, **_errors(part))
        for (arm, method, (low, high)), part in groups.items()
    ]  # fmt: skip


class _Errors(TypedDict):
    """What is told of any set of estimates of one method under one budget."""

    n_targets: int
    zero_rate: float
    bias: float
    spread: float | None
    coverage: float


def _errors(rows: Sequence[Row]) -> _Errors:
    errors = errors_by_target(rows).values()
    spreads = [spread for _, spread in errors if spread is not None]
    log_q, low, high = np.log(_column(rows, "truth")), *_ends(rows)
    return {
        "n_targets": len(errors),
        "zero_rate": float(np.mean(_column(rows, "log_prob") == -np.inf)),
        "bias": median_of([bias for bias, _ in errors]),
        "spread": median_of(spreads) if spreads else None,
        "coverage": float(np.mean((low <= log_q) & (log_q <= high))),
    }


def _summary(
    arm: str, method: str, models: tuple[str, ...], rows: list[Row], fits: dict[Run, Fitted]
) -> MethodSummary:
    log_q, log_p = np.log(_column(rows, "truth")), _column(rows, "log_prob")
    low, high = _ends(rows)
    with np.errstate(divide="ignore"):
        truth_low, truth_high = (np.log(_column(rows, name)) for name in ("low", "high"))
    runs = runs_of(rows)
    fitted, left_out = _fitted([fits[one] for one in fit_sets(rows)])
    calls = _column(rows, "forwards") + _column(rows, "gradients")
    seconds = _column(rows, "seconds")
    return MethodSummary(
        arm=arm, method=method, models=models, n_estimates=len(rows), **_errors(rows),
        coverage_overlap=float(np.mean((low <= truth_high) & (truth_low <= high))),
        losses={name: mean_loss_log(log_q, log_p, loss) for name, loss in losses().items()},
        log_error=_log_error(rows),
        fitted_is=fitted,
        left_out_is=left_out,
        calls=float(calls.mean()),
        seconds=float(seconds.mean()),
        run_calls=float(calls.sum()) / len(runs),
        run_seconds=float(seconds.sum()) / len(runs),
    )  # fmt: skip


def _column(rows: Sequence[Row], name: str) -> Float[np.ndarray, "n"]:
    return np.array([float(row[name]) for row in rows])


def _ends(rows: Sequence[Row]) -> tuple[Float[np.ndarray, "n"], Float[np.ndarray, "n"]]:
    return _column(rows, "log_low"), _column(rows, "log_high")


def targets_of(rows: Sequence[Row]) -> dict[TargetKey, list[Row]]:
    """Return the rows of each target.

    Args:
        rows: As for `summarise`.
    """
    found: dict[TargetKey, list[Row]] = {}
    for row in rows:
        key = (str(row["model"]), str(row["distribution"]), int(row["token"]))
        found.setdefault(key, []).append(row)
    return found


def _log_error(rows: Sequence[Row]) -> float | None:
    """Return the standard error over targets of the mean log-squared error, nats squared."""
    means = []
    for part in targets_of(rows).values():
        gap = _column(part, "log_prob") - np.log(_column(part, "truth"))
        means.append(float(np.mean(gap**2)))
    if len(means) < 2 or math.inf in means:
        return None
    return float(np.std(means, ddof=1)) / math.sqrt(len(means))


def truth_noise(rows: Sequence[Row]) -> float:
    """Return the logMSE that the errors of the truths alone give the right probabilities.

    A truth's standard error, in nats, is taken from its own interval at 95 %; exact truths have
    none.

    Args:
        rows: As for `summarise`.

    Returns:
        Nats squared, a mean over targets.
    """
    if not rows:
        return 0.0
    found = []
    for part in targets_of(rows).values():
        low, high = float(part[0]["low"]), float(part[0]["high"])
        found.append(math.inf if low <= 0.0 else (math.log(high / low) / (2.0 * _Z)) ** 2)
    return sum(found) / len(found)


def constant_losses(rows: Sequence[Row]) -> dict[str, float]:
    """Return by name of the loss the mean loss of the best constant, which knows the truths.

    Args:
        rows: Of one arm, as for `summarise`; each target counts once.
    """
    log_q = np.log([float(part[0]["truth"]) for part in targets_of(rows).values()])
    found = {}
    for name, loss in losses().items():
        level = np.full_like(log_q, loss.log_constant(log_q))
        found[name] = mean_loss_log(log_q, level, loss).mean
    return found


def constant_left_out(rows: Sequence[Row]) -> float | None:
    """Return the mean Itakura-Saito loss of constants that are fitted as `left_out_is` fits a map.

    Each target gets the best constant of the others that share its fit, their mean truth: what an
    affine fit makes of estimates that tell nothing.

    Args:
        rows: Of one method under one budget, as for `summarise`.

    Returns:
        None where there is no fit.
    """
    found = []
    for part in fit_sets(rows).values():
        log_q = np.log(_column(part, "truth"))
        others = np.stack([np.delete(log_q, i) for i in range(len(log_q))])
        level = logsumexp(others) - math.log(len(log_q) - 1)
        loss = mean_loss_log(log_q, level, ITAKURA_SAITO).mean
        found.append((len(log_q), loss, loss))
    return _fitted(found)[1]


def errors_by_target(rows: Sequence[Row]) -> dict[TargetKey, tuple[float, float | None]]:
    """Return bias and spread of every target, decades; no spread where less than two are above 0.

    Args:
        rows: Of one method under one budget.
    """
    found: dict[TargetKey, tuple[float, float | None]] = {}
    for key, part in targets_of(rows).items():
        logs = np.array([float(row["log_prob"]) for row in part])
        mean = float(logsumexp(logs)) - math.log(len(logs))
        bias = (mean - math.log(float(part[0]["truth"]))) / math.log(10.0)
        above = logs[logs > -np.inf]
        spread = float(np.std(above, ddof=1)) / math.log(10.0) if len(above) > 1 else None
        found[key] = (bias, spread)
    return found


def runs_of(rows: Sequence[Row]) -> dict[Run, list[Row]]:
    """Return the rows that one run of a method made, for all targets of a model and law at once.

    Args:
        rows: As for `summarise`.
    """
    found: dict[Run, list[Row]] = {}
    for row in rows:
        arm, model, law, method = (
            str(row[name]) for name in ("arm", "model", "distribution", "method")
        )
        found.setdefault((arm, model, law, method, int(row["seed"])), []).append(row)
    return found


def fit_sets(rows: Sequence[Row]) -> dict[Run, list[Row]]:
    """Return the rows that share an affine fit, `LEAST_FITTED` targets or more.

    They are the targets of one model, law and seed, as the published comparison has it; laws of
    fewer targets are fitted together, under the name `POOLED`.

    Args:
        rows: As for `summarise`.
    """
    found: dict[Run, list[Row]] = {}
    for (arm, model, law, method, seed), part in runs_of(rows).items():
        shared = law if len(part) >= LEAST_FITTED else POOLED
        found.setdefault((arm, model, shared, method, seed), []).extend(part)
    return {one: part for one, part in found.items() if len(part) >= LEAST_FITTED}


def _fits(rows: Sequence[Row]) -> dict[Run, Fitted]:
    """Return all fits, made together."""
    parts = fit_sets(rows)
    sets = [(np.log(_column(part, "truth")), _column(part, "log_prob")) for part in parts.values()]
    return {
        one: (
            len(log_q), fit.fit.loss, mean_loss_log(log_q, fit.left_out, ITAKURA_SAITO).mean
        )
        for one, (log_q, _), fit in zip(parts, sets, recalibrate(sets), strict=True)
    }  # fmt: skip


def _fitted(fits: Sequence[Fitted]) -> tuple[float | None, float | None]:
    """Return the mean Itakura-Saito loss after the affine fit, in sample and left out."""
    if not fits:
        return None, None
    n = sum(one[0] for one in fits)
    return sum(one[0] * one[1] for one in fits) / n, sum(one[0] * one[2] for one in fits) / n
