"""What the study asks of a model with tensors: last states, gradients, the output layer. Nats."""

from dataclasses import dataclass
from typing import Literal, Protocol, runtime_checkable

import numpy as np
import torch
from jaxtyping import Float

from likely.core.model import (
    TRANSFORMERS_MODELS,
    Capability,
    HiddenNorm,
    LanguageModel,
    ModelInfo,
    Tokenizer,
)
from likely.errors import CapabilityError, NumericalError
from likely.rare.event import Event


@runtime_checkable
class NormParameters(Protocol):
    """The normalisation before the output layer."""

    kind: Literal["rms", "layer"]
    weight: Float[np.ndarray, "D"] | None
    bias: Float[np.ndarray, "D"] | None
    epsilon: float


@runtime_checkable
class HeadParameters(Protocol):
    """The output layer."""

    weight: Float[np.ndarray, "V D"]
    bias: Float[np.ndarray, "V"] | None
    is_linear: bool


@runtime_checkable
class Network(Protocol):
    """A model that gives last hidden states of whole batches, and gradients by embeddings."""

    @property
    def info(self) -> ModelInfo:
        """What identifies the model."""
        ...

    @property
    def tokenizer(self) -> Tokenizer:
        """Its tokenizer."""
        ...

    def embed(self, tokens: torch.Tensor) -> torch.Tensor:
        """Return input embeddings ``(B, T, D)`` of ids."""
        ...

    def last_states(
        self,
        *,
        tokens: torch.Tensor | None = None,
        embeddings: torch.Tensor | None = None,
        norm: HiddenNorm = "before",
    ) -> torch.Tensor:
        """Return ``(B, D)``, the hidden state of each input's last token."""
        ...

    def states_after(
        self, stems: torch.Tensor, endings: torch.Tensor, *, rows: int, norm: HiddenNorm = "before"
    ) -> torch.Tensor:
        """Return ``(P, S, D)``, the last state of every stem with every ending."""
        ...

    def unembedding(self) -> HeadParameters:
        """Return the output layer."""
        ...

    def final_norm(self) -> NormParameters:
        """Return the final norm."""
        ...


def require_network(model: LanguageModel) -> Network:
    """Return the model as one that gives states and gradients.

    Raises:
        CapabilityError: It does not.
    """
    for capability in (
        Capability.HIDDEN_STATES, Capability.GRADIENTS, Capability.UNEMBEDDING,
        Capability.FINAL_NORM,
    ):  # fmt: skip
        if capability not in model.info.capabilities:
            raise _lacks(model, capability.value.replace("_", " "))
    if not isinstance(model, Network):
        raise _lacks(model, "last_states()")
    return model


def _lacks(model: LanguageModel, what: str) -> CapabilityError:
    """Return the error of a model that does not give what a method needs."""
    return CapabilityError(
        f"this method needs a model with {what}, {model.info.name!r} has none; those that have: "
        f"{TRANSFORMERS_MODELS}; naive, forecast, proposal and amls-inputs take any local model"
    )


def finite_states(
    states: Float[torch.Tensor, "... D"], network: Network, length: int
) -> Float[torch.Tensor, "... D"]:
    """Return states as float32 on the processor, if they are numbers.

    Args:
        states: Shape ``(..., D)``, of last tokens.
        network: Whose states they are.
        length: Tokens of the inputs.

    Raises:
        NumericalError: A state is not finite.
    """
    found = states.to("cpu", torch.float32)
    if not bool(torch.isfinite(found).all()):
        raise NumericalError(
            f"{network.info.name!r} gave a state that is not finite for an input of {length} "
            "tokens; try dtype='float32'"
        )
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Readout:
    """From states before the final norm to logits, with the norm's gain and bias folded in.

    Logits are those of the model but for one number that is the same for all tokens, so margins
    are the same: the mean over the vocabulary is taken out of the output layer, and for a layer
    norm the mean over the state's entries too.

    Attributes:
        weight: Shape ``(V, D)``, gain folded in and centred.
        bias: Shape ``(V,)``.
        is_centred: Whether the norm takes the mean out of states (a layer norm).
        epsilon: Added to the mean square of states.
    """

    weight: Float[torch.Tensor, "V D"]
    bias: Float[torch.Tensor, "V"]
    is_centred: bool
    epsilon: float

    @classmethod
    def of(cls, network: Network, *, dtype: torch.dtype = torch.float32) -> "Readout":
        """Return the readout of a model, on the processor.

        Raises:
            CapabilityError: Its logits are not linear in its last state.
        """
        head, norm = network.unembedding(), network.final_norm()
        if not head.is_linear:
            raise CapabilityError(
                f"{network.info.name!r} caps or scales its logits, so that its output layer alone "
                "does not give them; use method 'naive'"
            )
        weight = torch.from_numpy(head.weight).double()
        bias = torch.zeros(len(weight), dtype=torch.float64)
        if head.bias is not None:
            bias += torch.from_numpy(head.bias).double()
        if norm.bias is not None:
            bias += weight @ torch.from_numpy(norm.bias).double()
        if norm.weight is not None:
            weight = weight * torch.from_numpy(norm.weight).double()
        weight = weight - weight.mean(dim=0)
        is_centred = norm.kind == "layer"
        if is_centred:
            weight = weight - weight.mean(dim=1, keepdim=True)
        bias = bias - bias.mean()
        return cls(
            weight=weight.to(dtype), bias=bias.to(dtype), is_centred=is_centred,
            epsilon=norm.epsilon,
        )  # fmt: skip

    def normed(self, states: Float[torch.Tensor, "n D"]) -> Float[torch.Tensor, "n D"]:
        """Return states after the norm, without its gain and bias."""
        if self.is_centred:
            states = states - states.mean(dim=-1, keepdim=True)
        scale = (states.square().mean(dim=-1, keepdim=True) + self.epsilon).rsqrt()
        return states * scale

    def logits(self, states: Float[torch.Tensor, "n D"]) -> Float[torch.Tensor, "n V"]:
        """Return logits of states before the norm, up to one number a row."""
        unit = self.normed(states).to(self.weight.dtype)
        return torch.addmm(self.bias, unit, self.weight.T)

    def margins(self, states: Float[torch.Tensor, "n D"], event: Event) -> Float[torch.Tensor, "n"]:
        """Return the margin of the event's last step for states before the norm."""
        return margins(self.logits(states), event)


def margins(logits: Float[torch.Tensor, "n V"], event: Event) -> Float[torch.Tensor, "n"]:
    """Return the margin of the event's last step in each row; eats the logits."""
    winners = list(event.winners)
    best = logits[:, winners].amax(dim=1)
    logits[:, winners] = -torch.inf
    return best - logits.amax(dim=1)
