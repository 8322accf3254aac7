"""What a comparison says of each method: bias, spread, zeros, coverage, losses, cost.

Estimates of a target are averaged as probabilities, never as logs, and an estimate of 0 is one of
them. Unit: decades (powers of ten) for bias and spread, shares for rates, that of each loss.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from likely.core.logspace import logsumexp
from likely.rare.bench.running import Row
from likely.rare.loss.data_set import LossSummary, mean_loss_log
from likely.rare.loss.kinds import ITAKURA_SAITO, LOG_SQUARED, Loss, Spb
from likely.rare.recalibration import fit_affine_log, leave_one_out_log

ALPHAS = (1.0, 1.5, 2.0, 2.5)
GAMMAS = (0.0, 0.25)
TargetKey = tuple[str, str, int]
"""Model, law of inputs and token."""

_LEAST_FITTED = 3  # targets that an affine fit is made of, at least


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
        fitted_is: Mean Itakura-Saito loss after an affine fit for each model, law and seed.
        left_out_is: The same with each target fitted by the others.
        calls: Mean model calls of an estimate.
        seconds: Mean seconds of an estimate.
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
    fitted_is: float | None
    left_out_is: float | None
    calls: float
    seconds: float


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
    found = [_summary(arm, method, models, part) for (arm, method, models), part in groups.items()]
    return sorted(found, key=lambda one: (one.arm, -len(one.models), one.models))


def _summary(arm: str, method: str, models: tuple[str, ...], rows: list[Row]) -> MethodSummary:
    log_q = np.log([float(row["truth"]) for row in rows])
    log_p = np.array([float(row["log_prob"]) for row in rows])
    low, high = (np.array([float(row[name]) for row in rows]) for name in ("log_low", "log_high"))
    with np.errstate(divide="ignore"):
        truth_low, truth_high = (
            np.log([float(row[name]) for row in rows]) for name in ("low", "high")
        )
    errors = errors_by_target(rows).values()
    biases = [bias for bias, _ in errors]
    spreads = [spread for _, spread in errors if spread is not None]
    fitted, left_out = _fitted(rows)
    return MethodSummary(
        arm=arm,
        method=method,
        models=models,
        n_targets=len(biases),
        n_estimates=len(rows),
        zero_rate=float(np.mean(log_p == -np.inf)),
        bias=median_of(biases),
        spread=median_of(spreads) if spreads else None,
        coverage=float(np.mean((low <= log_q) & (log_q <= high))),
        coverage_overlap=float(np.mean((low <= truth_high) & (truth_low <= high))),
        losses={name: mean_loss_log(log_q, log_p, loss) for name, loss in losses().items()},
        fitted_is=fitted,
        left_out_is=left_out,
        calls=float(np.mean([float(row["forwards"]) + float(row["gradients"]) for row in rows])),
        seconds=float(np.mean([float(row["seconds"]) for row in rows])),
    )


def errors_by_target(rows: Sequence[Row]) -> dict[TargetKey, tuple[float, float | None]]:
    """Return bias and spread of every target, decades; no spread where less than two are above 0.

    Args:
        rows: Of one method under one budget.
    """
    by_target: dict[TargetKey, list[Row]] = {}
    for row in rows:
        key = (str(row["model"]), str(row["distribution"]), int(row["token"]))
        by_target.setdefault(key, []).append(row)
    found: dict[TargetKey, tuple[float, float | None]] = {}
    for key, part in by_target.items():
        logs = np.array([float(row["log_prob"]) for row in part])
        mean = float(logsumexp(logs)) - math.log(len(logs))
        bias = (mean - math.log(float(part[0]["truth"]))) / math.log(10.0)
        above = logs[logs > -np.inf]
        spread = float(np.std(above, ddof=1)) / math.log(10.0) if len(above) > 1 else None
        found[key] = (bias, spread)
    return found


def median_of(values: Sequence[float]) -> float:
    """Return the median; infinite only where the middle ones are.

    Args:
        values: At least one.

    >>> median_of([-math.inf, 1.0, 3.0]), median_of([-math.inf, 1.0])
    (1.0, -inf)
    """
    low, high = np.sort(values)[[(len(values) - 1) // 2, len(values) // 2]]
    return float(low) if low == high else float(0.5 * low + 0.5 * high)


def _fitted(rows: Sequence[Row]) -> tuple[float | None, float | None]:
    """Return the mean Itakura-Saito loss after the affine fit, in sample and left out.

    A fit is shared by the targets of one model, law and seed, as the published comparison has it.
    """
    groups: dict[tuple[object, ...], list[Row]] = {}
    for row in rows:
        groups.setdefault((row["model"], row["distribution"], row["seed"]), []).append(row)
    inside: list[Float[np.ndarray, "n"]] = []
    outside: list[float] = []
    for part in groups.values():
        if len(part) < _LEAST_FITTED:
            continue
        log_q = np.log([float(row["truth"]) for row in part])
        log_p = np.array([float(row["log_prob"]) for row in part])
        inside.append(np.full(len(part), fit_affine_log(log_q, log_p).loss))
        left_out = leave_one_out_log(log_q, log_p)
        outside.append(mean_loss_log(log_q, left_out, ITAKURA_SAITO).mean * len(part))
    if not inside:
        return None, None
    n = sum(len(part) for part in inside)
    return float(np.mean(np.concatenate(inside))), sum(outside) / n
