"""Adapters: one file for each way to reach a model, found by the prefix of its spec."""

from typing import Protocol, runtime_checkable

from likely.core.model import LanguageModel
from likely.core.registry import Registry
from likely.errors import InputError, UnknownNameError


@runtime_checkable
class Loader(Protocol):
    """What a registry entry is: a function from the rest of a spec to a model."""

    def __call__(self, rest: str, *, dtype: str, device: str, **options: object) -> LanguageModel:
        """Return the model; ``rest`` is what follows ``prefix:`` in the spec."""
        ...


MODELS: Registry[Loader] = Registry(
    "model",
    {
        "smollm2": "likely.models.embedded:load_smollm2",
        "tiny-1l": "likely.models.tiny:load_1l",
        "tiny-2l": "likely.models.tiny:load_2l",
        "tiny-4l": "likely.models.tiny:load_4l",
        "hf": "likely.models.transformers:load_hf",
        "gguf": "likely.models.transformers:load_gguf",
        "server": "likely.models.server:load_server",
        "table": "likely.models.table:load_table",
    },
    group="likely.models",
)
"""Prefix of a spec to its loader. To add a model: one file here, one line in this table."""


def load(
    spec: str, *, dtype: str = "float32", device: str = "auto", **options: object
) -> LanguageModel:
    """Return the model that ``spec`` names.

    Args:
        spec: ``smollm2``, ``tiny-1l``, ``tiny-2l``, ``tiny-4l``, ``hf:<hub id or folder>``,
            ``gguf:<file>``, ``server:<base url>#<model>`` or ``table:<file.json>``.
        dtype: Of the weights: ``float32``, ``bfloat16``, ``float16`` or ``float64``; always
            explicit, never the checkpoint's own.
        device: ``auto``, ``cpu``, ``cuda``, ...
        options: Passed on to the adapter.

    Raises:
        UnknownNameError: No adapter has that prefix.
        InputError: The rest of the spec is missing.
        CapabilityError, MissingExtraError, ServerError, StoreError: As the adapter finds.
    """
    prefix, colon, rest = spec.partition(":")
    if prefix not in MODELS:
        raise UnknownNameError.among("model", prefix, MODELS.names())
    if colon and not rest:
        raise InputError(f"the model {spec!r} has nothing after its colon; say which one")
    return MODELS.load(prefix)(rest, dtype=dtype, device=device, **options)
