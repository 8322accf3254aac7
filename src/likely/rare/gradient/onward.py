"""Reads proposals from the changed token on, over keys and values of what stands before. Nats.

A chain that changes one token leaves the states of all tokens before it as they are. Their keys and
values are kept for the current inputs; a proposal is read from its changed token to its end, on
average half of it. Slopes then are known from the changed place on, which is what chains need that
go through the places from left to right.
"""

import time
from collections.abc import Sequence
from typing import Protocol, runtime_checkable

import numpy as np
import torch
from jaxtyping import Bool, Float, Int

from likely.core.model import HiddenNorm, LanguageModel
from likely.rare.event import Event
from likely.rare.gradient.landscape import Landscape, Reading
from likely.rare.gradient.places import Places
from likely.rare.gradient.whole import Gradients
from likely.rare.network import Network
from likely.rare.reading import Meter

KeysValues = Sequence[tuple[torch.Tensor, torch.Tensor]]
"""Of each layer, shape ``(n, H, T, D)``."""


@runtime_checkable
class OnwardNetwork(Protocol):
    """A network that goes on from keys and values."""

    @property
    def keeps_keys(self) -> bool:
        """Whether it really does."""
        ...

    def last_states_onward(
        self, embeddings: torch.Tensor, stored: KeysValues, *, norm: HiddenNorm = "before"
    ) -> tuple[torch.Tensor, KeysValues]:
        """Return last states, and keys and values of all tokens."""
        ...


class Onward:
    """Reads inputs of a law for one event, proposals from their changed token on.

    Args:
        whole: Reads whole inputs.
        network: Its network, as one that goes on.

    Attributes:
        places: The varying places of the law.
        forgets: True: slopes of proposals are right from the changed place on.
    """

    def __init__(self, whole: Gradients, network: OnwardNetwork) -> None:
        self.whole = whole
        self.network = network
        self.places = whole.places
        self.forgets = True
        self._current: KeysValues = []
        self._proposed: KeysValues = []
        self._start = 0

    def read(self, choices: Int[np.ndarray, "n P"], *, n_slopes: int | None = None) -> Reading:
        """Return what inputs are, whole; they are the current ones if all get slopes."""
        if n_slopes is not None:
            return self.whole.read(choices, n_slopes=n_slopes)
        found = self._read(choices, place=None)
        self._current = self._proposed
        return found

    def propose(self, choices: Int[np.ndarray, "n P"], place: int) -> Reading:
        """Return what inputs are that differ from the current ones at one place or after it.

        Args:
            choices: As `Places` writes inputs.
            place: Number of the first place that differs.

        Returns:
            Slopes before the place are 0: they are not known.
        """
        return self._read(choices, place=place)

    def accept(self, rows: Bool[np.ndarray, "n"]) -> None:
        """Take the keys and values of these proposals for those of the current inputs."""
        taken = torch.from_numpy(rows)[:, None, None, None]
        start = self._start
        for (keys, values), (new_keys, new_values) in zip(
            self._current, self._proposed, strict=True
        ):
            for old, new in ((keys, new_keys), (values, new_values)):
                torch.where(taken.to(old.device), new[:, :, start:], old[:, :, start:],
                            out=old[:, :, start:])  # fmt: skip

    def tilts(self, slopes: Float[np.ndarray, "P D"]) -> Float[np.ndarray, "P K"]:
        """Return what each token of each place adds to the score to first order, nats."""
        return self.whole.tilts(slopes)

    def tilts_at(self, place: int, slopes: Float[np.ndarray, "n D"]) -> Float[np.ndarray, "n k"]:
        """Return what each token of one place adds to the score to first order, nats."""
        return self.whole.tilts_at(place, slopes)

    def _read(self, choices: Int[np.ndarray, "n P"], *, place: int | None) -> Reading:
        began = time.perf_counter()
        scorer, positions = self.whole.scorer, self.places.positions
        self._start = 0 if place is None else int(positions[place])
        first, known = (0, []) if place is None else (place, self._before(self._start))
        inputs = self.places.inputs(choices)[:, self._start :]
        kept: list[KeysValues] = []

        def states_of(embeddings: torch.Tensor) -> torch.Tensor:
            states, stored = self.network.last_states_onward(embeddings, known)
            kept.append(stored)
            return states

        embeddings = scorer.network.embed(torch.from_numpy(inputs))
        found = scorer.reading(embeddings, states_of, wanted=positions[first:] - self._start)
        self._proposed = kept[0]
        seconds = time.perf_counter() - began
        shape = (len(inputs), inputs.shape[1])
        self.whole.meter.steps(scorer.event, shape, seconds, has_gradient=True)
        slopes = np.zeros((len(inputs), len(positions), found.slopes.shape[2]), dtype=np.float32)
        slopes[:, first:] = found.slopes
        return Reading(margins=found.margins, hits=found.hits, scores=found.scores, slopes=slopes)

    def _before(self, position: int) -> KeysValues:
        return [(keys[:, :, :position], values[:, :, :position]) for keys, values in self._current]


def open_landscape(model: LanguageModel, event: Event, places: Places, meter: Meter) -> Landscape:
    """Return the cheapest reader of proposals that the model allows.

    Args:
        model: A network whose logits are linear in its last state.
        event: What must happen.
        places: The varying places of the law.
        meter: Counts what is read.

    Raises:
        CapabilityError: The model is none.
    """
    whole = Gradients(model, event, places, meter)
    network: Network = whole.scorer.network
    if isinstance(network, OnwardNetwork) and network.keeps_keys:
        return Onward(whole, network)
    return whole
