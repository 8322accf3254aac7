"""What tells one set of weights from another: a hash of every tensor and of the configuration."""

import hashlib
import os
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor

import torch


def weights_fingerprint(state: Mapping[str, torch.Tensor], *extra: str) -> str:
    """Return a hash of names, shapes, dtypes and values of all tensors, and of ``extra``.

    The work is spread over the cores, since hashing lets other threads run.
    """
    with ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
        parts = list(pool.map(_tensor_digest, state.values()))
    digest = hashlib.blake2b(digest_size=16)
    for (name, tensor), part in zip(state.items(), parts, strict=True):
        head = f"{name} {tuple(tensor.shape)} {tensor.dtype}"
        digest.update(head.encode() + b"\0" + part)
    for text in extra:
        digest.update(text.encode() + b"\0")
    return digest.hexdigest()


def _tensor_digest(tensor: torch.Tensor) -> bytes:
    raw = tensor.detach().cpu().contiguous().view(-1).view(torch.uint8).numpy()
    return hashlib.blake2b(raw.data, digest_size=16).digest()
