"""What a model earns on a formula beyond chance. Units: nats, bits, and shares of bits."""

import math
import warnings
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from likely.core.logspace import check_log_probs
from likely.errors import InputError, LikelyWarning, NumericalError
from likely.logic.formula import Formula
from likely.logic.informativeness import LN2, Informativeness, informativeness
from likely.logic.odds import Numbers, ground, log_prob_of, read_odds


@dataclass(frozen=True, slots=True, kw_only=True)
class Scores:
    """What a model earns on one formula, corrected for chance in four ways.

    Attributes:
        bits: Of the formula, as in `Informativeness`; 0 for a tautology.
        log_prob: Log-probability that the formula holds, nats.
        log_prob_broken: Log-probability that it does not, nats.
        chance_corrected: ``(P - P0) / (1 - P0)``: 1 perfect, 0 chance, and far below 0 where chance
            is high. None for a tautology.
        log_ratio_bits: ``log2(P / P0)``, the bits of the formula that the model has earned: at most
            ``bits``, and additive over formulas that share no event. ``-inf`` where P is 0.
        normalised_log_ratio: The same divided by ``bits``: 1 perfect, 0 chance. None for a
            tautology.
        log_odds_gain: ``logit P - logit P0`` in nats: changes its sign alone where the formula is
            negated. None where it is not finite or minus infinite: at P = 1, and for a tautology.
    """

    bits: float
    log_prob: float
    log_prob_broken: float
    chance_corrected: float | None
    log_ratio_bits: float
    normalised_log_ratio: float | None
    log_odds_gain: float | None

    @property
    def prob(self) -> float:
        """The probability that the formula holds."""
        return math.exp(self.log_prob)

    def to_dict(self) -> dict[str, float | None]:
        """Return the fields as a mapping that `likely.core.jsonio` writes as strict JSON."""
        return {
            "bits": self.bits,
            "prob": self.prob,
            "log_prob": self.log_prob,
            "log_prob_broken": self.log_prob_broken,
            "chance_corrected": self.chance_corrected,
            "log_ratio_bits": self.log_ratio_bits,
            "normalised_log_ratio": self.normalised_log_ratio,
            "log_odds_gain": self.log_odds_gain,
        }


def scores(
    formula: Formula | str, probs: Numbers | None = None, *, log_odds: Numbers | None = None
) -> Scores:
    """Return what a model with these event probabilities earns on the formula.

    Args:
        formula: Ground.
        probs: Probability of each event of the formula.
        log_odds: Log-odds of each event in nats, instead of ``probs``.

    Raises:
        InputError: The formula cannot be read, or an event has no or no valid probability.
        InconsistentTheory: No assignment satisfies the formula.

    >>> earned = scores("a & !b", {"a": 0.9, "b": 0.2})
    >>> round(earned.chance_corrected, 4), round(earned.log_ratio_bits, 4)
    (0.6267, 1.5261)
    """
    formula = ground(formula)
    odds = read_odds([formula], probs=probs, log_odds=log_odds)
    return scores_from(
        log_prob_of(formula, odds), log_prob_of(~formula, odds), informativeness(formula)
    )


def scores_from(log_prob: float, log_prob_broken: float, info: Informativeness) -> Scores:
    """Return the scores for log-probabilities that are already known.

    Args:
        log_prob: Of the formula, nats. With the next one, because 1 minus a probability near 1
            keeps no digits.
        log_prob_broken: Of its negation, nats.
        info: Of the formula.

    Raises:
        NumericalError: A log-probability is NaN or positive.
    """
    return scores_between(
        log_prob=log_prob,
        log_prob_broken=log_prob_broken,
        log_chance=info.log_chance,
        log_chance_broken=info.log_chance_broken,
    )


def scores_between(
    *, log_prob: float, log_prob_broken: float, log_chance: float, log_chance_broken: float
) -> Scores:
    """Return the scores for two laws under which a formula, given some evidence, was asked.

    Args:
        log_prob: Of the formula under the model, nats.
        log_prob_broken: Of its negation.
        log_chance: Of the formula under chance.
        log_chance_broken: Of its negation; ``-inf`` for a tautology.

    Raises:
        NumericalError: A log-probability is NaN or positive.
    """
    told = [log_prob, log_prob_broken, log_chance, log_chance_broken]
    check_log_probs(np.array(told), what="the scores of a formula")
    bits = 0.0 - log_chance / LN2
    ratio = (log_prob - log_chance) / LN2
    corrected = normalised = gain = None
    if log_chance_broken > -math.inf:
        corrected = -math.expm1(log_prob_broken - log_chance_broken)
        normalised = ratio / bits
        if log_prob_broken > -math.inf:
            gain = (log_prob - log_prob_broken) - (log_chance - log_chance_broken)
    return Scores(
        bits=bits,
        log_prob=log_prob,
        log_prob_broken=log_prob_broken,
        chance_corrected=corrected,
        log_ratio_bits=ratio,
        normalised_log_ratio=normalised,
        log_odds_gain=gain,
    )


def corpus_score(earned: Iterable[Scores]) -> float:
    """Return the share of all bits of many formulas that a model has earned.

    This is the sum of the log-ratios over the sum of the bits: 1 perfect, 0 chance. Raw
    probabilities of formulas that differ in bits have no meaningful mean; this has.

    Args:
        earned: Scores of the formulas. Tautologies are left out.

    Warns:
        LikelyWarning: There are tautologies among them.

    Raises:
        InputError: No formula says anything.

    >>> p = {"a": 0.9, "b": 0.2}
    >>> round(corpus_score([scores("a", p), scores("a & !b", p)]), 4)
    0.7914
    """
    everything = list(earned)
    kept = [item for item in everything if item.normalised_log_ratio is not None]
    if len(kept) < len(everything):
        warnings.warn(
            f"{len(everything) - len(kept)} of {len(everything)} formulas are tautologies, on "
            "which every model scores the same; they are left out",
            LikelyWarning,
            stacklevel=2,
        )
    if not kept:
        raise InputError("a corpus score needs a formula that can fail, got none")
    return math.fsum(item.log_ratio_bits for item in kept) / math.fsum(item.bits for item in kept)


def chance_corrected(prob: float, chance: float) -> float:
    """Return ``(P - P0) / (1 - P0)``: 1 perfect, 0 chance.

    Raises:
        InputError: A number is no probability, or chance is 1: then there is nothing to earn.

    >>> round(chance_corrected(0.28, 0.75), 2)
    -1.88
    """
    _check_chance(prob, chance)
    if chance == 1.0:
        raise InputError("a score needs a chance level below 1, got 1: the formula cannot fail")
    return (prob - chance) / (1.0 - chance)


def log_ratio_bits(prob: float, chance: float) -> float:
    """Return ``log2(P / P0)``: the bits earned; ``-inf`` where P is 0.

    Raises:
        InputError: A number is no probability, or chance is 0.

    >>> log_ratio_bits(1.0, 0.25)
    2.0
    """
    _check_chance(prob, chance)
    return math.log2(prob) - math.log2(chance) if prob > 0.0 else -math.inf


def normalised_log_ratio(prob: float, chance: float) -> float:
    """Return the share of the bits that is earned, ``log(P / P0) / log(1 / P0)``.

    Raises:
        InputError: A number is no probability, or chance is 0 or 1.

    >>> normalised_log_ratio(0.5, 0.25)
    0.5
    """
    earned = log_ratio_bits(prob, chance)
    if chance == 1.0:
        raise InputError("a score needs a chance level below 1, got 1: the formula cannot fail")
    return earned / -math.log2(chance)


def log_odds_gain(prob: float, chance: float) -> float:
    """Return ``logit P - logit P0`` in nats; ``-inf`` where P is 0.

    Raises:
        InputError: A number is no probability, or chance is 0 or 1.
        NumericalError: P is 1, whose log-odds are infinite.

    >>> round(log_odds_gain(0.75, 0.5), 6)
    1.098612
    """
    _check_chance(prob, chance)
    if chance == 1.0:
        raise InputError("a score needs a chance level below 1, got 1: the formula cannot fail")
    if prob == 1.0:
        raise NumericalError("the log-odds of probability 1 are infinite; use another score")
    if prob == 0.0:
        return -math.inf
    return (math.log(prob) - math.log1p(-prob)) - (math.log(chance) - math.log1p(-chance))


def _check_chance(prob: float, chance: float) -> None:
    if not 0.0 <= prob <= 1.0:
        raise InputError(f"a probability lies in [0, 1], got {prob!r}")
    if not 0.0 < chance <= 1.0:
        raise InputError(f"a chance level lies in (0, 1], got {chance!r}")
