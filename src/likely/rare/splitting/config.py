"""How probabilities are split: the options of a run, and the schedule of a frozen one."""

from bisect import bisect_right
from dataclasses import dataclass
from typing import Literal, get_args

from likely.errors import InputError, UnknownNameError
from likely.stats.intervals import check_level

Mode = Literal["two_stage", "adaptive", "clones", "last_particle"]
MODES: tuple[Mode, ...] = get_args(Mode)


@dataclass(frozen=True, slots=True, kw_only=True)
class SplittingConfig:
    """How a probability is split.

    Attributes:
        mode: ``two_stage``: a pilot chooses levels and step sizes, and replicates that use them
            frozen are unbiased. ``adaptive``: every replicate chooses its own; cheaper by the
            pilot, unbiased as far as particles forget their parents. ``clones``: every replicate
            chooses its levels, but only clones move, with the pilot's step sizes; its bias goes as
            clones forget their parents. ``last_particle``: the same, killing one particle at a
            time.
        kernel: Name in `likely.rare.splitting.kernels.KERNELS`.
        n_particles: Of each run.
        survival: Share of the particles that reach the next level, in (0, 1).
        n_steps: Kernel steps at each level; 0 leaves clones where they are (to test with).
        n_replicates: Independent runs of a target, besides the pilot.
        max_levels: A run that needs more is given up and says so.
        threshold: The event is a score of at least this.
        level: Coverage of the intervals.
        target_acceptance: Between levels a step size grows where more proposals than this are
            accepted, and shrinks where fewer are.
        batch_states: At most about so many states are held and scored at a time.
        runner_up: Whether each level gets a histogram of the closest rivals.
    """

    mode: Mode = "two_stage"
    kernel: str = "aug"
    n_particles: int = 1000
    survival: float = 0.5
    n_steps: int = 20
    n_replicates: int = 8
    max_levels: int = 400
    threshold: float = 0.0
    level: float = 0.95
    target_acceptance: float = 0.4
    batch_states: int = 16_384
    runner_up: bool = False

    def __post_init__(self) -> None:
        check_level(self.level)
        if self.mode not in MODES:
            raise UnknownNameError.among("mode", self.mode, MODES)
        if not 0.0 < self.survival < 1.0 or not 0.0 < self.target_acceptance < 1.0:
            raise InputError(
                "survival and target_acceptance are shares in (0, 1), got "
                f"{self.survival!r} and {self.target_acceptance!r}"
            )
        counts = (self.n_particles, self.n_replicates, self.max_levels, self.batch_states)
        if self.n_particles < 2 or min(counts) < 1 or self.n_steps < 0:
            raise InputError(
                "splitting needs 2 particles, a replicate, a level, a state at a time and no "
                f"negative number of steps, got {counts!r} and {self.n_steps!r}"
            )

    @property
    def n_together(self) -> int:
        """Return how many runs advance together."""
        return max(1, self.batch_states // self.n_particles)

    @property
    def n_killed(self) -> int:
        """Return how many particles die at a time where only clones move."""
        if self.mode == "last_particle":
            return 1
        return max(1, round((1.0 - self.survival) * self.n_particles))


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """Levels and step sizes, frozen.

    Attributes:
        levels: Strictly rising; the last is the threshold.
        steps: The step size of each move of the kernel, for each level but the last.
    """

    levels: tuple[float, ...]
    steps: tuple[tuple[float, ...], ...]

    def __post_init__(self) -> None:
        if not self.levels or any(
            not low < high for low, high in zip(self.levels, self.levels[1:], strict=False)
        ):
            raise InputError(f"levels rise strictly to the threshold, got {self.levels!r}")
        if len(self.steps) != len(self.levels) - 1:
            raise InputError(
                f"each level but the last has step sizes, got {len(self.steps)} for "
                f"{len(self.levels)} levels"
            )

    def steps_at(self, level: float) -> tuple[float, ...] | None:
        """Return the step sizes of the last level that is not above ``level``, or of the first.

        >>> Schedule(levels=(-2.0, -1.0, 0.0), steps=((0.5,), (0.4,))).steps_at(-0.5)
        (0.4,)
        """
        if not self.steps:
            return None
        return self.steps[max(0, bisect_right(self.levels[:-1], level) - 1)]
