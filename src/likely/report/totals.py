"""The sums and means of a text as read, and whether it surprised the model as much as it expected.

Unit: bits, from nats; a mean is over scored tokens only.
"""

import math
from dataclasses import dataclass

import numpy as np

from likely.core.estimate import Estimate
from likely.core.results import TextScore
from likely.report.display import surprisal_bits, to_bits

_Z_95 = 1.959964  # the normal law's 97.5 % point


@dataclass(frozen=True, slots=True, kw_only=True)
class Totals:
    """Sums and means of a text.

    Attributes:
        n_tokens: Tokens of the text.
        n_scored: Those that are scored; sums and means are over them.
        n_bytes: UTF-8 bytes of the scored tokens.
        log_prob: Nats, the sum; an upper bound where ``is_bound``.
        bits: The same as surprisal in bits; a lower bound where ``is_bound``.
        is_bound: Whether a server told only bounds for some token.
        entropy_bits: Mean entropy of the distributions the scored tokens came from, or None.
        gap: Mean surprisal less mean entropy, bits a token; None where entropies are not known,
            fewer than two tokens are scored, or one of them had probability 0.
    """

    n_tokens: int
    n_scored: int
    n_bytes: int
    log_prob: float
    bits: float
    is_bound: bool
    entropy_bits: float | None
    gap: Estimate | None

    @property
    def bits_per_token(self) -> float:
        """Mean surprisal, bits a scored token."""
        return self.bits / self.n_scored

    @property
    def bits_per_byte(self) -> float:
        """Surprisal over the bytes of the scored tokens, bits a byte."""
        return self.bits / self.n_bytes if self.n_bytes else math.inf

    @property
    def effective_support(self) -> float | None:
        """How many equally likely tokens have the mean entropy, or None."""
        return None if self.entropy_bits is None else 2.0**self.entropy_bits

    def to_dict(self) -> dict[str, object]:
        """Return the fields as a mapping for strict JSON."""
        return {
            "n_tokens": self.n_tokens,
            "n_scored": self.n_scored,
            "n_bytes": self.n_bytes,
            "log_prob_nats": self.log_prob,
            "surprisal_bits": self.bits,
            "is_bound": self.is_bound,
            "bits_per_token": self.bits_per_token,
            "bits_per_byte": self.bits_per_byte,
            "entropy_bits_per_token": self.entropy_bits,
            "effective_support": self.effective_support,
            "gap": None if self.gap is None else self.gap.to_dict(),
        }


def add_up(text: TextScore) -> Totals:
    """Return the totals of a text of which at least one token is scored."""
    scored = [i for i, x in enumerate(text.token_log_probs) if x is not None]
    entropies = None
    if text.entropies is not None:
        entropies = [to_bits(x) for x in (text.entropies[i] for i in scored) if x is not None]
    return Totals(
        n_tokens=len(text.tokens),
        n_scored=len(scored),
        n_bytes=sum(text.byte_spans[i][1] - text.byte_spans[i][0] for i in scored),
        log_prob=text.log_prob,
        bits=surprisal_bits(text.log_prob) or 0.0,
        is_bound=any(text.censored),
        entropy_bits=math.fsum(entropies) / len(scored) if entropies else None,
        gap=gap(text),
    )


def gap(text: TextScore) -> Estimate | None:
    """Return mean surprisal less mean entropy in bits a token, with a 95 % interval.

    If the model itself had written the text, each difference would have mean 0 given what stands
    before it, whatever their dependence; so the scatter of the differences gives the interval.
    """
    if text.entropies is None or any(text.censored):
        return None
    both = zip(text.token_log_probs, text.entropies, strict=True)
    differences = np.array([to_bits(-x - h) for x, h in both if x is not None and h is not None])
    if len(differences) < 2 or not np.isfinite(differences).all():
        return None
    mean = float(np.mean(differences))
    half = _Z_95 * float(np.std(differences, ddof=1)) / math.sqrt(len(differences))
    return Estimate(
        value=mean,
        low=mean - half,
        high=mean + half,
        level=0.95,
        unit="bits",
        method="mean of differences, normal interval",
        cost=text.cost,
        diagnostics={"n": len(differences)},
    )
