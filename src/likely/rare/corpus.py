"""The corpora that come with likely: code, English and Spanish, whole documents of free texts."""

import hashlib
import json
import lzma
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files

from likely.errors import StoreError, UnknownNameError

NAMES = ("code", "english", "spanish")
"""The corpora that come with the package."""

_SEPARATOR = "\f"  # between documents; no document contains it


@dataclass(frozen=True, slots=True, kw_only=True)
class Corpus:
    """Texts of one kind.

    Attributes:
        name: One of `NAMES`.
        documents: Whole texts (a chapter, a page of a manual, a module), in a fixed order.
        sha256: Of the packed file, as the manifest states it and as it was found.
        licence: SPDX expressions of the parts, joined by ``AND``; ``LICENCES.md`` beside the
            data has the notices.
    """

    name: str
    documents: tuple[str, ...]
    sha256: str
    licence: str


@lru_cache(maxsize=len(NAMES))
def load(name: str) -> Corpus:
    """Return a corpus of the package; it is read once and kept.

    Args:
        name: ``code`` (the Python standard library), ``english`` or ``spanish`` (books, manuals).

    Raises:
        UnknownNameError: No corpus has that name.
        StoreError: The data are missing, damaged or not the ones that the manifest names.

    >>> corpus = load("spanish")
    >>> len(corpus.documents), corpus.documents[0][:29]
    (1902, 'EN el principio crió Dios los')
    """
    if name not in NAMES:
        raise UnknownNameError.among("corpus", name, NAMES)
    folder = files("likely.rare").joinpath("corpora")
    file_name = f"{name}.txt.xz"
    try:
        manifest = json.loads(folder.joinpath("manifest.json").read_text("utf-8"))
        packed = folder.joinpath(file_name).read_bytes()
        expected = manifest["files"][file_name]["sha256"]
        licences = {part["licence"] for part in manifest["sources"] if part["corpus"] == name}
    except (OSError, ValueError, KeyError) as error:
        raise StoreError(
            f"cannot read the corpus {name!r} of the package: {error}; install likely again"
        ) from error
    text = _unpack(packed, expected, file_name)
    return Corpus(
        name=name,
        documents=tuple(text.split(_SEPARATOR)),
        sha256=expected,
        licence=" AND ".join(sorted(_in_brackets(licence) for licence in licences)),
    )


def _unpack(packed: bytes, expected: str, file_name: str) -> str:
    found = hashlib.sha256(packed).hexdigest()
    if found != expected:
        raise StoreError(
            f"{file_name} has sha256 {found}, the manifest says {expected!r}; "
            "it is damaged or was changed: install likely again"
        )
    return lzma.decompress(packed).decode("utf-8")


def _in_brackets(licence: str) -> str:
    return f"({licence})" if " OR " in licence else licence
