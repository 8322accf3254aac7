"""What a splitting result says of an event, framed as every method's answer is. Unit: nats."""

import math
from collections.abc import Mapping, Sequence

from likely.rare.result import Found, Spent
from likely.rare.splitting.diagnostics import levels_table
from likely.rare.splitting.records import Hybrid, Run, Splitting

GIVEN_UP = "no estimate: a run was given up; only the upper end says something"


def splitting_answer(
    result: Splitting,
    *,
    spent: Spent,
    hybrid: Hybrid | None = None,
    diagnostics: Mapping[str, float | int | str] | None = None,
    warnings: Sequence[str] = (),
) -> Found:
    """Return a result as an answer; its table of levels is that of the first run.

    Args:
        result: Of one target.
        spent: What it took.
        hybrid: Its numbers are the answer, if given; the error and the floor of the law's own
            estimate are then left out.
        diagnostics: Further figures.
        warnings: Further sentences.
    """
    combined, n_given_up = result.combined, count_given_up(result)
    log_prob, low, high = combined.log_prob, combined.low, combined.high
    basis, given_up = combined.basis, (GIVEN_UP,) if n_given_up else ()
    if hybrid is not None:
        log_prob, low, high = hybrid.log_prob, hybrid.low, hybrid.high
        basis = f"the sample up to a margin of {hybrid.level:.3g}, and beyond it {basis}"
    value = -math.inf if log_prob is None else min(log_prob, 0.0)
    return Found(
        log_prob=value,
        low=min(low, value),
        high=max(min(high, 0.0), value),
        spent=spent,
        diagnostics={
            "basis": basis,
            "mode": result.mode,
            "kernel": result.kernel,
            "levels": max(len(run.levels) for run in result.runs),
            "extinct": result.n_extinct,
            **({"given_up": n_given_up} if n_given_up else {}),
            "ancestors": min(run.n_ancestors for run in result.runs),
            **({} if hybrid is not None else _of_error(result)),
            **({} if result.excess is None else {"excess_spread": result.excess}),
            **_one_run(result.runs),
            **(diagnostics or {}),
        },
        warnings=(*given_up, *result.warnings, *warnings),
        replicates=tuple(-math.inf if r.log_prob is None else r.log_prob for r in result.runs),
        levels=tuple(
            {name: one for name, one in row.items() if one is not None}
            for row in levels_table(result.runs[0])
        ),
    )


def count_given_up(result: Splitting) -> int:
    """Return how many runs were given up, where that leaves no estimate; else 0.

    A pilot that was given up counts where no replicate came further: what is then 0 is not the
    probability, but the share of a step that was too large.
    """
    combined = result.combined.log_prob
    if combined is not None and math.isfinite(combined):
        return 0
    runs = sum(run.log_prob is None for run in result.runs)
    pilot = result.pilot
    return runs + int(pilot is not None and pilot.stop in ("stuck", "max_levels"))


def _of_error(result: Splitting) -> dict[str, float]:
    """Return what is known of the error of the mean, beside its interval.

    The floor is Markov's and asks for unbiased estimates; intervals by the Poisson law ask for
    particles that die one by one.
    """
    combined, found = result.combined, {}
    if result.mode == "two_stage":
        found["log_floor"] = combined.floor
    if combined.relative_error is not None:
        found["relative_error"] = combined.relative_error
    if result.poisson_exact is not None:
        found["log_poisson_low"], found["log_poisson_high"] = result.poisson_exact
    return found


def _one_run(runs: Sequence[Run]) -> dict[str, float]:
    """Return the relative standard deviation of one run by its ancestors, if any run tells it."""
    known = [one.relative_variance for one in runs if one.relative_variance is not None]
    if not known:
        return {}
    return {"one_run_relative_sd": math.sqrt(max(0.0, math.fsum(known) / len(known)))}
