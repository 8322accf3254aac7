"""Runs a plan's passes through a transformers backbone, keeping keys and values in slots."""

import inspect
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from transformers.cache_utils import Cache, CacheLayerMixin

from likely.core.plan import Pass, Plan
from likely.core.trie import PrefixTrie


@dataclass
class _Slots:
    """The pass under way, as index tensors that every layer shares."""

    n_slots: int
    past: torch.Tensor
    kept_rows: torch.Tensor
    kept_columns: torch.Tensor
    kept_slots: torch.Tensor


class _SlotLayer(CacheLayerMixin):  # type: ignore[misc]  # a base of an untyped library
    """Keys and values of one layer: the nodes that later passes need, each in its slot."""

    is_sliding = False

    def __init__(self, slots: _Slots) -> None:
        super().__init__()
        self.slots = slots

    def lazy_initialization(self, key_states: torch.Tensor, value_states: torch.Tensor) -> None:
        shape = (self.slots.n_slots, key_states.shape[1])
        # Zeros, not empty: a masked place still enters the product, and 0 * NaN is NaN.
        self.keys = key_states.new_zeros((*shape, key_states.shape[3]))
        self.values = value_states.new_zeros((*shape, value_states.shape[3]))
        self.is_initialized = True

    def update(
        self, key_states: torch.Tensor, value_states: torch.Tensor, *args: object, **kwargs: object
    ) -> tuple[torch.Tensor, torch.Tensor]:
        if not self.is_initialized:
            self.lazy_initialization(key_states, value_states)
        slots = self.slots
        out = (self._extend(self.keys, key_states), self._extend(self.values, value_states))
        if len(slots.kept_slots):
            rows, columns = slots.kept_rows, slots.kept_columns
            self.keys[slots.kept_slots] = key_states[rows, :, columns]
            self.values[slots.kept_slots] = value_states[rows, :, columns]
        return out

    def _extend(self, stored: torch.Tensor, new: torch.Tensor) -> torch.Tensor:
        n_rows, n_past = self.slots.past.shape
        if not n_past:
            return new
        past = stored[self.slots.past.reshape(-1)]
        past = past.view(n_rows, n_past, *stored.shape[1:]).transpose(1, 2)
        return torch.cat([past, new], dim=2)

    def get_mask_sizes(self, query_length: int) -> tuple[int, int]:
        return self.get_seq_length() + int(query_length), 0

    def get_seq_length(self) -> int:
        return int(self.slots.past.shape[1])

    def get_max_length(self) -> int:
        return -1


@dataclass(frozen=True, slots=True, kw_only=True)
class AttentionLayout:
    """How the backbone wants its masks.

    Attributes:
        is_eager: Whether masks are added to scores (eager) or tell where to look (SDPA).
        window: Width of sliding-window attention in the layers that have it, or None.
        is_mixed: Whether only some layers have the window, so that both masks are handed over.
    """

    is_eager: bool
    window: int | None
    is_mixed: bool


class PassRunner:
    """Evaluates plans: hidden states of wanted nodes come out, one pass at a time.

    Args:
        backbone: The model without its output layer.
        n_layers: Its number of attention layers.
        layout: How it wants masks.
    """

    def __init__(
        self, backbone: torch.nn.Module, *, n_layers: int, layout: AttentionLayout
    ) -> None:
        self.backbone = backbone
        self.n_layers = n_layers
        self.layout = layout
        parameter = next(backbone.parameters())
        self.device, self.dtype = parameter.device, parameter.dtype
        names = inspect.signature(backbone.forward).parameters
        self.cache_name = "cache" if "cache" in names else "past_key_values"

    def iter_hidden(
        self, plan: Plan, trie: PrefixTrie, wanted: Int[np.ndarray, "w"]
    ) -> Iterator[tuple[Pass, Int[np.ndarray, "n"], torch.Tensor]]:
        """Yield for each pass the wanted nodes it evaluated and their final hidden states.

        Args:
            plan: The passes.
            trie: Its trie.
            wanted: Sorted nodes whose hidden states are needed; each comes exactly once.

        Yields:
            The pass, nodes of shape ``(n,)``, and states of shape ``(n, D)`` after the final norm.
        """
        is_wanted = np.zeros(len(trie), dtype=bool)
        is_wanted[wanted] = True
        slots = _Slots(plan.n_slots, *(torch.empty(0, dtype=torch.long),) * 4)
        cache = Cache(layers=[_SlotLayer(slots) for _ in range(self.n_layers)])
        for step in plan.passes:
            states = self._forward(step, trie, cache if plan.n_slots else None, slots)
            rows, columns = np.nonzero((step.nodes >= 0) & is_wanted[step.nodes])
            nodes, first = np.unique(step.nodes[rows, columns], return_index=True)
            is_wanted[nodes] = False
            at = (self._tensor(rows[first]), self._tensor(columns[first]))
            yield step, nodes, states[at]

    def _forward(
        self, step: Pass, trie: PrefixTrie, cache: Cache | None, slots: _Slots
    ) -> torch.Tensor:
        arguments: dict[str, object] = {"use_cache": cache is not None}
        if cache is not None:
            slots.past = self._tensor(np.maximum(step.past_slots, 0))
            slots.kept_rows = self._tensor(step.kept_places[0])
            slots.kept_columns = self._tensor(step.kept_places[1])
            slots.kept_slots = self._tensor(step.kept_slots)
            arguments[self.cache_name] = cache
        if not step.is_plain(trie):
            depth = np.where(step.nodes >= 0, trie.depth[step.nodes], 1)
            arguments["position_ids"] = self._tensor(depth - 1)
            arguments["attention_mask"] = self._masks(step, trie)
        ids = np.where(step.nodes >= 0, trie.token[step.nodes], 0)
        output = self.backbone(input_ids=self._tensor(ids), **arguments)
        states: torch.Tensor = output.last_hidden_state
        return states

    def _masks(self, step: Pass, trie: PrefixTrie) -> "torch.Tensor | dict[str, torch.Tensor]":
        if self.layout.is_mixed:
            return {
                "full_attention": self._mask(step, trie, None),
                "sliding_attention": self._mask(step, trie, self.layout.window),
            }
        return self._mask(step, trie, self.layout.window)

    def causal_masks(
        self, n_new: int, n_past: int
    ) -> "torch.Tensor | dict[str, torch.Tensor] | None":
        """Return the masks of ``n_new`` tokens after ``n_past``, one for all rows.

        None where a lone new token sees everything.
        """
        if n_new == 1 and self.layout.window is None:
            return None
        back = np.arange(n_past, n_past + n_new)[:, None] - np.arange(n_past + n_new)[None]
        whole = self._as_mask((back >= 0)[None])
        if self.layout.window is None:
            return whole
        near = self._as_mask(((back >= 0) & (back < self.layout.window))[None])
        if self.layout.is_mixed:
            return {"full_attention": whole, "sliding_attention": near}
        return near

    def _mask(self, step: Pass, trie: PrefixTrie, window: int | None) -> torch.Tensor:
        return self._as_mask(step.mask(trie, window=window))

    def _as_mask(self, seen: Bool[np.ndarray, "B T K"]) -> torch.Tensor:
        allowed = torch.from_numpy(seen[:, None]).to(self.device)
        if not self.layout.is_eager:
            return allowed
        bias = torch.zeros(allowed.shape, dtype=self.dtype, device=self.device)
        return bias.masked_fill_(~allowed, torch.finfo(self.dtype).min)

    def _tensor(self, ids: Int[np.ndarray, "..."]) -> torch.Tensor:
        return torch.from_numpy(np.ascontiguousarray(ids)).to(self.device)


def log_softmax(logits: torch.Tensor) -> Float[torch.Tensor, "n V"]:
    """Return log-probabilities in float64, from logits upcast before anything else."""
    return torch.log_softmax(logits.to(torch.float64), dim=-1)
