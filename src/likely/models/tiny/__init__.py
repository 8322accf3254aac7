"""Three small transformers that come with likely: nothing to pull, never on the network.

GPT-2's architecture with 1, 2 or 4 layers, 128 wide, exact GELU, 4,096 tokens. The weights are
stored as float16; those rounded numbers are the model, and float32 holds them exactly. Each folder
has its ``training.json``: the data, the settings, and the loss on documents held out.
"""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from likely.errors import InputError

if TYPE_CHECKING:
    from likely.models.transformers import TransformersModel

NAMES = ("tiny-1l", "tiny-2l", "tiny-4l")
"""The models, by their number of layers."""


def folder(name: str) -> Path:
    """Return where a model of `NAMES` lies: a folder as transformers reads it.

    >>> folder("tiny-2l").name
    '2l'
    """
    return Path(__file__).parent / name.removeprefix("tiny-")


def _load(
    name: str, rest: str, *, dtype: str, device: str, **options: object
) -> "TransformersModel":
    """Return a tiny model.

    Raises:
        InputError: Something follows the name, or an option is unknown.
        StoreError: A file of the package is missing or damaged.
        MissingExtraError: torch or transformers is not installed.
    """
    if rest:
        raise InputError(f"the model {name!r} takes nothing after its name, got {rest!r}")
    from likely.models.transformers import load_folder

    return load_folder(folder(name), name, dtype=dtype, device=device, **options)


load_1l = partial(_load, "tiny-1l")
load_2l = partial(_load, "tiny-2l")
load_4l = partial(_load, "tiny-4l")
