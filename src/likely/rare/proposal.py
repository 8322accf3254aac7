"""The method ``proposal``: inputs drawn from another law, weighted back. Unit: nats.

Where a user knows what kind of input makes the event likely, a law that favours such inputs finds
hits that the law of interest hardly ever does. Each drawn input counts by the ratio of its two
probabilities, which keeps the estimate unbiased; how far it can be trusted is seen from the
weights.
"""

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from jaxtyping import Bool, Float

from likely.core.logspace import logsumexp, prob_text
from likely.errors import InputError
from likely.rare.inputs import (
    IndependentDistribution,
    InputDistribution,
    ListedDistribution,
    check_fits,
)
from likely.rare.method import Task, iter_shared
from likely.rare.reading import Reader
from likely.rare.result import Found, Quantity, Spent
from likely.stats.importance import effective_sample_size, largest_share
from likely.stats.weighted_counts import gamma_interval

FEW = 10.0
"""Effective hits below which an estimate is called coarse."""
_ROUNDING = 1e-9  # nats by which the mean of weights of 1 may miss 0
_PROBED = 1024  # inputs of the law that are tried where supports cannot be compared whole


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposalImportance:
    """Draws inputs from a proposal and weighs hits by the ratio of the two laws.

    Attributes:
        proposal: A law of inputs of the same length that gives a positive probability to every
            input of the law of interest.

    Raises:
        InputError: The proposal is no law of inputs.
    """

    name: ClassVar[str] = "proposal"
    quantity: ClassVar[Quantity] = "inputs"

    proposal: InputDistribution

    def __post_init__(self) -> None:
        if not isinstance(self.proposal, InputDistribution):
            raise InputError(
                f"a proposal is a law of inputs, such as rare.independent(...), got "
                f"{self.proposal!r}"
            )

    def run(self, task: Task) -> tuple[Found, ...]:
        """Return the weighted share of hits of each event, from the same inputs.

        Raises:
            InputError: The proposal leaves out inputs of the law of interest, or its inputs are of
                another length.
        """
        check_fits(self.proposal, task.model, events=task.events)
        check_covers(self.proposal, task)
        reader = Reader(task.model, settings=task.settings, progress=task.progress)
        names = (self.name, self.proposal.fingerprint)
        log_weights = []
        hits: list[list[Bool[np.ndarray, "b"]]] = [[] for _ in task.events]
        for inputs, served in iter_shared(task, self.proposal, *names):
            log_weights.append(task.distribution.log_prob(inputs) - self.proposal.log_prob(inputs))
            found = reader.hits(inputs, [task.events[place] for place in served])
            for place, column in zip(served, found.T, strict=True):
                hits[place].append(column)
        weights = np.concatenate(log_weights)
        share = reader.meter.spent.divided(len(task.events))
        most = largest_log_weight(task.distribution, self.proposal)
        return tuple(
            weighted(
                np.where(hit, weights[: len(hit)], -np.inf),
                weights[: len(hit)],
                level=task.level,
                most=most,
                spent=share,
            )
            for hit in map(np.concatenate, hits)
        )


def weighted(
    log_hits: Float[np.ndarray, "n"],
    log_weights: Float[np.ndarray, "n"],
    *,
    level: float,
    most: float,
    spent: Spent,
) -> Found:
    """Return the mean of weights of hits, with its interval and what the weights are worth.

    Few heavy draws may put the mean above 1. It is left there, since cutting it off would make it
    too small on average; a warning says so, and the interval ends at 1, or at the mean itself so as
    to hold it.

    Args:
        log_hits: Shape ``(n,)``, nats: the log-weight of each draw that hits, ``-inf`` elsewhere.
        log_weights: Shape ``(n,)``, nats: of every draw.
        level: Coverage, in (0, 1).
        most: The largest log-weight that any draw can have, ``+inf`` where that is not known.
        spent: What it took.
    """
    n = len(log_hits)
    log_total = float(logsumexp(log_hits))
    log_prob = log_total - math.log(n)
    if abs(log_prob) <= _ROUNDING:
        log_prob = 0.0
    low, high = _interval(log_hits, level=level, most=most)
    effective = effective_sample_size(log_hits)
    warnings = []
    if log_total == -math.inf:
        warnings.append(_no_hit(n, high))
    elif effective < FEW:
        warnings.append(
            f"hits are worth {effective:.2g} draws of equal weight, and one of them has "
            f"{largest_share(log_hits):.0%} of the estimate: it may be far too small"
        )
    if log_prob > 0.0:
        warnings.append(
            f"the weighted mean is {prob_text(log_prob)}, which no probability is: it is right on "
            "average over seeds, but in this run heavy draws came too often; the probability is at "
            "most 1, and the interval goes above only to hold the mean"
        )
    return Found(
        log_prob=log_prob, low=min(low, log_prob), high=max(high, log_prob), spent=spent,
        diagnostics={
            "hits": int(np.isfinite(log_hits).sum()), "draws": n,
            "effective_hits": effective, "largest_share": largest_share(log_hits),
            "effective_sample_size": effective_sample_size(log_weights),
            "log_mean_weight": float(logsumexp(log_weights)) - math.log(n),
        },
        warnings=tuple(warnings),
    )  # fmt: skip


def largest_log_weight(law: InputDistribution, proposal: InputDistribution) -> float:
    """Return the largest log-ratio of two laws over all inputs; ``+inf`` where it is not known.

    Where it is known, no hit at all still bounds the probability from above.
    """
    if isinstance(law, IndependentDistribution) and isinstance(proposal, IndependentDistribution):
        return math.fsum(
            float((one.log_probs - other.log_prob(one.tokens)).max())
            for one, other in zip(law.supports, proposal.supports, strict=True)
        )
    if isinstance(law, ListedDistribution):
        inputs = law.inputs
        return float((law.log_prob(inputs) - proposal.log_prob(inputs)).max())
    return math.inf


def check_covers(proposal: InputDistribution, task: Task) -> None:
    """Raise unless inputs of the law of interest can come from the proposal.

    Of two laws with independent places, and of listed inputs, this is checked for every input; of
    others for a thousand draws.

    Raises:
        InputError: One cannot, or inputs are of another length.
    """
    law = task.distribution
    if law.length != proposal.length:
        raise InputError(
            f"inputs of {law.name!r} have {law.length} tokens, those of the proposal "
            f"{proposal.name!r} {proposal.length}; give a proposal of the same length"
        )
    if isinstance(law, IndependentDistribution) and isinstance(proposal, IndependentDistribution):
        for place, (one, other) in enumerate(zip(law.supports, proposal.supports, strict=True)):
            missing = one.tokens[np.isneginf(other.log_prob(one.tokens))]
            if len(missing):
                text = task.model.tokenizer.decode([int(missing[0])])
                raise InputError(
                    f"the proposal {proposal.name!r} never has token {text!r} in place {place}, "
                    f"where {law.name!r} has it; give it some weight there"
                )
        return
    if isinstance(law, ListedDistribution):
        inputs = law.inputs
    else:
        inputs = law.sample(_PROBED, rng=task.stream(None, "proposal", "cover"))
    left_out = np.flatnonzero(np.isneginf(proposal.log_prob(inputs)))
    if len(left_out):
        raise InputError(
            f"the proposal {proposal.name!r} never draws the input {inputs[left_out[0]].tolist()} "
            f"of {law.name!r}; give it some weight"
        )


def _interval(
    log_hits: Float[np.ndarray, "n"], *, level: float, most: float
) -> tuple[float, float]:
    """Return both ends, computed in units of the largest weight so that nothing underflows."""
    n = len(log_hits)
    largest = float(log_hits.max())
    unit = most if largest == -math.inf else largest
    if not math.isfinite(unit):
        return -math.inf, 0.0
    values = np.exp(log_hits - unit)
    mean = float(values.mean())
    # Draws that all hit with one weight still do not make it certain that the next one does.
    error = max(float(values.std()) / math.sqrt(n), 2.0 * mean / n)
    low, high = gamma_interval(mean, error, largest=1.0 / n, level=level)
    return min(low + unit, 0.0), min(high + unit, 0.0)


def _no_hit(n: int, high: float) -> str:
    if high == 0.0:
        return f"no hit among {n:,} draws of the proposal: nothing is known, not even from above"
    return (
        f"no hit among {n:,} draws of the proposal: only the upper end says something, for the "
        "largest weight that an input can have"
    )
