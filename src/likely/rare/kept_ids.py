"""The ids of a corpus under a tokenizer, kept on the disk: making them takes seconds. Ids.

A file says what it is of and has a hash of all of it, so that one that is damaged, cut short or of
something else is made again and never believed. It may be deleted at any time.
"""

import hashlib
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Protocol, TypeAlias, runtime_checkable

import numpy as np
from jaxtyping import Int

from likely.core.files import write_whole
from likely.core.folders import cache_folder

Documents: TypeAlias = tuple[Int[np.ndarray, "_"], ...]
"""Ids of documents, int32."""

_FORMAT = "likely ids 1"
_DIGEST = 32


@runtime_checkable
class Fingerprinted(Protocol):
    """A tokenizer that can be told from others in another process."""

    @property
    def fingerprint(self) -> str:
        """A hash of all that decides which ids a text becomes."""
        ...


def kept_ids(sha256: str, n: int, tokenizer: object, make: Callable[[], Documents]) -> Documents:
    """Return ids of documents from the disk, or make them and keep them there.

    Args:
        sha256: Of what the documents say.
        n: How many of them, the first ones.
        tokenizer: Ids of one that has no fingerprint are not kept.
        make: Makes the ids.
    """
    if not isinstance(tokenizer, Fingerprinted):
        return make()
    subject = f"{_FORMAT} {sha256} {n} {tokenizer.fingerprint}".encode()
    path = cache_folder() / "ids" / f"{hashlib.sha256(subject).hexdigest()[:32]}.bin"
    found = _read(path, subject)
    if found is None:
        found = make()
        _keep(path, subject, found)
    return found


def _read(path: Path, subject: bytes) -> Documents | None:
    """Return what a file holds, or None where it is missing, damaged or of something else."""
    try:
        raw = path.read_bytes()
    except OSError:
        return None
    body = raw[_DIGEST:]
    if raw[:_DIGEST] != _digest(subject, body):
        return None
    n = int(np.frombuffer(body, "<i8", 1)[0])
    edges = np.frombuffer(body, "<i8", n + 1, offset=8)
    ids = np.frombuffer(body, "<i4", offset=8 * (n + 2)).astype(np.int32)
    return tuple(ids[start:end] for start, end in pairwise(edges.tolist()))


def _keep(path: Path, subject: bytes, documents: Documents) -> None:
    edges = np.cumsum([0, *(len(one) for one in documents)])
    head = np.array([len(documents), *edges], dtype="<i8").tobytes()
    body = head + b"".join(one.astype("<i4").tobytes() for one in documents)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, [_digest(subject, body), body])
    except OSError:
        return  # a folder that cannot be written costs the seconds again next time, nothing more


def _digest(subject: bytes, body: bytes) -> bytes:
    """Return the hash that a file begins with: of what it is of, and of what it says."""
    return hashlib.blake2b(body, digest_size=_DIGEST, key=hashlib.sha256(subject).digest()).digest()
