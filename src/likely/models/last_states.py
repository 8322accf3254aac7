"""The last hidden state of many short inputs, without what only earlier places need. Unit: none.

The output layer reads one state of each input, that of its last token. The last layer of the
backbone makes states of all tokens; of the earlier ones only keys and values are needed there. Two
hooks cut its two matrix products (what attention gives back, and the feed-forward part) down to the
last token. Whether that leaves the last state as it was is tried once for each model.
"""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import torch
from jaxtyping import Float, Int
from transformers.cache_utils import Cache, DynamicCache

from likely.models.stem_attention import KeysValues, over_stem

_LAYERS = ("layers", "h", "blocks", "block")
_FEED_FORWARD = ("mlp", "feed_forward", "ffn", "block_sparse_moe")
_ATTENTION = ("self_attn", "attn", "attention", "self_attention")
_OUTPUT = ("o_proj", "c_proj", "out_proj", "dense")
_TOLERANCE = 1e-4  # of the largest entry: what rounding in another order of sums gives


class LastStates:
    """Reads last states from a backbone.

    Args:
        backbone: The model without its output layer.
        final_norm: Its last normalisation, or None where none was found.
        n_vocab: Ids that it takes.
        shares_stem: Whether attention over keys and values that stand once is right for it.
        cache_name: What its forward calls the keys and values it is given.
    """

    def __init__(
        self,
        backbone: torch.nn.Module,
        final_norm: torch.nn.Module | None,
        *,
        n_vocab: int,
        shares_stem: bool,
        cache_name: str,
    ) -> None:
        self.backbone = backbone
        self.final_norm = final_norm
        self.n_vocab = n_vocab
        self.shares_stem = shares_stem
        self.cache_name = cache_name
        self._narrowed = _narrowed_parts(backbone)
        if self._narrowed and not self._is_right():
            self._narrowed = []

    def of(
        self,
        *,
        tokens: Int[torch.Tensor, "B T"] | None = None,
        embeddings: Float[torch.Tensor, "B T D"] | None = None,
        before_norm: bool,
    ) -> Float[torch.Tensor, "B D"]:
        """Return the last state of each input; differentiable by embeddings.

        Args:
            tokens: Ids; or
            embeddings: In place of the input embeddings.
            before_norm: Whether the state is that before the final norm.
        """
        return self._read(before_norm, input_ids=tokens, inputs_embeds=embeddings)

    def onward(
        self, embeddings: Float[torch.Tensor, "B n D"], stored: KeysValues, *, before_norm: bool
    ) -> tuple[Float[torch.Tensor, "B D"], KeysValues]:
        """Return the last state of inputs that begin with tokens whose keys and values are known.

        Args:
            embeddings: Of the tokens that come after those; the state is differentiable by them.
            stored: Keys and values of each layer, shape ``(B, H, L, D)``; none at all begins anew.
            before_norm: Whether the state is that before the final norm.

        Returns:
            The states, and keys and values of all tokens.
        """
        cache = DynamicCache()
        for layer, (keys, values) in enumerate(stored):
            cache.update(keys, values, layer)
        states = self._read(before_norm, inputs_embeds=embeddings, **{self.cache_name: cache})
        return states, [(layer.keys.detach(), layer.values.detach()) for layer in cache.layers]

    def after(
        self,
        stems: Int[torch.Tensor, "P T"],
        endings: Int[torch.Tensor, "S k"],
        *,
        before_norm: bool,
        rows: int,
    ) -> Float[torch.Tensor, "P S D"]:
        """Return the last state of every stem with every ending.

        Keys and values of a stem stand once for all its endings where the model allows that; if
        not, whole inputs are read.

        Args:
            stems: Ids, each the beginning of S inputs.
            endings: Ids; every stem is followed by each of them.
            before_norm: Whether states are those before the final norm.
            rows: Endings of one stem that are read at once, at most.
        """
        n_stems, length = stems.shape
        stored = self._stored(stems) if self.shares_stem else []
        position = torch.arange(length, length + endings.shape[1], device=stems.device)[None]
        found = []
        for start in range(0, len(endings), rows):
            part = endings[start : start + rows]
            ids = part.repeat(n_stems, 1)
            if stored:
                with over_stem(self.backbone, stored):
                    states = self._read(
                        before_norm, input_ids=ids, position_ids=position.expand(len(ids), -1),
                        attention_mask=None,
                    )  # fmt: skip
            else:
                whole = torch.cat([stems.repeat_interleave(len(part), 0), ids], dim=1)
                states = self._read(before_norm, input_ids=whole)
            found.append(states.view(n_stems, len(part), -1))
        return torch.cat(found, dim=1)

    def _stored(self, stems: Int[torch.Tensor, "P T"]) -> list[tuple[torch.Tensor, torch.Tensor]]:
        """Return keys and values of stems, layer by layer."""
        cache = DynamicCache()
        with self._narrow():
            self.backbone(input_ids=stems, use_cache=True, **{self.cache_name: cache})
        return [(layer.keys, layer.values) for layer in cache.layers]

    def _read(self, before_norm: bool, **inputs: torch.Tensor | Cache | None) -> torch.Tensor:
        with ExitStack() as stack:
            stack.enter_context(self._narrow())
            seen = stack.enter_context(self._watch()) if before_norm else []
            output = self.backbone(use_cache=self.cache_name in inputs, **inputs)
        states = seen[0] if before_norm else output.last_hidden_state
        last: torch.Tensor = states[:, -1]
        return last

    @contextmanager
    def _narrow(self) -> Iterator[None]:
        """Cut the products of the last layer down to the last token."""
        with ExitStack() as stack:
            for part in self._narrowed:
                handle = part.register_forward_pre_hook(_last_only)
                stack.callback(handle.remove)
            yield

    @contextmanager
    def _watch(self) -> Iterator[list[torch.Tensor]]:
        """Catch what goes into the final norm."""
        seen: list[torch.Tensor] = []
        if self.final_norm is None:
            raise RuntimeError("a model without a final norm has no state before it")

        def keep(module: torch.nn.Module, inputs: tuple[torch.Tensor, ...]) -> None:
            seen.append(inputs[0])

        handle = self.final_norm.register_forward_pre_hook(keep)
        try:
            yield seen
        finally:
            handle.remove()

    def _is_right(self) -> bool:
        device = next(self.backbone.parameters()).device
        ids = (torch.arange(14, device=device).view(2, 7) * 5 + 3) % self.n_vocab
        whole = self.backbone(input_ids=ids, use_cache=False).last_hidden_state[:, -1]
        try:
            cut = self.of(tokens=ids, before_norm=False)
        except (RuntimeError, TypeError, IndexError):
            return False
        limit = _TOLERANCE if whole.dtype in (torch.float32, torch.float64) else 0.05
        return bool((cut - whole).abs().max() <= limit * whole.abs().max())


def _narrowed_parts(backbone: torch.nn.Module) -> list[torch.nn.Module]:
    """Return the parts of the last layer that need only the last token, as far as they are known.

    They are the feed-forward part and the matrix that attention ends with.
    """
    stack = next((s for n in _LAYERS if isinstance(s := getattr(backbone, n, None),
                                                   torch.nn.ModuleList)), None)  # fmt: skip
    if not stack:
        return []
    layer = stack[-1]
    found = [part for name in _FEED_FORWARD if (part := getattr(layer, name, None)) is not None]
    for name in _ATTENTION:
        attention = getattr(layer, name, None)
        outputs = [getattr(attention, one, None) for one in _OUTPUT]
        found += [part for part in outputs if isinstance(part, torch.nn.Module)]
    return [part for part in found if isinstance(part, torch.nn.Module)]


def _last_only(
    module: torch.nn.Module, inputs: tuple[torch.Tensor, ...]
) -> tuple[torch.Tensor, ...]:
    return (inputs[0][:, -1:], *inputs[1:])
