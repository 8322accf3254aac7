"""Attention of many branches over one stem, whose keys and values stand once for all of them.

Attention as models come with it wants the keys and values of each row side by side, so those of a
stem would be copied for every branch, in every layer and at every step. Here all rows ask their
stem by one matrix product, each row asks its own few tokens by another, and one softmax spans both.

It takes part in a forward by the interface that transformers has for it, and only in models whose
numbers it reproduces (`likely.models.transformers` tries when a model is loaded).
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar

import torch
from transformers import AttentionInterface

KeysValues = Sequence[tuple[torch.Tensor, torch.Tensor]]

_NAME = "likely_stem"
_UNKNOWN = ("softcap", "s_aux", "position_bias", "sliding_window")

_stem: ContextVar[KeysValues] = ContextVar("stem")


@contextmanager
def over_stem(backbone: torch.nn.Module, stem: KeysValues) -> Iterator[None]:
    """Let attention see a stem before the keys and values that the forward itself keeps.

    Args:
        backbone: Its forward gives positions, and neither a mask nor the stem's keys and values.
        stem: Of each layer, shape ``(P, H, L, D)``: of one stem, or of several, each of which is
            gone on from by as many rows, those of the first stem first.
    """
    config = backbone.config
    before = config._attn_implementation  # type: ignore[union-attr]  # of an untyped library
    token = _stem.set(stem)
    config._attn_implementation = _NAME  # type: ignore[union-attr]
    try:
        yield
    finally:
        config._attn_implementation = before  # type: ignore[union-attr]
        _stem.reset(token)


def attend(
    module: torch.nn.Module,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: object,
    scaling: float | None = None,
    **options: object,
) -> tuple[torch.Tensor, None]:
    """Return what new tokens gather from the stem, and from their own row up to themselves.

    Args:
        module: The layer's; it knows which layer it is.
        query: Shape ``(B, G * H, T, D)``: of the new tokens.
        key: Shape ``(B, H, n, D)``: of what each row has of its own, the new tokens last.
        value: Shape ``(B, H, n, D)``.
        attention_mask: None: all see what stands before them.
        scaling: Of the scores; by default one over the root of D.
        options: What the model says of its attention besides.

    Returns:
        Shape ``(B, T, G * H, D)``.

    Raises:
        ValueError: The model's attention is of another kind.
    """
    other = [name for name in _UNKNOWN if options.get(name) is not None]
    if other or attention_mask is not None:
        raise ValueError(f"attention over a stem has no {other or 'mask'}")
    layer = int(module.layer_idx)  # type: ignore[arg-type]  # an attribute of the layer
    stem_key, stem_value = (part.transpose(0, 1) for part in _stem.get()[layer])  # H first
    n_stems = stem_key.shape[1]
    n_rows, n_heads, n_new, width = query.shape
    n_groups, n_own = key.shape[1], key.shape[2]
    n_asking = n_heads // n_groups * n_new
    scale = width**-0.5 if scaling is None else scaling
    # Heads that share keys and values ask together; these come first, to be one product each.
    asked = (query * scale).reshape(n_rows, n_groups, n_asking, width).transpose(0, 1)
    by_stem = (n_groups, n_stems, n_rows // n_stems * n_asking)
    flat = asked.reshape(*by_stem, width)
    fine = torch.promote_types(query.dtype, torch.float32)
    over_stem = torch.matmul(flat, stem_key.transpose(2, 3)).to(fine)
    over_own = _by_row(asked, key.permute(1, 0, 3, 2)).to(fine)
    if n_new > 1:
        late = torch.ones(n_new, n_own, dtype=torch.bool, device=key.device)
        by_token = over_own.view(n_groups, n_rows, -1, n_new, n_own)
        by_token.masked_fill_(late.triu(n_own - n_new + 1), -torch.inf)
    over_stem = over_stem.view(n_groups, n_rows, n_asking, -1)
    top = torch.maximum(over_stem.amax(dim=-1, keepdim=True), over_own.amax(dim=-1, keepdim=True))
    over_stem = over_stem.sub_(top).exp_()
    over_own = over_own.sub_(top).exp_()
    total = over_stem.sum(dim=-1, keepdim=True) + over_own.sum(dim=-1, keepdim=True)
    weights = over_stem.view(*by_stem, -1).to(value.dtype)
    found = torch.matmul(weights, stem_value).view(n_groups, n_rows, n_asking, width)
    found = found + _by_row(over_own.to(value.dtype), value.transpose(0, 1))
    found = (found / total).to(query.dtype).transpose(0, 1)
    return found.reshape(n_rows, n_heads, n_new, width).transpose(1, 2).contiguous(), None


def _by_row(left: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
    """Return the matrix product of each row; of one entry or one column it is no product at all."""
    if left.shape[-1] == 1:
        return left * right
    if left.shape[-2] == 1 and right.shape[-1] == 1:
        return (left * right.transpose(-1, -2)).sum(dim=-1, keepdim=True)
    return torch.matmul(left, right)


AttentionInterface.register(_NAME, attend)
