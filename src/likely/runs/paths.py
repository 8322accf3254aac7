"""Where likely keeps what may be deleted at any time: one cache folder of the user."""

import os
from pathlib import Path

from likely.core.cache import ScoreCache
from likely.errors import StoreError

CACHE_VARIABLE = "LIKELY_CACHE"
"""Environment variable that names another cache folder."""


def cache_folder() -> Path:
    """Return the cache folder: ``$LIKELY_CACHE``, or the user's own on this system."""
    named = os.environ.get(CACHE_VARIABLE)
    if named:
        return Path(named)
    import platformdirs

    return Path(platformdirs.user_cache_dir("likely", appauthor=False))


def open_score_cache() -> ScoreCache:
    """Return the score cache that runs share.

    Raises:
        StoreError: It cannot be opened; the message says how to do without.
    """
    try:
        return ScoreCache(cache_folder() / "scores.sqlite")
    except StoreError as error:
        raise StoreError(
            f"{error}; or name another folder with {CACHE_VARIABLE}, or use no cache (--no-cache)"
        ) from error
