"""From chains under tilted laws back to the law itself. Unit: nats.

A tilt makes an input likelier by the exponential of beta times its score. Three ways back:

- *self-normalised*: weight every draw by the inverse of its tilt and divide by the sum of weights.
  The sum lives on inputs that a cold chain hardly ever visits; where it misses them the estimate is
  too high, and no chain says so.
- *bridge*: draws from the law itself, at beta 0, are used with those of the chains as one sample,
  each weighted by the mixture that it came from.
- *ladder*: the same with all the rungs between.

All are compared over groups of chains that do not know of one another.
"""

import math
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.stats import t as student

from likely.core.logspace import logsumexp
from likely.stats.importance import effective_sample_size, largest_share
from likely.stats.multistate import fit_log_z, log_weights


@dataclass(frozen=True, slots=True, kw_only=True)
class FromTilted:
    """What draws under tilts say of a probability.

    Attributes:
        log_prob: Nats; ``-inf`` without a hit.
        error: Of the log-probability, by leaving out one group at a time; infinite where all hits
            are of one group.
        n_groups: Groups.
        is_certain: Whether every draw hits.
        effective_draws: Draws of equal weight that would be worth as much for the mean under the
            law.
        largest_share: Of the weights, that one draw has.
        log_z: The mean of the steepest tilt's factor under the law, nats.
    """

    log_prob: float
    error: float
    n_groups: int
    is_certain: bool
    effective_draws: float
    largest_share: float
    log_z: float

    def interval(self, *, level: float) -> tuple[float, float]:
        """Return the interval of Student's law over groups, on the log scale, nats.

        Args:
            level: Coverage, in (0, 1).
        """
        if not math.isfinite(self.error):
            return -math.inf, 0.0
        half = self.error * float(student.isf((1.0 - level) / 2.0, self.n_groups - 1))
        return self.log_prob - half, max(self.log_prob, min(0.0, self.log_prob + half))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TiltedDraws:
    """Draws of several groups, each with the same number from every rung.

    Attributes:
        ladder: Shape ``(R,)``, inverse temperatures.
        counts: Shape ``(R,)``, draws of each group from each rung.
        scores: Shape ``(G, N)``, of each group's draws, whichever rung they are from; nats.
        hits: Shape ``(G, N)``.
    """

    ladder: Float[np.ndarray, "R"]
    counts: Int[np.ndarray, "R"]
    scores: Float[np.ndarray, "G N"]
    hits: Bool[np.ndarray, "G N"]

    def with_plain(
        self, scores: Float[np.ndarray, "G n"], hits: Bool[np.ndarray, "G n"]
    ) -> "TiltedDraws":
        """Return the draws with some from the law itself, as a first rung.

        Args:
            scores: Of as many draws for each group, nats.
            hits: Which of them hit.
        """
        return TiltedDraws(
            ladder=np.concatenate([np.zeros(1), self.ladder]),
            counts=np.concatenate([[scores.shape[1]], self.counts]),
            scores=np.concatenate([scores, self.scores], axis=1),
            hits=np.concatenate([hits, self.hits], axis=1),
        )

    def self_normalised(self) -> FromTilted:
        """Return the estimate from one rung alone by weights that sum to 1."""
        tilts = -self.ladder[-1] * self.scores
        hit = logsumexp(np.where(self.hits, tilts, -np.inf))
        every = logsumexp(tilts)
        others = _others(len(hit))
        return self._found(
            tilts - logsumexp(every), logsumexp(hit[others]) - logsumexp(every[others]),
            log_z=math.log(tilts.size) - float(logsumexp(every)),
        )  # fmt: skip

    def mixture(self) -> FromTilted:
        """Return the estimate from all rungs as one sample; the first rung is the law itself.

        Raises:
            NumericalError: The rungs do not overlap.
        """
        weights, log_z = self._weights(np.arange(len(self.scores)), self._stepping_stones())
        left_out = []
        for rows in _others(len(self.scores)):
            others, _ = self._weights(rows, log_z)
            hit = np.where(self.hits[rows], others, -np.inf)
            left_out.append(float(logsumexp(hit.ravel())))
        return self._found(weights, np.array(left_out), log_z=float(log_z[-1]))

    def _weights(
        self, rows: Int[np.ndarray, "g"], start: Float[np.ndarray, "R"]
    ) -> tuple[Float[np.ndarray, "g N"], Float[np.ndarray, "R"]]:
        scores, counts = self.scores[rows], self.counts * len(rows)
        densities = scores.reshape(-1, 1) * self.ladder
        log_z = fit_log_z(densities, counts, start=start)
        return log_weights(densities, counts, log_z).reshape(scores.shape), log_z

    def _stepping_stones(self) -> Float[np.ndarray, "R"]:
        """Return constants from each rung's draws and the next rung's tilt: a place to begin."""
        ends = np.cumsum(self.counts)
        log_z = [0.0]
        for rung, rise in enumerate(np.diff(self.ladder)):
            draws = self.scores[:, ends[rung] - self.counts[rung] : ends[rung]].reshape(-1)
            log_z.append(log_z[-1] + float(logsumexp(rise * draws)) - math.log(draws.size))
        return np.array(log_z)

    def _found(
        self,
        weights: Float[np.ndarray, "G N"],
        left_out: Float[np.ndarray, "G"],
        *,
        log_z: float,
    ) -> FromTilted:
        n = len(left_out)
        flat = weights.reshape(-1)
        is_certain = bool(self.hits.all())
        error = math.inf
        if np.isfinite(left_out).all():
            error = math.sqrt((n - 1) / n * float(np.sum((left_out - left_out.mean()) ** 2)))
        return FromTilted(
            log_prob=0.0 if is_certain else float(logsumexp(flat[self.hits.reshape(-1)])),
            error=error, n_groups=n, is_certain=is_certain,
            effective_draws=effective_sample_size(flat), largest_share=largest_share(flat),
            log_z=log_z,
        )  # fmt: skip


def _others(n: int) -> Int[np.ndarray, "n m"]:
    """Return for each of ``n`` groups the numbers of the others."""
    return np.stack([np.delete(np.arange(n), one) for one in range(n)])
