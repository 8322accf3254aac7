"""Markov kernels that keep a prior, and, with a wall, the prior given a score. Unit: nats.

A wall (reject any proposal whose score is below the level) turns a move that is reversible for
the prior into one that is reversible for the prior given that the score reaches the level. The
prior is tested first, and only proposals that pass it are scored: both tests must pass anyway.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float, Int

from likely.errors import CapabilityError, UnknownNameError
from likely.rare.prior.protocol import Latent, Prior, Tilted
from likely.rare.splitting.particles import Kernel, Move, Particles, Proposal

_LARGEST = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class MalaMove:
    """Langevin move by the prior's gradient alone, in whitened coordinates."""

    prior: Prior
    name: str = "mala"
    largest_step: float = _LARGEST

    @property
    def first_step(self) -> float:
        """Return the step size at the first level."""
        return 0.15 * float(np.cbrt(16.0 / self.prior.dim))

    def propose(self, particles: Particles, *, step: float, rng: np.random.Generator) -> Proposal:
        """Return the proposals that pass the test of the prior."""
        old = particles.position
        noise = rng.standard_normal(old.shape)
        new = old + step * self.prior.gradient(old) + math.sqrt(2.0 * step) * noise
        ratio = mala_log_ratio(self.prior, old, new, step=step)
        where = _passing(ratio, rng)
        return Proposal(where=where, states=self.prior.to_states(new[where]), position=new[where])


def mala_log_ratio(
    prior: Prior, old: Float[np.ndarray, "n d"], new: Float[np.ndarray, "n d"], *, step: float
) -> Float[np.ndarray, " n"]:
    """Return the log of the Metropolis-Hastings ratio of Langevin proposals.

    The proposal from ``u`` is Gaussian around ``u + step * gradient(u)`` with variance
    ``2 * step`` in every coordinate.
    """
    there = new - old - step * prior.gradient(old)
    back = old - new - step * prior.gradient(new)
    proposals = np.einsum("nd,nd->n", there, there) - np.einsum("nd,nd->n", back, back)
    return np.asarray(prior.log_density(new) - prior.log_density(old) + proposals / (4.0 * step))


@dataclass(frozen=True, slots=True, kw_only=True)
class RadialMove:
    """Multiply whitened coordinates by a log-normal number.

    Steps of a fixed size hardly change the length of a vector in many dimensions, and under a
    heavy-tailed prior the rare event is reached by length: without this move the particles keep
    the lengths they had (see the tests of `mala`).
    """

    prior: Prior
    name: str = "radial"
    first_step: float = 0.25
    largest_step: float = _LARGEST

    def propose(self, particles: Particles, *, step: float, rng: np.random.Generator) -> Proposal:
        """Return the proposals that pass the test of the prior."""
        old = particles.position
        logs = step * rng.standard_normal(len(old))
        ratio = radial_log_ratio(self.prior, old, logs)
        where = _passing(ratio, rng)
        new = old[where] * np.exp(logs[where])[:, None]
        return Proposal(where=where, states=self.prior.to_states(new), position=new)


def radial_log_ratio(
    prior: Prior, old: Float[np.ndarray, "n d"], logs: Float[np.ndarray, " n"]
) -> Float[np.ndarray, " n"]:
    """Return the log of the Metropolis-Hastings ratio of multiplying by ``exp(logs)``.

    The term ``dim * logs`` is the volume that the multiplication makes.
    """
    new = old * np.exp(logs)[:, None]
    return np.asarray(prior.log_density(new) - prior.log_density(old) + old.shape[1] * logs)


@dataclass(frozen=True, slots=True, kw_only=True)
class GaussianMove:
    """Mix the Gaussian part with a fresh draw of its law: exact under the prior, at any step.

    Sources:
        Cotter, Roberts, Stuart and White (2013), "MCMC methods for functions": preconditioned
        Crank-Nicolson.
    """

    prior: Latent
    name: str = "gaussian"
    first_step: float = 0.5
    largest_step: float = 1.0

    def propose(self, particles: Particles, *, step: float, rng: np.random.Generator) -> Proposal:
        """Return a proposal for every particle: there is no prior ratio to test."""
        new = _mixed(self.prior, particles.position, step=step, rng=rng)
        return Proposal(
            where=np.arange(len(particles)),
            states=self.prior.assemble(new, particles.mixing),
            position=new,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class JointMove:
    """Walk on the mixing numbers and mix the Gaussian part, accepted or rejected together.

    Above a wall the two parts lean on each other: a wider scale leaves room for a smaller Gaussian
    part. One proposal for both costs one scoring, and the test of the prior, which only the mixing
    numbers can fail, comes before the Gaussian draws.
    """

    prior: Latent
    name: str = "joint"
    first_step: float = 0.5
    largest_step: float = 1.0

    def propose(self, particles: Particles, *, step: float, rng: np.random.Generator) -> Proposal:
        """Return the proposals that pass the test of the prior."""
        moved, ratio = self.prior.move_mixing(particles.mixing, step=2.0 * step, rng=rng)
        where = _passing(ratio, rng)
        mixing = moved[where]
        new = _mixed(self.prior, particles.position[where], step=step, rng=rng)
        states = self.prior.assemble(new, mixing)
        return Proposal(where=where, states=states, position=new, mixing=mixing)


def _mixed(
    prior: Latent, old: Float[np.ndarray, "n g"], *, step: float, rng: np.random.Generator
) -> Float[np.ndarray, "n g"]:
    """Return Gaussian parts shrunk by ``sqrt(1 - step**2)`` plus ``step`` times fresh draws."""
    new = prior.draw_gaussian(len(old), rng=rng)
    new *= step
    new += math.sqrt(1.0 - step * step) * old
    return new


@dataclass(frozen=True, slots=True, kw_only=True)
class MixingMove:
    """Walk on the mixing numbers (log lambda; the component of a mixture)."""

    prior: Latent
    name: str = "mixing"
    first_step: float = 1.0
    largest_step: float = _LARGEST

    def propose(self, particles: Particles, *, step: float, rng: np.random.Generator) -> Proposal:
        """Return the proposals that change something and pass the test of the prior."""
        moved, ratio = self.prior.move_mixing(particles.mixing, step=step, rng=rng)
        where = _passing(ratio, rng)
        where = where[np.any(moved[where] != particles.mixing[where], axis=1)]
        mixing = moved[where]
        states = self.prior.assemble(particles.position[where], mixing)
        return Proposal(where=where, states=states, mixing=mixing)


def _passing(ratio: Float[np.ndarray, " n"], rng: np.random.Generator) -> Int[np.ndarray, " k"]:
    """Return the rows that pass a Metropolis test of these log-ratios."""
    uniform = 1.0 - rng.random(len(ratio))  # in (0, 1]: its log is finite
    return np.flatnonzero(np.log(uniform) <= ratio)


@dataclass(frozen=True, slots=True, kw_only=True)
class WhitenedKernel:
    """Particles in the whitened coordinates of any prior."""

    name: str
    prior: Prior
    moves: tuple[Move, ...]

    def start(self, n: int, *, rng: np.random.Generator) -> Particles:
        """Return independent particles from the prior."""
        return Particles(position=self.prior.sample(n, rng=rng), mixing=np.empty((n, 0)))

    def states(self, particles: Particles) -> Float[np.ndarray, "n D"]:
        """Return the states of particles."""
        return self.prior.to_states(particles.position)

    def log_tilt(self, particles: Particles) -> None:
        """Return None: particles begin by the prior itself."""

    def tempered(self, power: float) -> "WhitenedKernel":
        """Return the kernel itself: all particles count for one."""
        return self


@dataclass(frozen=True, slots=True, kw_only=True)
class LatentKernel:
    """Particles as a Gaussian part and mixing numbers of a latent prior."""

    name: str
    prior: Latent
    moves: tuple[GaussianMove | JointMove | MixingMove, ...]

    def start(self, n: int, *, rng: np.random.Generator) -> Particles:
        """Return independent particles from the prior."""
        gaussian = self.prior.draw_gaussian(n, rng=rng)
        return Particles(position=gaussian, mixing=self.prior.draw_mixing(n, rng=rng))

    def states(self, particles: Particles) -> Float[np.ndarray, "n D"]:
        """Return the states of particles."""
        return self.prior.assemble(particles.position, particles.mixing)

    def log_tilt(self, particles: Particles) -> Float[np.ndarray, " n"] | None:
        """Return the log of what each particle counts for; None where all count for one."""
        return self.prior.log_tilt(particles.mixing) if isinstance(self.prior, Tilted) else None

    def tempered(self, power: float) -> "LatentKernel":
        """Return the kernel that keeps a power of what particles count for."""
        if not isinstance(self.prior, Tilted):
            return self
        prior = self.prior.tempered(power)
        moves = tuple(replace(move, prior=prior) for move in self.moves)
        return replace(self, prior=prior, moves=moves)


def mala(prior: Prior | Latent) -> Kernel:
    """Return the plain Langevin kernel, kept to show how it fails under heavy tails.

    Raises:
        CapabilityError: The prior has no density in whitened coordinates.
    """
    whitened = _whitened(prior)
    return WhitenedKernel(name="mala", prior=whitened, moves=(MalaMove(prior=whitened),))


def mala_radial(prior: Prior | Latent) -> Kernel:
    """Return the Langevin kernel with a radial move after each Langevin move.

    Raises:
        CapabilityError: The prior has no density in whitened coordinates.
    """
    whitened = _whitened(prior)
    moves = (MalaMove(prior=whitened), RadialMove(prior=whitened))
    return WhitenedKernel(name="mala_radial", prior=whitened, moves=moves)


def aug(prior: Prior | Latent) -> Kernel:
    """Return the kernel of joint moves, each followed by a move of the mixing numbers alone.

    Raises:
        CapabilityError: The prior has no latent form.
    """
    latent, mixes = _latent(prior)
    if not mixes:
        return LatentKernel(name="aug", prior=latent, moves=(GaussianMove(prior=latent),))
    moves = (JointMove(prior=latent), MixingMove(prior=latent))
    return LatentKernel(name="aug", prior=latent, moves=moves)


def aug_separate(prior: Prior | Latent) -> Kernel:
    """Return the kernel that moves the Gaussian part, then the mixing numbers; to compare with.

    Raises:
        CapabilityError: The prior has no latent form.
    """
    latent, mixes = _latent(prior)
    moves: tuple[GaussianMove | MixingMove, ...] = (GaussianMove(prior=latent),)
    if mixes:
        moves = (*moves, MixingMove(prior=latent))
    return LatentKernel(name="aug_separate", prior=latent, moves=moves)


def _whitened(prior: Prior | Latent) -> Prior:
    """Return a prior as one with a density.

    Raises:
        CapabilityError: It has a latent form only.
    """
    if not isinstance(prior, Prior):
        raise CapabilityError(
            f"this kernel needs a prior with a density, got {type(prior).__name__!r}; use the "
            "kernel 'aug'"
        )
    return prior


def _latent(prior: Prior | Latent) -> tuple[Latent, bool]:
    """Return a prior as a latent one, and whether it has mixing numbers.

    Raises:
        CapabilityError: It has no latent form.
    """
    if not isinstance(prior, Latent):
        raise CapabilityError(
            f"this kernel needs a prior with a latent form, got {type(prior).__name__!r}; "
            "use the kernel 'mala_radial'"
        )
    return prior, bool(prior.draw_mixing(1, rng=np.random.default_rng(0)).shape[1])


KERNELS: dict[str, Callable[[Prior | Latent], Kernel]] = {
    "aug": aug,
    "aug_separate": aug_separate,
    "mala_radial": mala_radial,
    "mala": mala,
}
"""Name to a function of a prior."""


def make_kernel(name: str, prior: Prior | Latent) -> Kernel:
    """Return the kernel of this name for a prior.

    Raises:
        UnknownNameError: No kernel of that name.
        CapabilityError: The prior lacks what the kernel needs.
    """
    if name not in KERNELS:
        raise UnknownNameError.among("kernel", name, KERNELS)
    return KERNELS[name](prior)
