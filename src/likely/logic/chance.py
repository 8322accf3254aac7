"""What a model earns on a formula beyond chance. Units: nats, bits, and shares of bits."""

import math
import warnings
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from likely.core.logspace import check_log_probs
from likely.errors import InputError, LikelyWarning, NumericalError

LN2 = math.log(2.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scores:
    """What a model earns on one formula, corrected for chance in four ways.

    The probability that the formula fails is given beside the one that it holds, because 1 minus a
    probability near 1 keeps no digits.

    Attributes:
        log_prob: Log-probability that the formula holds, nats.
        log_broken: Log-probability that it does not, nats.
        log_chance: Log-probability that it holds by chance, nats; finite.
        log_chance_broken: Log-probability that it does not by chance, nats; ``-inf`` for a
            tautology, on which every model scores the same.

    Raises:
        NumericalError: A log-probability is NaN or positive.
        InputError: The formula cannot hold by chance.
    """

    log_prob: float
    log_broken: float
    log_chance: float
    log_chance_broken: float

    def __post_init__(self) -> None:
        numbers = [self.log_prob, self.log_broken, self.log_chance, self.log_chance_broken]
        check_log_probs(np.array(numbers), what="the scores of a formula")
        if self.log_chance == -math.inf:
            raise InputError("scores are relative to a chance above 0, got the log-chance -inf")

    @property
    def prob(self) -> float:
        """The probability that the formula holds."""
        return math.exp(self.log_prob)

    @property
    def bits(self) -> float:
        """How many bits there are to earn: the surprisal of the formula under chance."""
        return (0.0 - self.log_chance) / LN2

    @property
    def is_tautology(self) -> bool:
        """Whether the formula cannot fail, so that there is nothing to earn."""
        return self.log_chance_broken == -math.inf

    @property
    def chance_corrected(self) -> float | None:
        """``(P - P0) / (1 - P0)``: 1 perfect, 0 chance, far below where chance is high.

        None for a tautology.
        """
        if self.is_tautology:
            return None
        return -math.expm1(self.log_broken - self.log_chance_broken)

    @property
    def log_ratio_bits(self) -> float:
        """``log2(P / P0)``, the bits of the formula that the model has earned.

        At most ``bits``; additive over formulas that share no event; ``-inf`` where P is 0.
        """
        return (self.log_prob - self.log_chance) / LN2

    @property
    def normalised_log_ratio(self) -> float | None:
        """The share of the bits that is earned: 1 perfect, 0 chance; None for a tautology."""
        return None if self.is_tautology else self.log_ratio_bits / self.bits

    @property
    def log_odds_gain(self) -> float | None:
        """``logit P - logit P0`` in nats: it only changes its sign where the formula is negated.

        ``-inf`` where P is 0; None where P is 1, whose log-odds are infinite, and for a tautology.
        """
        if self.is_tautology or self.log_broken == -math.inf:
            return None
        return (self.log_prob - self.log_broken) - (self.log_chance - self.log_chance_broken)

    def to_dict(self) -> dict[str, float | None]:
        """Return all figures as a mapping that `likely.core.jsonio` writes as strict JSON."""
        return {
            "prob": self.prob,
            "log_prob": self.log_prob,
            "log_broken": self.log_broken,
            "log_chance": self.log_chance,
            "log_chance_broken": self.log_chance_broken,
            "bits": self.bits,
            "chance_corrected": self.chance_corrected,
            "log_ratio_bits": self.log_ratio_bits,
            "normalised_log_ratio": self.normalised_log_ratio,
            "log_odds_gain": self.log_odds_gain,
        }


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

    >>> half, quarter = math.log(0.5), math.log(0.25)
    >>> one = Scores(log_prob=0.0, log_broken=-math.inf, log_chance=half, log_chance_broken=half)
    >>> two = Scores(
    ...     log_prob=half, log_broken=half, log_chance=quarter, log_chance_broken=math.log(0.75)
    ... )
    >>> round(corpus_score([one, two]), 6)
    0.666667
    """
    everything = list(earned)
    kept = [item for item in everything if not item.is_tautology]
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
