"""Studies of other packages are found by their entry points, and imported only when asked for."""

from importlib.metadata import EntryPoint

import pytest

from likely.core import registry
from likely.errors import UnknownNameError
from likely.runs.studies import STUDIES


def test_a_study_of_another_package_is_found_by_its_entry_point(monkeypatch):
    point = EntryPoint(name="dice", value="fractions:Fraction", group="likely.studies")
    monkeypatch.setattr(
        registry, "entry_points", lambda *, group: [point] if group == point.group else []
    )
    assert "dice" in STUDIES
    assert STUDIES.load("dice").__name__ == "Fraction"


def test_an_unknown_study_is_named():
    with pytest.raises(UnknownNameError, match="no study named 'logik'"):
        STUDIES.load("logik")
