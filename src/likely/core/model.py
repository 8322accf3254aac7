"""The language model protocol: what an adapter promises, and what it is handed. Unit: nats."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Literal, Protocol, TypeAlias, runtime_checkable

import numpy as np
from jaxtyping import Bool, Float, Int

from likely.core.trie import PrefixTrie
from likely.errors import CapabilityError, InputError

Tokens: TypeAlias = Sequence[int]
HiddenNorm = Literal["before", "after"]
Method = Literal["auto", "tree", "cache", "full"]


class Capability(StrEnum):
    """What a model can give beyond its name; ask with `require`."""

    CONTINUATION = "continuation"
    NEXT_TOKEN = "next_token"  # a full row over the vocabulary
    TOP_TOKENS = "top_tokens"  # the k likeliest, with a bound on the rest
    SHARED_PREFIX = "shared_prefix"
    CHAT = "chat"
    HIDDEN_STATES = "hidden_states"
    FINAL_NORM = "final_norm"
    UNEMBEDDING = "unembedding"
    INPUT_EMBEDDINGS = "input_embeddings"
    GRADIENTS = "gradients"


TRANSFORMERS_MODELS = "transformers models (tiny-1l, tiny-2l, tiny-4l, smollm2, hf:, gguf:)"
"""Those that have tensors, for messages."""
LOCAL_MODELS = "every local model (tiny-1l, tiny-2l, tiny-4l, smollm2, hf:, gguf:, table:)"
"""Those that give whole next-token laws, for messages."""

_WHO_HAS = {
    Capability.CONTINUATION: "every local model, and servers that return prompt log-probs",
    Capability.NEXT_TOKEN: LOCAL_MODELS,
    Capability.TOP_TOKENS: "every local model, and servers that return top log-probs",
    Capability.CHAT: "models whose tokenizer carries a chat template",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelInfo:
    """What identifies a model and says what it can do.

    Attributes:
        name: As given to `likely.load`.
        fingerprint: Hash of the weights and configuration (of the table, for a table model; of
            address, model name and probe, for a server).
        n_vocab: Rows of the output layer, V; ids in ``[n_tokens, n_vocab)`` mean nothing.
        n_tokens: Ids that the tokenizer can decode.
        max_tokens: Longest prefix that can be evaluated, or None where there is no limit.
        dtype: Dtype of the weights, such as ``float32``.
        device: Where they are, such as ``cpu``.
        backend: Library, version and attention kind; part of the cache key.
        bos_id: Id of the beginning-of-sequence token, or None.
        eos_id: Id of the end-of-sequence token, or None.
        adds_bos: Whether the tokenizer by its own setting begins every text with ``bos_id``.
        capabilities: What may be asked of it.
        details: Further facts for the model card.
    """

    name: str
    fingerprint: str
    n_vocab: int
    n_tokens: int
    max_tokens: int | None
    dtype: str
    device: str
    backend: str
    bos_id: int | None
    eos_id: int | None
    adds_bos: bool
    capabilities: frozenset[Capability]
    details: Mapping[str, str | int | float | None] = field(default_factory=dict)

    @property
    def identity(self) -> str:
        """Everything that two runs must share for their scores to be the same numbers."""
        return "|".join((self.fingerprint, self.dtype, self.backend))

    def at_temperature(self, temperature: float) -> "ModelInfo":
        """Return what identifies the same model at another temperature.

        Raises:
            InputError: The temperature is not positive and finite.
        """
        if not 0.0 < temperature < math.inf:
            raise InputError(f"a temperature is positive and finite, got {temperature!r}")
        return replace(
            self, name=f"{self.name} at temperature {temperature:g}",
            fingerprint=f"{self.fingerprint} at temperature {temperature!r}",
        )  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Encoding:
    """Token ids of a text, and where each lies in it.

    Attributes:
        tokens: Ids, no special tokens added.
        byte_spans: For each token its (start, stop) in the UTF-8 bytes of the text.
    """

    tokens: tuple[int, ...]
    byte_spans: tuple[tuple[int, int], ...]


@runtime_checkable
class Tokenizer(Protocol):
    """Text to ids and back, with nothing added and nothing cleaned up."""

    def encode(self, text: str) -> Encoding:
        """Return the ids of ``text`` without special tokens, with byte spans."""
        ...

    def decode(self, tokens: Tokens) -> str:
        """Return the text of ``tokens``; bytes that are no UTF-8 become U+FFFD."""
        ...

    def token_bytes(self, token: int) -> bytes:
        """Return the bytes that ``token`` stands for inside a text; empty for unused ids."""
        ...

    def render_chat(self, messages: Sequence[Mapping[str, str]], *, open_reply: bool) -> str:
        """Return the conversation as the chat template writes it.

        Args:
            messages: Mappings with ``role`` and ``content``.
            open_reply: Whether the header of the assistant's next message is added.

        Raises:
            CapabilityError: There is no chat template.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How the engine may evaluate; none of it changes the numbers beyond rounding.

    Attributes:
        method: ``tree`` evaluates each distinct prefix once with tree attention and K/V reuse,
            ``cache`` once with K/V reuse alone, ``full`` is the plain forward of whole sequences
            (the reference), ``auto`` takes the cheapest by measured cost.
        memory: Bytes that activations, masks, stored K/V and logits may take.
        batch_rows: Rows of a batch, or None to plan it.
        row_tokens: New tokens of a row, or None to plan it.
        deterministic: Whether each request runs alone, in one fixed batch shape, so that its
            bits do not depend on the other requests (needed in 16-bit; costs speed).
    """

    method: Method = "auto"
    memory: int = 1 << 29
    batch_rows: int | None = None
    row_tokens: int | None = None
    deterministic: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """What one call of a model must answer: a trie, and the numbers wanted at its nodes.

    Attributes:
        trie: Every distinct prefix that must be evaluated, once.
        pair_nodes: Shape ``(Q,)``, sorted: the prefix of each wanted log-probability.
        pair_targets: Shape ``(Q,)``: the token whose log-probability is wanted after it.
        row_nodes: Sorted distinct nodes whose whole next-token row is wanted.
        hidden_nodes: Sorted distinct nodes whose last hidden state is wanted.
        hidden_norm: Before or after the final norm.
        top_nodes: Sorted distinct nodes whose ``top_k`` likeliest tokens are wanted; only asked
            of models without full rows.
        top_k: How many.
        settings: How to evaluate.
    """

    trie: PrefixTrie
    pair_nodes: Int[np.ndarray, "Q"]
    pair_targets: Int[np.ndarray, "Q"]
    row_nodes: Int[np.ndarray, "R"]
    hidden_nodes: Int[np.ndarray, "H"]
    hidden_norm: HiddenNorm
    top_nodes: Int[np.ndarray, "K"]
    top_k: int
    settings: Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class TopTokens:
    """The likeliest next tokens, and a bound on every other one.

    Attributes:
        tokens: Ids, likeliest first; None where a server names only text.
        pieces: Their text.
        log_probs: Nats.
        log_prob_elsewhere: Upper bound on the log-probability of any token not listed.
        log_mass_elsewhere: Log of the total probability of all tokens not listed.
    """

    tokens: tuple[int | None, ...]
    pieces: tuple[str, ...]
    log_probs: tuple[float, ...]
    log_prob_elsewhere: float
    log_mass_elsewhere: float

    def id_at(self, place: int, tokenizer: Tokenizer) -> int | None:
        """Return the id of a listed token; None if its text alone is told and is no one token."""
        token = self.tokens[place]
        if token is not None:
            return token
        ids = tokenizer.encode(self.pieces[place]).tokens
        return ids[0] if len(ids) == 1 else None


@runtime_checkable
class Sink(Protocol):
    """Where an adapter puts its numbers, in any order and in chunks of any size."""

    def put_pairs(
        self,
        index: Int[np.ndarray, "q"],
        log_probs: Float[np.ndarray, "q"],
        censored: Bool[np.ndarray, "q"] | None = None,
    ) -> None:
        """Take log-probabilities of the pairs ``index``; a censored one is an upper bound."""
        ...

    def put_rows(self, nodes: Int[np.ndarray, "r"], log_probs: Float[np.ndarray, "r V"]) -> None:
        """Take normalised next-token rows, float64 nats."""
        ...

    def put_hidden(self, nodes: Int[np.ndarray, "h"], vectors: Float[np.ndarray, "h D"]) -> None:
        """Take last hidden states, float32."""
        ...

    def put_top(self, node: int, top: TopTokens) -> None:
        """Take the likeliest tokens after one prefix."""
        ...

    def spend(self, *, tokens: int, calls: int, seconds: float) -> None:
        """Take note of work done; also moves the progress bar."""
        ...


@runtime_checkable
class LanguageModel(Protocol):
    """A probability distribution over text: information, a tokenizer, and one verb."""

    @property
    def info(self) -> ModelInfo:
        """What identifies the model and what it can do."""
        ...

    @property
    def tokenizer(self) -> Tokenizer:
        """Its tokenizer."""
        ...

    def evaluate(self, work: Work, sink: Sink) -> None:
        """Answer all of ``work`` into ``sink``.

        Raises:
            CapabilityError: Something is wanted that ``info.capabilities`` does not have.
            NumericalError: The model gave NaN; the message names the prefix.
        """
        ...


@runtime_checkable
class Tempering(Protocol):
    """A model whose laws can be made flatter or more peaked."""

    def at_temperature(self, temperature: float) -> "LanguageModel":
        """Return the same model with every next-token law to the power 1/temperature."""
        ...


def require(model: LanguageModel, capability: Capability) -> None:
    """Raise unless the model has the capability.

    Raises:
        CapabilityError: It has not; the message says which models have it.
    """
    if capability not in model.info.capabilities:
        who = _WHO_HAS.get(capability, TRANSFORMERS_MODELS)
        raise CapabilityError(
            f"{model.info.name!r} has no {capability.value.replace('_', ' ')}; "
            f"those that have: {who}"
        )


def most_listed(model: LanguageModel, *, default: int = 20) -> int:
    """Return how many likeliest tokens to ask of a model that lists them: what it says it gives.

    Args:
        model: Any model.
        default: For one that does not say.
    """
    told = model.info.details.get("top_k")
    return told if isinstance(told, int) and told > 0 else default
