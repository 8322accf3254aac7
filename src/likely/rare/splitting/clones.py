"""Splitting in which the lowest particles die and only their replacements move. Unit: nats."""

import heapq
import math
from collections.abc import Callable, Generator

import numpy as np
from jaxtyping import Float

from likely.errors import NumericalError
from likely.rare.splitting.config import Schedule, SplittingConfig
from likely.rare.splitting.levels import log_mean_tilt, quantile_level
from likely.rare.splitting.lockstep import Request
from likely.rare.splitting.moving import walk
from likely.rare.splitting.particles import Kernel
from likely.rare.splitting.records import Run, Stop

Conditional = Callable[[float, np.random.Generator], float]
"""A score from its law given that it is above a level."""


def run_clones(
    kernel: Kernel,
    config: SplittingConfig,
    *,
    schedule: Schedule,
    rng: np.random.Generator,
) -> Generator[Request, np.ndarray, Run]:
    """Kill the lowest particles, clone survivors in their place and move the clones, and again.

    Each time the level is the score that ``config.n_killed`` particles do not exceed, all that do
    not exceed it die, ties among them, and the estimate is multiplied by the share that lives.

    The levels come from the particles themselves. The estimate is unbiased where a clone is a fresh
    draw above the level, and where it stays in its parent's place, but not in between: a clone
    that has moved a little remembers its parent, the next level depends on both, and so the clone
    is not a draw above that level. The bias is upwards and goes as the memory goes: with one step
    to a neighbour it reaches a sixteenth for two particles on four points (see the tests). Take
    frozen levels where unbiasedness matters.

    Args:
        kernel: How clones move; it keeps the prior.
        config: ``n_particles``, ``n_steps``, ``n_killed``, ``threshold`` and ``max_levels``, here
            in passes through as many particles as there are.
        schedule: Of a pilot: its step sizes are used, its levels only say where, so that steps
            depend on the level and not on the particles.
        rng: Random stream of this run alone.

    Returns:
        The run; it has no records of levels.

    Sources:
        Bréhier, Gazeau, Goudenège, Lelièvre and Rousset (2016), "Unbiasedness of some generalized
        adaptive multilevel splitting algorithms": the scheme, and its proof for clones that follow
        their parent's path up to the level and are independent of it beyond. Guyader,
        Hengartner and Matzner-Løber (2011), "Simulation and estimation of extreme quantiles and
        extreme probabilities": one at a time.
    """
    n, k = config.n_particles, config.n_killed
    particles = kernel.start(n, rng=rng)
    scores = (yield Request(states=kernel.states(particles))).copy()
    ancestors = np.arange(n)
    first = tuple(move.first_step for move in kernel.moves)
    log_prob, n_killed, n_passes, n_scored = 0.0, 0, 0, n
    stop: Stop = "max_levels"
    for _ in range(config.max_levels * math.ceil(n / k)):
        level = quantile_level(scores, (n - k + 1) / n)
        if level >= config.threshold:
            reached = scores >= config.threshold
            whole = kernel.log_tilt(particles)
            log_prob += math.log(np.count_nonzero(reached) / n)
            log_prob += log_mean_tilt(None if whole is None else whole[reached])
            stop = "threshold"
            break
        dead, alive = np.flatnonzero(scores <= level), np.flatnonzero(scores > level)
        n_killed, n_passes = n_killed + len(dead), n_passes + 1
        if not len(alive):
            stop = "extinct"
            break
        log_prob += math.log1p(-len(dead) / n)
        parents = alive[rng.integers(len(alive), size=len(dead))]
        clones = particles.take(parents)
        walked = yield from walk(
            kernel, clones, scores[parents], floor=float(np.nextafter(level, np.inf)),
            steps=schedule.steps_at(level) or first, n_steps=config.n_steps, rng=rng,
        )  # fmt: skip
        particles.put(dead, clones)
        scores[dead], ancestors[dead] = walked.scores, ancestors[parents]
        n_scored += walked.n_scored
    tilt = kernel.log_tilt(particles) if stop != "threshold" else None
    return Run(
        log_prob={"threshold": log_prob, "extinct": -math.inf}.get(stop),
        stop=stop,
        levels=(),
        relative_variance=None,
        n_particles=n,
        n_ancestors=len(np.unique(ancestors[scores >= config.threshold])),
        n_scored=n_scored,
        log_reached=log_prob + log_mean_tilt(tilt),
        n_killed=n_killed,
        n_passes=n_passes if kernel.log_tilt(particles) is None else None,
    )


def count_kills(
    scores: Float[np.ndarray, " n"],
    conditional: Conditional,
    *,
    threshold: float,
    rng: np.random.Generator,
) -> int:
    """Return how many particles die, one at a time, until all reach the threshold.

    This is the ideal case, in which a replacement is a fresh draw given that it is above the
    level. For a continuous law the count is Poisson with mean ``-n log p``, and
    ``(1 - 1/n) ** count`` is unbiased for p with variance ``p**2 * (p ** (-1/n) - 1)``.

    Args:
        scores: Shape ``(n,)``, independent draws.
        conditional: Draws a score above a level.
        threshold: The event is a score of at least this.
        rng: Handed to ``conditional``.

    Raises:
        NumericalError: A draw is not above its level.

    Sources:
        Guyader, Hengartner and Matzner-Løber (2011), "Simulation and estimation of extreme
        quantiles and extreme probabilities".
    """
    heap = scores.tolist()
    heapq.heapify(heap)
    n_killed = 0
    while heap[0] < threshold:
        drawn = conditional(heap[0], rng)
        if not drawn > heap[0]:
            raise NumericalError(f"a draw above {heap[0]!r} was wanted, got {drawn!r}")
        heapq.heapreplace(heap, drawn)
        n_killed += 1
    return n_killed
