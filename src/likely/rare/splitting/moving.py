"""Particles moved by a kernel above a level, and what is kept of the moves. Unit: nats."""

from collections.abc import Generator, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int

from likely.rare.splitting.lockstep import Request, Wish
from likely.rare.splitting.particles import Kernel, Particles, Proposal
from likely.rare.splitting.records import MoveRecord


@dataclass(frozen=True, slots=True, kw_only=True)
class Walk:
    """What the steps at one level did.

    Attributes:
        moves: One record a move.
        trace: Shape ``(n_steps + 1, n)``, scores before the first step and after each.
        moved: Shape ``(n,)``, whether any proposal was accepted.
        n_scored: States that were scored.
    """

    moves: tuple[MoveRecord, ...]
    trace: Float[np.ndarray, "s n"]
    moved: Bool[np.ndarray, " n"]
    n_scored: int

    @property
    def scores(self) -> Float[np.ndarray, " n"]:
        """Return the scores after the last step."""
        return np.asarray(self.trace[-1])

    @property
    def lag1(self) -> float | None:
        """Return the correlation of scores one step apart."""
        return _correlation(self.trace[:-1].ravel(), self.trace[1:].ravel())

    @property
    def kept(self) -> float | None:
        """Return the correlation of the scores before the first step and after the last."""
        return _correlation(self.trace[0], self.trace[-1]) if len(self.trace) > 1 else None


def walk(
    kernel: Kernel,
    particles: Particles,
    scores: Float[np.ndarray, " n"],
    *,
    floor: float,
    steps: Sequence[float],
    n_steps: int,
    rng: np.random.Generator,
    wish: Wish = "score",
) -> Generator[Request, np.ndarray, Walk]:
    """Move particles in place by kernel steps, keeping every score at least at ``floor``.

    Args:
        kernel: The kernel.
        particles: Shape ``(n, ...)``, overwritten.
        scores: Shape ``(n,)``, their scores.
        floor: The level.
        steps: The step size of each move.
        n_steps: Kernel steps.
        rng: Random stream of the run.
        wish: Whether scores or bounds of them are kept at least at ``floor``.

    Returns:
        What the steps did.
    """
    tallies = [_Tally() for _ in kernel.moves]
    scores = scores.copy()
    trace = [scores.copy()]
    moved = np.zeros(len(scores), dtype=np.bool_)
    for number in range(n_steps):
        for move, step, tally in zip(kernel.moves, steps, tallies, strict=True):
            proposal = move.propose(particles, step=step, rng=rng)
            found = yield Request(states=proposal.states, floor=floor, wish=wish)
            kept = np.flatnonzero(found >= floor)
            tally.add(proposal, kept, particles if number == n_steps - 1 else None)
            proposal.accept(particles, kept)
            rows = proposal.where[kept]
            scores[rows] = found[kept]
            moved[rows] = True
        trace.append(scores.copy())
    n_tried = n_steps * len(scores)
    records = tuple(
        tally.record(move.name, step, n_tried, len(scores))
        for move, step, tally in zip(kernel.moves, steps, tallies, strict=True)
    )
    return Walk(
        moves=records,
        trace=np.stack(trace),
        moved=moved,
        n_scored=sum(tally.n_passed for tally in tallies),
    )


class _Tally:
    """Counts of one move over the steps of a level."""

    def __init__(self) -> None:
        self.n_passed = 0
        self.n_accepted = 0
        self.jump = 0.0

    def add(
        self, proposal: Proposal, kept: Int[np.ndarray, " j"], particles: Particles | None
    ) -> None:
        """Count a step; measure its jumps if the particles as they were are given."""
        self.n_passed += len(proposal.where)
        self.n_accepted += len(kept)
        if particles is not None:
            self.jump = float(proposal.jumps(particles)[kept].sum())

    def record(self, name: str, step: float, n_tried: int, n_particles: int) -> MoveRecord:
        """Return the record of the level."""
        wall = self.n_accepted / self.n_passed if self.n_passed else None
        return MoveRecord(
            name=name,
            step=step,
            prior_acceptance=self.n_passed / max(n_tried, 1),
            wall_acceptance=wall,
            acceptance=self.n_accepted / max(n_tried, 1),
            jump=self.jump / n_particles,
        )


def _correlation(first: Float[np.ndarray, " n"], second: Float[np.ndarray, " n"]) -> float | None:
    """Return the correlation of numbers; None where one side is infinite or does not vary."""
    if len(first) < 2 or not (np.isfinite(first).all() and np.isfinite(second).all()):
        return None
    a, b = first - first.mean(), second - second.mean()
    scale = float(np.sqrt((a @ a) * (b @ b)))
    return float(a @ b) / scale if scale > 0.0 else None


def tuned(
    steps: Sequence[float], records: Sequence[MoveRecord], kernel: Kernel, *, target: float
) -> tuple[float, ...]:
    """Return the step sizes for the next level, after what the moves did at this one.

    A step grows by a factor ``exp((acceptance - target) / 2)`` and stays in
    ``[1e-5, largest_step]``.

    Args:
        steps: The step sizes at this level.
        records: What the moves did.
        kernel: The kernel.
        target: Share of accepted proposals.
    """
    return tuple(
        float(min(max(step * np.exp(0.5 * (one.acceptance - target)), 1e-5), move.largest_step))
        for step, one, move in zip(steps, records, kernel.moves, strict=True)
    )
