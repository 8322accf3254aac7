"""The documents of the corpora, and which of them are held out of training."""

import hashlib
import lzma
from pathlib import Path

CORPORA = ("code", "english", "spanish")
_FOLDER = Path(__file__).parents[1] / "src" / "likely" / "rare" / "corpora"
_ONE_IN = 20


def load_documents(name: str) -> tuple[str, ...]:
    """Return the documents of a corpus in their order."""
    text = lzma.decompress((_FOLDER / f"{name}.txt.xz").read_bytes()).decode("utf-8")
    return tuple(text.split("\f"))


def is_held_out(document: str) -> bool:
    """Return whether a document is never trained on: one in twenty, by its hash."""
    return int.from_bytes(hashlib.sha256(document.encode()).digest()[:4], "big") % _ONE_IN == 0
