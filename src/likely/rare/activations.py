"""The last states of sampled inputs, read once for all events of a task. Unit: that of states.

Methods that work on activations (QLD, GLD, splitting) share one stream of inputs, so that at one
seed they see the same activations and differ by what they make of them alone.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Int

from likely.errors import InputError
from likely.rare.batches import ROWS, Batches
from likely.rare.event import Event
from likely.rare.inputs import iter_sample
from likely.rare.method import Task, require_one_step
from likely.rare.network import Readout, margins
from likely.rare.reading import Meter
from likely.rare.result import Spent

STREAM = "activations"
"""Names the stream of inputs that all methods over activations share."""
MEMORY = 1 << 31
"""Bytes that the states of a task may take."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Activations:
    """States of sampled inputs, and the layer that turns them into logits.

    Attributes:
        states: Shape ``(n, D)``, float32: the last token's state before the final norm.
        readout: From states to margins, float64.
        spent: What reading them took.
    """

    states: Float[np.ndarray, "n D"]
    readout: Readout
    spent: Spent

    def __len__(self) -> int:
        return len(self.states)

    def normed(self) -> Float[np.ndarray, "n D"]:
        """Return the states after the norm, without its gain and bias, float64."""
        return np.asarray(self.readout.normed(torch.from_numpy(self.states).double()).numpy())

    def margins(self, events: Sequence[Event]) -> Float[np.ndarray, "n E"]:
        """Return how far the best winner of each event leads at each activation, float64.

        Logits of a block of activations are made once, whatever the number of events.

        Args:
            events: Of one step each.
        """
        found = np.empty((len(self), len(events)))
        for start in range(0, len(self), ROWS):
            part = torch.from_numpy(self.states[start : start + ROWS]).double()
            logits = self.readout.logits(part)
            top = logits.topk(2, dim=1)
            for column, event in enumerate(events):
                found[start : start + ROWS, column] = _margins(logits, top, event).numpy()
        return found


def collect(task: Task) -> Activations:
    """Return the states of as many inputs as the budget allows; they serve every event.

    Raises:
        CapabilityError: The model gives no states, or its logits are not linear in them.
        InputError: An event has several steps, or the states take too much memory.
        NumericalError: A state is not finite.
    """
    names = task.path(None, STREAM)
    return states_of(task, iter_sample(task.distribution, task.budget, seed=task.seed, names=names))


def states_of(task: Task, blocks: Iterable[Int[np.ndarray, "b T"]]) -> Activations:
    """Return the states of inputs that are given, as many as the budget.

    Args:
        task: Whose model reads them.
        blocks: The inputs.

    Raises:
        CapabilityError, InputError, NumericalError: As for `collect`.
    """
    require_one_step(task)
    meter = Meter(progress=task.progress)
    batches = Batches(task.model, meter)
    width = batches.readout.weight.shape[1]
    if task.budget * width * 4 > MEMORY:
        raise InputError(
            f"a budget of {task.budget!r} states of {width} numbers takes more than "
            f"{MEMORY >> 20} MiB; lower it to {MEMORY // (4 * width)}"
        )
    states = np.empty((task.budget, width), dtype=np.float32)
    place = 0
    for inputs in blocks:
        states[place : place + len(inputs)] = batches.states(inputs)
        place += len(inputs)
    readout = Readout.of(batches.network, dtype=torch.float64)
    return Activations(states=states, readout=readout, spent=meter.spent)


def _margins(
    logits: Float[torch.Tensor, "r V"], top: torch.return_types.topk, event: Event
) -> Float[torch.Tensor, "r"]:
    if len(event.winners) > 1:
        return margins(logits.clone(), event)
    winner = event.winners[0]
    others = torch.where(top.indices[:, 0] == winner, top.values[:, 1], top.values[:, 0])
    return logits[:, winner] - others
