"""A law of independent places that leans towards an event by its mean slope. Unit: nats."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int

from likely.core.logspace import logsumexp
from likely.rare.gradient.landscape import Landscape, Reading
from likely.rare.gradient.places import Places


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Guide:
    """What has been learnt of where the score rises.

    Attributes:
        totals: Shape ``(P, K)``: of each token of each place, the sum over batches of what it adds
            to the score to first order, older batches counting less; nats.
        n_batches: How many have been learnt from.
        decay: What a batch counts for after the next one, in [0, 1).
    """

    totals: Float[np.ndarray, "P K"]
    n_batches: int
    decay: float

    @classmethod
    def start(cls, places: Places, *, decay: float) -> "Guide":
        """Return the guide that knows nothing: it draws from the law itself."""
        return cls(totals=np.zeros(places.log_probs.shape), n_batches=0, decay=decay)

    def after(self, tilts: Float[np.ndarray, "P K"]) -> "Guide":
        """Return the guide that has learnt from one more batch.

        Args:
            tilts: What each token adds to the score, the mean over the batch, nats.
        """
        return Guide(
            totals=self.decay * self.totals + tilts, n_batches=self.n_batches + 1, decay=self.decay
        )

    def log_ratios(self, places: Places, temperature: float) -> Float[np.ndarray, "P K"]:
        """Return by how much each token is likelier than under the law, nats.

        Places are tilted by the mean slope over the temperature: the sum is divided by what the
        same number of equal batches would have summed to. With nothing learnt, or at an infinite
        temperature, all are 0 exactly.

        Args:
            places: Of the law.
            temperature: Positive; ``inf`` is allowed.
        """
        weight = (1.0 - self.decay**self.n_batches) / (1.0 - self.decay) or 1.0
        tilts = self.totals / (temperature * weight)
        shift = logsumexp(places.log_probs + tilts) - logsumexp(places.log_probs)
        return np.asarray(tilts - shift[:, None])


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Batch:
    """Inputs that a guide drew, and what they were found to be.

    Attributes:
        choices: The inputs.
        log_weights: How much likelier each is under the law than as it was drawn, nats.
        reading: What they are.
    """

    choices: Int[np.ndarray, "n P"]
    log_weights: Float[np.ndarray, "n"]
    reading: Reading

    @property
    def hits(self) -> Bool[np.ndarray, "n"]:
        """Whether the event happens."""
        return self.reading.hits


def draw_batch(
    landscape: Landscape,
    laws: Sequence[Float[np.ndarray, "P K"]],
    counts: Sequence[int],
    *,
    n_slopes: int,
    rng: np.random.Generator,
) -> Batch:
    """Return inputs drawn from laws that differ from the landscape's by known ratios.

    Each input is weighted by the mixture of all the laws, whichever it was drawn from: unbiased,
    and no weight is larger than that under any one of them over its share.

    Args:
        landscape: Reads them.
        laws: Of each law the ratios, as `Guide.log_ratios` gives them.
        counts: How many inputs are drawn from each, one after another.
        n_slopes: How many of them all, from the first, get slopes.
        rng: Draws them.

    Sources:
        Veach and Guibas (1995), "Optimally combining sampling techniques": the balance heuristic.
    """
    places = landscape.places
    uniforms = np.split(rng.random((sum(counts), len(places))), np.cumsum(counts)[:-1])
    drawn = [
        places.draw(places.log_probs + one, part) for one, part in zip(laws, uniforms, strict=True)
    ]
    choices = np.concatenate(drawn)
    log_ratios = np.stack([log_ratio(one, choices) for one in laws], axis=1)
    if len(laws) > 1:
        log_ratios = logsumexp(log_ratios + np.log(np.array(counts) / sum(counts)))[:, None]
    return Batch(
        choices=choices,
        log_weights=-log_ratios[:, 0],
        reading=landscape.read(choices, n_slopes=n_slopes),
    )


def log_ratio(
    log_ratios: Float[np.ndarray, "P K"], choices: Int[np.ndarray, "n P"]
) -> Float[np.ndarray, "n"]:
    """Return by how much whole inputs are likelier than under the law, nats."""
    return np.asarray(log_ratios[np.arange(choices.shape[1]), choices].sum(axis=1))


def learn(guide: Guide, landscape: Landscape, batch: Batch) -> Guide:
    """Return the guide after a batch; as it was if none of its inputs got slopes."""
    slopes = batch.reading.slopes
    return guide.after(landscape.tilts(slopes.mean(axis=0))) if len(slopes) else guide
