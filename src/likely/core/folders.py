"""Where likely keeps what may be deleted at any time: one cache folder of the user."""

import os
from pathlib import Path

CACHE_VARIABLE = "LIKELY_CACHE"
"""Environment variable that names another cache folder."""


def cache_folder() -> Path:
    """Return the cache folder: ``$LIKELY_CACHE``, or the user's own on this system."""
    named = os.environ.get(CACHE_VARIABLE)
    if named:
        return Path(named)
    import platformdirs

    return Path(platformdirs.user_cache_dir("likely", appauthor=False))
