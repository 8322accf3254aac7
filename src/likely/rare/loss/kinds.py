"""Which loss a set of targets is judged by, with its settings and its weights. Logs are in nats."""

import math
from dataclasses import dataclass
from typing import Literal, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float

from likely.core.logspace import logsumexp
from likely.errors import InputError
from likely.rare.loss.pointwise import EPSILON, log_spb
from likely.rare.loss.weights import REFERENCE, check_settings, log_shifted_weight

Weighting = Literal["power", "shifted", "none"]


@runtime_checkable
class Loss(Protocol):
    """A weighted loss that sets of targets can be judged by."""

    @property
    def name(self) -> str:
        """The loss with its settings, for a table."""

    def log_losses(
        self, log_q: Float[np.ndarray, "N"], log_p: Float[np.ndarray, "N"]
    ) -> Float[np.ndarray, "N"]:
        """Return the log of the weighted loss of each target; ``-inf`` where it is 0."""

    def log_constant(self, log_q: Float[np.ndarray, "N"]) -> float:
        """Return the log of the one estimate that costs least on all these truths."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Spb:
    """The shifted power Bregman loss, weighted.

    Attributes:
        alpha: At least 0; below 3/2 overestimates are the dearer ones, above it underestimates.
        epsilon: The shift, a probability.
        weighting: ``power`` is `weight` of the truth, ``shifted`` is `shifted_weight`, ``none`` 1.
        gamma: The premium on rarity: each decade rarer counts ``10^gamma`` times more.
        reference: The probability at which the premium is 1.
    """

    alpha: float = 1.5
    epsilon: float = EPSILON
    weighting: Weighting = "power"
    gamma: float = 0.0
    reference: float = REFERENCE

    def __post_init__(self) -> None:
        check_settings(
            alpha=self.alpha, epsilon=self.epsilon, gamma=self.gamma, reference=self.reference
        )
        if self.weighting not in ("power", "shifted", "none"):
            raise InputError(f"weighting is 'power', 'shifted' or 'none', got {self.weighting!r}")
        if self.weighting == "none" and self.gamma:
            raise InputError(
                f"a premium on rarity is part of a weight, got gamma={self.gamma!r} with "
                "weighting='none'; take 'power' or 'shifted'"
            )

    @property
    def name(self) -> str:
        """The loss with its settings.

        >>> Spb(epsilon=0.0).name
        'SPB(alpha=1.5, epsilon=0, power, gamma=0)'
        """
        shift = f"epsilon={self.epsilon:.3g}"
        return f"SPB(alpha={self.alpha:g}, {shift}, {self.weighting}, gamma={self.gamma:g})"

    def log_losses(
        self, log_q: Float[np.ndarray, "N"], log_p: Float[np.ndarray, "N"]
    ) -> Float[np.ndarray, "N"]:
        """Return the log of the weighted loss of each target.

        Raises:
            InputError: A truth has an infinite weight or none, as 0 has under ``power``.
        """
        log_loss = log_spb(log_q, log_p, alpha=self.alpha, epsilon=self.epsilon)
        return np.asarray(self._log_weights(log_q) + log_loss)

    def log_constant(self, log_q: Float[np.ndarray, "N"]) -> float:
        """Return the log of the weighted mean of the truths, whatever the shift."""
        log_weights = self._log_weights(log_q)
        return float(logsumexp(log_weights + log_q) - logsumexp(log_weights))

    def _log_weights(self, log_q: Float[np.ndarray, "N"]) -> Float[np.ndarray, "N"]:
        if self.weighting == "none":
            return np.zeros_like(log_q)
        shift = self.epsilon if self.weighting == "shifted" else 0.0
        log_weights = log_shifted_weight(
            log_q, alpha=self.alpha, epsilon=shift, gamma=self.gamma, reference=self.reference
        )
        if not np.isfinite(log_weights).all():
            raise InputError(
                f"every truth needs a finite weight above 0, got a truth of 0 under {self.name}; "
                "take weighting='shifted' with epsilon > 0, or leave that target out"
            )
        return log_weights


@dataclass(frozen=True, slots=True, kw_only=True)
class LogSquared:
    """The squared error of the log, nats squared; each target has weight 1."""

    @property
    def name(self) -> str:
        """The loss for a table."""
        return "log-squared error (nats^2)"

    def log_losses(
        self, log_q: Float[np.ndarray, "N"], log_p: Float[np.ndarray, "N"]
    ) -> Float[np.ndarray, "N"]:
        """Return the log of the squared error of each target."""
        with np.errstate(invalid="ignore", divide="ignore"):
            gap = np.where(log_q == log_p, 0.0, np.abs(log_p - log_q))
            return np.asarray(2.0 * np.log(gap))

    def log_constant(self, log_q: Float[np.ndarray, "N"]) -> float:
        """Return the log of the geometric mean of the truths.

        Raises:
            InputError: A truth is 0, so that no constant has a finite loss.
        """
        if np.isneginf(log_q).any():
            raise InputError("no constant has a finite log-squared error from a truth of 0")
        return math.fsum(log_q) / len(log_q)


ITAKURA_SAITO = Spb(alpha=2.0, epsilon=0.0)
"""``q/p - log(q/p) - 1``, each target with weight 1."""

LOG_SQUARED = LogSquared()
"""``(log p - log q)^2``, each target with weight 1."""
