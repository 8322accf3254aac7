"""Records of splitting: a move, a level, a run, and all replicates of a target. Unit: nats."""

from dataclasses import asdict, dataclass
from typing import Literal

Stop = Literal["threshold", "extinct", "stuck", "max_levels"]


@dataclass(frozen=True, slots=True, kw_only=True)
class MoveRecord:
    """What a move did at one level.

    Attributes:
        name: Of the move.
        step: Its step size, frozen inside the level.
        prior_acceptance: Share of its proposals that passed the test of the prior.
        wall_acceptance: Share of those whose score reached the level; None if none was scored.
        acceptance: Share of all proposals that were accepted.
        jump: Mean squared jump of the last step, per coordinate that the move changes, rejected
            proposals counted as 0.
    """

    name: str
    step: float
    prior_acceptance: float
    wall_acceptance: float | None
    acceptance: float
    jump: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Level:
    """One level of a run.

    Attributes:
        level: The score that had to be reached.
        n_particles: Particles before.
        n_alive: Those whose score reached it; where particles climb by a bound, whose bound did,
            but at the last level the score in any case.
        log_prob: Log of the estimate for this level, of the score itself: the product of the
            shares before it, times the share whose score reaches it.
        n_ancestors: First particles from which those alive descend.
        moves: What the moves then did; none at the last level.
        score_lag1: Correlation of scores one step apart, over particles and steps; None where
            scores did not vary or no step was made.
        score_kept: Correlation of the scores before the first step and after the last.
        never_moved: Share of particles for which no proposal was accepted; None without steps.
        runner_up: Closest rivals of those alive and their shares, largest first, if asked for.
    """

    level: float
    n_particles: int
    n_alive: int
    log_prob: float
    n_ancestors: int
    moves: tuple[MoveRecord, ...] = ()
    score_lag1: float | None = None
    score_kept: float | None = None
    never_moved: float | None = None
    runner_up: tuple[tuple[int, float], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One run towards one target.

    Attributes:
        log_prob: Log of the estimate; ``-inf`` if the run went extinct, which is an estimate of 0;
            None if it was given up before the threshold, which is no estimate.
        stop: ``threshold``; ``extinct``: no particle reached a frozen level; ``stuck``: no
            particle is above the last level; ``max_levels``.
        levels: In their order.
        relative_variance: Variance of the estimate as a share of its square, from this run alone;
            None if it did not reach the threshold. It nears 1 when few ancestors are left.
        n_particles: That it kept.
        n_ancestors: First particles from which the last ones descend.
        n_scored: States that were scored, against some rivals or all.
        log_reached: Log of the estimate for the last level that a particle reached: where there
            is no estimate, or one of 0, the probability sought is below what this estimates.
        n_killed: Where only clones move: particles that died in all; None elsewhere.
        n_passes: The same: how often the lowest died. One at a time is meant to be as many passes
            as deaths, but a clone that never moved dies with its parent. None where particles do
            not all count for one, so that their number is not Poisson with the probability.
    """

    log_prob: float | None
    stop: Stop
    levels: tuple[Level, ...]
    relative_variance: float | None
    n_particles: int
    n_ancestors: int
    n_scored: int
    n_killed: int | None = None
    n_passes: int | None = None
    log_reached: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class BulkLevel:
    """One level, as the prior has it and as the fitted states have it.

    Attributes:
        level: The score.
        log_prob: Log-probability under the prior, from splitting.
        log_empirical: Log of the share of the fitted states that reach it.
        n_reaching: How many of them do; of unequal weight, how many equal ones they are worth.
        is_mismatch: Whether the two differ by more than 0.5 nats.
    """

    level: float
    log_prob: float
    log_empirical: float
    n_reaching: int
    is_mismatch: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Hybrid:
    """The share of the fitted states at a level, times the prior's tail beyond it.

    Attributes:
        level: The score where the one passes into the other.
        n_reaching: Fitted states that reach it.
        log_tail: Log-probability of the event, under the prior, given that the level is reached.
        log_prob: Log of the product.
        low: Lower end of its interval, nats.
        high: Upper end.
    """

    level: float
    n_reaching: int
    log_tail: float
    log_prob: float
    low: float
    high: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Combined:
    """What replicates say together, in nats.

    Attributes:
        log_prob: Log of the mean of the estimates, zeros among them; None if a run gave none.
        low: Lower end of the interval.
        high: Upper end; where the mean is 0 or missing, that for a level that was reached.
        log_scale: Interval of the mean on the log scale: ``log_prob -+ t * relative_error``.
        linear: Interval ``mean -+ t * error``; ``-inf`` where an end is not positive.
        floor: ``log_prob`` plus the log of one minus the coverage: by Markov's inequality alone
            the probability is at least this, with that coverage, for unbiased estimates.
        relative_error: Of the mean; None if it is 0 or missing, or nothing tells it.
        basis: What the ends rest on, in one sentence.
    """

    log_prob: float | None
    low: float
    high: float
    log_scale: tuple[float, float] | None
    linear: tuple[float, float] | None
    floor: float
    relative_error: float | None
    basis: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Splitting:
    """All replicates of one target.

    Attributes:
        target: Its number among those estimated together.
        mode: How the probability was split.
        kernel: How particles moved.
        level: Coverage of the intervals.
        combined: The estimate and its intervals.
        runs: The replicates.
        pilot: The run that chose levels and step sizes, if any; its estimate is not used.
        n_scored: States that were scored, the pilot's among them.
        excess: Spread of the replicates over the ideal one, or None; above 2, particles mix badly.
        poisson_score: Interval of the last-particle estimate by the score test, nats.
        poisson_exact: The same by Garwood; both only where almost all particles died alone.
        bulk: Levels that enough fitted states reach.
        hybrid: The estimate that takes the bulk from the fitted states.
        warnings: Sentences.
    """

    target: int
    mode: str
    kernel: str
    level: float
    combined: Combined
    runs: tuple[Run, ...]
    pilot: Run | None
    n_scored: int
    excess: float | None
    poisson_score: tuple[float, float] | None = None
    poisson_exact: tuple[float, float] | None = None
    bulk: tuple[BulkLevel, ...] = ()
    hybrid: Hybrid | None = None
    warnings: tuple[str, ...] = ()

    @property
    def log_prob(self) -> float | None:
        """Return the log of the mean estimate; None if a run gave none."""
        return self.combined.log_prob

    @property
    def n_extinct(self) -> int:
        """Return how many replicates estimate 0."""
        return sum(run.stop == "extinct" for run in self.runs)

    def to_dict(self) -> dict[str, object]:
        """Return all fields as plain values for `likely.core.jsonio`."""
        return asdict(self)
