"""Where the score cache of runs lies."""

import pytest

from likely.core.folders import cache_folder
from likely.errors import StoreError
from likely.runs.paths import open_score_cache


def test_the_environment_names_the_cache_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("LIKELY_CACHE", str(tmp_path / "elsewhere"))
    assert cache_folder() == tmp_path / "elsewhere"
    open_score_cache().close()
    assert (tmp_path / "elsewhere" / "scores.sqlite").is_file()


def test_without_it_the_users_own_cache_folder_is_taken(tmp_path, monkeypatch):
    monkeypatch.delenv("LIKELY_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_folder().name == "likely"


def test_a_cache_that_cannot_be_opened_says_how_to_do_without(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("LIKELY_CACHE", str(tmp_path / "file"))
    with pytest.raises(StoreError, match=r"LIKELY_CACHE, or use no cache \(--no-cache\)"):
        open_score_cache()
