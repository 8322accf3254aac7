"""A table model in a file, and a score cache of the tests' own."""

import pytest
from command_line import write_table


@pytest.fixture
def table(tmp_path):
    """Return the spec of a table model."""
    return write_table(tmp_path / "table.json")


@pytest.fixture
def short_table(tmp_path):
    """Return the spec of a table model that reads 4 tokens at most."""
    return write_table(tmp_path / "short.json", max_tokens=4)


@pytest.fixture(autouse=True)
def own_cache(tmp_path_factory, monkeypatch):
    """Keep the user's own score cache out of the tests."""
    folder = tmp_path_factory.mktemp("cache")
    monkeypatch.setenv("LIKELY_CACHE", str(folder))
    return folder
