"""Reads batches of whole inputs through a network and keeps the last state alone. Unit: nats."""

import time
from collections.abc import Iterator, Sequence

import numpy as np
import torch
from jaxtyping import Float, Int

from likely.core.model import LanguageModel
from likely.rare.event import Event
from likely.rare.network import Readout, finite_states, margins, require_network
from likely.rare.reading import Meter

TOKENS = 8192
"""Token positions of one batch: beyond this a forward gets no faster."""
ROWS = 512
"""Rows of logits at a time: what a processor holds near itself."""


class Batches:
    """States, winners and margins of inputs.

    Args:
        model: A network whose logits are linear in its last state.
        meter: Counts what is read.

    Raises:
        CapabilityError: The model is none.
    """

    def __init__(self, model: LanguageModel, meter: Meter) -> None:
        self.network = require_network(model)
        self.readout = Readout.of(self.network)
        self.meter = meter

    def states(self, inputs: Int[np.ndarray, "n T"]) -> Float[np.ndarray, "n D"]:
        """Return the last state of each input before the final norm, float32."""
        found = [part.numpy() for part in self.iter_states(inputs)]
        return np.concatenate(found)

    def iter_states(self, inputs: Int[np.ndarray, "n T"]) -> Iterator[Float[torch.Tensor, "b D"]]:
        """Yield last states before the final norm, float32 on the processor, batch by batch.

        Raises:
            NumericalError: A state is not finite.
        """
        size = max(1, TOKENS // inputs.shape[1])
        for start in range(0, len(inputs), size):
            part = inputs[start : start + size]
            began = time.perf_counter()
            tokens = torch.from_numpy(np.ascontiguousarray(part))
            found = self.network.last_states(tokens=tokens)
            states = finite_states(found, self.network, part.shape[1])
            self.meter.forward(len(part), part.shape[1], time.perf_counter() - began)
            yield states

    def winners(self, inputs: Int[np.ndarray, "n T"]) -> Int[np.ndarray, "n"]:
        """Return the id that wins after each input; -1 where the best two are level."""
        found = [unique_winners(rows) for rows in self._iter_logits(inputs)]
        return np.asarray(torch.cat([torch.empty(0, dtype=torch.int64), *found]).numpy())

    def margins(
        self, inputs: Int[np.ndarray, "n T"], winners: Sequence[Sequence[int]]
    ) -> Float[np.ndarray, "n W"]:
        """Return how far the best of each set of winners leads after each input, float64."""
        steps = [Event(name="a step", steps=(tuple(one),)) for one in winners]
        found = [
            torch.stack([margins(rows.clone(), step).double() for step in steps], dim=1)
            for rows in self._iter_logits(inputs)
        ]
        none = torch.empty((0, len(steps)), dtype=torch.float64)
        return np.asarray(torch.cat([none, *found]).numpy())

    def _iter_logits(self, inputs: Int[np.ndarray, "n T"]) -> Iterator[Float[torch.Tensor, "r V"]]:
        for states in self.iter_states(inputs):
            with torch.inference_mode():
                for start in range(0, len(states), ROWS):
                    yield self.readout.logits(states[start : start + ROWS])


def unique_winners(logits: Float[torch.Tensor, "n V"]) -> Int[torch.Tensor, "n"]:
    """Return the id with the largest logit in each row; -1 where it is not the only one."""
    best, ids = logits.max(dim=1)
    is_level = (logits == best[:, None]).sum(dim=1) > 1
    return torch.where(is_level, -1, ids)
