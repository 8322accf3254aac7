"""The truths that come with the package: of the small models under the named laws. Unit: prob."""

import hashlib
from functools import cache
from importlib.resources import as_file, files

from likely.core.model import LanguageModel
from likely.rare.ground_truth import Truth
from likely.rare.inputs import InputDistribution

FOLDER = files("likely.rare") / "truths"
"""Where they lie."""


def stored_truth(model: LanguageModel, distribution: InputDistribution) -> Truth | None:
    """Return the truth that comes with the package, if there is one of this model under this law.

    What counts is what they are, not what they are called: a model whose weights differ, or a law
    with one other probability, has none.

    Args:
        model: Any model.
        distribution: Any law of inputs.

    Raises:
        StoreError: The file is damaged.
    """
    found = _read(f"{model.info.name}-{distribution.name}.parquet")
    if found is None:
        return None
    is_same = (found.fingerprint, found.law) == (
        model.info.fingerprint, distribution.fingerprint,
    )  # fmt: skip
    return found if is_same else None


def stored_digest(model_name: str, distribution_name: str) -> str | None:
    """Return a digest of the file of a truth, without reading a model; None if there is none.

    >>> stored_digest("no-model", "hex") is None
    True
    """
    place = FOLDER / f"{model_name}-{distribution_name}.parquet"
    return hashlib.sha256(place.read_bytes()).hexdigest() if place.is_file() else None


@cache
def _read(name: str) -> Truth | None:
    place = FOLDER / name
    if not place.is_file():
        return None
    with as_file(place) as path:
        return Truth.load(path)
