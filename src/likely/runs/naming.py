"""File names for things whose true names no file system would take."""

import hashlib
import re

from likely.errors import InputError

_READABLE = 48  # characters of the true name that are kept; the digest makes it unique


def file_stem(name: str) -> str:
    """Return a file name without suffix that is safe everywhere and belongs to ``name`` alone.

    Letters, digits, ``.``, ``_`` and ``-`` stay; a short digest of the true name keeps apart
    names that differ only in what was replaced, or in case. A file made under such a name holds
    the true one inside.

    Raises:
        InputError: An empty name.

    >>> file_stem("org/name:q4")
    'org-name-q4-eff1697a'
    """
    if not name:
        raise InputError("a file is named after something, got an empty name")
    readable = re.sub(r"[^A-Za-z0-9._-]+", "-", name)[:_READABLE].strip(".-_") or "name"
    digest = hashlib.blake2b(name.encode("utf-8", "surrogatepass"), digest_size=4).hexdigest()
    return f"{readable}-{digest}"
