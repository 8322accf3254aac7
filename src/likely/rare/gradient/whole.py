"""Whether an event happens, how near it is, and which way it lies, from one forward. Unit: nats.

The score of an input is the logit of the event's winner, less the mean over the vocabulary: of the
best winner where there are several, and summed over the steps where there are several. Its
gradient is taken by the embeddings of the places that vary. Backward goes through one row of the
output layer; who wins is read from the same states without a gradient.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Float, Int

from likely.core.model import LanguageModel
from likely.errors import NumericalError
from likely.rare.batches import TOKENS
from likely.rare.event import Event
from likely.rare.gradient.landscape import Reading
from likely.rare.gradient.places import Places
from likely.rare.network import Network, Readout, margins, require_network
from likely.rare.reading import Meter

States = Callable[[Float[torch.Tensor, "n t D"]], Float[torch.Tensor, "n D"]]
"""From embeddings to last states before the final norm."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Scorer:
    """Scores and margins of an event from the states that a network gives.

    Attributes:
        network: The network.
        readout: Its output layer.
        event: What must happen.
    """

    network: Network
    readout: Readout
    event: Event

    def __call__(
        self, embeddings: Float[torch.Tensor, "n t D"], states_of: States
    ) -> tuple[Float[torch.Tensor, "n"], Float[torch.Tensor, "n"]]:
        """Return scores, with a gradient, and the smallest margins, without.

        Args:
            embeddings: Of the inputs, or of their last tokens.
            states_of: Reads them.
        """
        n, rows = len(embeddings), self.readout.weight
        total, lead = torch.zeros(n), torch.full((n,), torch.inf)
        for step, winners in enumerate(self.event.steps):
            whole = embeddings
            if step:
                read = torch.tensor([self.event.read[:step]]).expand(n, -1)
                whole = torch.cat([embeddings, self.network.embed(read)], dim=1)
            unit = self.readout.normed(states_of(whole).to("cpu", torch.float32))
            with torch.no_grad():
                logits = torch.addmm(self.readout.bias, unit, rows.T)
                best = torch.tensor(winners)[logits[:, list(winners)].argmax(dim=1)]
                one_step = Event(name="a step", steps=(winners,))
                lead = torch.minimum(lead, margins(logits, one_step))
            total = total + (unit * rows[best]).sum(dim=1) + self.readout.bias[best]
        return total, lead.double()

    def reading(
        self,
        embeddings: Float[torch.Tensor, "n t D"],
        states_of: States,
        *,
        wanted: Int[np.ndarray, "p"],
    ) -> Reading:
        """Return what inputs are, with the slopes at some of their tokens.

        Args:
            embeddings: As above.
            states_of: As above.
            wanted: Numbers of the tokens whose slopes are wanted; none saves the backward.

        Raises:
            NumericalError: A score or a slope is not finite.
        """
        with torch.set_grad_enabled(len(wanted) > 0):
            leaf = embeddings.requires_grad_(len(wanted) > 0)
            scores, lead = self(leaf, states_of)
        slopes = np.zeros((len(leaf), 0, leaf.shape[2]), dtype=np.float32)
        if len(wanted):
            (whole,) = torch.autograd.grad(scores.sum(), leaf)
            slopes = array(whole[:, torch.from_numpy(wanted)])
        found = Reading(
            margins=lead.numpy(), hits=lead.numpy() > self.event.above,
            scores=scores.detach().double().numpy(), slopes=slopes,
        )  # fmt: skip
        if not np.isfinite(found.scores).all() or not np.isfinite(slopes).all():
            raise NumericalError(
                f"{self.network.info.name!r} gave a score or a slope that is not finite for one of "
                f"{len(leaf)} inputs; try dtype='float32'"
            )
        return found


class Gradients:
    """Reads inputs of a law for one event, each as a whole.

    Args:
        model: A network whose logits are linear in its last state.
        event: What must happen.
        places: The varying places of the law.
        meter: Counts what is read.

    Attributes:
        places: The varying places of the law.
        forgets: False: slopes are right at every place.

    Raises:
        CapabilityError: The model is none.
    """

    def __init__(self, model: LanguageModel, event: Event, places: Places, meter: Meter) -> None:
        network = require_network(model)
        self.scorer = Scorer(network=network, readout=Readout.of(network), event=event)
        self.places = places
        self.meter = meter
        self.forgets = False
        self._embeddings = array(network.embed(torch.from_numpy(places.ids)[None])[0])

    def read(self, choices: Int[np.ndarray, "n P"], *, n_slopes: int | None = None) -> Reading:
        """Return what inputs are, whole.

        Args:
            choices: As `Places` writes inputs.
            n_slopes: How many of them, from the first, get slopes; all if None.

        Raises:
            NumericalError: A score or a slope is not finite.
        """
        inputs = self.places.inputs(choices)
        n = len(inputs) if n_slopes is None else min(n_slopes, len(inputs))
        with_slopes = [self._part(part, self.places.positions) for part in _even(inputs[:n])]
        without = [self._part(part, self.places.positions[:0]) for part in _even(inputs[n:])]
        parts = with_slopes + without
        width = self._embeddings.shape[1]
        none = np.zeros((0, len(self.places), width), dtype=np.float32)
        return Reading(
            margins=np.concatenate([part.margins for part in parts]),
            hits=np.concatenate([part.hits for part in parts]),
            scores=np.concatenate([part.scores for part in parts]),
            slopes=np.concatenate([none, *(part.slopes for part in with_slopes)]),
        )

    def propose(self, choices: Int[np.ndarray, "n P"], place: int) -> Reading:
        """Return what inputs are that differ from the current ones at one place; read whole."""
        return self.read(choices)

    def accept(self, rows: Bool[np.ndarray, "n"]) -> None:
        """Do nothing: nothing is kept of current inputs."""

    def tilts(self, slopes: Float[np.ndarray, "P D"]) -> Float[np.ndarray, "P K"]:
        """Return what each token of each place adds to the score to first order, nats.

        Args:
            slopes: By the embeddings of the varying places.
        """
        by_id = slopes @ self._embeddings.T
        return np.take_along_axis(by_id, self.places.columns, axis=1).astype(np.float64)

    def tilts_at(self, place: int, slopes: Float[np.ndarray, "n D"]) -> Float[np.ndarray, "n k"]:
        """Return what each token of one place adds to the score to first order, nats.

        Args:
            place: Number of the varying place.
            slopes: By the embedding of that place, one row an input.
        """
        columns = self.places.columns[place, : self.places.sizes[place]]
        return np.asarray(slopes @ self._embeddings[columns].T, dtype=np.float64)

    def _part(self, inputs: Int[np.ndarray, "n T"], wanted: Int[np.ndarray, "p"]) -> Reading:
        began = time.perf_counter()
        network = self.scorer.network
        embeddings = network.embed(torch.from_numpy(inputs))
        found = self.scorer.reading(
            embeddings, lambda whole: network.last_states(embeddings=whole), wanted=wanted
        )
        spent = time.perf_counter() - began
        shape = (len(inputs), inputs.shape[1])
        self.meter.steps(self.scorer.event, shape, spent, has_gradient=len(wanted) > 0)
        return found


def array(tensor: Float[torch.Tensor, "*shape"]) -> Float[np.ndarray, "*shape"]:
    """Return a tensor as a float32 array on the processor."""
    return np.asarray(tensor.detach().to("cpu", torch.float32).numpy())


def _even(inputs: Int[np.ndarray, "n T"]) -> list[Int[np.ndarray, "b T"]]:
    """Cut inputs into equal parts of about as many tokens as one forward takes."""
    n_parts = -(-inputs.size // TOKENS)
    return list(np.array_split(inputs, n_parts)) if n_parts else []
