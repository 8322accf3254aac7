"""Particles, what a move proposes for them, and what a kernel is made of. Unit: nats."""

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float, Int


@dataclass(frozen=True, slots=True, kw_only=True)
class Particles:
    """Particles in the coordinates of a kernel.

    Attributes:
        position: Shape ``(n, g)``; updated in place by `accept`.
        mixing: Shape ``(n, m)``, no columns where a kernel has no mixing numbers.
    """

    position: Float[np.ndarray, "n g"]
    mixing: Float[np.ndarray, "n m"]

    def __len__(self) -> int:
        return len(self.position)

    def take(self, rows: Int[np.ndarray, " k"]) -> "Particles":
        """Return copies of some particles."""
        return Particles(position=self.position[rows], mixing=self.mixing[rows])

    def put(self, rows: Int[np.ndarray, " k"], others: "Particles") -> None:
        """Overwrite some particles."""
        self.position[rows] = others.position
        self.mixing[rows] = others.mixing


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """What a move proposes, for the particles whose proposals passed the test of the prior.

    Attributes:
        where: Shape ``(k,)``, their rows.
        states: Shape ``(k, D)``, what the scorer sees.
        position: Shape ``(k, g)``, or None if the move keeps the positions.
        mixing: Shape ``(k, m)``, or None if the move keeps the mixing numbers.
    """

    where: Int[np.ndarray, " k"]
    states: Float[np.ndarray, "k D"]
    position: Float[np.ndarray, "k g"] | None = None
    mixing: Float[np.ndarray, "k m"] | None = None

    def jumps(self, particles: Particles) -> Float[np.ndarray, " k"]:
        """Return the mean squared change per coordinate of what the move changes."""
        total = np.zeros(len(self.where))
        pairs = ((particles.position, self.position), (particles.mixing, self.mixing))
        for old, new in pairs:
            if new is not None:
                total += np.square(new - old[self.where]).mean(axis=1)
        return total

    def accept(self, particles: Particles, kept: Int[np.ndarray, " j"]) -> None:
        """Write the proposals numbered ``kept`` into the particles."""
        rows = self.where[kept]
        if self.position is not None:
            particles.position[rows] = self.position[kept]
        if self.mixing is not None:
            particles.mixing[rows] = self.mixing[kept]


@runtime_checkable
class Move(Protocol):
    """One way to move particles so that the prior stays as it is."""

    @property
    def name(self) -> str:
        """Return its name in records."""
        ...

    @property
    def first_step(self) -> float:
        """Return the step size at the first level."""
        ...

    @property
    def largest_step(self) -> float:
        """Return the largest step size that adaptation may reach."""
        ...

    def propose(self, particles: Particles, *, step: float, rng: np.random.Generator) -> Proposal:
        """Return the proposals that pass the test of the prior."""
        ...


@runtime_checkable
class Kernel(Protocol):
    """A coordinate system for particles and the moves of one step, in their order."""

    @property
    def name(self) -> str:
        """Return its name in the table of kernels."""
        ...

    @property
    def moves(self) -> tuple[Move, ...]:
        """Return the moves of one step; each asks the scorer once."""
        ...

    def start(self, n: int, *, rng: np.random.Generator) -> Particles:
        """Return independent particles from the prior."""
        ...

    def states(self, particles: Particles) -> Float[np.ndarray, "n D"]:
        """Return the states of particles."""
        ...

    def log_tilt(self, particles: Particles) -> Float[np.ndarray, " n"] | None:
        """Return the log of what each particle counts for; None where all count for one.

        A kernel may start from, and keep, another law than the one whose probability is wanted:
        the mean of these weights over it is 1, and shares are taken of them.
        """
        ...

    def tempered(self, power: float) -> "Kernel":
        """Return the kernel that keeps the law begun from times a power of those weights.

        At 0 that is the law begun from, at 1 the one whose probability is wanted.
        """
        ...
