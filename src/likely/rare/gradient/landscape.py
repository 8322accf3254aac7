"""What methods over inputs ask of a model: how near to an event, and which way. Unit: nats."""

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from jaxtyping import Bool, Float, Int

from likely.rare.gradient.places import Places


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Reading:
    """What inputs were found to be.

    Attributes:
        margins: The smallest lead of the winners over all steps, nats.
        hits: Whether the event happens: the margin is greater than the event asks for.
        scores: The winner's logit, centred, summed over the steps.
        slopes: Of the score by the embeddings of the varying places, float32; of the first inputs
            only where no more were asked for.
    """

    margins: Float[np.ndarray, "n"]
    hits: Bool[np.ndarray, "n"]
    scores: Float[np.ndarray, "n"]
    slopes: Float[np.ndarray, "m P D"]


@runtime_checkable
class Landscape(Protocol):
    """Scores and slopes over the inputs of a law."""

    @property
    def places(self) -> Places:
        """The varying places of the law."""
        ...

    @property
    def forgets(self) -> bool:
        """Whether a proposal's slopes are right from the changed place on only."""
        ...

    def read(self, choices: Int[np.ndarray, "n P"], *, n_slopes: int | None = None) -> Reading:
        """Return what inputs are; they are the current ones from now on."""
        ...

    def propose(self, choices: Int[np.ndarray, "n P"], place: int) -> Reading:
        """Return what inputs are that differ from the current ones at one place."""
        ...

    def accept(self, rows: Bool[np.ndarray, "n"]) -> None:
        """Take the proposals of these rows as current."""
        ...

    def tilts(self, slopes: Float[np.ndarray, "P D"]) -> Float[np.ndarray, "P K"]:
        """Return what each token of each place adds to the score to first order, nats."""
        ...

    def tilts_at(self, place: int, slopes: Float[np.ndarray, "n D"]) -> Float[np.ndarray, "n k"]:
        """Return what each token of one place adds to the score to first order, nats."""
        ...
