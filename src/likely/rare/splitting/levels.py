"""One run through rising levels, chosen as it goes or frozen beforehand. Unit: nats."""

import math
from collections.abc import Generator
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float, Int

from likely.core.logspace import log_sum
from likely.rare.splitting.config import Schedule, SplittingConfig
from likely.rare.splitting.lockstep import Request, Wish
from likely.rare.splitting.moving import Walk, tuned, walk
from likely.rare.splitting.particles import Kernel, Particles
from likely.rare.splitting.records import Level, Run, Stop
from likely.rare.splitting.variance import one_run_variance

_N_RIVALS = 8
"""Closest rivals that a level's histogram names."""
_N_SEEN = 256
"""Particles that it is made of, at most."""


def run_levels(
    kernel: Kernel,
    config: SplittingConfig,
    *,
    schedule: Schedule | None = None,
    bounded: bool = False,
    rng: np.random.Generator,
) -> Generator[Request, np.ndarray, Run]:
    """Run particles from the prior up to the threshold.

    At each level the particles below it die, the share that is left multiplies the estimate, and
    as many particles as before are drawn, with replacement, from those alive and moved. With a
    schedule this estimates the probability without bias, whatever the kernel: a sequential
    Monte Carlo estimate of a normalising constant. Extinction is an estimate of 0.

    Where particles begin by another law than the prior, what each counts for enters by and by: at a
    level part of the way up, its weight to the power of that part. A particle that counts for
    little is then drawn less and less, as long as others reach the levels too.

    Args:
        kernel: How particles move; it keeps the prior.
        config: ``n_particles``, ``n_steps``, ``threshold``, ``runner_up``; without a schedule
            also ``survival``, ``max_levels`` and ``target_acceptance``.
        schedule: Levels and step sizes; None to choose each level so that a share ``survival`` of
            the particles reaches it.
        bounded: Whether particles climb by bounds of their scores, which need a schedule. Any
            function of the state may be climbed by; what is counted at a level are those of the
            particles there whose score reaches it too.
        rng: Random stream of this run alone.

    Returns:
        The run.
    """
    wish: Wish = "upper" if bounded else "score"
    particles = kernel.start(config.n_particles, rng=rng)
    scores = yield Request(states=kernel.states(particles), wish=wish)
    here = _State(
        particles=particles, scores=scores, ancestors=np.arange(config.n_particles),
        steps=tuple(move.first_step for move in kernel.moves), log_prob=0.0,
        n_scored=config.n_particles,
    )  # fmt: skip
    done: list[Level] = []
    while True:
        level, given_up = _next_level(
            scores=here.scores, done=done, config=config, schedule=schedule
        )
        if given_up is not None:
            return _finished(here, done, stop=given_up)
        alive = np.flatnonzero(here.scores >= level)
        counted = alive
        if bounded:
            exact = yield Request(states=kernel.states(here.particles.take(alive)), floor=level)
            counted = alive[exact >= level]
            here = replace(here, n_scored=here.n_scored + len(alive))
        record = _reached(here, level, counted, _tilt(kernel, here, counted))
        is_last = level >= config.threshold or not len(alive)
        if not is_last:
            record = replace(record, n_alive=len(alive))
        if config.runner_up and len(counted):
            states = kernel.states(here.particles.take(counted[:_N_SEEN]))
            rivals = yield Request(states=states, wish="runner_up")
            here = replace(here, n_scored=here.n_scored + len(states))
            record = replace(record, runner_up=_histogram(rivals))
        if is_last:
            done.append(record)
            here = replace(here, log_prob=record.log_prob)
            stop: Stop = "threshold" if len(counted) else "extinct"
            tilt = _tilt(kernel, here, counted)
            return _finished(here, done, stop=stop, alive=counted, tilt=tilt)
        if schedule is not None:
            here = replace(here, steps=schedule.steps[len(done)])
        ends = (done[0].level if done else level, config.threshold)
        drawn = _drawn(kernel, here, level, ends, alive)
        here, walked = yield from _moved(kernel, config, drawn, level, alive, wish=wish, rng=rng)
        done.append(_walked(record, walked))
        if schedule is None and config.n_steps:
            target = config.target_acceptance
            here = replace(here, steps=tuned(here.steps, walked.moves, kernel, target=target))


@dataclass(frozen=True, slots=True, kw_only=True)
class _State:
    """Where a run stands between levels.

    ``power`` is that of the weights which the particles keep by now; ``shares`` are the chances of
    those alive to be drawn, None for equal ones.
    """

    particles: Particles
    scores: Float[np.ndarray, " n"]
    ancestors: Int[np.ndarray, " n"]
    steps: tuple[float, ...]
    log_prob: float
    n_scored: int
    power: float = 0.0
    shares: Float[np.ndarray, " k"] | None = None


def _next_level(
    *,
    scores: Float[np.ndarray, " n"],
    done: list[Level],
    config: SplittingConfig,
    schedule: Schedule | None,
) -> tuple[float, Stop | None]:
    """Return the next level, and why the run must be given up instead, if it must."""
    if schedule is not None:
        return schedule.levels[len(done)], None
    chosen = level_above if config.mode == "adaptive" else quantile_level
    level = min(chosen(scores, config.survival), config.threshold)
    if done and level <= done[-1].level:
        above = scores[scores > done[-1].level]
        if not len(above):
            return level, "stuck"
        # Scores of few values tie at the quantile: the next of them is the least rise there is.
        level = min(float(above.min()), config.threshold)
    if len(done) >= config.max_levels:
        return level, "max_levels"
    return level, None


def quantile_level(scores: Float[np.ndarray, " n"], survival: float) -> float:
    """Return the largest score that at least a share ``survival`` of the scores reaches.

    >>> quantile_level(np.array([4.0, 1.0, 3.0, 2.0]), 0.5)
    3.0
    """
    n_alive = max(1, math.ceil(survival * len(scores) - 1e-9))
    return float(np.partition(scores, len(scores) - n_alive)[len(scores) - n_alive])


def level_above(scores: Float[np.ndarray, " n"], survival: float) -> float:
    """Return the least number above all scores but a share ``survival``, the best of them.

    With k of n particles above the best that dies, the chance to be above has the law
    Beta(k + 1, n - k), and k / n over it is 1 on average: levels chosen so leave no bias where
    particles are independent and fresh. At the score of the worst survivor, `quantile_level`, it is
    k / (k - 1). Where all of the share tie with the best that would die, it is that score.

    >>> level_above(np.array([4.0, 1.0, 3.0, 2.0]), 0.5)
    2.0000000000000004
    """
    best_dead = quantile_level(scores, min(1.0, survival + 1.0 / len(scores)))
    return float(np.nextafter(best_dead, np.inf)) if scores.max() > best_dead else best_dead


def _reached(
    here: _State, level: float, alive: Int[np.ndarray, " k"], tilt: Float[np.ndarray, " k"] | None
) -> Level:
    """Return the record of a level before any move."""
    n = len(here.scores)
    share = _log_share(len(alive), n) + log_mean_tilt(tilt)
    return Level(
        level=level,
        n_particles=n,
        n_alive=len(alive),
        log_prob=here.log_prob + share,
        n_ancestors=len(np.unique(here.ancestors[alive])),
    )


def _drawn(
    kernel: Kernel,
    here: _State,
    level: float,
    ends: tuple[float, float],
    alive: Int[np.ndarray, " k"],
) -> _State:
    """Return the run with the share of a level counted, and how those alive are to be drawn."""
    log_prob = here.log_prob + _log_share(len(alive), len(here.scores))
    tilt = kernel.log_tilt(here.particles)
    if tilt is None:
        return replace(here, log_prob=log_prob)
    first, last = ends
    power = (level - first) / (last - first)
    more = (power - here.power) * tilt[alive]
    shares = np.exp(more - more.max())
    return replace(
        here, log_prob=log_prob + log_mean_tilt(more), power=power, shares=shares / shares.sum()
    )


def _log_share(n_alive: int, n: int) -> float:
    return math.log(n_alive / n) if n_alive else -math.inf


def _tilt(
    kernel: Kernel, here: _State, rows: Int[np.ndarray, " k"]
) -> Float[np.ndarray, " k"] | None:
    """Return the log of what these particles still count for, beyond what they were drawn by."""
    whole = kernel.log_tilt(here.particles)
    return None if whole is None else (1.0 - here.power) * whole[rows]


def log_mean_tilt(tilt: Float[np.ndarray, " k"] | None) -> float:
    """Return the log of the mean of what particles count for; 0 for one each.

    >>> round(log_mean_tilt(np.log(np.array([0.5, 1.0]))), 6) == round(math.log(0.75), 6)
    True
    """
    return 0.0 if tilt is None or not len(tilt) else log_sum(tilt.tolist()) - math.log(len(tilt))


def _moved(
    kernel: Kernel,
    config: SplittingConfig,
    here: _State,
    level: float,
    alive: Int[np.ndarray, " k"],
    *,
    wish: Wish,
    rng: np.random.Generator,
) -> Generator[Request, np.ndarray, tuple[_State, Walk]]:
    """Return the run after drawing particles from those alive and moving all of them."""
    n = len(here.scores)
    if here.shares is None:
        parents = alive[rng.integers(len(alive), size=n)]
    else:
        parents = alive[rng.choice(len(alive), size=n, p=here.shares)]
    particles = here.particles.take(parents)
    walked = yield from walk(
        kernel.tempered(here.power), particles, here.scores[parents], floor=level, steps=here.steps,
        n_steps=config.n_steps, rng=rng, wish=wish,
    )  # fmt: skip
    moved = replace(
        here,
        particles=particles,
        scores=walked.scores,
        ancestors=here.ancestors[parents],
        n_scored=here.n_scored + walked.n_scored,
    )
    return moved, walked


def _walked(record: Level, walked: Walk) -> Level:
    """Return the record of a level with what the moves did."""
    return replace(
        record,
        moves=walked.moves,
        score_lag1=walked.lag1,
        score_kept=walked.kept,
        never_moved=float(1.0 - walked.moved.mean()) if len(walked.trace) > 1 else None,
    )


def _finished(
    here: _State,
    done: list[Level],
    *,
    stop: Stop,
    alive: Int[np.ndarray, " k"] | None = None,
    tilt: Float[np.ndarray, " k"] | None = None,
) -> Run:
    """Return the record of a run that ended so, with these particles alive, or all."""
    ancestors = here.ancestors if alive is None else here.ancestors[alive]
    variance = None
    if stop == "threshold":
        variance = one_run_variance(
            ancestors, n_particles=len(here.scores), n_draws=len(done) - 1,
            weights=None if tilt is None else np.exp(tilt),
        )  # fmt: skip
    reached = [level.log_prob for level in done if math.isfinite(level.log_prob)]
    return Run(
        log_prob=here.log_prob if stop in ("threshold", "extinct") else None,
        stop=stop,
        levels=tuple(done),
        relative_variance=variance,
        n_particles=len(here.scores),
        n_ancestors=len(np.unique(ancestors)),
        n_scored=here.n_scored,
        log_reached=reached[-1] if reached else 0.0,
    )


def _histogram(rivals: Int[np.ndarray, " n"]) -> tuple[tuple[int, float], ...]:
    """Return the commonest numbers and their shares, largest first, smaller number before."""
    numbers, counts = np.unique(rivals, return_counts=True)
    order = np.argsort(-counts, kind="stable")[:_N_RIVALS]
    return tuple((int(numbers[k]), float(counts[k] / len(rivals))) for k in order)


def frozen(run: Run, *, threshold: float) -> Schedule:
    """Return the levels and step sizes of a run, to be used again.

    Levels of a run that was given up are followed by the threshold at once: what is estimated
    with them stays unbiased, but the last share is then small.

    Args:
        run: A pilot.
        threshold: The last level.
    """
    inner = [level for level in run.levels if level.level < threshold]
    return Schedule(
        levels=(*(level.level for level in inner), threshold),
        steps=tuple(tuple(move.step for move in level.moves) for level in inner),
    )
