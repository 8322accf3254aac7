"""Intervals for a splitting estimate: from replicates, and from the Poisson law. Unit: nats."""

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import takewhile

import numpy as np
from scipy.special import stdtrit
from scipy.stats import chi2, norm

from likely.core.logspace import log_sum
from likely.errors import InputError
from likely.rare.splitting.records import Combined, Run
from likely.rare.splitting.variance import ideal_run_variance, ideal_variance
from likely.stats.intervals import check_level, clopper_pearson

_ROUNDING = 1e-12
"""Share of their size by which logs differ that are sums of the same numbers in another order."""


def combine(runs: Sequence[Run], *, level: float) -> Combined:
    """Return the log of the mean estimate of replicates and its intervals.

    The mean is of probabilities, zeros of extinct runs among them: the mean of their logs would be
    too low by about half the relative variance. The lower end is that of the log scale. The upper
    end is the higher of that and of the one that takes the logs as normal (Cox's interval), where
    no estimate is 0: a mean of few skewed numbers is usually too low, and so is their spread. Where
    all estimates are one number, the interval is that of the counts which they are made of. Where
    every run is extinct, or one was given up, the event is still rarer than any level that was
    reached, and the upper end is that of such a level.

    Args:
        runs: Replicates: independent and of one law.
        level: Coverage, in (0, 1).

    Raises:
        InputError: No run.
    """
    check_level(level)
    if not runs:
        raise InputError("replicates are combined from one run or more, got none")
    logs = [run.log_prob for run in runs if run.log_prob is not None]
    if len(logs) < len(runs) or math.isinf(max(logs)):
        return _bounded(runs, None if len(logs) < len(runs) else -math.inf, level=level)
    if len(runs) == 1 and logs[0] != 0.0:  # of a run whose estimate is 1 no particle ever died
        return _from_one(logs[0], runs[0].relative_variance, level=level)
    if max(logs) - min(logs) <= _ROUNDING * max(1.0, -max(logs)):
        return _agreed(runs, logs[0], level=level)
    log_prob = log_sum(logs) - math.log(len(logs))
    error = relative_error(logs)
    half = float(stdtrit(len(logs) - 1, 0.5 + 0.5 * level)) * error
    n_zeros = logs.count(-math.inf)
    basis = f"spread of {len(logs)} replicates"
    if n_zeros:
        basis += f", {n_zeros} of them 0"
    found = _around(log_prob, half, error=error, level=level, basis=basis)
    return found if n_zeros else replace(found, high=_upper_end(logs, level=level))


def _around(log_prob: float, half: float, *, error: float, level: float, basis: str) -> Combined:
    """Return an estimate with the interval of half a width to each side, nats."""
    low, high = log_prob - half, log_prob + half
    return Combined(
        log_prob=log_prob,
        low=low,
        high=high,
        log_scale=(low, high),
        linear=(_log(log_prob, 1.0 - half), log_prob + math.log1p(half)),
        floor=log_prob + math.log(1.0 - level),
        relative_error=error,
        basis=basis,
    )


def _without_error(log_prob: float, low: float, *, level: float, basis: str) -> Combined:
    """Return an estimate of which nothing tells the error but a lower end."""
    ends = (low, max(log_prob, 0.0))
    return Combined(
        log_prob=log_prob,
        low=low,
        high=ends[1],
        log_scale=ends,
        linear=ends,
        floor=log_prob + math.log(1.0 - level),
        relative_error=None,
        basis=basis,
    )


def relative_error(logs: Sequence[float]) -> float:
    """Return the standard error of a mean of probabilities as a share of it.

    Args:
        logs: Their logs, two or more, not all ``-inf``.

    >>> round(relative_error([0.0, -math.inf]), 6)
    1.0
    """
    shares = np.exp(np.array(logs) - log_sum(logs)) * len(logs)
    return float(np.std(shares, ddof=1)) / math.sqrt(len(logs))


def _log(log_prob: float, factor: float) -> float:
    """Return the log of a probability times a factor; ``-inf`` if the factor is not positive."""
    return log_prob + math.log(factor) if factor > 0.0 else -math.inf


def lognormal_end(logs: Sequence[float], *, level: float) -> float:
    """Return the upper end for the log of a mean of numbers whose logs are normal.

    Sources:
        Olsson (2005), "Confidence intervals for the mean of a log-normal distribution": Cox's
        interval with Student's quantile.
    """
    n, variance = len(logs), float(np.var(logs, ddof=1))
    error = math.sqrt(variance / n + variance**2 / (2.0 * (n - 1)))
    return float(np.mean(logs)) + 0.5 * variance + float(stdtrit(n - 1, 0.5 + 0.5 * level)) * error


def _from_one(log_prob: float, variance: float | None, *, level: float) -> Combined:
    """Return what one run says, by the variance that its ancestors tell."""
    if variance is None or not 0.0 <= variance < 1.0:
        basis = "one run, which tells no error"
        return _without_error(log_prob, -math.inf, level=level, basis=basis)
    error = math.sqrt(variance)
    half = float(norm.isf(0.5 - 0.5 * level)) * error
    return _around(log_prob, half, error=error, level=level, basis="ancestors of one run")


def _agreed(runs: Sequence[Run], log_prob: float, *, level: float) -> Combined:
    """Return what runs say whose estimates are one number, so that their spread tells nothing.

    That they agree is chance, where few particles are counted. The error is then that of counts of
    fresh particles; where none ever died, it is that of a share of all.
    """
    n_runs = len(runs)
    same = f"; the estimates of {n_runs} runs are the same" if n_runs > 1 else ""
    error = math.sqrt(math.fsum(ideal_run_variance(run) for run in runs)) / n_runs
    if error == 0.0:
        n = runs[0].n_particles * n_runs
        low = log_prob + math.log(clopper_pearson(n, n, level=level)[0])
        basis = f"{n:,} particles of which each reached the event{same}"
        return _without_error(log_prob, low, level=level, basis=basis)
    half = float(norm.isf(0.5 - 0.5 * level)) * error
    basis = f"counts at the levels, as fresh particles would have them{same}"
    return _around(log_prob, half, error=error, level=level, basis=basis)


def _bounded(runs: Sequence[Run], log_prob: float | None, *, level: float) -> Combined:
    """Return the upper end alone: the least of those of levels that every run reached.

    The event is rarer than each of them, so each of their upper ends is one for the event; they
    differ by far more than they err.
    """
    depth = min(
        sum(1 for _ in takewhile(lambda one: math.isfinite(one.log_prob), run.levels))
        for run in runs
    )
    shared = {tuple(one.level for one in run.levels[:depth]) for run in runs}
    if depth and len(shared) == 1:
        ends = [_level_end(runs, k, level=level) for k in range(depth)]
    elif len(runs) > 1:
        ends = [_upper_end([run.log_reached for run in runs], level=level)]
    else:
        ends = []
    reason = "no run reached the event" if log_prob is not None else "a run was given up"
    return Combined(
        log_prob=log_prob,
        low=-math.inf,
        high=min([*ends, 0.0]),
        log_scale=None,
        linear=None,
        floor=-math.inf,
        relative_error=None,
        basis=f"{reason}; the upper end is that of a level that all runs reached",
    )


def _level_end(runs: Sequence[Run], k: int, *, level: float) -> float:
    """Return the upper end for level k of runs that share their levels and all reached it."""
    if len(runs) > 1:
        return _upper_end([run.levels[k].log_prob for run in runs], level=level)
    passed = runs[0].levels[: k + 1]
    shares = [one.n_alive / one.n_particles for one in passed]
    error = math.sqrt(ideal_variance(shares, n_particles=passed[0].n_particles))
    return passed[-1].log_prob + float(norm.isf(0.5 - 0.5 * level)) * error


def _upper_end(logs: Sequence[float], *, level: float) -> float:
    """Return the upper end for the mean of two or more positive estimates."""
    half = float(stdtrit(len(logs) - 1, 0.5 + 0.5 * level)) * relative_error(logs)
    log_prob = log_sum(logs) - math.log(len(logs))
    return max(log_prob + half, lognormal_end(logs, level=level))


def poisson_score_interval(
    n_killed: int, n_particles: int, *, level: float = 0.95
) -> tuple[float, float]:
    """Return the interval of log p from the deaths of an ideal last-particle run, by the score.

    Args:
        n_killed: Particles that died, one by one.
        n_particles: Of the run; of several runs, the sum of both counts.
        level: Coverage, in (0, 1).

    Returns:
        Both ends, nats.

    >>> [round(end, 3) for end in poisson_score_interval(4000, 200)]
    [-20.629, -19.39]
    """
    check_level(level)
    z = float(norm.isf(0.5 - 0.5 * level))
    middle, half = n_killed + 0.5 * z * z, z * math.sqrt(n_killed + 0.25 * z * z)
    return -(middle + half) / n_particles, -(middle - half) / n_particles


def poisson_exact_interval(
    n_killed: int, n_particles: int, *, level: float = 0.95
) -> tuple[float, float]:
    """Return the same interval with at least its coverage, whatever the probability.

    Args:
        n_killed: Particles that died, one by one.
        n_particles: Of the run; of several runs, the sum of both counts.
        level: Coverage, in (0, 1).

    Returns:
        Both ends, nats.

    Sources:
        Garwood (1936), "Fiducial limits for the Poisson distribution".

    >>> [round(end, 3) for end in poisson_exact_interval(4000, 200)]
    [-20.63, -19.385]
    """
    check_level(level)
    tail = 0.5 - 0.5 * level
    most = 0.5 * float(chi2.isf(tail, 2 * n_killed + 2))
    least = 0.5 * float(chi2.ppf(tail, 2 * n_killed)) if n_killed else 0.0
    return -most / n_particles, -least / n_particles
