"""The files of runs in likely's cache folder."""

from likely.core.cache import ScoreCache
from likely.core.folders import CACHE_VARIABLE, cache_folder
from likely.errors import StoreError


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
