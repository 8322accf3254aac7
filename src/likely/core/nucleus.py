"""The law that a next token is drawn from: the model's own, at a temperature, cut. Unit: nats."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from likely.core.logspace import entropy, logsumexp, tempered
from likely.errors import InputError

_EDGE = 1e-12  # a mass that is ``top_p`` reaches it in whichever order its tokens are summed


@dataclass(frozen=True, slots=True, kw_only=True)
class Law:
    """The tokens that may be drawn, and how likely each is.

    Attributes:
        tokens: Shape ``(k,)``: ids, ascending.
        log_probs: Shape ``(k,)``: nats, summing to 1.
    """

    tokens: Int[np.ndarray, "k"]
    log_probs: Float[np.ndarray, "k"]

    @property
    def entropy(self) -> float:
        """How uncertain a draw is."""
        return float(entropy(self.log_probs))

    def log_prob(self, token: int) -> float:
        """Return the log-probability of an id; ``-inf`` for one that is never drawn."""
        at = int(np.searchsorted(self.tokens, token))
        is_in = at < len(self.tokens) and int(self.tokens[at]) == token
        return float(self.log_probs[at]) if is_in else -np.inf

    def iter_split(
        self, count: int, *, rng: np.random.Generator
    ) -> Iterator[tuple[int, float, int]]:
        """Yield how many of ``count`` draws take which token, lowest id first.

        Yields:
            The id, its log-probability, and the number of draws, at least 1.
        """
        sums = np.cumsum(np.exp(self.log_probs))
        # Scaled by the sum, which rounding of the weights may put off 1; a step of 0 is never met.
        drawn = np.searchsorted(sums, rng.random(count) * sums[-1], side="right")
        places, counts = np.unique(drawn, return_counts=True)
        for place, n_taken in zip(places.tolist(), counts.tolist(), strict=True):
            yield int(self.tokens[place]), float(self.log_probs[place]), int(n_taken)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cut:
    """How a next-token row becomes the law that is drawn from.

    Log-probabilities are divided by the temperature first; then the likeliest tokens are taken, of
    equal ones the lowest id, until they have the mass ``top_p``, and the others are left out.

    Attributes:
        temperature: Positive; 1 changes nothing.
        top_p: In (0, 1]; 1 leaves nothing out.

    Raises:
        InputError: A number out of range.

    Sources:
        Holtzman and others (2020), "The curious case of neural text degeneration", section 3.1.

    >>> row = np.log(np.array([0.2, 0.5, 0.2, 0.1]))
    >>> law = Cut(top_p=0.7).law(row)
    >>> law.tokens.tolist(), np.exp(law.log_probs).round(4).tolist()
    ([0, 1], [0.2857, 0.7143])
    """

    temperature: float = 1.0
    top_p: float = 1.0

    def __post_init__(self) -> None:
        if not 0.0 < self.temperature < np.inf:
            raise InputError(
                f"a temperature is a positive number, got {self.temperature!r}; for the likeliest "
                "token at each step use greedy"
            )
        if not 0.0 < self.top_p <= 1.0:
            raise InputError(f"top_p is a mass in (0, 1], got {self.top_p!r}")

    def law(self, row: Float[np.ndarray, "V"]) -> Law:
        """Return the law after one prefix from its next-token row, nats."""
        row = tempered(row, self.temperature)
        if self.top_p == 1.0:
            return Law(tokens=np.arange(len(row)), log_probs=row)
        probs = np.exp(row)
        # Tokens below this share have less than 1 - top_p together: the nucleus is among the rest.
        rest = np.flatnonzero(probs > (1.0 - self.top_p) / len(row))
        order = rest[np.argsort(-row[rest], kind="stable")]
        n = int(np.searchsorted(np.cumsum(probs[order]), self.top_p - _EDGE)) + 1
        kept = np.sort(order[:n])
        return Law(tokens=kept, log_probs=row[kept] - logsumexp(row[kept]))
