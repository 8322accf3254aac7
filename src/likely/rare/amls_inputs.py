"""The method ``amls-inputs``: splitting over inputs themselves. Unit: nats.

Particles are inputs; a move draws some of their places anew and keeps the new input if its margin
still reaches the level. It needs no gradient and no law of activations, so it is right for the
true probability; it needs a model call for every proposal.

An input is kept as numbers in [0, 1), from which its tokens follow by the inverse of each place's
law, so that a fresh token of a place is a fresh number whatever stood there before.

Source: Webb and others (2019), "A statistical approach to assessing neural network robustness", for
splitting over inputs; moves here are exact for the law of inputs, with no width to choose but the
share of places.
"""

import time
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from jaxtyping import Float, Int

from likely.errors import InputError
from likely.rare.event import Event
from likely.rare.inputs import IndependentDistribution
from likely.rare.method import Task, require_independent
from likely.rare.reading import Reader
from likely.rare.result import Found, Quantity, Spent
from likely.rare.splitting.config import SplittingConfig
from likely.rare.splitting.drive import split_by
from likely.rare.splitting.particles import Particles, Proposal
from likely.rare.splitting_answer import splitting_answer

_LEVELS = 24  # that a run is taken to need where its particles are counted out


@dataclass(frozen=True, slots=True, kw_only=True)
class RedrawMove:
    """Draws some places of an input anew.

    Attributes:
        n_places: That vary.
    """

    n_places: int
    name: str = "redraw"
    first_step: float = 0.3
    largest_step: float = 1.0

    def propose(self, particles: Particles, *, step: float, rng: np.random.Generator) -> Proposal:
        """Return a proposal for every particle: fresh numbers keep the law by themselves.

        Args:
            particles: Inputs as numbers.
            step: Share of the places that are drawn anew; one place is in any case.
            rng: Of the run.
        """
        n = len(particles)
        redrawn = rng.random((n, self.n_places)) < step
        redrawn[np.arange(n), rng.integers(self.n_places, size=n)] = True
        new = np.where(redrawn, rng.random((n, self.n_places)), particles.position)
        return Proposal(where=np.arange(n), states=new, position=new)


@dataclass(frozen=True, slots=True, kw_only=True)
class InputKernel:
    """Inputs as numbers in [0, 1), one for each place that varies."""

    moves: tuple[RedrawMove, ...]
    name: str = "redraw"

    def start(self, n: int, *, rng: np.random.Generator) -> Particles:
        """Return independent inputs."""
        return Particles(position=rng.random((n, self.moves[0].n_places)), mixing=np.empty((n, 0)))

    def states(self, particles: Particles) -> Float[np.ndarray, "n k"]:
        """Return the numbers."""
        return particles.position

    def log_tilt(self, particles: Particles) -> None:
        """Return None: inputs begin by their own law."""

    def tempered(self, power: float) -> "InputKernel":
        """Return the kernel itself: all inputs count for one."""
        return self


class InputScores:
    """Margins of inputs that are given as numbers.

    Args:
        reader: Reads them.
        law: From numbers to tokens.
        events: One for each target.
    """

    def __init__(
        self, reader: Reader, law: IndependentDistribution, events: tuple[Event, ...]
    ) -> None:
        self.reader = reader
        self.law = law
        self.events = events

    def inputs(self, numbers: Float[np.ndarray, "n k"]) -> Int[np.ndarray, "n T"]:
        """Return the tokens that numbers stand for."""
        whole = np.zeros((len(numbers), self.law.length))
        whole[:, list(self.law.varying)] = numbers
        return self.law.at(whole)

    def __call__(
        self,
        states: Float[np.ndarray, "n k"],
        run: Int[np.ndarray, "n"],
        floor: Float[np.ndarray, "n"],
    ) -> Float[np.ndarray, "n"]:
        """Return the score of each input: its margin beyond what its event asks."""
        inputs = self.inputs(states)
        found = np.empty(len(states))
        for target in np.unique(run):
            rows = np.flatnonzero(run == target)
            event = self.events[target]
            found[rows] = event.scores(self.reader.margins(inputs[rows], [event])[:, 0])
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class AmlsInputs:
    """Splits the probability of each event over inputs.

    Attributes:
        n_steps: Moves at each level.
        n_replicates: Independent runs, besides the pilot that chooses levels; the budget is shared
            among them all.
        survival: Share of the particles that reaches the next level.

    Raises:
        InputError: An option is unusable.
    """

    name: ClassVar[str] = "amls-inputs"
    quantity: ClassVar[Quantity] = "inputs"

    n_steps: int = 10
    n_replicates: int = 4
    survival: float = 0.5

    def __post_init__(self) -> None:
        if self.n_steps < 1 or self.n_replicates < 1:
            raise InputError(
                f"splitting needs a step and a replicate, got {self.n_steps!r} and "
                f"{self.n_replicates!r}"
            )

    @property
    def least_budget(self) -> int:
        """Calls with which every run towards an event of one step has two particles."""
        return 2 * (1 + self.n_steps * _LEVELS) * (self.n_replicates + 1)

    def run(self, task: Task) -> tuple[Found, ...]:
        """Return the probability of each event, each from its own runs."""
        law = require_independent(task, self.name)
        if not law.varying:
            raise InputError(f"the distribution {law.name!r} has one input; there is nothing rare")
        return tuple(self._one(task, law, event) for event in task.events)

    def config(self, task: Task, event: Event) -> SplittingConfig:
        """Return how the budget is spent: it is never exceeded, whatever the number of levels.

        An input takes a call for each step of the event.

        Raises:
            InputError: It is too small for two particles.
        """
        per_run = task.n_inputs(event) // (self.n_replicates + 1)
        n_particles = per_run // (1 + self.n_steps * _LEVELS)
        if n_particles < 2:
            raise InputError(
                f"method {self.name!r} needs a budget of {self.least_budget * len(event.steps)} "
                f"calls with {self.n_steps} steps and {self.n_replicates} replicates towards an "
                f"event of {len(event.steps)} steps, got {task.budget!r}"
            )
        return SplittingConfig(
            kernel="redraw", n_particles=n_particles, survival=self.survival,
            n_steps=self.n_steps, n_replicates=self.n_replicates, level=task.level,
            max_levels=_LEVELS,
        )  # fmt: skip

    def _one(self, task: Task, law: IndependentDistribution, event: Event) -> Found:
        began = time.perf_counter()
        reader = Reader(task.model, settings=task.settings, progress=task.progress)
        kernel = InputKernel(moves=(RedrawMove(n_places=len(law.varying)),))
        [result] = split_by(
            InputScores(reader, law, (event,)), kernel, self.config(task, event), n_targets=1,
            streams=lambda target, part: task.stream(event, self.name, part),
        )  # fmt: skip
        seconds = time.perf_counter() - began - reader.meter.spent.seconds
        spent = reader.meter.spent + Spent(seconds=max(0.0, seconds))
        return splitting_answer(result, spent=spent)
