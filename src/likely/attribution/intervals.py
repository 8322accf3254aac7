"""Intervals from what was not evaluated: one that always holds, one that assumes. Unit: nats.

Both bound the ratio ``N / D`` of all candidates from the sums over those that were evaluated, and
from bounds on what the others may add. Without an assumption the bounds are the prior mass of
those others, which is nearly always too much to say anything; with one they are narrow and as good
as the assumption.
"""

import math
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from jaxtyping import Float

from likely.attribution.evidence import Evidence
from likely.core.logspace import log_sum, logsumexp

Interval: TypeAlias = tuple[float, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Truncated:
    """Sums over the evaluated candidates, and bounds on the sums over the others. All logs.

    Attributes:
        log_n: Of the evaluated candidates' w a b.
        log_d: Of their w a.
        log_x: Bound on the sum of the others' w a.
        log_y: Bound on the sum of the others' w a b.
        log_beta: Bound on the b of each of the others.
    """

    log_n: float
    log_d: float
    log_x: float
    log_y: float
    log_beta: float

    @property
    def log_ratio(self) -> float:
        """Log of ``N / D`` over the evaluated candidates alone."""
        return self.log_n - self.log_d

    def log_ratio_bounds(self) -> Interval:
        """Return the least and the most that the log of ``N / D`` over all candidates can be.

        With x in [0, X] and y in [0, min(Y, beta x)] the ratio ``(N + y) / (D + x)`` is least at
        ``x = X, y = 0``; it is most where y is as large as x lets it and x no larger than y needs.
        """
        low = self.log_n - log_sum([self.log_d, self.log_x])
        log_y = min(self.log_y, self.log_beta + self.log_x)
        if self.log_beta <= self.log_ratio or log_y == -math.inf:
            return low, self.log_ratio
        log_x = min(self.log_x, self.log_y - self.log_beta)
        return low, log_sum([self.log_n, log_y]) - log_sum([self.log_d, log_x])


def score_interval(log_b: float, sums: Truncated) -> Interval:
    """Return the interval of a score ``log_b - log(N / D)`` that the bounds allow."""
    low, high = sums.log_ratio_bounds()
    return log_b - high, log_b - low


def truncated(evidence: Evidence) -> Truncated:
    """Return the sums over what was evaluated to the end, and bounds that always hold."""
    return _sums(
        evidence,
        log_x=float(logsumexp(evidence.omitted.log_prompt_bound)),
        log_y=float(logsumexp(evidence.omitted.log_response_bound)),
        log_beta=float(evidence.omitted.log_b_bound.max(initial=-np.inf)),
    )


def assumed(evidence: Evidence, *, kappa: float = math.e) -> Truncated:
    """Return the same sums with bounds that hold under an assumption.

    The assumption: no omitted candidate makes the rest of the prompt more than ``kappa`` times as
    likely, nor the response, as the best candidate that was evaluated.

    Args:
        evidence: Of one place.
        kappa: The factor, at least 1.
    """
    done = evidence.inclusion > 0.0
    omitted = evidence.omitted
    best_a = float(evidence.log_prompt[done].max()) + math.log(kappa)
    best_b = float(evidence.log_response[done].sum(axis=1).max()) + math.log(kappa)
    log_x = np.minimum(omitted.log_prompt_bound, omitted.log_prior + best_a)
    log_beta = min(best_b, float(omitted.log_b_bound.max(initial=-np.inf)))
    log_y = np.minimum(omitted.log_response_bound, log_x + best_b)
    return _sums(
        evidence, log_x=float(logsumexp(log_x)), log_y=float(logsumexp(log_y)), log_beta=log_beta
    )


def _sums(evidence: Evidence, *, log_x: float, log_y: float, log_beta: float) -> Truncated:
    done = evidence.inclusion > 0.0
    log_x_done = evidence.log_prior[done] + evidence.log_prompt[done]
    return Truncated(
        log_n=float(logsumexp(log_x_done + evidence.log_response[done].sum(axis=1))),
        log_d=float(logsumexp(log_x_done)),
        log_x=log_x,
        log_y=log_y,
        log_beta=log_beta,
    )


def entropy_intervals(evidence: Evidence, *, n_omitted: int) -> tuple[Interval, Interval]:
    """Return intervals of the entropies of q and of q^r that always hold.

    Args:
        evidence: Of one place.
        n_omitted: At most how many candidates were not evaluated to the end of the response; 0
            where all were.

    Returns:
        Of the entropy given the rest of the prompt, and of that given the response too.
    """
    done = evidence.inclusion > 0.0
    sums = truncated(evidence)
    log_x = evidence.log_prior[done] + evidence.log_prompt[done]
    log_y = log_x + evidence.log_response[done].sum(axis=1)

    def of(log_law: Float[np.ndarray, "n"], log_total: float, log_rest: float) -> Interval:
        log_law = log_law[log_law > -np.inf] - log_total
        return entropy_interval(
            max(0.0, -float(np.sum(np.exp(log_law) * log_law))),
            most_omitted=math.exp(log_rest - log_sum([log_total, log_rest])),
            n_omitted=n_omitted,
        )

    return of(log_x, sums.log_d, sums.log_x), of(log_y, sums.log_n, sums.log_y)


def entropy_interval(entropy: float, *, most_omitted: float, n_omitted: int) -> Interval:
    """Return the interval of an entropy from that of the evaluated candidates.

    With omitted mass eps the entropy is ``(1 - eps) H_S + h(eps) + eps H_T``, where h is that of
    two outcomes and ``0 <= H_T <= log n_omitted``.

    Args:
        entropy: H_S, of the evaluated candidates' law, nats.
        most_omitted: The largest eps that cannot be ruled out, in [0, 1].
        n_omitted: How many candidates were not evaluated.
    """
    if n_omitted == 0 or most_omitted <= 0.0:
        return entropy, entropy
    log_n = math.log(n_omitted)

    def at(eps: float, rest: float) -> float:
        return (1.0 - eps) * entropy + two_outcomes(eps) + eps * rest

    # Both ends are concave in eps: the least is at an end; the most where the derivative is 0.
    least = min(entropy, at(most_omitted, 0.0))
    peak = 1.0 / (1.0 + math.exp(min(700.0, entropy - log_n)))
    return least, at(min(peak, most_omitted), log_n)


def two_outcomes(prob: float) -> float:
    """Return the entropy of a law of two outcomes, one of this probability."""
    if prob <= 0.0 or prob >= 1.0:
        return 0.0
    return -prob * math.log(prob) - (1.0 - prob) * math.log1p(-prob)
