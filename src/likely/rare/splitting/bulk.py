"""A prior's probabilities held against the states it was fitted to. Unit: nats."""

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import takewhile

import numpy as np
from jaxtyping import Float
from scipy.special import stdtrit
from scipy.stats import norm

from likely.core.logspace import log_sum
from likely.errors import InputError, NumericalError
from likely.rare.splitting.intervals import lognormal_end
from likely.rare.splitting.records import BulkLevel, Hybrid, Run, Splitting

MISMATCH = 0.5
"""Nats between the prior and the fitted states above which a level counts as a mismatch."""


def with_bulk(
    found: Splitting,
    scores: Float[np.ndarray, " n"],
    *,
    n_least: int = 100,
    weights: Float[np.ndarray, " n"] | None = None,
) -> Splitting:
    """Return a result with the check of its bulk, the hybrid estimate, and what they warn of.

    Args:
        found: Replicates of one target with levels that they share (mode ``two_stage``, or levels
            given); of others, the levels of the first run are checked and there is no hybrid.
        scores: Shape ``(n,)``, scores of the states that the prior was fitted to.
        n_least: A level is compared if at least so many of them reach it, or as few of unequal
            weight as are worth as many.
        weights: Shape ``(n,)``, what each of them counts for, of sum 1; None for equal shares.

    Raises:
        InputError: No score, or no run with levels.
        NumericalError: A score is NaN.
    """
    if not len(scores) or n_least < 1:
        raise InputError(
            f"a bulk check needs scores and n_least >= 1, got {len(scores)} and {n_least!r}"
        )
    if np.isnan(scores).any():
        raise NumericalError("a score of a fitted state is NaN; find where it came from")
    if not all(run.levels for run in found.runs):
        raise InputError(f"a bulk check needs runs with levels; the mode {found.mode!r} keeps none")
    levels = tuple(one.level for one in found.runs[0].levels)
    shares = np.full(len(scores), 1.0 / len(scores)) if weights is None else weights
    reached = [_reaching(shares[scores >= level]) for level in levels]
    depth = sum(1 for _ in takewhile(lambda one: one[0] >= n_least, reached))
    shared = _share_levels(found.runs, depth)
    runs = found.runs if shared else found.runs[:1]
    bulk = tuple(
        _compared(levels[k], reached[k], [_log_at(run, k) for run in runs]) for k in range(depth)
    )
    hybrid = _hybrid(found, bulk[-1]) if bulk and shared else None
    return replace(found, bulk=bulk, hybrid=hybrid, warnings=(*found.warnings, *_warn(bulk)))


def _share_levels(runs: Sequence[Run], depth: int) -> bool:
    """Return whether runs have the same levels, as far as they went, and all reached a depth."""
    longest = max((run.levels for run in runs), key=len)
    same = all(
        one.level == other.level
        for run in runs
        for one, other in zip(run.levels, longest, strict=False)
    )
    return same and all(len(run.levels) >= depth for run in runs)


def _log_at(run: Run, k: int) -> float:
    """Return a run's log-probability of level k; ``-inf`` if it went extinct before."""
    return run.levels[k].log_prob if k < len(run.levels) else -math.inf


def _reaching(shares: Float[np.ndarray, " k"]) -> tuple[int, float]:
    """Return how many equal shares these are worth, and their sum."""
    total = float(shares.sum())
    return (round(total**2 / float(np.square(shares).sum())) if len(shares) else 0), total


def _compared(level: float, reached: tuple[int, float], logs: Sequence[float]) -> BulkLevel:
    """Return one level under the prior and in the fitted states."""
    log_prob = log_sum(logs) - math.log(len(logs))
    n_reaching, share = reached
    log_empirical = math.log(share)
    return BulkLevel(
        level=level,
        log_prob=log_prob,
        log_empirical=log_empirical,
        n_reaching=n_reaching,
        is_mismatch=not abs(log_prob - log_empirical) <= MISMATCH,
    )


def _hybrid(found: Splitting, last: BulkLevel) -> Hybrid | None:
    """Return the fitted states' share at a level times the prior's tail beyond it.

    The tail is the ratio of the mean estimates of the event and of the level. Its error is that of
    a ratio of means, above at least that of a mean whose logs are normal, as in `combine`; the
    error of the share is that of a count.
    """
    runs = found.runs
    depth = next(k for k, one in enumerate(runs[0].levels) if one.level == last.level)
    ends = [run.log_prob for run in runs if run.log_prob is not None]
    if len(ends) < len(runs) or math.isinf(max(ends)):
        return None
    starts = [run.levels[depth].log_prob for run in runs]
    log_tail = log_sum(ends) - log_sum(starts)
    share = min(1.0, math.exp(last.log_empirical))
    counted = float(norm.isf(0.5 - 0.5 * found.level)) * math.sqrt((1.0 - share) / last.n_reaching)
    below = _ratio_half_width(ends, starts, level=found.level)
    above = below
    if len(ends) > 1 and math.isfinite(min(ends)) and ends != starts:
        mean = log_sum(ends) - math.log(len(ends))
        above = max(below, lognormal_end(ends, level=found.level) - mean)
    log_prob = last.log_empirical + log_tail
    return Hybrid(
        level=last.level,
        n_reaching=last.n_reaching,
        log_tail=log_tail,
        log_prob=log_prob,
        low=log_prob - math.hypot(counted, below),
        high=log_prob + math.hypot(counted, above),
    )


def _ratio_half_width(ends: Sequence[float], starts: Sequence[float], *, level: float) -> float:
    """Return half the width of the interval of the log of a ratio of means; infinite for one."""
    n = len(ends)
    if n < 2:
        return math.inf
    top = np.exp(np.array(ends) - log_sum(ends)) * n
    bottom = np.exp(np.array(starts) - log_sum(starts)) * n
    error = float(np.std(top - bottom, ddof=1)) / math.sqrt(n)
    return float(stdtrit(n - 1, 0.5 + 0.5 * level)) * error


def _warn(bulk: Sequence[BulkLevel]) -> list[str]:
    """Return what the comparison warns of."""
    if not bulk:
        return ["Too few fitted states reach even the first level to check the prior by them."]
    apart = [one for one in bulk if one.is_mismatch]
    if not apart:
        return []
    worst = max(apart, key=lambda one: abs(one.log_prob - one.log_empirical))
    return [
        f"At level {worst.level:.4g} the prior's probability is "
        f"{math.exp(worst.log_prob - worst.log_empirical):.3g} times the share of the fitted "
        "states; the prior does not fit where it can be checked."
    ]
