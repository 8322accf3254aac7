"""Probabilities of many targets by splitting, all runs advancing together. Unit: nats."""

from collections.abc import Callable, Sequence

import numpy as np

from likely.errors import InputError
from likely.rare.prior.protocol import Latent, Prior
from likely.rare.splitting.clones import run_clones
from likely.rare.splitting.config import Schedule, SplittingConfig
from likely.rare.splitting.diagnostics import excess_spread, warnings_of
from likely.rare.splitting.intervals import (
    combine,
    poisson_exact_interval,
    poisson_score_interval,
)
from likely.rare.splitting.kernels import make_kernel
from likely.rare.splitting.levels import frozen, run_levels
from likely.rare.splitting.lockstep import Bounds, Job, Scorer, run_together
from likely.rare.splitting.particles import Kernel
from likely.rare.splitting.records import Run, Splitting

Streams = Callable[[int, str], np.random.Generator]
"""The random stream of a target's number and of a part: ``pilot`` or ``replicate 0``, ..."""
_TIED = 0.01
"""Share of deaths in company up to which deaths count as one by one."""


def split(
    scorer: Scorer,
    prior: Prior | Latent,
    config: SplittingConfig | None = None,
    *,
    streams: Streams,
    n_targets: int = 1,
) -> tuple[Splitting, ...]:
    """Return, for each target, the probability under a prior that its score reaches a threshold.

    Every run has a stream of its own and is its own process, so a target's numbers are the same
    whichever others are estimated with it, as far as the scorer's are.

    Args:
        scorer: Scores states; it is told the number of each state's target.
        prior: Law of the states.
        config: How to split; None for the defaults.
        streams: Gives each run its random stream, fresh at each call, such as
            ``lambda target, part: generator(seed, "rare", name[target], part)``.
        n_targets: Targets, numbered from 0.

    Returns:
        One result a target.

    Raises:
        InputError: No target.
        NumericalError: The scorer gave NaN.
        CapabilityError: The kernel or the histogram needs what the prior or scorer lacks.
    """
    config = config or SplittingConfig()
    kernel = make_kernel(config.kernel, prior)
    return split_by(scorer, kernel, config, streams=streams, n_targets=n_targets)


def split_by(
    scorer: Scorer,
    kernel: Kernel,
    config: SplittingConfig,
    *,
    streams: Streams,
    n_targets: int = 1,
) -> tuple[Splitting, ...]:
    """Return `split` under whatever law a kernel of one's own starts from and keeps.

    Args:
        scorer: As there.
        kernel: Draws first particles and moves them.
        config: As there; its ``kernel`` is a name for the record.
        streams: As there.
        n_targets: As there.

    Raises:
        InputError: No target.
        NumericalError: The scorer gave NaN.
    """
    if n_targets < 1:
        raise InputError(f"splitting needs a target, got {n_targets!r}")
    if config.mode == "adaptive":
        runs = _replicated(scorer, kernel, config, [None] * n_targets, streams=streams)
        return tuple(_result(k, config, runs[k], pilot=None) for k in range(n_targets))
    pilots = run_together(
        [
            (k, run_levels(kernel, config, rng=streams(k, "pilot")))
            for k in range(n_targets)
        ],
        scorer,
        n_together=config.n_together,
    )  # fmt: skip
    schedules = [frozen(pilot, threshold=config.threshold) for pilot in pilots]
    bounded = config.mode == "two_stage" and isinstance(scorer, Bounds)
    if isinstance(scorer, Bounds):
        scorer.settle()
    runs = _replicated(scorer, kernel, config, schedules, streams=streams, bounded=bounded)
    return tuple(_result(k, config, runs[k], pilot=pilots[k]) for k in range(n_targets))


def split_fixed(
    scorer: Scorer,
    prior: Prior | Latent,
    schedules: Sequence[Schedule],
    config: SplittingConfig | None = None,
    *,
    streams: Streams,
) -> tuple[Splitting, ...]:
    """Return the probability of each target with levels and step sizes that are given.

    Args:
        scorer: Scores states; it is told the number of each state's target.
        prior: Law of the states.
        schedules: Levels and step sizes, one schedule a target.
        config: How to split; its mode ``two_stage`` without the pilot.
        streams: Gives each run its random stream.

    Raises:
        InputError: No schedule, or one that does not end at the threshold.
    """
    config = config or SplittingConfig()
    ends = [schedule.levels[-1] for schedule in schedules]
    if not ends or any(end != config.threshold for end in ends):
        raise InputError(f"levels end at the threshold {config.threshold!r}, got ends {ends!r}")
    kernel = make_kernel(config.kernel, prior)
    runs = _replicated(scorer, kernel, config, schedules, streams=streams)
    return tuple(_result(k, config, runs[k], pilot=None) for k in range(len(schedules)))


def _replicated(
    scorer: Scorer,
    kernel: Kernel,
    config: SplittingConfig,
    schedules: Sequence[Schedule | None],
    *,
    streams: Streams,
    bounded: bool = False,
) -> list[list[Run]]:
    """Return the replicates of each target."""
    jobs = [
        (k, _job(kernel, config, schedule, bounded, rng=streams(k, f"replicate {number}")))
        for k, schedule in enumerate(schedules)
        for number in range(config.n_replicates)
    ]
    runs = run_together(jobs, scorer, n_together=config.n_together)
    each = config.n_replicates
    return [runs[k * each : (k + 1) * each] for k in range(len(schedules))]


def _job(
    kernel: Kernel,
    config: SplittingConfig,
    schedule: Schedule | None,
    bounded: bool,
    *,
    rng: np.random.Generator,
) -> Job[Run]:
    """Return one replicate, not yet begun."""
    if schedule is not None and config.mode in ("clones", "last_particle"):
        return run_clones(kernel, config, schedule=schedule, rng=rng)
    return run_levels(kernel, config, schedule=schedule, bounded=bounded, rng=rng)


def _result(
    target: int, config: SplittingConfig, runs: Sequence[Run], *, pilot: Run | None
) -> Splitting:
    """Return the record of a target's replicates."""
    combined = combine(runs, level=config.level)
    excess = excess_spread(runs)
    score, exact = _poisson(config, runs)
    return Splitting(
        target=target,
        mode=config.mode,
        kernel=config.kernel,
        level=config.level,
        combined=combined,
        runs=tuple(runs),
        pilot=pilot,
        n_scored=sum(run.n_scored for run in runs) + (pilot.n_scored if pilot else 0),
        excess=excess,
        poisson_score=score,
        poisson_exact=exact,
        warnings=warnings_of(combined, runs, pilot, excess=excess),
    )


def _poisson(
    config: SplittingConfig, runs: Sequence[Run]
) -> tuple[tuple[float, float] | None, tuple[float, float] | None]:
    """Return both Poisson intervals of all runs together, where the law holds nearly enough."""
    died = sum(run.n_killed or 0 for run in runs)
    passes = sum(run.n_passes or 0 for run in runs)
    if config.mode != "last_particle" or any(run.stop != "threshold" for run in runs):
        return None, None
    if died - passes > _TIED * died:
        return None, None
    n = config.n_particles * len(runs)
    score = poisson_score_interval(died, n, level=config.level)
    return score, poisson_exact_interval(died, n, level=config.level)
