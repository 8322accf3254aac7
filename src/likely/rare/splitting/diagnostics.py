"""What a sceptic asks of a splitting run, and what its numbers warn of. Unit: nats."""

import math
from collections.abc import Sequence

import numpy as np

from likely.rare.splitting.intervals import relative_error
from likely.rare.splitting.records import Combined, Level, Run
from likely.rare.splitting.variance import ideal_run_variance

_EXCESS = 2.0
_WIDE = 0.7
"""Spread of one run's estimate, as a share of it, above which intervals are known to be short."""
_STILL = 0.1
_REFUSED = 0.02
_KEPT = 0.5
_RIVALS_APART = 0.5


def excess_spread(runs: Sequence[Run]) -> float | None:
    """Return the spread of replicates over that of fresh, independent particles at each level.

    Args:
        runs: Replicates.

    Returns:
        The ratio of both standard deviations; None for fewer than three replicates, or if one was
        given up, has no levels, or all are extinct.
    """
    logs = [run.log_prob for run in runs if run.log_prob is not None and run.levels]
    if len(runs) < 3 or len(logs) < len(runs) or math.isinf(max(logs)):
        return None
    ideal = [ideal_run_variance(run) for run in runs if run.stop == "threshold"]
    mean = math.fsum(ideal) / len(ideal)
    if not mean > 0.0:
        return None
    return relative_error(logs) * math.sqrt(len(logs) / mean)


def levels_table(run: Run) -> list[dict[str, float | int | None]]:
    """Return one row a level: what it was, how many reached it, and how the moves did.

    Acceptance and jump of each move stand in columns named after it.
    """
    return [
        {
            "level": one.level,
            "share": one.n_alive / one.n_particles,
            "log_prob": one.log_prob,
            "n_ancestors": one.n_ancestors,
            "score_lag1": one.score_lag1,
            "score_kept": one.score_kept,
            "never_moved": one.never_moved,
            **{f"{move.name}_step": move.step for move in one.moves},
            **{f"{move.name}_prior_acceptance": move.prior_acceptance for move in one.moves},
            **{f"{move.name}_wall_acceptance": move.wall_acceptance for move in one.moves},
            **{f"{move.name}_jump": move.jump for move in one.moves},
        }
        for one in run.levels
    ]


def warnings_of(
    combined: Combined, runs: Sequence[Run], pilot: Run | None, *, excess: float | None
) -> tuple[str, ...]:
    """Return what the numbers of a target warn of, one sentence each.

    Args:
        combined: Its estimate.
        runs: Its replicates.
        pilot: The run that chose the levels, if any.
        excess: From `excess_spread`.
    """
    found = [*_about_ends(runs, pilot), *_about_spread(combined, runs, excess=excess)]
    found += [*_about_moves(runs), *_about_rivals(runs)]
    return tuple(found)


def _about_ends(runs: Sequence[Run], pilot: Run | None) -> list[str]:
    """Return what the ends of the runs warn of."""
    found = []
    if pilot is not None and pilot.stop != "threshold":
        found.append(
            f"The pilot was given up ({pilot.stop}) after {len(pilot.levels)} levels; the last "
            "share is that from there to the event, and most runs may not make it."
        )
    given_up = [run for run in runs if run.log_prob is None]
    if given_up:
        reasons = sorted({run.stop for run in given_up})
        found.append(
            f"{len(given_up)} of {len(runs)} runs were given up ({', '.join(reasons)}), so there "
            "is no estimate."
        )
    n_extinct = sum(run.stop == "extinct" for run in runs)
    if n_extinct:
        found.append(f"{n_extinct} of {len(runs)} runs went extinct; they count as 0 in the mean.")
    n_single = sum(run.stop == "threshold" and run.n_ancestors == 1 for run in runs)
    if n_single:
        found.append(
            f"In {n_single} of {len(runs)} runs all survivors descend from one first particle, so "
            "the error that a run itself reports means nothing; take more particles."
        )
    return found


def _about_spread(combined: Combined, runs: Sequence[Run], *, excess: float | None) -> list[str]:
    """Return what the spread of the replicates warns of."""
    found = []
    if excess is not None and excess > _EXCESS:
        found.append(
            f"Replicates spread {excess:.1f} times as far as well-mixing particles would; take "
            "more steps at each level."
        )
    error = combined.relative_error
    if error is not None and error * math.sqrt(len(runs)) > _WIDE:
        found.append(
            f"One run's estimate spreads by {error * math.sqrt(len(runs)):.0%} of itself; with so "
            "skewed an estimate the interval is too short, most of all above."
        )
    if 1 < len(runs) < 4 and combined.relative_error is not None:
        found.append(f"The interval rests on {len(runs)} runs; take four or more.")
    return found


def _about_moves(runs: Sequence[Run]) -> list[str]:
    """Return what the moves at the levels warn of: the worst level of all runs, for each."""
    levels = [one for run in runs for one in run.levels if one.moves]
    found = []
    still = [one for one in levels if one.never_moved is not None and one.never_moved > _STILL]
    if still:
        worst = max(still, key=lambda one: one.never_moved or 0.0)
        found.append(
            f"At level {worst.level:.4g}, {worst.never_moved or 0.0:.0%} of the particles never "
            "moved."
        )
    refused = [(move, one) for one in levels for move in one.moves if move.acceptance < _REFUSED]
    if refused and all(one.never_moved is not None for one in levels):
        move, one = min(refused, key=lambda pair: pair[0].acceptance)
        found.append(
            f"At level {one.level:.4g}, {move.acceptance:.1%} of the proposals of the move "
            f"{move.name!r} were accepted."
        )
    kept = _mean_kept(levels)
    if kept is not None and kept > _KEPT:
        found.append(
            f"After all steps of a level, scores keep a correlation of {kept:.2f} with those "
            "before the first, on average; take more steps at each level."
        )
    return found


def _mean_kept(levels: Sequence[Level]) -> float | None:
    """Return the mean correlation of scores over the steps of a level, if it is known."""
    values = [one.score_kept for one in levels if one.score_kept is not None]
    return math.fsum(values) / len(values) if values else None


def _about_rivals(runs: Sequence[Run]) -> list[str]:
    """Return whether replicates end among different rivals: modes that particles do not cross."""
    ends = [dict(run.levels[-1].runner_up) for run in runs if run.levels]
    ends = [one for one in ends if one]
    if len(ends) < 2:
        return []
    names = sorted({name for one in ends for name in one})
    shares = np.array([[one.get(name, 0.0) for name in names] for one in ends])
    apart = 0.5 * np.abs(shares - shares.mean(axis=0)).sum(axis=1)
    if float(apart.mean()) <= _RIVALS_APART:
        return []
    return [
        "The replicates end among different closest rivals, so each sees a part of the event; "
        "take more particles."
    ]
