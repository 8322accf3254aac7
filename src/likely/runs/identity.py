"""What a run is: every fact that its numbers depend on, and an id that anyone can recompute."""

import hashlib
from collections.abc import Mapping

from likely.core.jsonio import dumps
from likely.core.model import ModelInfo


def model_facts(info: ModelInfo) -> dict[str, object]:
    """Return what must stand beside a model's numbers for two tools to be compared."""
    return {
        "name": info.name,
        "fingerprint": info.fingerprint,
        "dtype": info.dtype,
        "device": info.device,
        "backend": info.backend,
        "n_vocab": info.n_vocab,
        "n_tokens": info.n_tokens,
        "max_tokens": info.max_tokens,
        "bos_id": info.bos_id,
        "eos_id": info.eos_id,
        "adds_bos": info.adds_bos,
        "capabilities": sorted(info.capabilities),
    }


def content_digest(value: object) -> str:
    """Return a digest of a value that strict JSON can write."""
    return hashlib.blake2b(dumps(value).encode(), digest_size=16).hexdigest()


def run_id(configuration: Mapping[str, str]) -> str:
    """Return the id of a run: equal for equal configurations, whatever their order.

    >>> run_id({"a": "1", "b": "2"}) == run_id({"b": "2", "a": "1"})
    True
    """
    return content_digest(sorted(configuration.items()))[:16]
