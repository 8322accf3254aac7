"""How likely the part of activations along a direction falls into intervals. Unit: nats.

Counted values know nothing beyond the largest; a tail may be fitted beyond their last part.
"""

import math
from dataclasses import dataclass
from typing import Literal, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float, Int
from scipy.stats import norm

from likely.core.logspace import log1mexp
from likely.stats.pareto import Pareto, fit_pareto, is_tied

Tail = Literal["none", "gpd", "gaussian"]

TAIL_SHARE = 1e-3
"""Of the values, beyond which a tail is fitted."""
TAIL_LEAST = 50
"""Values beyond that point, at least: fewer fix no shape."""


@runtime_checkable
class Survival(Protocol):
    """A law on the line."""

    @property
    def last(self) -> float:
        """A position beyond which there is no mass."""
        ...

    def log_mass(
        self, low: Float[np.ndarray, "m"], high: Float[np.ndarray, "m"]
    ) -> Float[np.ndarray, "m"]:
        """Return the log-probability of each open interval; ``-inf`` where it is empty."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Counted:
    """The law that draws one of some values.

    Attributes:
        values: Shape ``(n,)``, ascending.
    """

    values: Float[np.ndarray, "n"]

    @property
    def last(self) -> float:
        """The largest value."""
        return float(self.values[-1])

    def ranks(
        self, low: Float[np.ndarray, "m"], high: Float[np.ndarray, "m"]
    ) -> tuple[Int[np.ndarray, "m"], Int[np.ndarray, "m"]]:
        """Return the first place inside each open interval and the first one after it."""
        first = np.searchsorted(self.values, low, side="right")
        return first, np.maximum(first, np.searchsorted(self.values, high, side="left"))

    def log_mass(
        self, low: Float[np.ndarray, "m"], high: Float[np.ndarray, "m"]
    ) -> Float[np.ndarray, "m"]:
        """Return as `Survival` says."""
        first, after = self.ranks(low, high)
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(after - first) - np.log(len(self.values)))


@dataclass(frozen=True, slots=True, kw_only=True)
class NormalTail:
    """The tail of a normal law.

    Attributes:
        start: Where it begins, standard deviations from the mean.
        spread: Standard deviation.
    """

    start: float
    spread: float

    def log_survival(self, excess: Float[np.ndarray, "m"]) -> Float[np.ndarray, "m"]:
        """Return the log-probability of more than each excess over the start."""
        far = norm.logsf(self.start + excess / self.spread)
        return np.asarray(far - norm.logsf(self.start))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Extended:
    """Counted values, with a smooth tail beyond a point on the side where tokens win.

    Attributes:
        counted: The values.
        start: Where the tail begins: the largest value that is not of the tail.
        log_share: Log of the share of values beyond it, nats.
        tail: A law of what is beyond.
    """

    counted: Counted
    start: float
    log_share: float
    tail: "Pareto | NormalTail"

    @classmethod
    def fit(
        cls, values: Float[np.ndarray, "n"], kind: Literal["gpd", "gaussian"]
    ) -> "Extended | None":
        """Return values, ascending, with a tail fitted to the last; None where these are tied.

        Args:
            values: Shape ``(n,)``, ascending.
            kind: ``gpd``: a generalised Pareto law by maximum likelihood; ``gaussian``: the tail
                of the normal law with their mean and variance, scaled to their share there.
        """
        n_tail = tail_size(len(values))
        if is_tied(values[-n_tail - 1 :]):
            return None
        start = float(values[-n_tail - 1])
        mean, spread = float(values.mean()), float(values.std())
        return cls(
            counted=Counted(values=values),
            start=start,
            log_share=float(np.log(n_tail / len(values))),
            tail=fit_pareto(values[-n_tail:] - start)
            if kind == "gpd"
            else NormalTail(start=(start - mean) / spread, spread=spread),
        )

    @property
    def last(self) -> float:
        """Infinity."""
        return math.inf

    def refit(self, values: Float[np.ndarray, "n"]) -> "Extended | None":
        """Return as `fit` other values, ascending, with a tail of the same kind."""
        return Extended.fit(values, "gpd" if isinstance(self.tail, Pareto) else "gaussian")

    def log_survival(self, at: Float[np.ndarray, "m"]) -> Float[np.ndarray, "m"]:
        """Return the log-probability of a value beyond each point."""
        first = np.searchsorted(self.counted.values, at, side="right")
        with np.errstate(divide="ignore"):
            below = np.log(len(self.counted.values) - first) - np.log(len(self.counted.values))
        far = self.tail.log_survival(np.maximum(at - self.start, 0.0))
        return np.asarray(np.where(at < self.start, below, self.log_share + far))

    def log_mass(
        self, low: Float[np.ndarray, "m"], high: Float[np.ndarray, "m"]
    ) -> Float[np.ndarray, "m"]:
        """Return as `Survival` says."""
        start = self.log_survival(low)
        ratio = np.full(len(low), -np.inf)
        alive = np.isfinite(start)
        ratio[alive] = np.minimum(self.log_survival(high[alive]) - start[alive], 0.0)
        return np.asarray(np.where((low < high) & alive, start + log1mexp(ratio), -np.inf))


def tail_size(n: int) -> int:
    """Return how many of ``n`` values the tail is fitted to."""
    return min(max(TAIL_LEAST, round(TAIL_SHARE * n)), n // 2)
