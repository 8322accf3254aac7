"""How an estimate from recombined pairs varies from sample to sample. Unit: nats.

The share of pairs that hit is a sum over two samples which are one and the same, so an activation
counts by what its part along the direction adds and by what its rest adds. There is a third part:
the direction's coordinates are those that are uncorrelated with the rest in the sample, while under
the law they are so up to sampling error only, which moves pairs towards the hits or away from them.
For a normal part along the direction this is the correlation with the mean rest of hits, by Stein's
identity. Left out, intervals of frequent events are a tenth too narrow.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from scipy.stats import norm
from scipy.stats import t as student

from likely.rare.qld.cloud import Cloud
from likely.rare.qld.decomposition import Intervals, log_total
from likely.rare.qld.split import Split
from likely.rare.qld.survival import Counted, Extended
from likely.stats.weighted_counts import gamma_interval

BLOCKS = 20
"""Parts of the sample of which each is left out once, for estimates with a fitted tail."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Pairs:
    """The share of pairs that hit, and what each activation adds to it.

    Attributes:
        count: Pairs that hit, of all ``n^2``.
        influence: Shape ``(n,)``: of each activation on the share, of mean 0.
    """

    count: int
    influence: Float[np.ndarray, "n"]

    @property
    def is_certain(self) -> bool:
        """Whether there is no pair that misses."""
        return self.count == len(self.influence) ** 2

    @property
    def share(self) -> float:
        """Of all pairs."""
        return self.count / len(self.influence) ** 2

    @property
    def variance(self) -> float:
        """Of the share, by the infinitesimal jackknife."""
        return float(np.square(self.influence).sum()) / len(self.influence) ** 2

    @property
    def effective(self) -> float:
        """Independent hits that would give the same relative error; ``n`` where all pairs hit."""
        if self.is_certain:
            return float(len(self.influence))
        return self.share**2 / self.variance if self.count else 0.0

    def interval(self, *, level: float) -> tuple[float, float]:
        """Return logs of both ends; without a hit the limit of ``n`` independent activations.

        Where all pairs hit it is the same limit from the other side, of activations that all hit.
        The variance of few influences of unlike size is itself uncertain; as in Satterthwaite's
        approximation it gets the degrees of freedom that their fourth powers leave. One more hit
        may add twice what any has added, since the largest of few influences is not the largest
        that there can be.
        """
        n, tail = len(self.influence), (1.0 - level) / 2.0
        if not self.count:
            return -math.inf, math.log(-math.expm1(math.log(tail) / n))
        if self.is_certain:
            return math.log(tail) / n, 0.0
        squares = np.square(self.influence)
        freedom = 2.0 * float(squares.sum()) ** 2 / float(np.square(squares).sum())
        stretch = float(student.isf(tail, max(freedom, 1.0)) / norm.isf(tail))
        largest = max(2.0 * float(np.abs(self.influence).max()) / n, 1.0 / n**2)
        error = math.sqrt(self.variance) * stretch
        return gamma_interval(self.share, error, largest=largest, level=level)


def iter_pairs(
    splits: Sequence[Split], cloud: Cloud, found: Sequence[Intervals], laws: Sequence[Counted]
) -> Iterator[Pairs]:
    """Yield for each event how many pairs hit, and the influence of each activation.

    Args:
        splits: One for each event.
        cloud: The activations.
        found: For each event the intervals of all activations.
        laws: For each event the parts along its direction, counted.
    """
    n = len(cloud.points)
    events = list(zip(splits, found, laws, strict=True))
    pulls = np.array([_pull(*event, cloud) for event in events], dtype=np.float32)
    # With the pull, which is at right angles to the direction, a whole point is as its rest.
    leans = pulls.reshape(-1, cloud.rough.shape[1]) @ cloud.rough.T
    for (one, intervals, law), lean in zip(events, leans, strict=True):
        first, after = law.ranks(intervals.low, intervals.high)
        count = int((after - first).sum())
        of_rest = np.bincount(intervals.rows, weights=after - first, minlength=n)
        steps = np.bincount(first, minlength=n + 1) - np.bincount(after, minlength=n + 1)
        of_part = np.empty(n)
        of_part[one.order] = np.cumsum(steps)[:n]
        influence = (of_rest + of_part) / n - 2.0 * count / n**2 + one.along * lean
        yield Pairs(count=count, influence=influence)


def tail_interval(
    split: Split, cloud: Cloud, found: Intervals, law: Extended, *, level: float
) -> tuple[float, float] | None:
    """Return logs of the ends of an interval for an estimate with a fitted tail.

    One part of the sample after the other is left out, on both sides of the pairs, and the tail
    fitted anew; intervals and direction stay.

    Args:
        split: Of the event.
        cloud: The activations.
        found: The intervals of all activations.
        law: The parts along the direction with their tail.
        level: Coverage, in (0, 1).

    Returns:
        Both ends, nats; None where without some part there is no mass at all, or no tail.
    """
    n = len(cloud.points)
    whole = log_total(found, law, n)
    masses = np.exp(law.log_mass(found.low, found.high) - whole) / n
    hazard = np.exp(norm.logpdf(found.low) - norm.logsf(found.low))
    pull = (masses * hazard) @ _rests(split, cloud, found)
    lean = split.along * (cloud.rough @ pull.astype(np.float32))
    part = np.arange(n) % BLOCKS
    logs = np.empty(BLOCKS)
    for block in range(BLOCKS):
        left = part != block
        refitted = law.refit(split.values[left[split.order]])
        if refitted is None:
            return None
        rest = found.without(part[found.rows] == block)
        logs[block] = log_total(rest, refitted, int(left.sum())) + float(lean[left].mean())
    if not np.isfinite(logs).all():
        return None
    error = math.sqrt((BLOCKS - 1) / BLOCKS * float(np.square(logs - logs.mean()).sum()))
    half = error * float(student.isf((1.0 - level) / 2.0, BLOCKS - 1))
    return whole - half, min(whole + half, 0.0)


def _pull(split: Split, found: Intervals, law: Counted, cloud: Cloud) -> Float[np.ndarray, "d"]:
    """Return the mean of part times rest over all pairs, those that do not hit counting 0."""
    first, after = law.ranks(found.low, found.high)
    sums = np.concatenate([np.zeros(1), np.cumsum(law.values)])
    return np.asarray(
        (sums[after] - sums[first]) @ _rests(split, cloud, found) / len(cloud.points) ** 2
    )


def _rests(split: Split, cloud: Cloud, found: Intervals) -> Float[np.ndarray, "m d"]:
    """Return the part of activations that is not along the direction, for each interval."""
    return np.asarray(cloud.points[found.rows] - split.along[found.rows, None] * split.direction)
