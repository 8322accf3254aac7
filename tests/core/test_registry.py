"""Registries hold strings until asked, and ours win a clash."""

from importlib.metadata import EntryPoint

import pytest

from likely.core.registry import Registry
from likely.errors import UnknownNameError


@pytest.fixture
def registry(monkeypatch):
    points = [
        EntryPoint(name="other", value="json:dumps", group="g"),
        EntryPoint(name="ours", value="json:nothing", group="g"),
    ]
    monkeypatch.setattr("likely.core.registry.entry_points", lambda group: points)
    return Registry("thing", {"ours": "math:pi", "broken": "no_such_module:x"}, group="g")


def test_names_are_ours_first_and_then_the_others(registry):
    assert registry.names() == tuple(registry) == ("ours", "broken", "other")
    assert "other" in registry
    assert "nothing" not in registry


def test_an_entry_is_imported_only_when_asked(registry):
    import json
    import math

    assert registry.load("ours") is math.pi
    assert registry.load("other") is json.dumps
    with pytest.raises(ModuleNotFoundError):
        registry.load("broken")


def test_an_unknown_name_gets_the_closest_ones(registry):
    with pytest.raises(UnknownNameError, match=r"no thing named 'our'; did you mean \['ours'"):
        registry.load("our")
    with pytest.raises(UnknownNameError, match="known:"):
        registry.load("zzz")


def test_without_a_group_only_ours_are_known():
    assert Registry("thing", {"a": "math:e"}).names() == ("a",)
