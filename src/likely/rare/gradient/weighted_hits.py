"""The mean of weighted hits, and how far it may be off. Unit: nats.

Each draw contributes its weight where the event happens and 0 elsewhere; all contributions have the
probability as their expectation, though not the same law.
"""

import math
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float
from scipy.stats import t as student

from likely.core.logspace import log_of, logsumexp
from likely.stats.importance import effective_sample_size, largest_share
from likely.stats.intervals import clopper_pearson


@dataclass(frozen=True, slots=True, kw_only=True)
class WeightedHits:
    """What draws of known weight say of a probability.

    Attributes:
        log_prob: The mean contribution, nats; ``-inf`` without a hit.
        n: Draws.
        hits: How many of them hit.
        effective_hits: Hits of equal weight that would be worth as much.
        largest_share: Of the sum, that one hit makes.
        is_plain: Whether every draw has the weight 1.
    """

    log_prob: float
    n: int
    hits: int
    effective_hits: float
    largest_share: float
    is_plain: bool

    @classmethod
    def of(cls, log_weights: Float[np.ndarray, "n"], hits: Bool[np.ndarray, "n"]) -> "WeightedHits":
        """Return it of draws, at least one.

        Args:
            log_weights: Nats.
            hits: Which of the draws hit.
        """
        found = log_weights[hits]
        return cls(
            log_prob=float(logsumexp(found)) - math.log(len(hits)),
            n=len(hits), hits=len(found),
            effective_hits=effective_sample_size(found),
            largest_share=largest_share(found) if len(found) else 0.0,
            is_plain=not log_weights.any(),
        )  # fmt: skip

    def interval(self, *, level: float) -> tuple[float, float]:
        """Return an interval for the log-probability, nats.

        The squared relative error is 1/e - 1/n for e effective hits among n draws, and the log of
        the mean is taken to be off by as much, with the quantile of Student's law of e - 1 degrees
        of freedom (1 at the least): over replicates on small models this covers best of what was
        tried where hits are few (see the page on theory). It knows only of what was drawn: where
        the draws miss most of the event it is too low, and the warnings are all there is. Draws
        that all hit with one weight do not make it certain that the next one does: the relative
        error is 2/n at the least. With weights of 1 the interval is that of Clopper and Pearson.
        Without a hit nothing is known beyond what the caller knows.

        Args:
            level: Coverage, in (0, 1).
        """
        if self.is_plain:
            low, high = clopper_pearson(self.hits, self.n, level=level)
            return log_of(low), log_of(high)
        if self.hits == 0:
            return -math.inf, 0.0
        square = 1.0 / self.effective_hits - 1.0 / self.n
        error = math.sqrt(max(square, 4.0 / self.n**2))
        df = max(1.0, self.effective_hits - 1.0)
        half = error * float(student.isf((1.0 - level) / 2.0, df))
        return self.log_prob - half, max(self.log_prob, min(0.0, self.log_prob + half))
